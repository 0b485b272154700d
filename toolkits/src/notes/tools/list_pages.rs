//! `list_pages`: lists the pages by title.
use madang::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::SqliteConnection;

use super::{
    super::{page::Page, repository::Directories},
    PAGE, Rows, fault, notes,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::reading("list_pages", "List the pages.", list_pages)
        .category(PAGE)
        .idempotent()
        .narrower("query_pages")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Also the pages that contain pages.
    #[serde(default)]
    include_directories: bool,
    /// How many pages to return at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 500))]
    limit: u16,
    /// How many pages to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

fn default_limit() -> u16 {
    100
}

async fn list_pages(
    arguments: Arguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<Rows<Page>> {
    let directories =
        if arguments.include_directories { Directories::Included } else { Directories::LeftOut };
    let mut notes = notes(db, ctx);
    let listed = notes.list_pages(directories, arguments.offset, arguments.limit.into());
    let listed = listed.await.map_err(fault(ctx))?;
    Ok(Rows::behind(arguments.offset as usize, listed))
}
