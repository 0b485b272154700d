//! Lists the models. The server's own name refers to the model that the runtime chooses; it comes
//! first.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use madang::ModelName;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer,
    auth::{caller::Caller, scope::TokenScope},
    extract::Ids,
    problem::Problem,
    route::{Access, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    let chat = Access::Scope(TokenScope::Chat);
    vec![
        Route::get("/v1/models", chat, list)
            .id("listModels")
            .says("Lists the models in the form of OpenAI's API.")
            .gives::<ModelList>(StatusCode::OK, "The models."),
        Route::get("/v1/models/{model}", chat, one)
            .id("getModel")
            .says("Describes a model in the form of OpenAI's API.")
            .gives::<ModelEntry>(StatusCode::OK, "The model."),
    ]
}

/// All models.
#[derive(Debug, Serialize, JsonSchema)]
struct ModelList {
    object: &'static str,
    data: Vec<ModelEntry>,
}

/// A model.
#[derive(Debug, Serialize, JsonSchema)]
struct ModelEntry {
    id: Arc<str>,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

fn entries(shared: &Shared) -> impl Iterator<Item = ModelEntry> {
    let others = shared.runtime.models().skip(1).map(ModelName::as_str);
    let others = others.filter(|name| **name != *shared.model).map(Arc::from);
    let entry = |id| ModelEntry { id, object: "model", created: 0, owned_by: "madang" };
    let first = shared.runtime.has_model().then(|| shared.model.clone());
    first.into_iter().chain(others).map(entry)
}

async fn list(State(shared): State<Arc<Shared>>, _: Caller) -> Result<Response, Problem> {
    Ok(answer::json(&ModelList { object: "list", data: entries(&shared).collect() }))
}

async fn one(
    State(shared): State<Arc<Shared>>,
    _: Caller,
    Ids(model): Ids<String>,
) -> Result<Response, Problem> {
    let entry = entries(&shared).find(|entry| *entry.id == *model);
    Ok(answer::json(&entry.ok_or_else(Problem::not_found)?))
}
