//! Returns whether the process is alive, and whether the server accepts requests.

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
            .id("getHealth")
            .says("Returns `ok` while the process is alive.")
            .gives_text("text/plain", "`ok`"),
        Route::get("/readyz", Access::Public, ready)
            .id("getReadiness")
            .says("Returns whether the server accepts requests.")
            .gives::<Readiness>(StatusCode::OK, "The server accepts requests.")
            .gives::<Readiness>(
                StatusCode::SERVICE_UNAVAILABLE,
                "The server is shutting down, or a part of it is unhealthy.",
            ),
        Route::get("/metrics", Access::Scope(TokenScope::Admin), metrics)
            .id("getMetrics")
            .says("Returns all metrics in the format of Prometheus, if metrics are enabled.")
            .gives_text("text/plain; version=0.0.4", "The metrics.")
            .refuses(&[ProblemName::NotFound]),
    ]
}

/// Whether the server accepts requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Readiness {
    /// It accepts requests.
    Ready {
        /// The number of chats that the end of the last process cut off during a turn and that have
        /// not resumed yet.
        interrupted: usize,
    },
    /// It is shutting down.
    Draining,
    /// A part of it is unhealthy.
    Unhealthy {
        /// The name of the part.
        part: &'static str,
        /// The model of the part, if there are several models.
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
