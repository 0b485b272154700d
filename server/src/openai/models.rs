//! The list of models, which has the one of this server.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
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
            .says("Lists the models, as OpenAI's clients read it.")
            .gives::<ModelList>(StatusCode::OK, "The models."),
        Route::get("/v1/models/{model}", chat, one)
            .says("Describes a model, as OpenAI's clients read it.")
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

fn entry(shared: &Shared) -> ModelEntry {
    ModelEntry { id: shared.model.clone(), object: "model", created: 0, owned_by: "madang" }
}

async fn list(State(shared): State<Arc<Shared>>, _: Caller) -> Result<Response, Problem> {
    Ok(answer::json(&ModelList { object: "list", data: vec![entry(&shared)] }))
}

async fn one(
    State(shared): State<Arc<Shared>>,
    _: Caller,
    Ids(model): Ids<String>,
) -> Result<Response, Problem> {
    if *model != *shared.model {
        return Err(Problem::not_found());
    }
    Ok(answer::json(&entry(&shared)))
}
