//! Reads the calls that a filter selects, page by page, in the order of their proposals.

use madang_actors::{
    port::{LedgerFilter, LedgerRow, SelectedCalls, StoreError},
    protocol::CallId,
};
use tracing::error;

use super::{columns::Columns, ledger::call_as_far_as_readable};

/// The calls that one filter selects, as a database has them.
pub(crate) trait SelectedRows: Send {
    type Row: Columns + Send + Sync;
    /// A position in the order of the proposals.
    type Position: Copy + std::fmt::Debug + Send;

    /// Finds the position of a call of the filter's user and session.
    fn position_of(
        &mut self,
        call: CallId,
    ) -> impl Future<Output = Result<Option<Self::Position>, StoreError>> + Send;

    /// Returns the position of a row.
    fn position(row: &Self::Row) -> Result<Self::Position, StoreError>;

    /// Reads the calls behind a position.
    fn rows(
        &mut self,
        behind: Option<Self::Position>,
        limit: Option<usize>,
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Reads the `bytes` of each of these calls. The database counts them, so that no more calls are
    /// in memory.
    fn sizes(
        &mut self,
        behind: Option<Self::Position>,
        limit: Option<usize>,
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;
}

/// Lists the calls that a filter selects.
pub(crate) async fn read<D: SelectedRows>(
    its: &mut D,
    filter: &LedgerFilter,
) -> Result<Vec<LedgerRow>, StoreError> {
    let mut calls = Vec::new();
    let mut behind = match filter.after {
        None => None,
        Some(after) => {
            let position = its.position_of(after).await?;
            let none = || StoreError::refused(format!("there is no call {after}"));
            Some(position.ok_or_else(none)?)
        }
    };
    // Runs once, unless rows are left out: later ones then fill the page.
    loop {
        let mut missing = filter.limit.map(|limit| limit - calls.len());
        if filter.max_bytes.is_some() {
            missing = Some(fitting(its, filter, behind, missing).await?);
        }
        let rows = its.rows(behind, missing).await?;
        for row in &rows {
            behind = Some(D::position(row)?);
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

/// Counts the calls that a filter with a bound in bytes selects.
async fn fitting<D: SelectedRows>(
    its: &mut D,
    filter: &LedgerFilter,
    behind: Option<D::Position>,
    limit: Option<usize>,
) -> Result<usize, StoreError> {
    let rows = its.sizes(behind, limit).await?;
    let bytes = rows.iter().map(|row| row.integer("bytes")).collect::<Result<Vec<_>, _>>()?;
    Ok(filter.fitting(bytes.into_iter().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))))
}
