//! Reads the calls that a filter selects, in the order of their proposals.
//!
//! The numbers of one user's calls come in the order of their commits, because they are drawn under
//! the lock of the user's row. Those of several users do not: a number can become visible after a
//! higher one. So a page over all users goes by the transaction first, and ends before the first
//! transaction that still runs in this database. A reader that continues after the last call of a page
//! misses none.

use madang_actors::{
    port::{LedgerFilter, LedgerRow, SelectedCalls, StoreError},
    protocol::CallId,
};
use sqlx::{Postgres, QueryBuilder, postgres::PgRow};

use super::{own::Own, read::CALL};
use crate::store::rows::{
    calls::{self as rows, SelectedRows},
    columns::Columns as _,
};

/// Lists the calls that a filter selects.
pub(super) async fn read(
    own: &mut Own<'_>,
    filter: &LedgerFilter,
) -> Result<Vec<LedgerRow>, StoreError> {
    let before = if is_page_over_all_users(filter) { Some(horizon(own).await?) } else { None };
    rows::read(&mut Selected { own, filter, before }, filter).await
}

/// Returns whether other calls may be committed among those that are read.
const fn is_page_over_all_users(filter: &LedgerFilter) -> bool {
    let is_page = filter.after.is_some() || filter.limit.is_some() || filter.max_bytes.is_some();
    let is_of_one = filter.user.is_some()
        || filter.session.is_some()
        || matches!(filter.calls, SelectedCalls::One(_));
    is_page && !is_of_one
}

/// Finds the transaction from which on a later reader may find more: the first that runs in this
/// database, or the next one. The statement's own snapshot is older than the list of transactions, so
/// what has ended in between is seen by the next statement.
async fn horizon(own: &mut Own<'_>) -> Result<i64, StoreError> {
    // The list has the lower half of the numbers that a snapshot has.
    let query = own.query(
        "SELECT least(next, min(next - behind) FILTER (WHERE behind BETWEEN 1 AND 2147483648)) AS before FROM ( \
             SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS of(next) \
         LEFT JOIN LATERAL ( \
             SELECT (next - xid::text::bigint) & 4294967295 FROM ( \
                 SELECT backend_xid FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL \
                 UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()) AS runs(xid) \
             ) AS running(behind) ON TRUE GROUP BY next",
    );
    let row = own.one(query).await?;
    row.ok_or_else(|| StoreError::unavailable("the server names no transaction"))?.integer("before")
}

/// The calls that a filter selects.
struct Selected<'c, 'o> {
    own: &'c mut Own<'o>,
    filter: &'c LedgerFilter,
    /// The first transaction whose calls are not read.
    before: Option<i64>,
}

/// The place of a call: its transaction and its number. Among the calls of one user or one session
/// the transaction does not count.
type Place = (i64, i64);

impl SelectedRows for Selected<'_, '_> {
    type Row = PgRow;
    type Position = Place;

    // A place never changes.
    async fn position_of(&mut self, call: CallId) -> Result<Option<Place>, StoreError> {
        let LedgerFilter { session, user, .. } = self.filter;
        let this = LedgerFilter {
            session: session.clone(),
            user: user.clone(),
            ..LedgerFilter::call(call)
        };
        let mut query = query(CALL, &this, None, None, None);
        let query = self.own.prepared(query.build());
        self.own.one(query).await?.as_ref().map(Self::position).transpose()
    }

    fn position(row: &PgRow) -> Result<Place, StoreError> {
        Ok((row.integer("tx")?, row.integer("number")?))
    }

    async fn rows(
        &mut self,
        behind: Option<Place>,
        limit: Option<usize>,
    ) -> Result<Vec<PgRow>, StoreError> {
        let mut query = query(CALL, self.filter, self.before, behind, limit);
        let query = self.own.prepared(query.build());
        self.own.all(query).await
    }

    async fn sizes(
        &mut self,
        behind: Option<Place>,
        limit: Option<usize>,
    ) -> Result<Vec<PgRow>, StoreError> {
        const BYTES: &str = "SELECT (octet_length(raw_arguments) + coalesce(octet_length(opaque), 0) \
            + coalesce(octet_length(arguments), 0) + coalesce(octet_length(asked), 0) + coalesce(octet_length(shown), 0) \
            + coalesce(octet_length(outcome), 0))::bigint AS bytes FROM madang.calls AS c";
        let mut query = query(BYTES, self.filter, self.before, behind, limit);
        let query = self.own.prepared(query.build());
        self.own.all(query).await
    }
}

/// Makes the query for a filter.
fn query(
    select: &'static str,
    filter: &LedgerFilter,
    before: Option<i64>,
    behind: Option<Place>,
    limit: Option<usize>,
) -> QueryBuilder<Postgres> {
    let is_of_one = filter.user.is_some() || filter.session.is_some();
    let mut query = QueryBuilder::new(select);
    query.push(" WHERE TRUE");
    if let Some(session) = &filter.session {
        query.push(" AND c.session = ").push_bind(session.as_str());
    }
    if let Some(user) = &filter.user {
        query.push(" AND c.user_id = ").push_bind(user.as_str());
    }
    match filter.calls {
        SelectedCalls::All => &mut query,
        SelectedCalls::One(call) => query.push(" AND c.call = ").push_bind(call.uuid()),
        SelectedCalls::Open => query.push(" AND c.ended_at IS NULL"),
        SelectedCalls::StandingApprovals => {
            query.push(" AND c.kind = 'always' AND c.revoked_at IS NULL")
        }
        SelectedCalls::RestOn(by_call) => {
            query.push(" AND c.rests_on = ").push_bind(by_call.uuid())
        }
        SelectedCalls::Unresolved => query.push(" AND c.effect = 'unknown'"),
    };
    if let Some(before) = before {
        query.push(" AND c.tx < ").push_bind(before.to_string()).push("::xid8");
    }
    match behind {
        None => {}
        Some((_, number)) if is_of_one => {
            query.push(" AND c.number > ").push_bind(number);
        }
        Some((tx, number)) => {
            query.push(" AND (c.tx, c.number) > (").push_bind(tx.to_string()).push("::xid8, ");
            query.push_bind(number).push(")");
        }
    }
    query.push(if is_of_one { " ORDER BY c.number" } else { " ORDER BY c.tx, c.number" });
    if let Some(limit) = limit {
        query.push(" LIMIT ").push_bind(i64::try_from(limit).unwrap_or(i64::MAX));
    }
    query
}
