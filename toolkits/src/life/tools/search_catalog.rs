//! `search_catalog`: finds items of the catalogue by category and keyword.
use madang::tool::{EffectPolicy, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        catalogue::{Catalogue, Category, Item, Query},
        rules::validate_optional_text,
    },
    CATALOG,
};
use madang::tool::{self, ToolContext, ToolResult};

/// The characters of a summary in a row of the result.
const SUMMARY_CHARS: usize = 60;

pub(super) fn tool() -> impl Tool {
    tool::plain(
        "search_catalog",
        "Search the catalogue of habit protocols, break protocols and diet patterns.",
        search_catalog,
    )
    .category(CATALOG)
    .effect(EffectPolicy::Read)
    .idempotent()
    .narrower("query_protocol")
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Only items about this part of life.
    #[serde(default)]
    #[schemars(with = "Category")]
    category: Option<Category>,
    /// Word to look for, Korean or English.
    #[serde(default)]
    #[schemars(with = "String", length(max = 50))]
    keyword: Option<String>,
    /// How many items to return at most.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 10))]
    limit: u8,
}

fn default_limit() -> u8 {
    10
}

#[derive(Debug, Serialize)]
struct Rows {
    count: usize,
    items: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    id: &'static str,
    title: &'static str,
    summary: String,
    category: Category,
}

async fn search_catalog(arguments: Arguments, ctx: &ToolContext) -> ToolResult<Rows> {
    validate_optional_text("keyword", arguments.keyword.as_deref())
        .map_err(|violation| violation.into_fault(ctx.locale))?;
    let query = Query {
        category: arguments.category,
        keyword: arguments.keyword.as_deref(),
        limit: arguments.limit.into(),
    };
    let found = Catalogue::bundled().search(&query);
    let row = |item: &'static Item| Row {
        id: &item.id,
        title: item.title.get(ctx.locale),
        summary: item.summary.get(ctx.locale).chars().take(SUMMARY_CHARS).collect(),
        category: item.category,
    };
    Ok(Rows { count: found.count, items: found.items.into_iter().map(row).collect() })
}
