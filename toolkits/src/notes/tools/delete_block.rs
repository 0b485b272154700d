//! `delete_block`: deletes a block, after a question that says what becomes of the blocks in it.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{repository::NotesError, texts},
    BLOCK, fault, notes, success,
};
use madang::tool::{self, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional(
        "delete_block",
        "Delete a block. Blocks inside of it move up to where it was.",
        delete_block,
    )
    .category(BLOCK)
    .consequence_from(consequence)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

#[derive(Debug, Serialize)]
struct Deleted {
    deleted: bool,
}

async fn delete_block(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    notes(db, ctx).delete_block(&arguments.id).await.map_err(fault(ctx))?;
    success(Deleted { deleted: true }, ctx)
}

async fn consequence(
    arguments: &Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let mut notes = notes(db, ctx);
    match notes.block(&arguments.id).await {
        Ok(block) => {
            let children = notes.children_of(&block).await?;
            Ok(texts::will_delete(&block.content, children, ctx.locale))
        }
        Err(NotesError::Rule(_)) => Ok(texts::will_delete_unknown(ctx.locale).to_owned()),
        Err(error) => Err(error.into()),
    }
}
