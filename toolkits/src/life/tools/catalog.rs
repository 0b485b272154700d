//! The tools about the catalogue, which find items and read one.
use std::sync::Arc;

use madang::tool::{self, EffectPolicy, Tool, ToolContext, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        super::category::Within as _,
        catalogue::{Catalogue, Category, Item, Query, Record},
        rules::{LifeViolation, validate_optional_text},
    },
    fault,
};

const CATALOG: &str = "catalog";

/// The characters of a summary in a row of the result.
const SUMMARY_CHARS: usize = 60;

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        tool::plain(
            "search_catalog",
            "Search the catalogue of habit protocols, break protocols and diet patterns.",
            search_catalog,
        )
        .effect(EffectPolicy::Read)
        .idempotent()
        .narrower("query_protocol")
        .within(CATALOG),
        tool::plain(
            "query_protocol",
            "Give the full record of one catalogue item: why, steps, dose, anchor.",
            query_protocol,
        )
        .effect(EffectPolicy::Read)
        .idempotent()
        .within(CATALOG),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SearchCatalog {
    /// Only items about this part of life.
    #[serde(default)]
    #[schemars(with = "Category")]
    category: Option<Category>,
    /// Word to look for, Korean or English.
    #[serde(default)]
    #[schemars(with = "String", length(max = 50))]
    keyword: Option<String>,
    /// How many items to return at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 10))]
    limit: u8,
}

const fn ten() -> u8 {
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

async fn search_catalog(arguments: SearchCatalog, ctx: &ToolContext) -> ToolResult<Rows> {
    let keyword = arguments.keyword.as_deref();
    validate_optional_text("keyword", keyword).map_err(fault(ctx))?;
    let query = Query { category: arguments.category, keyword, limit: arguments.limit.into() };
    let found = Catalogue::bundled().search(&query);
    let row = |item: &'static Item| Row {
        id: &item.id,
        title: item.title.get(ctx.locale),
        summary: item.summary.get(ctx.locale).chars().take(SUMMARY_CHARS).collect(),
        category: item.category,
    };
    Ok(Rows { count: found.count, items: found.items.into_iter().map(row).collect() })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct QueryProtocol {
    /// Id of the item, as in the result of search_catalog.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

async fn query_protocol(
    QueryProtocol { id }: QueryProtocol,
    ctx: &ToolContext,
) -> ToolResult<Record<'static>> {
    let item = Catalogue::bundled().get(&id).ok_or(LifeViolation::UnknownItem { id });
    Ok(item.map_err(fault(ctx))?.record(ctx.locale))
}
