//! Describes the shown place for the results of the navigating tools.
use serde::Serialize;

use super::{
    super::{
        history::Location,
        page::PageId,
        repository::{NotesError, NotesRepository, TreeRow},
    },
    next_offset,
};

/// The most rows of the tree in a result.
const MAX_ROWS: usize = 500;

/// The place that a session shows.
#[derive(Debug, Serialize)]
#[serde(tag = "view", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Shown {
    Index {
        count: usize,
        total: usize,
        items: Vec<TreeRow>,
        /// The start of the next part.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_offset: Option<usize>,
    },
    Directory {
        page_id: PageId,
        page_title: String,
        path: String,
    },
    Page {
        page_id: PageId,
        page_title: String,
        path: String,
        block_count: u32,
    },
}

impl Shown {
    /// Describes the tree of all pages, after the first `offset`.
    pub(super) async fn index(
        offset: usize,
        notes: &mut NotesRepository<'_>,
    ) -> Result<Self, NotesError> {
        let tree = notes.tree(offset, MAX_ROWS).await?;
        let next_offset = next_offset(offset, tree.items.len(), tree.total);
        Ok(Self::Index {
            count: tree.items.len(),
            total: tree.total,
            items: tree.items,
            next_offset,
        })
    }

    pub(super) async fn of(
        place: Location,
        notes: &mut NotesRepository<'_>,
    ) -> Result<Self, NotesError> {
        Ok(match place {
            Location::Index => Self::index(0, notes).await?,
            Location::Directory(id) => {
                let page = notes.page(&id.to_string()).await?;
                let path = notes.path_of(&page).await?;
                Self::Directory { page_id: page.id, page_title: page.title, path }
            }
            Location::Page(id) => {
                let page = notes.page(&id.to_string()).await?;
                let path = notes.path_of(&page).await?;
                let block_count = page.block_count;
                Self::Page { page_id: page.id, page_title: page.title, path, block_count }
            }
        })
    }
}
