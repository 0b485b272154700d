//! A refused write never happens. A handler that blocks its thread keeps the store's transaction
//! for longer than any caller waits, and then the store goes on.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

use madang::{
    Call, Error, Limits, Runtime, UserId,
    approval::Decision,
    event::{EventKind, StreamItem},
    store::{SqliteStore, StoreError},
    tool::{self, EffectPolicy, Tool, ToolContext, ToolResult},
};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use sqlx::SqliteConnection;
use tokio::time::timeout;

use crate::support::dispatched;

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// How often a mail was sent.
struct Sent(Arc<AtomicUsize>);

async fn send(_: Nothing, ctx: &ToolContext) -> ToolResult<&'static str> {
    ctx.extension::<Sent>().expect("the test gave it").0.fetch_add(1, SeqCst);
    Ok("sent")
}

/// Keeps its thread until the test lets it go.
struct Blocks {
    began: mpsc::Sender<()>,
    go: Mutex<mpsc::Receiver<()>>,
}

async fn block(
    _: Nothing,
    _: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<&'static str> {
    let blocks = ctx.extension::<Blocks>().expect("the test gave it");
    blocks.began.send(()).ok();
    blocks.go.lock().expect("no thread panics with it").recv().ok();
    Ok("blocked")
}

fn tools() -> [Arc<dyn Tool>; 2] {
    [
        Arc::new(tool::plain("mail", "Send a mail.", send)),
        Arc::new(
            tool::transactional("block", "Block a thread.", block).effect(EffectPolicy::Write),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_refused_behind_a_blocking_handler_stays_away_after_its_end_and_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let sent = Arc::new(AtomicUsize::new(0));
    let (began, begins) = mpsc::channel();
    let (lets_go, go) = mpsc::channel();
    let limits = Limits { store_timeout: Duration::from_secs(1), ..Limits::default() };
    let model = ScriptedModel::repeating([
        ScriptedCompletion::call("mail", &json!({})),
        ScriptedCompletion::text("Well."),
    ]);
    let store = SqliteStore::open(&path).await.unwrap();
    let runtime = Runtime::builder()
        .model(model)
        .store(store)
        .tools(tools())
        .limits(limits)
        .extension(Sent(sent.clone()))
        .extension(Blocks { began, go: Mutex::new(go) })
        .start()
        .await
        .unwrap();
    let asking = runtime.user("kim").unwrap().session("always").await.unwrap();
    let mut events = asking.subscribe();
    let turn = asking.send("send").await.unwrap();
    let request = loop {
        if let Some(StreamItem::Event(event)) = timeout(PATIENCE, events.next()).await.unwrap()
            && let EventKind::ApprovalRequested { request } = &event.kind
        {
            break request.clone();
        }
    };
    let other = runtime.user("lee").unwrap().session("refused").await.unwrap();
    other.state().await.unwrap();
    let blocking = tokio::spawn({
        let runtime = runtime.clone();
        async move { dispatched(&runtime, Call::new(UserId::new("kim").unwrap(), "block", "{}")).await }
    });
    tokio::task::spawn_blocking(move || begins.recv_timeout(PATIENCE)).await.unwrap().unwrap();

    let (answered, asked) = tokio::join!(
        asking.decide(&request, Decision::ApproveAlways),
        other.send("delete everything"),
    );
    assert!(answered.is_err(), "the writer never came to it");
    let refused = asked.map(|turn| turn.id());
    assert!(matches!(refused, Err(Error::Store(StoreError::Withdrawn))), "{refused:?}");

    lets_go.send(()).unwrap();
    timeout(PATIENCE, blocking).await.unwrap().unwrap().unwrap();
    timeout(PATIENCE, turn.ended()).await.unwrap().ok();
    assert_eq!(asking.standing_approvals().await.unwrap(), []);
    assert!(other.turn().await.unwrap().is_none());
    timeout(PATIENCE, runtime.shutdown()).await.unwrap().unwrap();
    drop(runtime);

    let store = SqliteStore::open(&path).await.unwrap();
    let model = ScriptedModel::repeating([ScriptedCompletion::text("I delete everything now.")]);
    let runtime =
        Runtime::builder().model(model).store(store).tools(tools()).start().await.unwrap();
    assert_eq!(runtime.resume_open().await, 0, "nothing of it goes on");
    let other = runtime.user("lee").unwrap().session("refused").await.unwrap();
    assert_eq!(other.state().await.unwrap().messages, []);
    assert_eq!(sent.load(SeqCst), 0);
    runtime.shutdown().await.unwrap();
}
