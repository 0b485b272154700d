//! Says how calls and their results are written for a model, and how it learns of its tools.

/// The form of calls and results in a chat for the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// As calls of a message of the model, and messages of the tool.
    Calls,
    /// As calls and results in one message of the model, as the first templates of Gemma 4 need it.
    CallsWithResults,
    /// As text of the model, because the template writes no calls. The results are messages of this
    /// role.
    Text {
        /// The role of the messages with results.
        result_role: &'static str,
    },
}

/// The details of calls that differ within a family.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CallStyle {
    /// The text between the opening marker and the first call.
    pub(super) lead: String,
    /// Whether the JSON has no blanks after colons and commas.
    pub(super) is_compact: bool,
}

impl CallStyle {
    /// Returns the text after colons and commas.
    pub(super) fn blank(&self) -> &'static str {
        if self.is_compact { "" } else { " " }
    }
}

/// How the model learns of its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolListing {
    /// The template lists them, or nothing does, because a model that was trained on its tools
    /// needs no list.
    Template,
    /// Madang lists them in the system text.
    SystemText,
}
