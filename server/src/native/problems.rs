//! Explains the problem types, each at the address that its problems have as `type`.

use axum::{http::StatusCode, response::Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer,
    extract::Ids,
    problem::{Problem, ProblemName},
    route::{Access, Route},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/problems/{name}", Access::Public, problem)
            .id("getProblem")
            .says("Returns the meaning of a problem type.")
            .gives::<ProblemType>(StatusCode::OK, "The problem type.")
            .refuses(&[ProblemName::NotFound]),
    ]
}

/// The meaning of a problem type.
#[derive(Debug, Serialize, JsonSchema)]
struct ProblemType {
    name: &'static str,
    title: &'static str,
    /// The status of its answers.
    status: u16,
    /// Whether the same request can succeed later.
    may_be_repeated: bool,
}

async fn problem(Ids(name): Ids<String>) -> Result<Response, Problem> {
    let found = ProblemName::ALL.iter().find(|known| known.name() == name);
    let found = found.ok_or_else(Problem::not_found)?;
    Ok(answer::json(&ProblemType {
        name: found.name(),
        title: found.title(),
        status: found.status().as_u16(),
        may_be_repeated: found.may_be_repeated(),
    }))
}
