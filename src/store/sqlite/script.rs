//! Sends several statements to SQLite's thread in one trip.

use madang_actors::port::poll_before_park;
use sqlx::{Encode, Sqlite, Type, sqlite::SqliteArguments};

use super::own::Own;

/// The statements of one script. Short texts repeat and stay prepared; preparing costs several
/// times what running does, and a trip is cheap for eight statements.
const LONG: u64 = 8;

/// Statements and their values. Each statement must change exactly one row.
#[derive(Debug, Default)]
pub(super) struct Script {
    sql: String,
    arguments: SqliteArguments,
    statements: u64,
}

impl Script {
    /// Adds a statement. The values bound next replace its `?`, in their order.
    pub(super) fn statement(&mut self, sql: &'static str) -> &mut Self {
        self.statements += 1;
        self.check(sql)
    }

    /// Adds a statement that changes a row only when it refuses.
    pub(super) fn check(&mut self, sql: &'static str) -> &mut Self {
        self.sql.push_str(sql);
        self.sql.push(';');
        self
    }

    /// Binds the next value.
    pub(super) fn bind<'q, T: Encode<'q, Sqlite> + Type<Sqlite>>(&mut self, value: T) -> &mut Self {
        let bound = sqlx::Arguments::add(&mut self.arguments, value);
        bound.expect("texts, numbers and bytes can always be bound");
        self
    }

    /// Returns whether the script should be sent before it grows.
    pub(super) const fn is_long(&self) -> bool {
        self.statements >= LONG
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.statements == 0
    }

    /// Runs the statements in order, up to the first that fails. Returns whether each changed its
    /// row.
    pub(super) async fn run(&mut self, own: &mut Own<'_>) -> sqlx::Result<bool> {
        let Self { sql, arguments, statements } = std::mem::take(self);
        let query = sqlx::query_with(own.sql(&sql), arguments);
        let done = poll_before_park(query.execute(&mut *own.db)).await?;
        Ok(done.rows_affected() == statements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_sent_before_its_text_is_too_long_to_come_again_and_never_empty() {
        let mut script = Script::default();
        assert!(script.is_empty());
        for number in 1..=2 * LONG {
            assert_eq!(script.is_long(), number > LONG, "{number}");
            script.statement("VALUES (1)");
            assert!(!script.is_empty());
        }
    }
}
