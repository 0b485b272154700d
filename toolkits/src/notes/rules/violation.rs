//! A broken rule, with a code for the model. Its reason for the person stands in `texts`.

/// A broken rule. Its `Display` is the English reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotesViolation {
    /// The user has no such page; another user's page looks the same.
    UnknownPage {
        /// The given id, title or path.
        name: String,
    },
    /// The user has no such block; another user's block looks the same.
    UnknownBlock {
        /// The given id.
        id: String,
    },
    /// The title is blank.
    BlankTitle,
    /// The title is too long.
    LongTitle,
    /// The title has a line break or another control character.
    ControlInTitle,
    /// Another page has that title, in this or another case.
    TitleTaken {
        /// The title.
        title: String,
    },
    /// The page contains pages.
    HasPages {
        /// The title of the page.
        title: String,
        /// The number of pages directly inside.
        count: u32,
    },
    /// The open page was deleted.
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
    /// The block would lie in too many others.
    TooDeep,
    /// The page has as many blocks as allowed.
    PageFull,
    /// A page or block would lie in itself.
    Cycle,
    /// None or both of two arguments were given.
    OneOf {
        /// The arguments.
        names: [&'static str; 2],
    },
    /// The sibling to insert after has another parent.
    NotSibling {
        /// The id of that sibling.
        id: String,
    },
    /// No page is open.
    NoPageOpen,
    /// There is nothing to go back or forward to.
    NoHistory,
    /// None of the requested blocks could be created.
    NoBlocksCreated {
        /// The number of requested blocks.
        requested: usize,
    },
    /// The path leads out of the workspace.
    OutsideWorkspace,
}

impl NotesViolation {
    /// Returns the code that the model reads.
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
}
