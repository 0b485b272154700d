//! An evening on which every kind of call happens once, each in a session of its own, all at the same time.

use std::{fs, path::Path, pin::pin, sync::Arc, time::Duration};

use madang::{
    Builder, IdempotencyKey, Limits, Runtime, Session, SessionId, Turn, TurnOptions,
    approval::{Asker, Decision},
    event::{EventKind, StreamItem},
    ledger::{CallRecord, CallResult, Effect, EffectResolution},
    store::SqliteStore,
};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinSet};

use crate::{
    oracle::Oracle,
    tools::{EFFECTS, Outside, tools},
};

/// How long the driver waits for anything: far longer than all waits of the evening together.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// One call, and what the person does about it.
struct Scene {
    /// Its session, and the token that it writes.
    token: &'static str,
    tool: &'static str,
    person: Person,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Person {
    /// No person is needed.
    Watches,
    SaysYes,
    /// The model calls the tool once more, for [`STILL`], without a question.
    SaysAlways,
    /// Types the arguments anew, and the same.
    Types,
    SaysNo,
    SaysNothing,
    LeavesTheQuestion,
    LeavesTheHandler,
}

/// The session whose turn is left open.
const OPEN: &str = "open";

/// What is written under the standing approval.
const STILL: &str = "still";

const SCENES: [Scene; 16] = [
    Scene { token: "quiet", tool: "add_row", person: Person::Watches },
    Scene { token: "yes", tool: "save_row", person: Person::SaysYes },
    Scene { token: "always", tool: "save_row", person: Person::SaysAlways },
    Scene { token: "typed", tool: "save_row", person: Person::Types },
    Scene { token: "no", tool: "save_row", person: Person::SaysNo },
    Scene { token: "late", tool: "save_row", person: Person::SaysNothing },
    Scene { token: "away", tool: "save_row", person: Person::LeavesTheQuestion },
    Scene { token: "closed", tool: "slow_row", person: Person::LeavesTheHandler },
    Scene { token: "rule", tool: "rule_row", person: Person::Watches },
    Scene { token: "boom", tool: "panic_row", person: Person::Watches },
    Scene { token: "vandal", tool: "commit_row", person: Person::Watches },
    Scene { token: "mail", tool: "send_mail", person: Person::Watches },
    Scene { token: "torn", tool: "panic_mail", person: Person::Watches },
    Scene { token: "slow", tool: "slow_mail", person: Person::Watches },
    Scene { token: "read", tool: "count_rows", person: Person::Watches },
    Scene { token: "nope", tool: "no_such_tool", person: Person::Watches },
];

/// Where a line of the oracle goes.
pub(crate) type Tell = Arc<dyn Fn(String) + Send + Sync>;

/// One evening: all scenes, a second turn in a session that has slept, a chat that is cleared, the end. Whatever fails
/// on the way is an answer as good as any; only waiting for ever is not.
pub(crate) async fn evening(folder: &Path, tell: Tell) {
    let Ok(store) = SqliteStore::open(folder.join("store.db"), [&*EFFECTS]).await else { return };
    let outside = outside(folder);
    let start = tokio::spawn(builder(store, outside.clone()).model(model()).start());
    let Ok(Ok(runtime)) = start.await else { return };
    let played = async {
        // In tasks of their own: a panic inside of a call of the runtime's ends one of them.
        let mut scenes = JoinSet::new();
        for scene in SCENES {
            scenes.spawn(play(runtime.clone(), scene, outside.clone(), tell.clone()));
        }
        while scenes.join_next().await.is_some() {}
        scenes.spawn(again(runtime.clone(), "quiet"));
        scenes.join_next().await;
        scenes.spawn(look_after(runtime.clone(), outside.clone()));
        scenes.join_next().await;
        scenes.spawn(leave_open(runtime.clone()));
        scenes.join_next().await;
    };
    tokio::time::timeout(PATIENCE, played).await.expect("the evening ends");
    let ended = tokio::time::timeout(PATIENCE, runtime.shutdown()).await;
    ended.expect("shutdown ends").expect("nothing is left running");
}

/// The runtime of an evening, but for its model.
pub(crate) fn builder(store: SqliteStore, outside: Arc<Outside>) -> Builder {
    let mut limits = Limits::default();
    limits.confirmation_timeout = Duration::from_millis(200);
    limits.session_idle = Duration::from_millis(30);
    limits.store_timeout = Duration::from_secs(2);
    limits.ask_timeout = Duration::from_millis(500);
    limits.shutdown_timeout = Duration::from_secs(10);
    Runtime::builder().store(store).tools(tools()).limits(limits).extension(outside)
}

pub(crate) fn outside(folder: &Path) -> Arc<Outside> {
    Arc::new(Outside { mails: folder.join("mails"), begun: Notify::new() })
}

fn model() -> ScriptedModel {
    let open = Scene { token: OPEN, tool: "save_row", person: Person::SaysNothing };
    // It serves fewer than ask it at once, and so some wait.
    let model = ScriptedModel::new([]).max_concurrent(2);
    SCENES.iter().chain([&open]).fold(model, |model, scene| {
        let session = SessionId::new(scene.token).expect("a token is a short text");
        let call = |token| ScriptedCompletion::call(scene.tool, &json!({ "token": token }));
        let again = (scene.person == Person::SaysAlways).then(|| call(STILL));
        let words = ["Well then.", "Good evening."].map(ScriptedCompletion::text);
        let first = call(scene.token).after(Duration::from_millis(1));
        let script: Vec<_> = [first].into_iter().chain(again).chain(words).collect();
        model.for_session(session, script)
    })
}
async fn play(runtime: Runtime, scene: Scene, outside: Arc<Outside>, tell: Tell) {
    let Ok(session) = runtime.session("kim", scene.token).await else { return };
    let mut events = session.subscribe();
    let Ok(turn) = session.send("go").await else { return };
    let mut ended = pin!(turn.ended());
    loop {
        let item = tokio::select! {
            biased;
            item = events.next() => item,
            () = outside.begun.notified(), if scene.person == Person::LeavesTheHandler => {
                session.dismiss().await.ok();
                continue;
            }
            _ = &mut ended => break,
        };
        let Some(item) = item else { break };
        hear(item, &session, &scene, &*tell).await;
    }
    while let Some(item) = events.try_next() {
        hear(item, &session, &scene, &*tell).await;
    }
}

async fn hear(
    item: StreamItem,
    session: &Session,
    scene: &Scene,
    tell: &(dyn Fn(String) + Send + Sync),
) {
    let StreamItem::Event(event) = item else { return };
    match &event.kind {
        EventKind::ConfirmationAsked { question } => match scene.person {
            Person::SaysYes => {
                tell(Oracle::yes(scene.token));
                session.answer(question, Decision::Approve).await.ok();
            }
            Person::SaysAlways => {
                tell(Oracle::yes(scene.token));
                tell(Oracle::yes(STILL));
                session.answer(question, Decision::ApproveAlways).await.ok();
            }
            Person::Types => {
                tell(Oracle::yes(scene.token));
                let arguments = question.arguments.clone();
                session.answer(question, Decision::Edit { arguments }).await.ok();
            }
            Person::SaysNo => {
                session.answer(question, Decision::Deny).await.ok();
            }
            Person::LeavesTheQuestion => {
                session.dismiss().await.ok();
            }
            Person::SaysNothing | Person::Watches | Person::LeavesTheHandler => {}
        },
        EventKind::ToolCallEnded { record } => {
            tell(Oracle::told(&token(record), status(record), effect(record.effect)));
        }
        EventKind::UserMessage { .. }
        | EventKind::ModelMessage { .. }
        | EventKind::ToolCallProposed { .. }
        | EventKind::ConfirmationEnded { .. }
        | EventKind::SystemNotice { .. }
        | EventKind::Error { .. }
        | EventKind::ToolCallResolved { .. }
        | EventKind::Cleared
        | EventKind::MessagesLeftOut { .. }
        | EventKind::TurnResumed
        | EventKind::TurnInterrupted { .. }
        | EventKind::TurnEnded { .. }
        | _ => {}
    }
}

/// The session has slept; it is asked again, looked at, and cleared.
async fn again(runtime: Runtime, token: &'static str) {
    tokio::time::sleep(Duration::from_millis(80)).await;
    let Ok(session) = runtime.session("kim", token).await else { return };
    let key = Some(IdempotencyKey::new("again").expect("a short text"));
    let options = TurnOptions { asker: Asker::Person, key, ..TurnOptions::default() };
    if let Ok(turn) = session.send_with("again", options).await {
        drop(Turn::ended(turn).await);
    }
    drop(session.state().await);
    drop(session.clear().await);
}

/// The person looks into the world and resolves the unknown effects.
async fn look_after(runtime: Runtime, outside: Arc<Outside>) {
    for scene in SCENES {
        let Ok(session) = runtime.session("kim", scene.token).await else { continue };
        let Ok(unresolved) = session.unresolved().await else { continue };
        let mails = fs::read_to_string(&outside.mails).unwrap_or_default();
        let was_sent = mails.lines().any(|token| token == scene.token);
        let resolution =
            if was_sent { EffectResolution::TookEffect } else { EffectResolution::DidNot };
        for row in unresolved {
            session.resolve(row.call, resolution).await.ok();
        }
    }
}

/// A turn whose question is open when the runtime ends: it goes on in the next.
async fn leave_open(runtime: Runtime) {
    let Ok(session) = runtime.session("kim", OPEN).await else { return };
    let mut events = session.subscribe();
    let Ok(turn) = session.send("go").await else { return };
    let mut ended = pin!(turn.ended());
    loop {
        tokio::select! {
            item = events.next() => match item {
                Some(StreamItem::Event(event)) if matches!(event.kind, EventKind::ConfirmationAsked { .. }) => return,
                Some(_) => {}
                None => return,
            },
            _ = &mut ended => return,
        }
    }
}

/// What the call was to write, as the model asked for it.
fn token(record: &CallRecord) -> String {
    let raw = record.arguments.as_str();
    let parsed = raw.map(|raw| serde_json::from_str(raw).expect("the model writes JSON"));
    let arguments: Value = parsed.unwrap_or_else(|| record.arguments.clone());
    arguments["token"].as_str().expect("every call has a token").to_owned()
}

fn status(record: &CallRecord) -> &'static str {
    match (&record.outcome, record.result) {
        (_, CallResult::Discarded) | (None, CallResult::Shown) => "discarded",
        (Some(outcome), CallResult::Shown) if outcome.is_ok() => "ok",
        (Some(_), CallResult::Shown) => "refused",
    }
}

pub(crate) fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "none",
        Effect::Committed => "committed",
        Effect::Unknown => "unknown",
    }
}
