//! What was found at a server: its tools as the model would read them, and those that are left out.

use madang::tool::ToolSpec;

/// What was found at one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpServerReport {
    /// The name in the configuration.
    pub server: String,
    /// Why it did not start. `None` if it started.
    pub failure: Option<String>,
    /// The SHA-256 of all that it says of the tools that can be offered. `None` if it did not
    /// start.
    pub fingerprint: Option<String>,
    /// The tools that it lists and the configuration does not exclude.
    pub tools: Vec<McpToolReport>,
}

/// What was found of one tool of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpToolReport {
    /// The name at the server, with hidden characters made visible.
    pub original: String,
    /// Whether it is offered to the model.
    pub offer: McpOffer,
}

/// Whether a tool is offered to the model.
#[derive(Debug, Clone)]
pub enum McpOffer {
    /// It is offered like this.
    Offered(ToolSpec),
    /// It could be offered like this, but is left out.
    Withheld {
        /// What the model would read.
        spec: ToolSpec,
        /// The reason, as a clause of a sentence.
        why: String,
    },
    /// It cannot be a tool here.
    Refused {
        /// The reason, as a clause of a sentence.
        why: String,
    },
}

impl McpServerReport {
    pub(super) fn of_failure(server: String, what: String) -> Self {
        Self { server, failure: Some(what), fingerprint: None, tools: Vec::new() }
    }
}
