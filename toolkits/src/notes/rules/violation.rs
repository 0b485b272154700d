//! What a broken rule is: a code for the model and a reason for the person.
use madang::tool::Locale;

use super::super::texts;

/// A rule that does not hold. Its `Display` is the English reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.reason(Locale::EN))]
pub enum NotesViolation {
    /// The user has no such page. Another user's page is not told apart from none.
    UnknownPage {
        /// The id, title or path that was asked for.
        name: String,
    },
    /// The user has no such block.
    UnknownBlock {
        /// The id that was asked for.
        id: String,
    },
    /// The title says nothing.
    BlankTitle,
    /// The title is too long.
    LongTitle,
    /// The title has a line break or another control character.
    ControlInTitle,
    /// Another page has that title, but for case.
    TitleTaken {
        /// The title.
        title: String,
    },
    /// The page contains pages.
    HasPages {
        /// The title of the page.
        title: String,
        /// How many lie in it directly.
        count: u32,
    },
    /// The page that was open is gone.
    OpenPageGone,
    /// A text has a control character.
    ControlInText {
        /// The name of the field.
        field: &'static str,
    },
    /// The content has more than one line.
    Newline,
    /// The content is too long.
    LongContent,
    /// It would lie in too many others.
    TooDeep,
    /// The page has as many blocks as it may.
    PageFull,
    /// A page or block would lie in itself.
    Cycle,
    /// None or both of two arguments are given.
    OneOf {
        /// The arguments.
        names: [&'static str; 2],
    },
    /// The block that another one is to come after lies elsewhere.
    NotSibling {
        /// Its id.
        id: String,
    },
    /// No page is open.
    NoPageOpen,
    /// There is nothing to go back or forward to.
    NoHistory,
    /// Of the blocks of a page none could be made.
    NoBlocksCreated {
        /// How many were asked for.
        requested: usize,
    },
    /// The path leads out of the workspace.
    OutsideWorkspace,
}

impl NotesViolation {
    /// The code that the model reads.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownPage { .. } | Self::UnknownBlock { .. } => "not_found",
            Self::BlankTitle
            | Self::LongTitle
            | Self::ControlInTitle
            | Self::ControlInText { .. }
            | Self::OneOf { .. } => "validation",
            Self::TitleTaken { .. } => "title_taken",
            Self::HasPages { .. } => "has_pages",
            Self::OpenPageGone => "page_gone",
            Self::Newline => "newline",
            Self::LongContent => "too_long",
            Self::TooDeep => "too_deep",
            Self::PageFull => "page_full",
            Self::Cycle => "cycle",
            Self::NotSibling { .. } => "not_sibling",
            Self::NoPageOpen => "no_page_open",
            Self::NoHistory => "no_history",
            Self::NoBlocksCreated { .. } => "no_blocks_created",
            Self::OutsideWorkspace => "outside_workspace",
        }
    }

    /// The reason in the person's language.
    pub fn reason(&self, locale: Locale) -> String {
        texts::reason(self, locale)
    }
}
