//! What a block is: one line of text in a page, perhaps inside of another block.
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::page::PageId;

/// The most characters of a block.
pub const MAX_CONTENT_CHARS: usize = 10_000;

/// The id of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlockId(pub Uuid);

impl BlockId {
    /// Reads an id; `None` where no block can have it.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text.trim()).ok().map(Self)
    }
}

impl std::fmt::Display for BlockId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A block as it stands in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its id.
    pub id: BlockId,
    /// Its page.
    pub page_id: PageId,
    /// The block that contains it.
    pub parent_id: Option<BlockId>,
    /// Its text, one line.
    pub content: String,
    /// Its place among the blocks of its parent.
    pub(super) position: f64,
    /// The numbers of itself, its page and its parent in the tables.
    pub(super) number: i64,
    pub(super) page: i64,
    pub(super) parent: Option<i64>,
}

/// A block in reading order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutlineLine {
    /// Its id.
    pub id: BlockId,
    /// In how many blocks it lies.
    pub depth: usize,
    /// Its text.
    pub content: String,
}

/// A block that is to be made on a new page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBlock {
    /// Its text.
    pub content: String,
    /// How deep it is to be nested.
    pub indent: u32,
}
