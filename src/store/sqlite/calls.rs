//! Reads the calls that a filter selects, in the order of their numbers.

use madang_actors::{
    port::{LedgerFilter, LedgerRow, SelectedCalls, StoreError},
    protocol::CallId,
};
use sqlx::{QueryBuilder, Sqlite, sqlite::SqliteRow};

use super::{
    own::Own,
    read::{all, one},
};
use crate::store::rows::{
    calls::{self as rows, SelectedRows},
    columns::Columns,
};

/// Lists the calls that a filter selects.
pub(super) async fn read(
    own: &mut Own<'_>,
    filter: &LedgerFilter,
) -> Result<Vec<LedgerRow>, StoreError> {
    rows::read(&mut Selected { own, filter }, filter).await
}

/// The calls that a filter selects.
struct Selected<'c, 'o> {
    own: &'c mut Own<'o>,
    filter: &'c LedgerFilter,
}

impl SelectedRows for Selected<'_, '_> {
    type Row = SqliteRow;
    type Position = i64;

    // A number never changes.
    async fn position_of(&mut self, call: CallId) -> Result<Option<i64>, StoreError> {
        let LedgerFilter { session, user, .. } = self.filter;
        let this = LedgerFilter {
            session: session.clone(),
            user: user.clone(),
            ..LedgerFilter::call(call)
        };
        let mut query = query(self.own, "*", &this, None, None);
        one(self.own.db, query.build()).await?.as_ref().map(Self::position).transpose()
    }

    fn position(row: &SqliteRow) -> Result<i64, StoreError> {
        row.integer("number")
    }

    async fn rows(
        &mut self,
        behind: Option<i64>,
        limit: Option<usize>,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let mut query = query(self.own, "*", self.filter, behind, limit);
        all(self.own.db, query.build()).await
    }

    async fn sizes(
        &mut self,
        behind: Option<i64>,
        limit: Option<usize>,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        const BYTES: &str = "octet_length(raw_arguments) + coalesce(octet_length(opaque), 0) \
            + coalesce(octet_length(arguments), 0) + coalesce(octet_length(asked), 0) + coalesce(octet_length(shown), 0) \
            + coalesce(octet_length(outcome), 0) AS bytes";
        let mut query = query(self.own, BYTES, self.filter, behind, limit);
        all(self.own.db, query.build()).await
    }
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
