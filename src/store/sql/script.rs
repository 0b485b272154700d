//! Several statements that go to SQLite's thread in one trip.

use madang_actors::port::poll_before_park;
use sqlx::{
    Encode, Sqlite, Type,
    sqlite::{SqliteArguments, SqliteRow},
};

use super::own::Own;

/// Statements in one script: few enough for its text to come again, so that it is still prepared then. Preparing costs
/// several times what running does, and a trip to SQLite's thread is little for eight statements.
const LONG: u64 = 8;

/// Statements and what is bound in them. Each must change exactly one row.
#[derive(Debug, Default)]
pub(super) struct Script {
    sql: String,
    arguments: SqliteArguments,
    statements: u64,
    guards: Guards,
}

/// What notices a statement that found no row to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Guards {
    /// The caller, when the script is over.
    #[default]
    Behind,
    /// A statement behind it, so that nothing after it is run.
    Between,
}

/// Refuses what came before it, where that found no row; see the view.
const GUARD: &str = "INSERT INTO madang_refused SELECT 'no row' WHERE changes() <> 1;";

/// What a script did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    /// Each statement changed its row.
    All,
    /// At least one found no row to change.
    NotAll,
}

impl Script {
    pub(super) fn new(guards: Guards) -> Self {
        Self { guards, ..Self::default() }
    }

    /// Adds a statement that may find no row to change.
    pub(super) fn search(&mut self, sql: &'static str) -> &mut Self {
        self.statements(1, sql);
        if self.guards == Guards::Between {
            self.sql.push_str(GUARD);
        }
        self
    }

    /// Adds so many statements, in which `$1` is the first value bound after this.
    pub(super) fn statements(&mut self, count: u64, sql: &'static str) -> &mut Self {
        let bound = sqlx::Arguments::len(&self.arguments);
        self.statements += count;
        let mut parts = sql.split('$');
        self.sql.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = part.split_at(digits);
            let number: usize =
                number.parse().expect("statements of this crate number what they bind");
            self.sql.push('$');
            self.sql.push_str(&(bound + number).to_string());
            self.sql.push_str(rest);
        }
        self.sql.push(';');
        self
    }

    /// Binds the next value.
    pub(super) fn bind<'q, T: Encode<'q, Sqlite> + Type<Sqlite>>(&mut self, value: T) -> &mut Self {
        let bound = sqlx::Arguments::add(&mut self.arguments, value);
        bound.expect("texts, numbers and bytes can always be bound");
        self
    }

    /// It is better sent now.
    pub(super) const fn is_long(&self) -> bool {
        self.statements >= LONG
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.statements == 0
    }

    /// Adds what ends one part and begins another. Only a script whose guards stand between can have it.
    pub(super) fn advance_savepoint(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    /// Runs the statements one after the other, up to the first that fails or is refused, and gives their rows.
    pub(super) async fn run_to_rows(&mut self, own: &mut Own<'_>) -> sqlx::Result<Vec<SqliteRow>> {
        let Self { sql, arguments, guards, .. } = std::mem::take(self);
        self.guards = guards;
        // All of them: a caller that asks for one row ends the script behind the first.
        poll_before_park(sqlx::query_with(own.sql(&sql), arguments).fetch_all(&mut *own.db)).await
    }

    /// Runs the statements one after the other, up to the first that fails.
    pub(super) async fn run(&mut self, own: &mut Own<'_>) -> sqlx::Result<Changed> {
        let Self { sql, arguments, statements, guards } = std::mem::take(self);
        self.guards = guards;
        let query = sqlx::query_with(own.sql(&sql), arguments);
        let done = poll_before_park(query.execute(&mut *own.db)).await?;
        Ok(if done.rows_affected() == statements { Changed::All } else { Changed::NotAll })
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
            script.statements(1, "VALUES (1)");
            assert!(!script.is_empty());
        }
    }
}
