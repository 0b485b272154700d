//! `create_page_with_blocks`: creates a page with its first blocks, truly nested; some of them may fail.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{
        block::NewBlock,
        page::PageId,
        repository::{FailedBlock, MadeBlock, MadePage},
        texts,
    },
    PAGE, fault, notes, success_with,
};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "create_page_with_blocks",
        "Create a page with blocks.",
        create_page_with_blocks,
    )
    .category(PAGE)
    .effect(EffectPolicy::Write)
    .narrower("get_page_blocks")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Title of the page.
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// Id of the page that is to contain it.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    parent_id: Option<String>,
    /// The blocks in reading order.
    #[schemars(length(max = 200))]
    blocks: Vec<Wanted>,
}

/// Its content is judged by the rules, block by block: the schema would refuse all of them for one.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "")]
struct Wanted {
    /// One line of text, Markdown allowed.
    content: String,
    /// How deep it is nested; 0 is the outermost level.
    #[serde(default)]
    indent: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    id: PageId,
    title: String,
    blocks_requested: usize,
    blocks_created: usize,
    blocks_failed: usize,
    blocks: Vec<MadeBlock>,
    failed_blocks: Vec<FailedBlock>,
}

async fn create_page_with_blocks(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let Arguments { title, parent_id, blocks } = arguments;
    let blocks_requested = blocks.len();
    let wanted =
        blocks.into_iter().map(|Wanted { content, indent }| NewBlock { content, indent }).collect();
    let created =
        notes(db, ctx).create_page_with_blocks(&title, parent_id.as_deref(), wanted).await;
    let MadePage { page, blocks, failed } = created.map_err(fault(ctx))?;
    let data = Created {
        id: page.id,
        title: page.title,
        blocks_requested,
        blocks_created: blocks.len(),
        blocks_failed: failed.len(),
        blocks,
        failed_blocks: failed,
    };
    success_with(texts::page_created(ctx.locale), data)
}
