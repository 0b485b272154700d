//! The tools about blocks, which read, find, create, change and delete them.
use std::sync::Arc;

use madang::tool::{Tool, ToolContext, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{
    super::{
        super::{category::Within as _, parts::fitting},
        block::{Block, BlockId, OutlineLine},
        page::PageId,
        repository::{BlockHit, Inside, NotesError, NotesRepository, Part},
        rules::NotesViolation,
        texts::{self, Place},
    },
    BlockText, Caller, NotesResult, Rows, reading, saying, writing,
};

const BLOCK: &str = "block";

/// The JSON bytes of a part of a block. With its ids it fits an envelope of the default bound.
const PART_BYTES: usize = 1_400;
/// The most blocks of a part of a page.
const MAX_LINES: usize = 1_000;
/// The most bytes of the texts of a part. A model reads two kilobytes of a result, and more would
/// only fill the ledger.
const MAX_BYTES: usize = 256 * 1024;

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        reading("get_block", "Read one block.", get_block).within(BLOCK),
        writing("update_block", "Replace the text of a block.", update_block)
            .consequence_from(will_update_block)
            .consequence(|arguments, locale| texts::will_update(None, &arguments.content, locale))
            .narrower("get_block")
            .idempotent()
            .within(BLOCK),
        writing(
            "create_block",
            "Create a block on a page or inside of another block.",
            create_block,
        )
        .consequence_from(will_create_block)
        .consequence(|arguments, locale| texts::will_add_block(&arguments.content, None, locale))
        .narrower("get_block")
        .within(BLOCK),
        saying(
            texts::done,
            "delete_block",
            "Delete a block. Blocks inside of it move up to where it was.",
            delete_block,
        )
        .consequence_from(will_delete_block)
        .within(BLOCK),
        reading("query_blocks", "Search the text of blocks, best hits first.", query_blocks)
            .narrower("get_block")
            .within(BLOCK),
        reading(
            "get_page_blocks",
            "Read the blocks of a page in order, with their depth.",
            get_page_blocks,
        )
        .narrower("get_block")
        .within(BLOCK),
        writing(
            "insert_block_below_current",
            "Insert a block below the focused one, or at the end of the open page.",
            insert_block_below_current,
        )
        .consequence_from(will_insert_below_current)
        .consequence(|arguments, locale| texts::will_add_block(&arguments.content, None, locale))
        .narrower("get_block")
        .within(BLOCK),
        writing("insert_block_below", "Insert a block below another one.", insert_block_below)
            .consequence_from(will_insert_below)
            .consequence(|arguments, locale| {
                texts::will_add_block(&arguments.content, None, locale)
            })
            .narrower("get_block")
            .within(BLOCK),
        writing("append_to_block", "Append text to a block.", append_to_block)
            .consequence_from(will_append_to_block)
            .consequence(|arguments, locale| texts::will_append(None, &arguments.text, locale))
            .narrower("get_block")
            .within(BLOCK),
    ]
}

/// A block that was created.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    id: BlockId,
    content: String,
    page_id: PageId,
    parent_id: Option<BlockId>,
}

impl From<Block> for Created {
    fn from(Block { id, content, page_id, parent_id, .. }: Block) -> Self {
        Self { id, content, page_id, parent_id }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GetBlock {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// How many characters to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadBlock {
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

async fn get_block(arguments: GetBlock, mut caller: Caller<'_>) -> NotesResult<ReadBlock> {
    let block = caller.notes.block(&arguments.id).await?;
    let order = caller.notes.order_of(&block).await?;
    let offset = arguments.offset as usize;
    let (content, next_offset) = part(&block.content, offset);
    let is_part = offset > 0 || next_offset.is_some();
    Ok(ReadBlock {
        id: block.id,
        page_id: block.page_id,
        parent_id: block.parent_id,
        order,
        content: content.to_owned(),
        length: is_part.then(|| block.content.chars().count()),
        next_offset,
    })
}

/// Returns the part of a text after the first `offset` characters, and the start of the next part.
/// The latter is `None` if no text follows.
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

#[derive(Debug, Deserialize, JsonSchema)]
struct UpdateBlock {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The new text, one line.
    content: String,
}

async fn update_block(arguments: UpdateBlock, mut caller: Caller<'_>) -> NotesResult<BlockText> {
    Ok(caller.notes.update_block(&arguments.id, &arguments.content).await?.into())
}

/// Says what changing will do, with the present text if the block is the user's.
async fn will_update_block(
    arguments: &UpdateBlock,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let old = NotesRepository::new(db, &ctx.user).block(&arguments.id).await?.content;
    Ok(texts::will_update(Some(&old), &arguments.content, ctx.locale))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CreateBlock {
    /// Id of the page. Give either this or parentBlockId.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    page_id: Option<String>,
    /// Id of the block that is to contain it.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    parent_block_id: Option<String>,
    /// Id of the block that it comes after; at the end when left out.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    insert_after_block_id: Option<String>,
    /// One line of text.
    content: String,
}

async fn create_block(arguments: CreateBlock, mut caller: Caller<'_>) -> NotesResult<Created> {
    let inside = match (&arguments.page_id, &arguments.parent_block_id) {
        (Some(page), None) => Inside::Page(page),
        (None, Some(block)) => Inside::Block(block),
        (Some(_), Some(_)) | (None, None) => {
            return Err(NotesViolation::OneOf { names: ["pageId", "parentBlockId"] }.into());
        }
    };
    let after = arguments.insert_after_block_id.as_deref();
    Ok(caller.notes.create_block(inside, after, &arguments.content).await?.into())
}

/// Says what creating will do, with the page or block that is to contain it if that is the user's.
async fn will_create_block(
    arguments: &CreateBlock,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let mut notes = NotesRepository::new(db, &ctx.user);
    let place = match (&arguments.page_id, &arguments.parent_block_id) {
        (Some(page), None) => Some(Place::On(notes.page(page).await?.title)),
        (None, Some(block)) => Some(Place::In(notes.block(block).await?.content)),
        (Some(_), Some(_)) | (None, None) => None,
    };
    Ok(texts::will_add_block(&arguments.content, place.as_ref(), ctx.locale))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct DeleteBlock {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

async fn delete_block(arguments: DeleteBlock, mut caller: Caller<'_>) -> NotesResult<Value> {
    caller.notes.delete_block(&arguments.id).await?;
    Ok(json!({ "deleted": true }))
}

/// Describes what happens to the block, and to the blocks in it.
async fn will_delete_block(
    arguments: &DeleteBlock,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let mut notes = NotesRepository::new(db, &ctx.user);
    match notes.block(&arguments.id).await {
        Ok(block) => {
            let children = notes.children_of(&block).await?;
            Ok(texts::will_delete(&block.content, children, ctx.locale))
        }
        Err(NotesError::Rule(_)) => Ok(texts::will_delete_unknown(ctx.locale).to_owned()),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct QueryBlocks {
    /// Words to look for, Korean or English.
    #[schemars(length(min = 1, max = 200))]
    query: String,
    /// Only blocks of this page.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    page_id: Option<String>,
    /// How many blocks to return at most.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    limit: u8,
    /// How many hits to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

const fn twenty() -> u8 {
    20
}

async fn query_blocks(
    QueryBlocks { query, page_id, limit, offset }: QueryBlocks,
    mut caller: Caller<'_>,
) -> NotesResult<Rows<BlockHit>> {
    let offset = offset as usize;
    let page = page_id.as_deref();
    let found = caller.notes.query_blocks(&query, page, offset, limit.into()).await;
    let Part { mut items, total } = found?;
    items.truncate(fitting(items.iter().map(|hit| hit.content.len()), MAX_BYTES));
    Ok(Rows::behind(offset, Part { items, total }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GetPageBlocks {
    /// Id of the page.
    #[schemars(length(min = 1, max = 64))]
    page_id: String,
    /// How many blocks to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageBlocks {
    page_id: PageId,
    page_title: String,
    #[serde(flatten)]
    blocks: Rows<OutlineLine>,
}

async fn get_page_blocks(
    GetPageBlocks { page_id, offset }: GetPageBlocks,
    mut caller: Caller<'_>,
) -> NotesResult<PageBlocks> {
    let offset = offset as usize;
    let page = caller.notes.page(&page_id).await?;
    let Part { mut items, total } = caller.notes.lines(&page, offset, MAX_LINES).await?;
    items.truncate(fitting(items.iter().map(|line| line.content.len()), MAX_BYTES));
    let blocks = Rows::behind(offset, Part { items, total });
    Ok(PageBlocks { page_id: page.id, page_title: page.title, blocks })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct InsertBelowCurrent {
    /// One line of text.
    content: String,
}

async fn insert_block_below_current(
    InsertBelowCurrent { content }: InsertBelowCurrent,
    caller: Caller<'_>,
) -> NotesResult<Created> {
    let Caller { mut notes, session } = caller;
    let context = notes.context(session).await?;
    let page = context.open_page()?;
    let inserted = match &context.focused {
        Some(block) => notes.insert_below(&block.id.to_string(), &content).await,
        None => notes.create_block(Inside::Page(&page.id.to_string()), None, &content).await,
    };
    Ok(inserted?.into())
}

/// Says what inserting will do, with the focused block or the open page.
async fn will_insert_below_current(
    arguments: &InsertBelowCurrent,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let context = NotesRepository::new(db, &ctx.user).context(&ctx.session).await?;
    let page = context.open_page()?.title.clone();
    let place = context.focused.map_or(Place::On(page), |block| Place::Below(block.content));
    Ok(texts::will_add_block(&arguments.content, Some(&place), ctx.locale))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InsertBelow {
    /// Id of the block that is to stand above it.
    #[schemars(length(min = 1, max = 64))]
    block_id: String,
    /// One line of text.
    content: String,
}

async fn insert_block_below(
    arguments: InsertBelow,
    mut caller: Caller<'_>,
) -> NotesResult<Created> {
    Ok(caller.notes.insert_below(&arguments.block_id, &arguments.content).await?.into())
}

/// Says what inserting will do, with the block above if it is the user's.
async fn will_insert_below(
    arguments: &InsertBelow,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let above = NotesRepository::new(db, &ctx.user).block(&arguments.block_id).await?.content;
    Ok(texts::will_add_block(&arguments.content, Some(&Place::Below(above)), ctx.locale))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AppendToBlock {
    /// Id of the block.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The text to append.
    text: String,
    /// What stands between the old text and the new.
    #[serde(default = "space")]
    separator: String,
}

fn space() -> String {
    " ".to_owned()
}

async fn append_to_block(
    AppendToBlock { id, text, separator }: AppendToBlock,
    mut caller: Caller<'_>,
) -> NotesResult<BlockText> {
    Ok(caller.notes.append_to_block(&id, &text, &separator).await?.into())
}

/// Says what appending will do, with the present text if the block is the user's.
async fn will_append_to_block(
    arguments: &AppendToBlock,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let old = NotesRepository::new(db, &ctx.user).block(&arguments.id).await?.content;
    Ok(texts::will_append(Some(&old), &arguments.text, ctx.locale))
}
