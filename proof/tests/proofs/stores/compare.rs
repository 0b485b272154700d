//! Does the same to two stores and compares their answers.

use std::{any::Any, collections::BTreeMap, sync::LazyLock};

use madang::{
    IdempotencyKey,
    ledger::{LedgerFilter, SealKeys},
    store::{SessionPage, Store, StoreError},
};
use madang_actors::{
    ledger::verify,
    port::{Transaction, Write},
};
use madang_testing::MemoryConnection;
use sqlx::{
    PgConnection, SqlSafeStr, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
};

use super::facts::{CALLS, Named, Operation, SESSIONS, TURNS, USERS, call, session, turn, user};

/// The table in a database for values that a tool puts into the memory store.
pub(super) static VALUES: LazyLock<Migrator> = LazyLock::new(|| {
    // An integer has eight bytes in both.
    let table = "CREATE TABLE proof_values (name TEXT PRIMARY KEY, value BIGINT NOT NULL)";
    let first =
        Migration::new(1, "values".into(), MigrationType::Simple, table.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("_proof_migrations");
    migrator
});

/// The number of each answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Answers {
    pub(super) taken: u64,
    pub(super) refused: u64,
    pub(super) illegal: u64,
    /// No part was open to keep or to undo.
    pub(super) impossible: u64,
}

impl Answers {
    pub(super) const fn add(&mut self, other: Self) {
        self.taken += other.taken;
        self.refused += other.refused;
        self.illegal += other.illegal;
        self.impossible += other.impossible;
    }

    fn count(&mut self, answer: &Answer) {
        match answer {
            Ok(()) => self.taken += 1,
            Err(Rejection::Refused) => self.refused += 1,
            Err(Rejection::Illegal(_)) => self.illegal += 1,
            Err(Rejection::Other(_)) => self.impossible += 1,
        }
    }
}

type Answer = Result<(), Rejection>;

/// The kind of an error, and every detail of an illegal step; a store words its refusals itself.
#[derive(Debug, PartialEq, Eq)]
enum Rejection {
    Illegal(String),
    Refused,
    Other(&'static str),
}

impl From<StoreError> for Rejection {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Illegal(step) => Self::Illegal(format!("{step:?}")),
            StoreError::Refused { .. } => Self::Refused,
            StoreError::TooMuchStored => Self::Other("too much stored"),
            StoreError::Unavailable { .. } => Self::Other("unavailable"),
            StoreError::Unknown { .. } => Self::Other("unknown"),
            StoreError::Overloaded => Self::Other("overloaded"),
            StoreError::Withdrawn => Self::Other("withdrawn"),
            StoreError::Silent => Self::Other("silent"),
            other => unreachable!("an error that this comparison does not know: {other:?}"),
        }
    }
}

/// Two open transactions with the same history.
type Pair = (Box<dyn Transaction>, Box<dyn Transaction>);

/// Does all of this to both. Compares each answer, and the whole content after each transaction.
pub(super) async fn agree(
    one: &dyn Store,
    other: &dyn Store,
    operations: &[Operation],
) -> Result<Answers, String> {
    let mut answers = Answers::default();
    let mut open = None::<Pair>;
    for (number, operation) in operations.iter().enumerate() {
        let which = || format!("operation {number}, {operation:?}");
        let pair = match open.take() {
            Some(pair) => pair,
            None => (begin(one).await, begin(other).await),
        };
        let (left, right, rest) = perform(pair, operation, one.keys()).await;
        if left != right {
            return Err(format!("{}: {left:?}, but {right:?}", which()));
        }
        answers.count(&left);
        match rest {
            Some(mut pair) => {
                let left = values(&mut *pair.0).await;
                let right = values(&mut *pair.1).await;
                if left != right {
                    return Err(format!("{}: a tool sees {left:?}, but {right:?}", which()));
                }
                open = Some(pair);
            }
            None => {
                let left = everything(one).await;
                let right = everything(other).await;
                if left != right {
                    return Err(format!("{}:\n{left}\nbut\n{right}", which()));
                }
            }
        }
    }
    Ok(answers)
}

async fn begin(store: &dyn Store) -> Box<dyn Transaction> {
    store.begin().await.unwrap()
}

/// Seals a fact as a program with the keys does; one in eight approvals stays without a seal.
fn sealed(keys: &SealKeys, write: &Write) -> Write {
    let Write::Call { session, call, at, transition } = write else { return write.clone() };
    let session = session.clone();
    let transition = transition.clone();
    let transition = if at.millis().rem_euclid(8) == 0 {
        transition
    } else {
        keys.sealed(&session, *call, *at, transition)
    };
    Write::Call { session, call: *call, at: *at, transition }
}

/// Returns both answers, and the transactions if they are still open.
async fn perform(
    mut pair: Pair,
    operation: &Operation,
    keys: &SealKeys,
) -> (Answer, Answer, Option<Pair>) {
    let (left, right) = match operation {
        Operation::Savepoint => (pair.0.savepoint(None).await, pair.1.savepoint(None).await),
        Operation::Keep => (pair.0.keep().await, pair.1.keep().await),
        Operation::Undo => (pair.0.undo().await, pair.1.undo().await),
        Operation::Commit => {
            let left = pair.0.commit().await;
            let right = pair.1.commit().await;
            return (left.map_err(Into::into), right.map_err(Into::into), None);
        }
        Operation::Drop => return (Ok(()), Ok(()), None),
        Operation::Put(name, value) => {
            put(&mut *pair.0, name, *value).await;
            put(&mut *pair.1, name, *value).await;
            (Ok(()), Ok(()))
        }
        Operation::Write(writes, named) => {
            let writes: Vec<_> = writes.iter().map(|write| sealed(keys, write)).collect();
            let mut calls = writes.iter().filter_map(|write| match write {
                Write::Call { session, call, .. } if *named == Named::Yes => Some((session, *call)),
                _ => None,
            });
            let call = calls.next();
            // Like the writer: each job has its own part, because a refusal may leave a piece
            // behind.
            let mut answers = Vec::new();
            for transaction in [&mut pair.0, &mut pair.1] {
                transaction.savepoint(call).await.unwrap();
                let written = transaction.write(&writes).await;
                if written.is_ok() { transaction.keep().await } else { transaction.undo().await }
                    .unwrap();
                answers.push(written);
            }
            let right = answers.pop().unwrap();
            (answers.pop().unwrap(), right)
        }
    };
    (left.map_err(Into::into), right.map_err(Into::into), Some(pair))
}

async fn put(transaction: &mut dyn Transaction, name: &str, value: Option<u8>) {
    transaction.savepoint(None).await.unwrap();
    put_into(transaction.connection(), name, value).await;
    transaction.keep().await.unwrap();
}

async fn put_into(connection: &mut (dyn Any + Send), name: &str, value: Option<u8>) {
    if let Some(memory) = connection.downcast_mut::<MemoryConnection>() {
        match value {
            Some(value) => memory.put(name, value.into()).unwrap(),
            None => memory.remove(name).unwrap(),
        }
        return;
    }
    let value = value.map(i64::from);
    let sql = match value {
        Some(_) => {
            "INSERT INTO proof_values (name, value) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        }
        None => "DELETE FROM proof_values WHERE name = $1 AND $2 IS NULL",
    };
    if let Some(db) = connection.downcast_mut::<PgConnection>() {
        sqlx::query(sql).bind(name).bind(value).execute(db).await.unwrap();
    } else {
        let db = connection.downcast_mut::<SqliteConnection>().unwrap();
        sqlx::query(sql).bind(name).bind(value).execute(db).await.unwrap();
    }
}

async fn values(transaction: &mut dyn Transaction) -> BTreeMap<String, i64> {
    transaction.savepoint(None).await.unwrap();
    let values = values_of(transaction.connection()).await;
    transaction.keep().await.unwrap();
    values
}

async fn values_of(connection: &mut (dyn Any + Send)) -> BTreeMap<String, i64> {
    if let Some(memory) = connection.downcast_mut::<MemoryConnection>() {
        let number = |value: serde_json::Value| value.as_i64().unwrap();
        return memory.values().into_iter().map(|(name, value)| (name, number(value))).collect();
    }
    let all = "SELECT name, value FROM proof_values";
    let rows: Vec<(String, i64)> = match connection.downcast_mut::<PgConnection>() {
        Some(db) => sqlx::query_as(all).fetch_all(db).await.unwrap(),
        None => {
            let db = connection.downcast_mut::<SqliteConnection>().unwrap();
            sqlx::query_as(all).fetch_all(db).await.unwrap()
        }
    };
    rows.into_iter().collect()
}

/// Renders all answers of a store as text. Its chains must verify.
async fn everything(store: &dyn Store) -> String {
    let mut all = Vec::new();
    for name in SESSIONS {
        let id = session(name);
        let (links, end) = store.links(&id).await.unwrap();
        verify(&id, &links, &end).unwrap();
        all.push(format!("{name}: {:?}", store.owner(&id).await.unwrap()));
        all.push(format!("{:?}", store.session(&id).await.unwrap()));
        // Each link has its own salt, so hashes differ from store to store, but not the steps under
        // them.
        let steps = links.iter().map(|link| (link.call, link.at, &link.transition));
        all.push(format!("{:?} of {}", steps.collect::<Vec<_>>(), end.length));
    }
    let sessions = SESSIONS.iter().map(|name| Some(session(name))).chain([None]);
    for session in sessions {
        let of_each = (1..=CALLS)
            .map(call)
            .flat_map(|call| [LedgerFilter::call(call), LedgerFilter::rest_on(call)]);
        let of_all = [
            LedgerFilter::default(),
            LedgerFilter::open_calls(),
            LedgerFilter::standing_approvals(),
            LedgerFilter::unresolved(),
        ];
        for filter in of_each.chain(of_all) {
            let filter = LedgerFilter { session: session.clone(), ..filter };
            all.push(format!("{filter:?}: {:?}", store.calls(&filter).await.unwrap()));
        }
        for (owner, after) in
            USERS.iter().flat_map(|owner| (1..=CALLS).map(move |call| (owner, call)))
        {
            let filter = LedgerFilter { session: session.clone(), ..LedgerFilter::default() };
            let filter = filter.of_user(&user(owner)).at_most(1);
            all.push(format!("{filter:?}: {:?}", store.calls(&filter).await.unwrap()));
            let behind = store.calls(&filter.after(call(after))).await;
            all.push(format!("{owner} behind {after}: {:?}", behind.map_err(Rejection::from)));
        }
    }
    for owner in USERS {
        let mut page = SessionPage::of(1).unwrap();
        while let Some(chat) = store.sessions(&user(owner), &page).await.unwrap().pop() {
            all.push(format!("{owner}: {chat:?}"));
            page = page.after(chat.position());
        }
    }
    all.push(format!("{:?}", store.interrupted().await.unwrap()));
    for (name, key) in SESSIONS.iter().flat_map(|name| [(name, "a"), (name, "b")]) {
        let key = IdempotencyKey::new(key).unwrap();
        all.push(format!("{:?}", store.submitted(&session(name), &key).await.unwrap()));
    }
    for (name, number) in SESSIONS.iter().flat_map(|name| (1..=TURNS).map(move |n| (name, n))) {
        all.push(format!("{:?}", store.turn(&session(name), turn(number)).await.unwrap()));
    }
    let mut reader = store.reader().await.unwrap();
    all.push(format!("{:?}", values_of(reader.connection()).await));
    all.join("\n")
}
