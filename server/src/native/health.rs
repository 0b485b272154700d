//! Answers whether the process is alive, and whether it may serve.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use madang::{Health, ModelName};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer,
    auth::scope::TokenScope,
    problem::{Problem, ProblemName},
    route::{Access, Route},
    scrape,
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/healthz", Access::Public, async || "ok")
            .says("Answers as long as the process does.")
            .gives_text("text/plain", "The word ok."),
        Route::get("/readyz", Access::Public, ready)
            .says("Tells whether the server may take requests.")
            .gives::<Readiness>(StatusCode::OK, "It may.")
            .gives::<Readiness>(
                StatusCode::SERVICE_UNAVAILABLE,
                "It ends, or a part of it is broken.",
            ),
        Route::get("/metrics", Access::Scope(TokenScope::Admin), metrics)
            .says("Gives all metrics as Prometheus reads them, where the server keeps them.")
            .gives_text("text/plain; version=0.0.4", "The metrics.")
            .refuses(&[ProblemName::NotFound]),
    ]
}

/// Whether the server may take requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Readiness {
    /// It takes requests.
    Ready {
        /// The chats that the last end cut off in mid-turn and that have not gone on yet.
        interrupted: usize,
    },
    /// It is about to end.
    Draining,
    /// A part of it is broken.
    Unhealthy {
        /// The part.
        part: &'static str,
        /// The model of the part, where it is one of several.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<ModelName>,
    },
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    let readiness = match shared.runtime.health() {
        _ if shared.drain.is_draining() => Readiness::Draining,
        Health::Healthy => Readiness::Ready { interrupted: shared.runtime.interrupted_sessions() },
        Health::Unhealthy { actor, model } => Readiness::Unhealthy { part: actor, model },
        _ => Readiness::Unhealthy { part: "runtime", model: None },
    };
    let status = match readiness {
        Readiness::Ready { .. } => StatusCode::OK,
        Readiness::Draining | Readiness::Unhealthy { .. } => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, answer::json(&readiness)).into_response()
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Result<Response, Problem> {
    let render = shared.extras.metrics.as_ref().ok_or_else(Problem::not_found)?;
    Ok(scrape::text(&**render))
}
