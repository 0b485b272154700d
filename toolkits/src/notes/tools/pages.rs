//! The tools about pages, which find, open, create, rename and delete them.
use std::sync::Arc;

use madang::tool::{EffectPolicy, Tool, ToolContext, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use super::{
    super::{
        super::category::Within as _,
        block::NewBlock,
        history::Location,
        page::{Page, PageId},
        repository::{Directories, FailedBlock, MadeBlock, MadePage, NotesError, NotesRepository},
        rules::NotesViolation,
        texts,
    },
    Caller, NotesResult, PageTitle, Rows, reading, saying, writing,
};

const PAGE: &str = "page";

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        writing(
            "open_page",
            "Open a page by its id or its exact title and make it the current one.",
            open_page,
        )
        .idempotent()
        .within(PAGE),
        reading("query_pages", "Search pages by words of their titles.", query_pages).within(PAGE),
        reading("list_pages", "List the pages.", list_pages).narrower("query_pages").within(PAGE),
        saying(texts::page_created, "create_page", "Create an empty page.", create_page)
            .effect(EffectPolicy::Write)
            .consequence(|arguments, locale| texts::will_create_page(&arguments.title, 0, locale))
            .within(PAGE),
        saying(
            texts::page_created,
            "create_page_with_blocks",
            "Create a page with blocks.",
            create_page_with_blocks,
        )
        .effect(EffectPolicy::Write)
        .consequence(|arguments, locale| {
            texts::will_create_page(&arguments.title, arguments.blocks.len(), locale)
        })
        .narrower("get_page_blocks")
        .within(PAGE),
        writing("rename_page", "Give a page another title.", rename_page)
            .idempotent()
            .consequence_from(will_rename_page)
            .consequence(|arguments, locale| {
                texts::will_rename_page(None, &arguments.title, locale)
            })
            .within(PAGE),
        saying(
            texts::done,
            "delete_page",
            "Delete a page and its blocks. A page that contains pages stays.",
            delete_page,
        )
        .consequence_from(will_delete_page)
        .within(PAGE),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OpenPage {
    /// Id of the page.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    page_id: Option<String>,
    /// Title of the page, whole; case makes no difference.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 200))]
    page_title: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    page_id: PageId,
    page_title: String,
    block_count: u32,
}

async fn open_page(arguments: OpenPage, caller: Caller<'_>) -> NotesResult<Opened> {
    let Caller { mut notes, session } = caller;
    let page = match (&arguments.page_id, &arguments.page_title) {
        (Some(id), None) => notes.page(id).await,
        (None, Some(title)) => notes.page_titled(title).await,
        (Some(_), Some(_)) | (None, None) => {
            Err(NotesViolation::OneOf { names: ["pageId", "pageTitle"] }.into())
        }
    };
    let page = page?;
    notes.visit(session, Location::Page(page.id)).await?;
    Ok(Opened { page_id: page.id, page_title: page.title, block_count: page.block_count })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct QueryPages {
    /// What to look for.
    #[schemars(length(min = 1, max = 200))]
    query: String,
    /// How many pages to return at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: u8,
    /// How many pages to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

const fn ten() -> u8 {
    10
}

async fn query_pages(
    QueryPages { query, limit, offset }: QueryPages,
    mut caller: Caller<'_>,
) -> NotesResult<Rows<Page>> {
    let offset = offset as usize;
    let found = caller.notes.query_pages(&query, offset, limit.into()).await?;
    Ok(Rows::behind(offset, found))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListPages {
    /// Also the pages that contain pages.
    #[serde(default)]
    include_directories: bool,
    /// How many pages to return at most.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 500))]
    limit: u16,
    /// How many pages to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

const fn hundred() -> u16 {
    100
}

async fn list_pages(
    ListPages { include_directories, limit, offset }: ListPages,
    mut caller: Caller<'_>,
) -> NotesResult<Rows<Page>> {
    let directories =
        if include_directories { Directories::Included } else { Directories::LeftOut };
    let listed = caller.notes.list_pages(directories, offset, limit.into()).await?;
    Ok(Rows::behind(offset as usize, listed))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CreatePage {
    /// Title of the page.
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// Id of the page that is to contain it.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    parent_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CreatedPage {
    id: PageId,
    title: String,
    parent_id: Option<PageId>,
}

async fn create_page(arguments: CreatePage, mut caller: Caller<'_>) -> NotesResult<CreatedPage> {
    let CreatePage { title, parent_id } = arguments;
    let created = caller.notes.create_page(&title, parent_id.as_deref()).await?;
    let Page { id, title, parent_id, .. } = created;
    Ok(CreatedPage { id, title, parent_id })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CreatePageWithBlocks {
    /// Title of the page.
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// Id of the page that is to contain it.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    parent_id: Option<String>,
    /// The blocks in reading order.
    #[schemars(length(max = 200))]
    blocks: Vec<WantedBlock>,
}

/// Its content is judged by the rules, block by block: the schema would refuse all of them for one.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "")]
struct WantedBlock {
    /// One line of text, Markdown allowed.
    content: String,
    /// How deep it is nested; 0 is the outermost level.
    #[serde(default)]
    indent: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CreatedWithBlocks {
    id: PageId,
    title: String,
    blocks_requested: usize,
    blocks_created: usize,
    blocks_failed: usize,
    blocks: Vec<MadeBlock>,
    failed_blocks: Vec<FailedBlock>,
}

async fn create_page_with_blocks(
    CreatePageWithBlocks { title, parent_id, blocks }: CreatePageWithBlocks,
    mut caller: Caller<'_>,
) -> NotesResult<CreatedWithBlocks> {
    let blocks_requested = blocks.len();
    let block = |WantedBlock { content, indent }| NewBlock { content, indent };
    let wanted = blocks.into_iter().map(block).collect();
    let created = caller.notes.create_page_with_blocks(&title, parent_id.as_deref(), wanted).await;
    let MadePage { page, blocks, failed } = created?;
    Ok(CreatedWithBlocks {
        id: page.id,
        title: page.title,
        blocks_requested,
        blocks_created: blocks.len(),
        blocks_failed: failed.len(),
        blocks,
        failed_blocks: failed,
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RenamePage {
    /// Id of the page.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The new title, which no other page has.
    #[schemars(length(min = 1, max = 200))]
    title: String,
}

async fn rename_page(arguments: RenamePage, mut caller: Caller<'_>) -> NotesResult<PageTitle> {
    Ok(caller.notes.rename_page(&arguments.id, &arguments.title).await?.into())
}

/// Says what renaming will do, with the present title if the page is the user's.
async fn will_rename_page(
    arguments: &RenamePage,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    let old = NotesRepository::new(db, &ctx.user).page(&arguments.id).await?.title;
    Ok(texts::will_rename_page(Some(&old), &arguments.title, ctx.locale))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct DeletePage {
    /// Id of the page.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeletedPage {
    id: PageId,
    title: String,
    deleted: bool,
    blocks_deleted: u32,
}

async fn delete_page(arguments: DeletePage, mut caller: Caller<'_>) -> NotesResult<DeletedPage> {
    let page = caller.notes.delete_page(&arguments.id).await?;
    let blocks_deleted = page.block_count;
    Ok(DeletedPage { id: page.id, title: page.title, deleted: true, blocks_deleted })
}

/// Says how many blocks are deleted with the page.
async fn will_delete_page(
    arguments: &DeletePage,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<String> {
    match NotesRepository::new(db, &ctx.user).page(&arguments.id).await {
        Ok(page) => Ok(texts::will_delete_page(&page.title, page.block_count, ctx.locale)),
        Err(NotesError::Rule(_)) => Ok(texts::will_delete_unknown_page(ctx.locale).to_owned()),
        Err(error) => Err(error.into()),
    }
}
