//! The rows of a group of facts, a column an array, and the one statement that writes them.

use madang_actors::port::StoreError;
use sqlx::{Postgres, postgres::PgHasArrayType};
use uuid::Uuid;

use super::own::{Own, Statement, patiently};

/// The columns of one table, each with a value for each row. They are bound in this order.
macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident { $($column:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Default)]
            pub(super) struct $table {
                $(pub(super) $column: $type,)*
            }

            impl $table {
                fn bind<'q>(self, statement: Statement<'q>) -> Statement<'q> {
                    let Self { $($column),* } = self;
                    $(let statement = statement.bind($column);)*
                    statement
                }

                /// Names the types of its columns, for the call of the function.
                const TYPES: &'static [&'static str] = &[$(<$type as ArrayOf>::NAME),*];
            }
        )*
    };
}

tables! {
    /// What the facts add to what is stored of each user.
    UserBytes { user: Vec<String>, bytes: Vec<i64> }

    NewSessions {
        session: Vec<String>,
        user: Vec<String>,
        opened_at: Vec<i64>,
        seal: Vec<Option<String>>,
    }

    ChangedSessions {
        session: Vec<String>,
        last_at: Vec<Option<i64>>,
        title: Vec<Option<String>>,
        is_temporary: Vec<bool>,
    }

    NewTurns {
        session: Vec<String>,
        turn: Vec<Uuid>,
        user: Vec<String>,
        began_at: Vec<i64>,
        options: Vec<String>,
        language: Vec<Option<String>>,
        counted: Vec<i64>,
        key: Vec<Option<String>>,
        text: Vec<Vec<u8>>,
        round: Vec<i64>,
        round_from: Vec<i64>,
        dismissed_at: Vec<Option<i64>>,
        resumes: Vec<i64>,
        ended_at: Vec<Option<i64>>,
        ended_behind: Vec<Option<i64>>,
        ending: Vec<Option<String>>,
        error: Vec<Option<String>>,
        usage: Vec<String>,
    }

    ChangedTurns {
        session: Vec<String>,
        turn: Vec<Uuid>,
        round: Vec<i64>,
        round_from: Vec<i64>,
        dismissed_at: Vec<Option<i64>>,
        resumes: Vec<i64>,
        ended_at: Vec<Option<i64>>,
        ended_behind: Vec<Option<i64>>,
        ending: Vec<Option<String>>,
        error: Vec<Option<String>>,
        usage: Vec<String>,
    }

    Messages {
        session: Vec<String>,
        seq: Vec<i64>,
        turn: Vec<Uuid>,
        at: Vec<i64>,
        content: Vec<Option<String>>,
        call: Vec<Option<Uuid>>,
    }

    /// Links of chains. The columns after the hash repeat what the triggers of the tables check.
    Links {
        session: Vec<String>,
        position: Vec<i64>,
        call: Vec<Uuid>,
        at: Vec<i64>,
        step: Vec<String>,
        transition: Vec<String>,
        salt: Vec<Vec<u8>>,
        hash: Vec<Vec<u8>>,
        effect: Vec<Option<String>>,
        result: Vec<Option<String>>,
        by_user: Vec<Option<String>>,
        digest: Vec<Option<Vec<u8>>>,
        schema: Vec<Option<Vec<u8>>>,
        expires_at: Vec<Option<i64>>,
        approval: Vec<Option<String>>,
        rests_on: Vec<Option<Uuid>>,
        use_number: Vec<Option<i64>>,
        until: Vec<Option<i64>>,
        uses: Vec<Option<i64>>,
        resource: Vec<Option<Vec<u8>>>,
        has_arguments: Vec<bool>,
    }

    ProposedCalls {
        call: Vec<Uuid>,
        session: Vec<String>,
        turn: Vec<Uuid>,
        seq: Vec<i64>,
        user: Vec<String>,
        name: Vec<Vec<u8>>,
        raw_arguments: Vec<Vec<u8>>,
        model: Vec<Option<String>>,
        opaque: Vec<Option<Vec<u8>>>,
    }

    /// The texts of calls as they stand. All else follows from the links.
    Calls {
        call: Vec<Uuid>,
        arguments: Vec<Option<String>>,
        asked: Vec<Option<String>>,
        shown: Vec<Option<String>>,
        outcome: Vec<Option<String>>,
        approval: Vec<Option<String>>,
        seal: Vec<Option<String>>,
        resolved_by: Vec<Option<String>>,
    }
}

/// All rows that a group of facts writes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) users: UserBytes,
    pub(super) new_sessions: NewSessions,
    pub(super) sessions: ChangedSessions,
    pub(super) new_turns: NewTurns,
    pub(super) turns: ChangedTurns,
    pub(super) messages: Messages,
    pub(super) links: Links,
    pub(super) proposed: ProposedCalls,
    pub(super) calls: Calls,
}

impl Changes {
    /// Returns whether there is nothing to write but the users' rows.
    fn is_empty(&self) -> bool {
        self.new_sessions.session.is_empty()
            && self.sessions.session.is_empty()
            && self.new_turns.session.is_empty()
            && self.turns.session.is_empty()
            && self.messages.session.is_empty()
            && self.links.session.is_empty()
    }

    /// Writes all rows under a claim, or none.
    ///
    /// # Errors
    /// The error of the statement, which aborts the transaction.
    pub(super) async fn write(self, own: &mut Own<'_>, claim: Uuid) -> sqlx::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut statement = own.query(&sql()).bind(claim);
        statement = self.users.bind(statement);
        statement = self.new_sessions.bind(statement);
        statement = self.sessions.bind(statement);
        statement = self.new_turns.bind(statement);
        statement = self.turns.bind(statement);
        statement = self.messages.bind(statement);
        statement = self.links.bind(statement);
        statement = self.proposed.bind(statement);
        statement = self.calls.bind(statement);
        patiently(statement.execute(&mut *own.db)).await.map(drop)
    }
}

/// Makes the call of the function with a place for each column.
fn sql() -> String {
    let tables = [
        UserBytes::TYPES,
        NewSessions::TYPES,
        ChangedSessions::TYPES,
        NewTurns::TYPES,
        ChangedTurns::TYPES,
        Messages::TYPES,
        Links::TYPES,
        ProposedCalls::TYPES,
        Calls::TYPES,
    ];
    let columns = tables.iter().copied().flatten().enumerate();
    let columns = columns.map(|(index, type_name)| format!(", ${}::{type_name}", index + 2));
    format!("SELECT madang.write_v1($1{})", columns.collect::<String>())
}

/// An array as PostgreSQL names its type.
trait ArrayOf {
    const NAME: &'static str;
}

impl<T: Element> ArrayOf for Vec<T> {
    const NAME: &'static str = T::ARRAY;
}

/// A value of an array.
trait Element: PgHasArrayType + sqlx::Type<Postgres> {
    const ARRAY: &'static str;
}

impl Element for String {
    const ARRAY: &'static str = "text[]";
}

impl Element for i64 {
    const ARRAY: &'static str = "bigint[]";
}

impl Element for bool {
    const ARRAY: &'static str = "boolean[]";
}

impl Element for Uuid {
    const ARRAY: &'static str = "uuid[]";
}

impl Element for Vec<u8> {
    const ARRAY: &'static str = "bytea[]";
}

impl<T: Element> Element for Option<T> {
    const ARRAY: &'static str = T::ARRAY;
}

/// Converts a number to PostgreSQL's integer.
pub(super) fn integer(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number)
        .map_err(|_| StoreError::refused(format!("the number {number} is too large")))
}
