//! Compares the driver's oracle, the ledger and the world, after a restart.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use madang::{
    Runtime,
    ledger::{Effect, LedgerFilter, LedgerRow},
    store::{SqliteStore, Store},
};
use madang_actors::ledger::{Transition, verify};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use serde_json::Value;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{
    evening::{PATIENCE, builder, effect, outside},
    oracle::Oracle,
    tools::EFFECTS,
};

/// All that is wrong, one sentence each.
pub(crate) async fn of(folder: &Path, oracle: &Oracle) -> Vec<String> {
    let Ok(store) = SqliteStore::open(folder.join("store.db"), [&*EFFECTS]).await else {
        return vec!["the database does not open".to_owned()];
    };
    let model = ScriptedModel::repeating([ScriptedCompletion::text("Well then.")]);
    let runtime =
        builder(store.clone(), outside(folder)).model(model).start().await.expect("it starts");
    let calls = woken(&runtime).await;
    let mut wrong = Vec::new();
    integrity(&store, folder, &calls, &mut wrong).await;
    effects(&store, folder, oracle, &calls, &mut wrong).await;
    asked(&store, oracle, &calls, &mut wrong).await;
    if let Err(error) = runtime.shutdown().await {
        wrong.push(format!("left running: {error}"));
    }
    wrong
}

/// Wakes every session that has calls, and waits until none of them is open any more.
async fn woken(runtime: &Runtime) -> Vec<LedgerRow> {
    let resolved = async {
        loop {
            let calls = runtime.ledger(&LedgerFilter::default()).await.expect("it can be read");
            let mut is_resolved = true;
            for call in &calls {
                let session =
                    runtime.session("kim", call.session.as_str()).await.expect("it opens");
                let state = session.state().await.expect("it wakes");
                is_resolved &= !state.is_streaming && call.outcome.is_some();
            }
            if is_resolved {
                return calls;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, resolved).await.expect("every call comes to its end")
}

async fn integrity(
    store: &SqliteStore,
    folder: &Path,
    calls: &[LedgerRow],
    wrong: &mut Vec<String>,
) {
    let file = SqliteConnectOptions::new().filename(folder.join("store.db")).read_only(true);
    let mut db = file.connect().await.expect("it can be read");
    let check = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut db).await;
    let check: String = check.expect("it can be checked");
    db.close().await.expect("it closes");
    if check != "ok" {
        wrong.push(format!("damaged: {check}"));
    }
    for call in calls {
        let (links, end) = store.links(&call.session).await.expect("it can be read");
        if let Err(error) = verify(&call.session, &links, &end) {
            wrong.push(format!("chain of {}: {error}", call.session));
        }
    }
}

/// What was written, in the table and outside, against what the ledger says and what the driver was told.
async fn effects(
    store: &SqliteStore,
    folder: &Path,
    oracle: &Oracle,
    calls: &[LedgerRow],
    wrong: &mut Vec<String>,
) {
    let written = written(store, folder).await;
    for (token, times) in &written {
        if *times > 1 {
            wrong.push(format!("doubled: {token} was written {times} times"));
        }
        if !calls.iter().any(|call| token_of(call) == *token) {
            wrong.push(format!("misreported: {token} was written without a call"));
        }
    }
    for call in calls {
        if !writes(&call.name) {
            continue;
        }
        let token = token_of(call);
        let (is_there, said) = (written.contains_key(&token), call.effect);
        if is_there && said == Some(Effect::None) || !is_there && said == Some(Effect::Committed) {
            wrong.push(format!(
                "misreported: {token} is there {is_there}, the ledger says {said:?}"
            ));
        }
    }
    for told in oracle.told.iter().filter(|told| told.token != "read") {
        match (written.contains_key(&told.token), &*told.effect) {
            (false, "committed") => wrong.push(format!("lost: {told:?}")),
            (true, "none") => wrong.push(format!("misreported: {told:?} and it is there")),
            _ => {}
        }
        let call = calls.iter().find(|call| token_of(call) == told.token);
        match call.and_then(|call| call.effect) {
            None => wrong.push(format!("lost: {told:?} and the ledger has no end of it")),
            // What was unknown when it was told may have become known since.
            Some(known) if told.effect != effect(known) && told.effect != "unknown" => {
                wrong.push(format!("misreported: {told:?} and the ledger says {known:?}"));
            }
            Some(_) => {}
        }
    }
}

/// What needed a yes and was written: the driver said so, and the ledger has it before the handler began.
async fn asked(store: &SqliteStore, oracle: &Oracle, calls: &[LedgerRow], wrong: &mut Vec<String>) {
    let mut reader = store.reader().await.expect("it can be read");
    let db = reader.connection().downcast_mut::<SqliteConnection>().expect("a SQLite store");
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT token FROM effects").fetch_all(db).await.unwrap_or_default();
    let known = ["quiet", "closed"];
    for token in rows.iter().filter(|token| !known.contains(&token.as_str())) {
        if !oracle.yes.contains(token) {
            wrong.push(format!("unasked: {token}"));
        }
    }
    for call in calls.iter().filter(|call| &*call.name == "save_row") {
        let (links, _) = store.links(&call.session).await.expect("it can be read");
        let steps = links.iter().filter(|link| link.call == call.call).map(|link| &link.transition);
        let mut was_approved = false;
        for step in steps {
            was_approved |= matches!(step, Transition::Approved { .. });
            if matches!(step, Transition::Running { .. }) && !was_approved {
                wrong.push(format!("unasked: {} began without an approval", token_of(call)));
            }
        }
    }
}

/// How often each token was written, in the table or outside.
async fn written(store: &SqliteStore, folder: &Path) -> BTreeMap<String, usize> {
    let mut reader = store.reader().await.expect("it can be read");
    let db = reader.connection().downcast_mut::<SqliteConnection>().expect("a SQLite store");
    // Where the process died before there was a table, there are no rows.
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT token FROM effects").fetch_all(db).await.unwrap_or_default();
    let mails = fs::read_to_string(folder.join("mails")).unwrap_or_default();
    let mut written = BTreeMap::new();
    for token in rows.into_iter().chain(mails.lines().map(str::to_owned)) {
        *written.entry(token).or_default() += 1;
    }
    written
}

/// What the call was to write, as the model asked for it.
fn token_of(call: &LedgerRow) -> String {
    let wanted: Value = serde_json::from_str(&call.raw_arguments).expect("the model writes JSON");
    wanted["token"].as_str().expect("every call has a token").to_owned()
}

/// Whether a tool of this name writes its token somewhere.
fn writes(name: &str) -> bool {
    name != "count_rows"
}
