//! Suggests sentences to a newcomer, as the program that runs the server knows its tools.

use std::{collections::BTreeMap, sync::Arc};

use axum::{extract::State, http::StatusCode, response::Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::json,
    auth::{caller::Caller, scope::TokenScope},
    route::{Access, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/suggestions", Access::Scope(TokenScope::Chat), suggestions)
            .id("listSuggestions")
            .says("Lists sentences with which a newcomer may begin a chat, by language.")
            .gives::<Suggestions>(StatusCode::OK, "The sentences, or none."),
    ]
}

/// Sentences with which a chat may begin.
#[derive(Debug, Serialize, JsonSchema)]
struct Suggestions {
    /// The sentences of each language.
    suggestions: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

async fn suggestions(State(shared): State<Arc<Shared>>, _: Caller) -> Response {
    json(&Suggestions { suggestions: shared.extras.suggestions.clone() })
}
