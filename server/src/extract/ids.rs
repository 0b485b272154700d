//! Reads the ids in a path.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts as Head,
};
use madang::{CallId, TurnId};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::{problem::Problem, state::Shared};

/// The ids of a path, decoded.
#[derive(Debug)]
pub(crate) struct Ids<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Shared>> for Ids<T> {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Head, state: &Arc<Shared>) -> Result<Self, Problem> {
        let read = Path::from_request_parts(head, state).await;
        let Path(ids) =
            read.map_err(|_| Problem::malformed("The path is not UTF-8 once it is decoded."))?;
        Ok(Self(ids))
    }
}

/// Reads the id of a turn. A text that is not an id is answered as if there were no such turn.
pub(crate) fn turn_id(text: &str) -> Result<TurnId, Problem> {
    Uuid::try_parse(text).map(TurnId::new).map_err(|_| Problem::not_found())
}

/// Reads the id of a call. A text that is not an id is answered as if there were no such call.
pub(crate) fn call_id(text: &str) -> Result<CallId, Problem> {
    Uuid::try_parse(text).map(CallId::new).map_err(|_| Problem::not_found())
}
