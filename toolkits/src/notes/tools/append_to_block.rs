//! `append_to_block`: appends text to a block.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{BLOCK, Changed, fault, notes, success};
use madang::tool::{self, EffectPolicy, ToolContext, ToolOutcome, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::transactional("append_to_block", "Append text to a block.", append_to_block)
        .category(BLOCK)
        .effect(EffectPolicy::Write)
        .narrower("get_block")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The text to append.
    text: String,
    /// What stands between the old text and the new.
    #[serde(default = "default_separator")]
    separator: String,
}

fn default_separator() -> String {
    " ".to_owned()
}

async fn append_to_block(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    let Arguments { id, text, separator } = &arguments;
    let appended = notes(db, ctx).append_to_block(id, text, separator).await;
    success(Changed::from(appended.map_err(fault(ctx))?), ctx)
}
