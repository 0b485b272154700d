//! Contains the table of routes, and makes the router from it. A route that is not in the table
//! does not exist.

use std::sync::{Arc, OnceLock};

use axum::{
    Router, middleware,
    response::Response,
    routing::{self, MethodRouter},
};

use bytes::Bytes;

#[cfg(feature = "mcp")]
use crate::mcp;
use crate::{
    ag_ui, ai_sdk, answer,
    guard::layer,
    native, openai, openapi, page,
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
};

/// Returns all routes.
pub(crate) fn table() -> Vec<Route> {
    let own = Route::get("/openapi.json", Access::Public, description)
        .id("getOpenApi")
        .says("Returns the description of the API.")
        .gives_text("application/json", "OpenAPI 3.1.");
    let surfaces = [
        native::routes(),
        openai::routes(),
        ag_ui::routes(),
        ai_sdk::routes(),
        #[cfg(feature = "mcp")]
        mcp::routes(),
        page::routes(),
    ];
    surfaces.into_iter().flatten().chain([own]).collect()
}

/// Makes the router of all routes, with the guard before each.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    for Route { path, rule, handler, .. } in table() {
        let guard = middleware::from_fn_with_state((shared.clone(), rule), layer::authorize);
        router = router.route(path, handler.route_layer(guard));
    }
    let outermost = middleware::from_fn_with_state(shared.clone(), layer::outermost);
    router
        .method_not_allowed_fallback(method_not_allowed)
        .layer(outermost)
        .with_state(shared.clone())
}

/// Answers each path that is not in the table, after the same guard.
pub(crate) fn fallback(shared: &Arc<Shared>) -> MethodRouter {
    let outermost = middleware::from_fn_with_state(shared.clone(), layer::outermost);
    routing::any(async || Problem::not_found()).layer(outermost)
}

/// Answers with the description of all routes, which does not change during the life of the
/// process.
async fn description() -> Response {
    // All readers share its bytes, because it is sent without a credential.
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let text = || openapi::describe(&table()).to_string().into();
    answer::json_text(TEXT.get_or_init(text).clone())
}

async fn method_not_allowed() -> Problem {
    Problem::new(ProblemName::MethodNotAllowed, "This path does not allow this method.")
}
