//! Creates a page with its first blocks, even if some of them fail.
use std::collections::HashMap;

use serde::Serialize;
use tracing::warn;
use uuid::Uuid;

use super::{
    super::{
        block::{BlockId, NewBlock},
        page::Page,
        rules::{Nesting, NotesViolation, judge_content},
    },
    NotesError, NotesRepository,
    blocks::{index, insert_row},
    place::Siblings,
};
use madang::store::savepoint;

/// A new page with the blocks that could be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadePage {
    /// The page as it was created, without its blocks.
    pub page: Page,
    /// The created blocks, in order.
    pub blocks: Vec<MadeBlock>,
    /// The blocks that could not be created.
    pub failed: Vec<FailedBlock>,
}

/// A block that was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeBlock {
    /// The id of the block.
    pub id: BlockId,
    /// The block that contains it, if any.
    pub parent_id: Option<BlockId>,
    /// The one line of text in the block.
    pub content: String,
}

/// A block that could not be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedBlock {
    /// Its index in the request, from 0.
    pub index: usize,
    /// The code of the broken rule.
    pub code: &'static str,
}

impl NotesRepository<'_> {
    /// Creates a page with blocks, which are nested by their indents ([`Nesting`]). A block that
    /// breaks a rule is left out, and the others are created.
    ///
    /// # Errors
    /// Returns the errors of [`create_page`](Self::create_page), and
    /// [`NotesViolation::NoBlocksCreated`] if all requested blocks break rules. The caller must
    /// then undo the page. A tool's call does so.
    pub async fn create_page_with_blocks(
        &mut self,
        title: &str,
        parent: Option<&str>,
        wanted: Vec<NewBlock>,
    ) -> Result<MadePage, NotesError> {
        let mut page = self.create_page(title, parent).await?;
        let requested = wanted.len();
        let scope = self.scope_of(page.number);
        let mut blocks = Vec::new();
        let mut numbers = Vec::new();
        let mut failed = Vec::new();
        let mut nesting = Nesting::<(i64, BlockId)>::default();
        let mut last_places: HashMap<Option<i64>, f64> = HashMap::new();
        for (index, NewBlock { content, indent }) in wanted.into_iter().enumerate() {
            let made = match nesting.parent(indent).and_then(|parent| {
                judge_content(&content)?;
                Ok(parent)
            }) {
                Ok(parent) => {
                    let siblings =
                        Siblings { page: page.number, parent: parent.map(|(number, _)| number) };
                    let place = last_places.get(&siblings.parent).map_or(1.0, |last| last + 1.0);
                    let id = BlockId(Uuid::now_v7());
                    let made = savepoint(self.db, async |db| {
                        insert_row(db, siblings, place, &content, id).await
                    });
                    made.await.map(|number| {
                        last_places.insert(siblings.parent, place);
                        (number, id, parent.map(|(_, id)| id))
                    })
                }
                Err(violation) => Err(NotesError::Rule(violation)),
            };
            match made {
                Ok((number, id, parent_id)) => {
                    numbers.push(number);
                    nesting.came(indent, Some((number, id)));
                    blocks.push(MadeBlock { id, parent_id, content });
                }
                Err(NotesError::Rule(violation)) => {
                    let code = violation.code();
                    warn!(page = %page.id, index, code, "a block of a new page could not be made");
                    nesting.came(indent, None);
                    failed.push(FailedBlock { index, code: violation.code() });
                }
                Err(error @ (NotesError::Database { .. } | NotesError::Corrupt { .. })) => {
                    return Err(error);
                }
            }
        }
        if blocks.is_empty() && requested > 0 {
            return Err(NotesViolation::NoBlocksCreated { requested }.into());
        }
        // The words are indexed after the savepoints, because each savepoint would make the index
        // write to the disk.
        for (number, MadeBlock { content, .. }) in numbers.into_iter().zip(&blocks) {
            index(self.db, number, content, &scope).await?;
        }
        page.block_count = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        let ids: Vec<_> = blocks.iter().map(|block| block.id).collect();
        self.blocks_changed(page.id, &ids).await?;
        Ok(MadePage { page, blocks, failed })
    }
}
