//! The session in a path.

use std::{collections::HashMap, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts as Head};
use madang::Session;

use super::ids::Ids;
use crate::{auth::caller::Caller, problem::Problem, state::Shared};

/// The caller's own session that the path names as `{session}`.
#[derive(Debug)]
pub(crate) struct OwnSession(pub(crate) Session);

impl FromRequestParts<Arc<Shared>> for OwnSession {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Head, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let Ids(ids) = Ids::<HashMap<String, String>>::from_request_parts(head, shared).await?;
        let caller = Caller::from_request_parts(head, shared).await?;
        let id = ids.get("session").ok_or_else(Problem::not_found)?;
        caller.session(&shared.runtime, id).await.map(Self)
    }
}
