//! Limits the borrowers of a connection to their own tables, with an SQLite authorizer.
//!
//! SQLite asks the authorizer about each statement as it is prepared. It does not ask about columns
//! of `USING` and `NATURAL`, nor about rows that are copied as they are. Such a statement still
//! contains the table's name. So a statement is interrupted before its first row if its text has
//! the prefix of the store's names, or names a table of SQLite's which is not harmless.
//!
//! The authorizer is set once, because setting it again makes SQLite forget its prepared
//! statements. A flag decides whether it refuses. Lending the connection raises the flag. A
//! statement lowers it, queued after all that the borrower left, so that no borrower's statement is
//! ever prepared as the store's own.

use std::{
    collections::BTreeSet,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use libsqlite3_sys as sqlite;
use sqlx::sqlite::LockedSqliteHandle;

use super::{cut_off::CutOff, savepoint};

/// The rules for the borrowers of one connection.
#[derive(Debug)]
pub(super) struct Authorizer {
    kind: Kind,
    is_lent: AtomicBool,
    gave_up: AtomicBool,
    /// Savepoints that a borrower began and has not ended.
    parts: Mutex<BTreeSet<Vec<u8>>>,
}

/// The use of a connection.
#[derive(Debug)]
pub(super) enum Kind {
    /// Lent together with a transaction that the borrower must not end. It is the store's own until
    /// it is lent.
    Writer {
        /// The name of a savepoint that ends the loan of the connection; only the store knows it.
        /// SQLite refuses to run that statement, so it does nothing else.
        password: String,
        /// Interrupts a borrower that overruns.
        cut_off: Arc<CutOff>,
    },
    /// Opened to read and always lent; a borrower's transactions on it harm nothing.
    Reader,
}

/// SQLite had no memory for the authorizer.
#[derive(Debug, thiserror::Error)]
#[error("failed to guard a connection: SQLite gave code {0}")]
pub(super) struct Unguarded(c_int);

/// Pragmas that change nothing and show only tables, columns and whether the file changed.
const HARMLESS_PRAGMAS: [&[u8]; 8] = [
    b"table_info",
    b"table_xinfo",
    b"table_list",
    b"index_list",
    b"index_info",
    b"index_xinfo",
    b"foreign_key_list",
    b"data_version",
];

/// SQLite's own tables that show only which tables exist and how large they are. Its other tables
/// may show pages, statements or samples of rows. Those of temporary objects are hidden too,
/// because a borrower has none.
const HARMLESS_TABLES: [&[u8]; 4] =
    [b"sqlite_master", b"sqlite_schema", b"sqlite_sequence", b"sqlite_stat1"];

/// SQLite's functions whose names begin as those of its tables do.
const HARMLESS_FUNCTIONS: [&[u8]; 4] = [
    b"sqlite_version",
    b"sqlite_source_id",
    b"sqlite_compileoption_get",
    b"sqlite_compileoption_used",
];

/// Functions that load code or take the address of code.
const DANGEROUS_FUNCTIONS: [&[u8]; 2] = [b"load_extension", b"fts3_tokenizer"];

/// `SQLITE_TRACE_STMT` of SQLite's C interface. Its type differs between the releases of
/// libsqlite3-sys that an application may have.
const TRACE_STMT: c_uint = 1;

impl Authorizer {
    /// Creates the rules for a connection of this kind.
    pub(super) const fn new(kind: Kind) -> Self {
        let is_lent = AtomicBool::new(matches!(kind, Kind::Reader));
        let parts = Mutex::new(BTreeSet::new());
        Self { kind, is_lent, gave_up: AtomicBool::new(false), parts }
    }

    /// Treats each statement prepared from here on as a borrower's.
    pub(super) fn lend(&self) {
        self.is_lent.store(true, SeqCst);
    }

    /// Returns whether a borrower asked for a rollback. The transaction stays open, and the store
    /// undoes the borrower's writes.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up.load(SeqCst)
    }

    /// Returns whether a borrower's part is neither kept nor undone, or its end is still in the
    /// queue.
    pub(super) fn has_open_part(&self) -> bool {
        !self.parts().is_empty()
    }

    /// Forgets that a borrower rolled back, after its writes are undone.
    pub(super) fn forget(&self) {
        self.gave_up.store(false, SeqCst);
        self.forget_parts();
    }

    /// Forgets the parts of the last borrower. A part that SQLite begins after that borrower's end
    /// is empty.
    pub(super) fn forget_parts(&self) {
        self.parts().clear();
    }

    fn parts(&self) -> MutexGuard<'_, BTreeSet<Vec<u8>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Guards a connection for its whole life.
    #[expect(unsafe_code, reason = "neither SQLite's C interface nor sqlx has a safe way to it")]
    pub(super) fn guard(self: Arc<Self>, db: &mut LockedSqliteHandle<'_>) -> Result<(), Unguarded> {
        let db = db.as_raw_handle().as_ptr();
        let held = Arc::into_raw(self).cast_mut().cast::<c_void>();
        // SAFETY: `db` is open, and the locked handle keeps other threads from it. The connection
        // owns the count of `held` from here on. `let_go` takes it back when the connection closes,
        // or at once if this call fails. A closed connection neither prepares nor begins a
        // statement.
        let code = unsafe {
            let mut code =
                sqlite::sqlite3_set_clientdata(db, c"madang".as_ptr(), held, Some(let_go));
            if code == sqlite::SQLITE_OK {
                code = sqlite::sqlite3_set_authorizer(db, Some(authorize), held);
            }
            if code == sqlite::SQLITE_OK {
                code = sqlite::sqlite3_trace_v2(db, TRACE_STMT, Some(begin), held);
            }
            code
        };
        if code == sqlite::SQLITE_OK { Ok(()) } else { Err(Unguarded(code)) }
    }

    /// Decides about one action of the statement that is being prepared.
    fn verdict(&self, action: c_int, first: &[u8], second: &[u8], database: &[u8]) -> c_int {
        if !self.is_lent.load(SeqCst) {
            return sqlite::SQLITE_OK;
        }
        if self.is_rollback(action, first) {
            self.gave_up.store(true, SeqCst);
            // Ignored, not denied: sqlx would stop serving a connection on which it cannot roll
            // back.
            return sqlite::SQLITE_IGNORE;
        }
        let is_temporary = database.eq_ignore_ascii_case(b"temp");
        if !is_temporary && self.allows(action, first, second) {
            sqlite::SQLITE_OK
        } else {
            sqlite::SQLITE_DENY
        }
    }

    /// Returns whether this statement is a borrower's and names a table of the store, or one of
    /// SQLite's that no borrower may read.
    fn is_forbidden(&self, statement: &[u8]) -> bool {
        self.is_lent.load(SeqCst)
            && (statement.windows(OURS.len()).any(|part| part.eq_ignore_ascii_case(OURS))
                || names_hidden_table(statement))
    }

    fn is_rollback(&self, action: c_int, operation: &[u8]) -> bool {
        matches!(self.kind, Kind::Writer { .. })
            && action == sqlite::SQLITE_TRANSACTION
            && operation == b"ROLLBACK"
    }

    fn allows(&self, action: c_int, first: &[u8], second: &[u8]) -> bool {
        match action {
            sqlite::SQLITE_SELECT | sqlite::SQLITE_RECURSIVE => true,
            sqlite::SQLITE_READ => may_read(first),
            sqlite::SQLITE_INSERT | sqlite::SQLITE_UPDATE | sqlite::SQLITE_DELETE => {
                may_write(first)
            }
            sqlite::SQLITE_FUNCTION => !is_among(second, &DANGEROUS_FUNCTIONS),
            sqlite::SQLITE_PRAGMA => is_among(first, &HARMLESS_PRAGMAS),
            sqlite::SQLITE_SAVEPOINT => self.may_name(first, second),
            sqlite::SQLITE_TRANSACTION => matches!(self.kind, Kind::Reader),
            // Tables, views, triggers and indexes, other files, and actions of a later SQLite.
            _ => false,
        }
    }

    /// Allows all savepoints but the store's own.
    fn may_name(&self, operation: &[u8], savepoint: &[u8]) -> bool {
        if let Kind::Writer { password, cut_off } = &self.kind {
            if savepoint == password.as_bytes() {
                self.is_lent.store(false, SeqCst);
                cut_off.never();
                return false;
            }
            if savepoint::is_part(savepoint) && operation == b"BEGIN" {
                self.parts().insert(savepoint.to_vec());
            } else {
                self.parts().remove(savepoint);
            }
        }
        !is_ours(savepoint)
    }
}

/// Returns whether borrowers may read a table: not the store's, which hold other users' chats.
fn may_read(table: &[u8]) -> bool {
    !is_ours(table) && (!is_sqlites(table) || is_among(table, &HARMLESS_TABLES))
}

fn may_write(table: &[u8]) -> bool {
    !is_ours(table) && !is_sqlites(table)
}

/// A prefix of the name of each table of the store.
const OURS: &[u8] = b"madang_";

fn is_ours(name: &[u8]) -> bool {
    begins_with(name, OURS) || begins_with(name, b"_madang_")
}

fn is_sqlites(table: &[u8]) -> bool {
    begins_with(table, b"sqlite_")
}

/// Returns whether a statement has a name of SQLite's that is not known to be harmless. A harmless
/// one in a statement with the word `temp` may be that of the temporary schema.
fn names_hidden_table(statement: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let words = || statement.split(|byte| !is_of_name(byte));
    let is_harmless =
        |word: &[u8]| is_among(word, &HARMLESS_TABLES) || is_among(word, &HARMLESS_FUNCTIONS);
    let mut sqlites = words().filter(|word| is_sqlites(word)).peekable();
    sqlites.peek().is_some()
        && (words().any(|word| word.eq_ignore_ascii_case(b"temp"))
            || sqlites.any(|word| !is_harmless(word)))
}

/// Compares as SQLite does, without regard to case.
fn begins_with(name: &[u8], prefix: &[u8]) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn is_among(name: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn authorize(
    authorizer: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    database: *const c_char,
    // The name of a trigger, a view or a `WITH` table: a borrower can choose it, so it proves
    // nothing.
    _within: *const c_char,
) -> c_int {
    // SAFETY: SQLite hands back the pointer of `guard`, and texts that are null or live for this
    // call.
    let (authorizer, first, second, database) = unsafe {
        let authorizer = &*authorizer.cast_const().cast::<Authorizer>();
        (authorizer, text(first), text(second), text(database))
    };
    authorizer.verdict(action, first, second, database)
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn begin(
    _: c_uint,
    authorizer: *mut c_void,
    statement: *mut c_void,
    sql: *mut c_void,
) -> c_int {
    // SAFETY: SQLite hands back the pointer of `guard`, which lives as long as the connection, and
    // a statement that lives for this call.
    unsafe {
        let sql = text(sql.cast_const().cast());
        if (*authorizer.cast_const().cast::<Authorizer>()).is_forbidden(sql) {
            // SQLite checks the interrupt after a program's first step, and clears it when no
            // statement runs.
            sqlite::sqlite3_interrupt(sqlite::sqlite3_db_handle(statement.cast()));
        }
    }
    // SQLite ignores this value.
    0
}

#[expect(unsafe_code, reason = "texts of C")]
unsafe fn text<'t>(text: *const c_char) -> &'t [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: the caller vouches for the text.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

#[expect(unsafe_code, reason = "called by SQLite when it closes the connection")]
unsafe extern "C" fn let_go(authorizer: *mut c_void) {
    // SAFETY: the count that `guard` passed on, taken back once.
    drop(unsafe { Arc::from_raw(authorizer.cast_const().cast::<Authorizer>()) });
}
