//! Reads the calls that a filter selects, page by page, in the order of their proposals.

use madang_actors::{
    port::{LedgerFilter, LedgerRow, SelectedCalls, StoreError},
    protocol::CallId,
};
use sqlx::{QueryBuilder, Sqlite};
use tracing::error;

use super::{
    own::Own,
    read::{all, one},
};
use crate::store::rows::{columns::Columns, ledger::call_as_far_as_readable};

/// Lists the calls that a filter selects.
pub(super) async fn read(
    own: &mut Own<'_>,
    filter: &LedgerFilter,
) -> Result<Vec<LedgerRow>, StoreError> {
    let mut calls = Vec::new();
    let mut behind = match filter.after {
        None => None,
        Some(after) => Some(number(own, filter, after).await?),
    };
    // Runs once, unless rows are left out: later ones then fill the page.
    loop {
        let mut missing = filter.limit.map(|limit| limit - calls.len());
        if filter.max_bytes.is_some() {
            missing = Some(fitting(own, filter, behind, missing).await?);
        }
        let mut query = query(own, "*", filter, behind, missing);
        let rows = all(own.db, query.build()).await?;
        for row in &rows {
            behind = Some(row.integer("number")?);
            match call_as_far_as_readable(row) {
                Ok(call) => calls.extend(call),
                // A list over all chats skips a row without ids. A question about one chat or call
                // fails instead of missing the row.
                Err(cause)
                    if filter.session.is_none()
                        && !matches!(filter.calls, SelectedCalls::One(_)) =>
                {
                    let call = row.text("call");
                    error!(number = ?behind, ?call, %cause, "a row of the ledger cannot be read");
                }
                Err(cause) => return Err(cause),
            }
        }
        let is_whole = missing.is_none_or(|missing| rows.len() < missing);
        if is_whole
            || filter.max_bytes.is_some()
            || filter.limit.is_none_or(|limit| limit == calls.len())
        {
            return Ok(calls);
        }
    }
}

/// Counts the calls that a filter with a bound in bytes selects. The database counts the bytes, so
/// that no more calls are in memory.
async fn fitting(
    own: &mut Own<'_>,
    filter: &LedgerFilter,
    behind: Option<i64>,
    limit: Option<usize>,
) -> Result<usize, StoreError> {
    const BYTES: &str = "octet_length(raw_arguments) + coalesce(octet_length(opaque), 0) \
        + coalesce(octet_length(arguments), 0) + coalesce(octet_length(asked), 0) + coalesce(octet_length(shown), 0) \
        + coalesce(octet_length(outcome), 0) AS bytes";
    let mut query = query(own, BYTES, filter, behind, limit);
    let rows = all(own.db, query.build()).await?;
    let bytes = rows.iter().map(|row| row.integer("bytes")).collect::<Result<Vec<_>, _>>()?;
    Ok(filter.fitting(bytes.into_iter().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))))
}

/// Makes the query for a filter. SQLite searches by one index. A `+` hides a condition from the
/// index if another condition leaves fewer rows.
pub(super) fn query(
    own: &Own<'_>,
    columns: &str,
    filter: &LedgerFilter,
    behind: Option<i64>,
    limit: Option<usize>,
) -> QueryBuilder<Sqlite> {
    // Without a hint SQLite reads all calls that ever were, in order, to spare sorting the few open
    // ones.
    let hint = match (filter.calls, &filter.session) {
        (SelectedCalls::Open, None) => " INDEXED BY madang_open_calls",
        _ => "",
    };
    let sql = format!("SELECT {columns} FROM madang_calls{hint} WHERE TRUE");
    let mut query = QueryBuilder::new(own.sql(&sql).0);
    if let Some(session) = &filter.session {
        query.push(" AND session = ").push_bind(session.as_str());
    }
    if let Some(user) = &filter.user {
        let is_rare = matches!(filter.calls, SelectedCalls::One(_) | SelectedCalls::Open);
        let column = if is_rare || filter.session.is_some() { "+user" } else { "user" };
        query.push(" AND ").push(column).push(" = ").push_bind(user.as_str());
    }
    match filter.calls {
        SelectedCalls::All => &mut query,
        SelectedCalls::One(call) => query.push(" AND call = ").push_bind(call.to_string()),
        SelectedCalls::Open => query.push(" AND ended_at IS NULL"),
        SelectedCalls::StandingApprovals => {
            query.push(" AND approval ->> '$.kind' = 'always' AND revoked_at IS NULL")
        }
        SelectedCalls::RestOn(by_call) => {
            query.push(" AND approval ->> '$.by_call' = ").push_bind(by_call.to_string())
        }
        SelectedCalls::Unresolved => query.push(" AND effect = 'unknown'"),
    };
    if let Some(behind) = behind {
        query.push(" AND number > ").push_bind(behind);
    }
    query.push(" ORDER BY number");
    if let Some(limit) = limit {
        query.push(" LIMIT ").push_bind(i64::try_from(limit).unwrap_or(i64::MAX));
    }
    query
}

/// Finds the number of a call, which never changes. The call must be of the filter's user and
/// session.
async fn number(own: &mut Own<'_>, filter: &LedgerFilter, call: CallId) -> Result<i64, StoreError> {
    let LedgerFilter { session, user, .. } = filter;
    let this =
        LedgerFilter { session: session.clone(), user: user.clone(), ..LedgerFilter::call(call) };
    let mut query = query(own, "*", &this, None, None);
    let row = one(own.db, query.build()).await?;
    let row = row.ok_or_else(|| StoreError::refused(format!("there is no call {call}")))?;
    row.integer("number")
}
