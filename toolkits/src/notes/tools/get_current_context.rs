//! `get_current_context`: tells the session's open page, focus and selection.
use madang::tool::Tool;
use serde::Serialize;
use sqlx::SqliteConnection;

use super::{
    super::{
        block::{Block, BlockId},
        page::{Page, PageId},
    },
    CONTEXT, fault, notes,
};
use madang::tool::{self, NoArguments, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::reading(
        "get_current_context",
        "Tell which page is open and which blocks are focused and selected.",
        get_current_context,
    )
    .category(CONTEXT)
    .idempotent()
    .narrower("get_block")
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CurrentContext {
    page: Option<OpenPage>,
    focused_block: Option<ShownBlock>,
    selected_blocks: Vec<ShownBlock>,
    has_selection: bool,
    has_focus: bool,
}

#[derive(Debug, Serialize)]
struct OpenPage {
    id: PageId,
    title: String,
}

#[derive(Debug, Serialize)]
struct ShownBlock {
    id: BlockId,
    content: String,
}

impl From<Page> for OpenPage {
    fn from(Page { id, title, .. }: Page) -> Self {
        Self { id, title }
    }
}

impl From<Block> for ShownBlock {
    fn from(Block { id, content, .. }: Block) -> Self {
        Self { id, content }
    }
}

async fn get_current_context(
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<CurrentContext> {
    let context = notes(db, ctx).context(&ctx.session).await.map_err(fault(ctx))?;
    Ok(CurrentContext {
        has_selection: !context.selected.is_empty(),
        has_focus: context.focused.is_some(),
        page: context.page.map(OpenPage::from),
        focused_block: context.focused.map(ShownBlock::from),
        selected_blocks: context.selected.into_iter().map(ShownBlock::from).collect(),
    })
}
