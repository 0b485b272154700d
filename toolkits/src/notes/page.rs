//! Defines a page: an id, a title and a place in the tree.
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The most characters of a title.
pub const MAX_TITLE_CHARS: usize = 200;
/// The most blocks of a page.
pub const MAX_PAGE_BLOCKS: usize = 20_000;
/// The most levels of pages in pages, and of blocks in blocks.
pub const MAX_LEVELS: usize = 128;

/// The id of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageId(pub Uuid);

impl PageId {
    /// Reads an id. Returns `None` if no page can have it.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text.trim()).ok().map(Self)
    }
}

impl std::fmt::Display for PageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A page in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The id by which tools name it.
    pub id: PageId,
    /// The title, one line that is unique among the user's pages.
    pub title: String,
    /// The page that contains it. `None` on the outermost level.
    pub parent_id: Option<PageId>,
    /// Whether it contains pages.
    pub is_directory: bool,
    /// The number of its blocks.
    #[serde(skip)]
    pub block_count: u32,
    /// Its number in the tables.
    #[serde(skip)]
    pub(super) number: i64,
}
