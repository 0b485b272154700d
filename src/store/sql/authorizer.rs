//! What a borrower of a connection may say: an SQLite authorizer, asked about each statement as it is prepared.
//!
//! SQLite does not ask about all that a statement reads: not about the columns of `USING` and `NATURAL`, nor about rows that
//! it copies whole from one table to another. No statement can name a table without the letters of its name, so one that has
//! those of the store's in its text is interrupted before its first row.
//!
//! It is set once for the life of a connection, because setting it anew makes SQLite forget what was prepared. Whether it
//! refuses is a flag: raised when the connection is lent, lowered by a statement that stands in the connection's queue behind
//! all that the borrower left there, so that nothing of the borrower's is ever prepared as the store's own.

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

/// What borrowers of one connection may say.
#[derive(Debug)]
pub(super) struct Authorizer {
    kind: Kind,
    is_lent: AtomicBool,
    gave_up: AtomicBool,
    /// The parts that a borrower began and neither kept nor undid.
    parts: Mutex<BTreeSet<Vec<u8>>>,
    /// What is cut off while the connection is lent, and not behind that.
    cut_off: Option<Arc<CutOff>>,
    /// Names the savepoint that only the store can ask for: the store that prepares it has the connection back.
    password: String,
}

/// What the connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is lent with a transaction that is not the borrower's to end.
    Writer,
    /// It cannot write: what transactions there are on it is of no account.
    Reader,
}

/// SQLite had no memory for it.
#[derive(Debug, thiserror::Error)]
#[error("failed to guard a connection: SQLite gave code {0}")]
pub(super) struct Unguarded(c_int);

/// Pragmas that only tell: what tables and columns there are, and whether the file has changed.
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

/// SQLite's own tables that say nothing but which tables there are and how large: any other may show pages, statements or
/// samples of what stands in them.
const HARMLESS_TABLES: [&[u8]; 4] =
    [b"sqlite_master", b"sqlite_temp_master", b"sqlite_sequence", b"sqlite_stat1"];

/// Functions that load code, or take addresses of it.
const DANGEROUS_FUNCTIONS: [&[u8]; 2] = [b"load_extension", b"fts3_tokenizer"];

impl Authorizer {
    /// For a connection that is the store's own until it is lent.
    pub(super) const fn of_writer(password: String, cut_off: Arc<CutOff>) -> Self {
        Self::new(Kind::Writer, password, false, Some(cut_off))
    }

    /// For a connection that is always lent.
    pub(super) const fn of_reader() -> Self {
        Self::new(Kind::Reader, String::new(), true, None)
    }

    const fn new(
        kind: Kind,
        password: String,
        is_lent: bool,
        cut_off: Option<Arc<CutOff>>,
    ) -> Self {
        let (is_lent, gave_up) = (AtomicBool::new(is_lent), AtomicBool::new(false));
        let parts = Mutex::new(BTreeSet::new());
        Self { kind, is_lent, gave_up, parts, cut_off, password }
    }

    /// From here on whatever is prepared is a borrower's.
    pub(super) fn lend(&self) {
        self.is_lent.store(true, SeqCst);
    }

    /// Whether a borrower rolled back. The transaction is open all the same, and what that borrower wrote is to be undone.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up.load(SeqCst)
    }

    /// Whether a part of a borrower's was begun and neither kept nor undone. True also while its end is in the queue.
    pub(super) fn has_open_part(&self) -> bool {
        !self.parts().is_empty()
    }

    /// What the borrower wrote was undone.
    pub(super) fn forget(&self) {
        self.gave_up.store(false, SeqCst);
        self.forget_parts();
    }

    /// Another borrower comes. A part of the last one that was begun only behind its end has nothing in it.
    pub(super) fn forget_parts(&self) {
        self.parts().clear();
    }

    fn parts(&self) -> MutexGuard<'_, BTreeSet<Vec<u8>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The password, as a statement: prepared, it gives the connection back. It is refused all the same, so it does nothing.
    pub(super) fn back(&self) -> String {
        format!("SAVEPOINT {}", self.password)
    }

    /// Guards a connection for as long as that lives.
    #[expect(unsafe_code, reason = "neither SQLite's C interface nor sqlx has a safe way to it")]
    pub(super) fn guard(self: Arc<Self>, db: &mut LockedSqliteHandle<'_>) -> Result<(), Unguarded> {
        let db = db.as_raw_handle().as_ptr();
        let held = Arc::into_raw(self).cast_mut().cast::<c_void>();
        // SAFETY: `db` is open and no other thread uses it while the handle is locked. The connection owns the count of
        // `held` from here on: `let_go` gives it back when the connection is closed, or at once where this fails, and
        // SQLite asks no authorizer of a connection that is closed, nor does it begin a statement there.
        let code = unsafe {
            let mut code =
                sqlite::sqlite3_set_clientdata(db, c"madang".as_ptr(), held, Some(let_go));
            if code == sqlite::SQLITE_OK {
                code = sqlite::sqlite3_set_authorizer(db, Some(authorize), held);
            }
            if code == sqlite::SQLITE_OK {
                code = sqlite::sqlite3_trace_v2(db, sqlite::SQLITE_TRACE_STMT, Some(begin), held);
            }
            code
        };
        if code == sqlite::SQLITE_OK { Ok(()) } else { Err(Unguarded(code)) }
    }

    /// What becomes of this, which is being prepared.
    fn verdict(&self, action: c_int, first: &[u8], second: &[u8]) -> c_int {
        if !self.is_lent.load(SeqCst) {
            return sqlite::SQLITE_OK;
        }
        if self.is_rollback(action, first) {
            self.gave_up.store(true, SeqCst);
            // It does nothing and fails not: sqlx would stop serving a connection on which it cannot roll back.
            return sqlite::SQLITE_IGNORE;
        }
        if self.allows(action, first, second) { sqlite::SQLITE_OK } else { sqlite::SQLITE_DENY }
    }

    /// Whether this statement, which begins, is a borrower's and names anything of the store's.
    fn is_forbidden(&self, statement: &[u8]) -> bool {
        self.is_lent.load(SeqCst)
            && statement.windows(OURS.len()).any(|part| part.eq_ignore_ascii_case(OURS))
    }

    fn is_rollback(&self, action: c_int, operation: &[u8]) -> bool {
        self.kind == Kind::Writer
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
            sqlite::SQLITE_TRANSACTION => self.kind == Kind::Reader,
            // Tables, views, triggers, indexes, temporary ones included; other files; whatever comes with a later SQLite.
            _ => false,
        }
    }

    /// Savepoints are welcome, but for the store's own.
    fn may_name(&self, operation: &[u8], savepoint: &[u8]) -> bool {
        if self.kind == Kind::Writer && savepoint == self.password.as_bytes() {
            self.is_lent.store(false, SeqCst);
            if let Some(cut_off) = &self.cut_off {
                cut_off.never();
            }
            return false;
        }
        if self.kind == Kind::Writer && savepoint::is_part(savepoint) {
            if operation == b"BEGIN" {
                self.parts().insert(savepoint.to_vec());
            } else {
                self.parts().remove(savepoint);
            }
        }
        !is_ours(savepoint)
    }
}

/// Nothing of the store's: other users' chats stand there.
fn may_read(table: &[u8]) -> bool {
    !is_ours(table) && (!is_sqlites(table) || is_among(table, &HARMLESS_TABLES))
}

fn may_write(table: &[u8]) -> bool {
    !is_ours(table) && !is_sqlites(table)
}

/// Is in the name of each table of the store's.
const OURS: &[u8] = b"madang_";

fn is_ours(name: &[u8]) -> bool {
    begins_with(name, OURS) || begins_with(name, b"_madang_")
}

fn is_sqlites(table: &[u8]) -> bool {
    begins_with(table, b"sqlite_")
}

/// SQLite knows names whatever the case of their letters.
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
    _database: *const c_char,
    // The name of a trigger or view, or of whatever a `WITH` calls so: it proves nothing.
    _within: *const c_char,
) -> c_int {
    // SAFETY: SQLite hands back what `guard` gave it, which lives as long as the connection does, and texts that live for
    // this call, or none.
    let (authorizer, first, second) =
        unsafe { (&*authorizer.cast_const().cast::<Authorizer>(), text(first), text(second)) };
    authorizer.verdict(action, first, second)
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn begin(
    _: c_uint,
    authorizer: *mut c_void,
    statement: *mut c_void,
    sql: *mut c_void,
) -> c_int {
    // SAFETY: SQLite hands back what `guard` gave it, which lives as long as the connection does, and the statement that
    // begins with its text, which live for this call.
    unsafe {
        let sql = text(sql.cast_const().cast());
        if (*authorizer.cast_const().cast::<Authorizer>()).is_forbidden(sql) {
            // Asked about behind what each program begins with, and forgotten when no statement runs any more.
            sqlite::sqlite3_interrupt(sqlite::sqlite3_db_handle(statement.cast()));
        }
    }
    // SQLite does not read it.
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
    // SAFETY: the count that `guard` gave away, taken back once.
    drop(unsafe { Arc::from_raw(authorizer.cast_const().cast::<Authorizer>()) });
}
