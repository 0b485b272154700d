//! A broken rule, with a code for the model and the English reason for a person. The Korean one is
//! in `texts`.
use madang::event::quoted;

use super::super::{
    block::MAX_CONTENT_CHARS,
    page::{MAX_LEVELS, MAX_PAGE_BLOCKS, MAX_TITLE_CHARS},
};

/// A broken rule. Its `Display` is the English reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotesViolation {
    /// The user has no such page. Another user's page looks the same.
    #[error("there is no page {}.", quoted(name))]
    UnknownPage {
        /// The given id, title or path.
        name: String,
    },
    /// The user has no such block. Another user's block looks the same.
    #[error("there is no block {}.", quoted(id))]
    UnknownBlock {
        /// The given id.
        id: String,
    },
    /// The title is blank.
    #[error("the title is blank.")]
    BlankTitle,
    /// The title is too long.
    #[error("a title has at most {MAX_TITLE_CHARS} characters.")]
    LongTitle,
    /// The title has a line break or another control character.
    #[error("a title has no line breaks and no control characters.")]
    ControlInTitle,
    /// Another page has that title, in this or another case.
    #[error("another page is called {}: choose another title.", quoted(title))]
    TitleTaken {
        /// The title that the caller asked for.
        title: String,
    },
    /// The page contains pages.
    #[error("{}", has_pages(title, *count))]
    HasPages {
        /// The title of the page.
        title: String,
        /// The number of pages directly inside.
        count: u32,
    },
    /// The open page was deleted.
    #[error("the page that was open was deleted: open another one with open_page.")]
    OpenPageGone,
    /// A text has a control character.
    #[error("{field} has no control characters.")]
    ControlInText {
        /// The name of the field.
        field: &'static str,
    },
    /// The content has more than one line.
    #[error("a block is one line: make a block for each line.")]
    Newline,
    /// The content is too long.
    #[error("a block has at most {MAX_CONTENT_CHARS} characters.")]
    LongContent,
    /// The block would be inside too many others.
    #[error("nothing can be nested deeper than {MAX_LEVELS} levels.")]
    TooDeep,
    /// The page has as many blocks as allowed.
    #[error("a page has at most {MAX_PAGE_BLOCKS} blocks.")]
    PageFull,
    /// A page or block would be inside itself.
    #[error("nothing can be moved into itself or into what it contains.")]
    Cycle,
    /// None or both of two arguments were given.
    #[error("give one of {} and {}.", names[0], names[1])]
    OneOf {
        /// The names of the two arguments.
        names: [&'static str; 2],
    },
    /// The sibling to insert after has another parent.
    #[error("the block {} does not lie there.", quoted(id))]
    NotSibling {
        /// The id of that sibling.
        id: String,
    },
    /// No page is open.
    #[error("no page is open.")]
    NoPageOpen,
    /// There is nothing to go back or forward to.
    #[error("there is nothing to go to.")]
    NoHistory,
    /// None of the requested blocks could be created.
    #[error("none of the {requested} blocks could be created, so the page was not created either.")]
    NoBlocksCreated {
        /// The number of requested blocks.
        requested: usize,
    },
    /// The path leads out of the workspace.
    #[error("the path leads out of the workspace.")]
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

fn has_pages(title: &str, count: u32) -> String {
    let title = quoted(title);
    match count {
        1 => format!("the page {title} contains a page: delete that one first."),
        _ => format!("the page {title} contains {count} pages: delete those first."),
    }
}
