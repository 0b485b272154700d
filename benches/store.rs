//! What a store carries: turns a second with three durable waits each, alone and with 256 sessions
//! at once.
//!
//! A turn here is what a chat with one transactional tool writes. The user's message comes first,
//! then the handler's row with the ledger's three steps in one lease, then the answer with the
//! turn's end.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

mod notes;

use std::sync::Arc;

use madang::{
    CallId, Limits, SessionId, Timestamp, TurnId, TurnOptions, UserId,
    approval::Digest,
    event::{ChatMessage, Content, Ending, TurnEnding},
    ledger::{CallResult, Effect},
    model::Usage,
    store::{SqliteStore, Store},
    tool::ToolOutcome,
};
use madang_actors::{
    ledger::{Ended, Proposal, Transition, text_digest},
    port::Write,
    store::{Keep, Lease, StoreHandle},
};
use madang_testing::{MemoryConnection, MemoryStore, lone_store};
use serde_json::json;
use sqlx::SqliteConnection;
use tokio::{task::JoinSet, time::Instant};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use notes::NOTES;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    // `cargo test` runs benches too, to see that they work: once is enough then.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let turns = |count| if is_test { 2 } else { count };
    let folder = tempfile::tempdir().unwrap();
    let open = async |name: &str| {
        let options = SqliteStore::open(folder.path().join(name)).migrations("notes", &NOTES);
        Arc::new(options.await.unwrap()) as Arc<dyn Store>
    };
    println!("{:<44} {:>14} {:>14}", "", "turns/s", "a turn");
    carry("one session, SQLite at FULL", open("one.db").await, 1, turns(200)).await;
    carry("256 sessions, SQLite at FULL", open("many.db").await, 256, turns(40)).await;
    carry("256 sessions, memory store", Arc::new(MemoryStore::new()), 256, turns(200)).await;
}

async fn carry(name: &str, store: Arc<dyn Store>, sessions: u32, turns: u32) {
    let tasks = TaskTracker::new();
    let handle = lone_store(store.clone(), Limits::default(), tasks.clone()).await;
    let begin = Instant::now();
    let mut chats: JoinSet<()> =
        (0..sessions).map(|number| chat(handle.clone(), number, turns)).collect();
    while let Some(end) = chats.join_next().await {
        end.unwrap();
    }
    let took = begin.elapsed().as_secs_f64();
    let all = f64::from(sessions * turns);
    println!("{name:<44} {:>14.0} {:>11.2} ms", all / took, took * 1e3 / f64::from(turns));
    tasks.close();
    tasks.wait().await;
    store.close().await;
}

async fn chat(store: StoreHandle, number: u32, turns: u32) {
    let session = SessionId::new(format!("session {number}")).unwrap();
    let user = UserId::new("kim").unwrap();
    let at = Timestamp::from_millis(1);
    store
        .write(vec![Write::Session { session: session.clone(), user: user.clone(), at }])
        .await
        .unwrap();
    for count in 0..turns {
        let turn = TurnId::new(Uuid::now_v7());
        let seq = u64::from(count) * 3 + 1;
        let say = |seq, content| Write::Message {
            session: session.clone(),
            message: ChatMessage { seq, turn, at, content },
        };
        let started = Write::TurnStarted {
            session: session.clone(),
            turn,
            at,
            options: TurnOptions::default(),
            text: text_digest("hi"),
            max_stored_bytes: u64::MAX,
        };
        let asked = say(seq, Content::user("수면에 좋은 프로토콜 찾아줘"));
        store.write(vec![started, asked]).await.unwrap();

        let call = CallId::new(Uuid::now_v7());
        let proposal = Proposal {
            model: None,
            opaque: None,
            turn,
            seq: seq + 1,
            name: "note".into(),
            arguments: r#"{"text":"수면"}"#.into(),
            user: user.clone(),
        };
        let running = Transition::Running {
            arguments: json!({ "text": "수면" }).into(),
            digest: Digest::new([7; 32]),
        };
        let ended = Ended {
            arguments: None,
            outcome: ToolOutcome::ok(json!({ "id": count })),
            effect: Effect::Committed,
            result: CallResult::Shown,
            decided_by: None,
        };
        let steps = [Transition::Proposed(proposal), running, Transition::Ended(ended)];
        let record =
            steps.map(|transition| Write::Call { session: session.clone(), call, at, transition });
        let mut lease = store.lease("note".into()).await.unwrap();
        note(&mut lease, &call).await;
        lease.end(Keep::Keep, record.into()).await.unwrap();

        let answer = Content::model("네, 적어 두었어요.", Ending::Complete);
        let over = Write::TurnEnded {
            session: session.clone(),
            turn,
            at,
            behind: seq + 2,
            ending: TurnEnding::Answered,
            error: None,
            usage: Usage::default(),
        };
        store.write(vec![say(seq + 2, answer), over]).await.unwrap();
    }
}

async fn note(lease: &mut Lease, call: &CallId) {
    let connection = lease.connection();
    if let Some(db) = connection.downcast_mut::<SqliteConnection>() {
        let insert = sqlx::query("INSERT INTO notes (text) VALUES ($1)").bind(call.to_string());
        insert.execute(db).await.unwrap();
    } else {
        let memory = connection.downcast_mut::<MemoryConnection>().expect("one of the two stores");
        memory.put(call.to_string(), json!("수면")).unwrap();
    }
}
