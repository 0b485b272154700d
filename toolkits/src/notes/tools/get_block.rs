//! `get_block`: reads one block, a long one in parts.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{block::BlockId, page::PageId},
    BLOCK, fault, notes,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::reading("get_block", "Read one block.", get_block).category(BLOCK).idempotent()
}

/// The JSON bytes of a part of a block: with its ids it fits an envelope of the default bound.
const PART_BYTES: usize = 1_400;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// How many characters to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    id: BlockId,
    page_id: PageId,
    parent_id: Option<BlockId>,
    order: usize,
    content: String,
    /// The length of the whole text, if the content is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
    /// The start of the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// Returns the part of a text after the first `offset` characters, and the start of the next part.
fn part(content: &str, offset: usize) -> (&str, Option<usize>) {
    let begin = content.char_indices().nth(offset).map_or(content.len(), |(place, _)| place);
    let rest = &content[begin..];
    let mut bytes = 0;
    for (count, (place, letter)) in rest.char_indices().enumerate() {
        bytes += match letter {
            '"' | '\\' | '\t' => 2,
            letter if letter.is_control() => 6,
            letter => letter.len_utf8(),
        };
        if bytes > PART_BYTES {
            return (&rest[..place], Some(offset + count));
        }
    }
    (rest, None)
}

async fn get_block(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Read> {
    let mut notes = notes(db, ctx);
    let block = notes.block(&arguments.id).await.map_err(fault(ctx))?;
    let order = notes.order_of(&block).await.map_err(fault(ctx))?;
    let offset = arguments.offset as usize;
    let (content, next_offset) = part(&block.content, offset);
    let is_part = offset > 0 || next_offset.is_some();
    Ok(Read {
        id: block.id,
        page_id: block.page_id,
        parent_id: block.parent_id,
        order,
        content: content.to_owned(),
        length: is_part.then(|| block.content.chars().count()),
        next_offset,
    })
}
