//! `query_protocol`: gives the full record of one item of the catalogue.
use madang::tool::{EffectPolicy, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    super::{
        catalogue::{Catalogue, Record},
        rules::LifeViolation,
    },
    CATALOG,
};
use madang::tool::{self, ToolContext, ToolResult};

pub(super) fn tool() -> impl Tool {
    tool::plain(
        "query_protocol",
        "Give the full record of one catalogue item: why, steps, dose, anchor.",
        query_protocol,
    )
    .category(CATALOG)
    .effect(EffectPolicy::Read)
    .idempotent()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Id of the item, as in the result of search_catalog.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

async fn query_protocol(arguments: Arguments, ctx: &ToolContext) -> ToolResult<Record<'static>> {
    let item = Catalogue::bundled().get(&arguments.id);
    let item =
        item.ok_or_else(|| LifeViolation::UnknownItem { id: arguments.id }.into_fault(ctx.locale))?;
    Ok(item.record(ctx.locale))
}
