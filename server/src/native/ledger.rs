//! Reads the ledger: the rows of a user's calls, as pages or all of them as lines of JSON.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use madang::{
    CallId,
    ledger::{LedgerFilter, LedgerRow},
    store::StoreError,
};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::warn;
use uuid::Uuid;

use crate::{
    answer::json,
    auth::{
        caller::{Caller, session_id},
        scope::TokenScope,
    },
    extract::{Query, accepts},
    forms::{CallPlace, PageSize, SessionFilter, YesOrNo},
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
    stream::outlet::{BrokenOff, WrittenBody},
};

const LINES: &str = "application/jsonl";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/ledger", Access::Scope(TokenScope::Chat), rows)
            .id("listCalls")
            .says("Lists the calls of the user in the order of their proposals.")
            .query::<SessionFilter>("session", "Only calls of this session.")
            .query::<CallPlace>(
                "after",
                "Only calls after this one: the `next` value of the previous page.",
            )
            .query::<PageSize>("limit", "The maximum number of calls, 1 to 100.")
            .query::<YesOrNo>(
                "all",
                "`true` returns the calls of all users; it needs the scope `admin`.",
            )
            .gives::<LedgerPage>(StatusCode::OK, "A page of the ledger.")
            .gives_as::<LedgerRow>(StatusCode::OK, LINES, "All rows, one on each line.")
            .refuses(&[ProblemName::UnknownValue]),
    ]
}

/// A page of the ledger.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LedgerPage {
    pub(super) calls: Vec<LedgerRow>,
    /// The position of the next page; null for the last page.
    pub(super) next: Option<CallId>,
}

async fn rows(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut filter = LedgerFilter::default();
    if query.parse("all", "It is `true` or `false`.")?.unwrap_or(false) {
        caller.must_have(TokenScope::Admin)?;
    } else {
        filter = filter.of_user(&caller.user);
    }
    if let Some(session) = query.get("session") {
        filter = filter.in_session(&session_id(session)?);
    }
    let limit = query.limit(shared.limits.max_page)?;
    let page = page(&shared, filter.clone(), &query).await?;
    if !accepts(&headers, LINES) {
        return Ok(json(&page));
    }
    let permit = shared.streams.take(&caller.user)?;
    let body = WrittenBody::new(shared.reader(&caller.user), |outlet| async move {
        let _permit = permit;
        let mut page = page;
        loop {
            let mut lines = Vec::new();
            for row in &page.calls {
                serde_json::to_writer(&mut lines, row).expect("a row of ours has text keys");
                lines.push(b'\n');
            }
            if !lines.is_empty() {
                outlet.send(lines.into()).await?;
            }
            let Some(next) = page.next else { return Ok(()) };
            page = read(&shared, &filter.clone().after(next), limit).await.map_err(|error| {
                warn!(%error, "a list of calls breaks off");
                BrokenOff
            })?;
        }
    });
    let headers = [(header::CONTENT_TYPE, LINES), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::new(body)).into_response())
}

/// Reads the page of these calls that a query asks for.
///
/// # Errors
/// Returns a problem if the query cannot be read, or if the store cannot.
pub(super) async fn page(
    shared: &Shared,
    filter: LedgerFilter,
    query: &Query,
) -> Result<LedgerPage, Problem> {
    let after = query.place::<Uuid>("after")?.map(CallId::new);
    match read(shared, &filter.after(after), query.limit(shared.limits.max_page)?).await {
        Err(StoreError::Refused { .. }) => Err(Problem::unknown_place("?after")),
        page => Ok(page?),
    }
}

async fn read(
    shared: &Shared,
    filter: &LedgerFilter,
    limit: usize,
) -> Result<LedgerPage, StoreError> {
    let page = filter.clone().at_most(limit).within(shared.limits.max_page_bytes);
    let calls = shared.runtime.ledger(&page).await?;
    let Some(last) = calls.last().map(|row| row.call) else {
        return Ok(LedgerPage { calls, next: None });
    };
    let rest = filter.clone().after(last).at_most(1);
    let next = shared.runtime.ledger(&rest).await?.first().map(|_| last);
    Ok(LedgerPage { calls, next })
}
