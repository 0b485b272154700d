//! How a turn stands can be asked by its id: while it runs, while it waits for a person, and long
//! after it has ended.

use std::{sync::Arc, time::Duration};

use madang::{
    Error, Limits, Runtime, Session, TurnId,
    approval::Decision,
    error::TurnError,
    event::{EventCursor, EventKind, StreamItem},
    model::Completion,
    store::{Store, StoreError},
    turn::{TurnPhase, TurnStatus},
};
use madang_actors::{
    port::{BoxFuture, StoredTurn},
    protocol::{Bound, SessionId},
};
use madang_testing::{
    FakeTool, HandScript, MemoryStore, Probe, RuntimeHooks as _, SteppedStore, Steps, model_pair,
};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use crate::support::{PATIENCE, wanted};

struct Scene {
    runtime: Runtime,
    session: Session,
    script: HandScript,
    probe: Probe,
}

impl Scene {
    async fn new(store: impl Store) -> Self {
        let (model, script) = model_pair();
        let limits = Limits { session_idle: Duration::from_millis(1), ..Limits::default() };
        let runtime = Runtime::builder()
            .model(model)
            .store(store)
            .tool(FakeTool::destructive("mail"))
            .limits(limits)
            .start()
            .await
            .unwrap();
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        let probe = Probe::new(session.subscribe());
        Self { runtime, session, script, probe }
    }

    async fn status(&self, turn: TurnId) -> Option<TurnStatus> {
        tokio::time::timeout(PATIENCE, self.session.turn_status(turn)).await.unwrap().unwrap()
    }

    /// The status, with its phase as words.
    async fn words(&self, turn: TurnId) -> String {
        let TurnStatus { turn: of, phase, first, last } = self.status(turn).await.unwrap();
        assert_eq!(of, turn);
        let phase = match phase {
            TurnPhase::Running => "running".to_owned(),
            TurnPhase::Waiting { approval_request } => format!("waits, {}", approval_request.tool),
            TurnPhase::Ended(end) => {
                assert_eq!(end.turn, turn);
                format!("{:?}, {:?}, {}", end.ending, end.error, end.usage.completion_tokens)
            }
        };
        format!("{phase}: {first} to {last}")
    }

    /// Waits until the session sleeps.
    async fn asleep(&self) {
        let sleeps = async {
            while self.runtime.held(Bound::AwakeSessions) > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, sleeps).await.expect("it sleeps in time");
    }
}

fn said(text: &str) -> Completion {
    let mut said = Completion { text: text.to_owned(), ..Completion::default() };
    said.usage.completion_tokens = 7;
    said
}

fn mails() -> Completion {
    Completion { tool_calls: vec![wanted("mail", &json!({}))], ..Completion::default() }
}

#[tokio::test]
async fn a_turn_runs_waits_for_a_person_and_ends_and_says_so_each_time() {
    let mut scene = Scene::new(MemoryStore::new()).await;
    let answered = scene.session.send("hi").await.unwrap();
    let first = answered.id();
    assert_eq!(scene.words(first).await, "running: 1 to 1");
    scene.script.next().await.finish(said("Hello."));
    answered.ended().await.unwrap();
    assert_eq!(scene.words(first).await, "Answered, None, 7: 1 to 2.2");

    let failed = scene.session.send("mail").await.unwrap();
    let second = failed.id();
    scene.script.next().await.finish(mails());
    let request = scene.probe.approval_request().await;
    assert_eq!(scene.words(second).await, "waits, mail: 3 to 3");
    let status = scene.status(second).await.unwrap();
    let approval_request = Box::new(request.clone());
    assert_eq!(status.phase, TurnPhase::Waiting { approval_request });
    scene.session.decide(&request, Decision::Approve).await.unwrap();
    let completion = scene.script.next().await;
    assert_eq!(scene.words(second).await, "running: 3 to 4");
    completion.fail("Offline");
    failed.ended().await.unwrap();
    let offline = TurnError::model("Offline");
    let ended = format!("Failed, Some({offline:?}), 0: 3 to 4.2");
    assert_eq!(scene.words(second).await, ended);

    let dismissed = scene.session.send("again").await.unwrap();
    let third = dismissed.id();
    let _completion = scene.script.next().await;
    scene.session.dismiss().await.unwrap();
    dismissed.ended().await.unwrap();
    assert_eq!(scene.words(third).await, "Dismissed, None, 0: 5 to 5.2");
    assert_eq!(scene.words(first).await, "Answered, None, 7: 1 to 2.2", "as it was");
    scene.runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn an_ended_turn_is_told_without_waking_its_session_and_an_unknown_turn_is_none() {
    let mut scene = Scene::new(MemoryStore::new()).await;
    let turn = scene.session.send("hi").await.unwrap();
    let id = turn.id();
    scene.script.next().await.finish(said("Hello."));
    turn.ended().await.unwrap();
    scene.asleep().await;
    let other = scene.runtime.user("kim").unwrap().session("other").await.unwrap();
    let unknown = TurnId::new(Uuid::now_v7());
    assert_eq!(scene.words(id).await, "Answered, None, 7: 1 to 2.2");
    assert_eq!(scene.status(unknown).await, None);
    assert_eq!(other.turn_status(id).await.unwrap(), None, "it is no turn of that session");
    assert_eq!(scene.runtime.held(Bound::AwakeSessions), 0);
    scene.runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn behind_the_position_before_its_first_event_a_turn_is_read_whole() {
    let mut scene = Scene::new(MemoryStore::new()).await;
    for text in ["one", "two"] {
        let turn = scene.session.send(text).await.unwrap();
        let id = turn.id();
        scene.script.next().await.finish(said("Hello."));
        turn.ended().await.unwrap();
        let TurnStatus { first, last, .. } = scene.status(id).await.unwrap();
        let mut reader = scene.session.subscribe_after(first.before()).await.unwrap();
        let mut kinds = Vec::new();
        while kinds.last().is_none_or(|(cursor, _)| *cursor < last) {
            let item = tokio::time::timeout(PATIENCE, reader.next()).await.unwrap().unwrap();
            let StreamItem::Event(event) = item else { continue };
            assert_eq!(event.turn, id);
            kinds.push((event.cursor, event.kind.clone()));
        }
        let says = |kind: &EventKind| matches!(kind, EventKind::UserMessage { text: said, .. } if **said == *text);
        assert!(kinds.first().is_some_and(|(cursor, kind)| *cursor == first && says(kind)));
        assert_eq!(kinds.len(), 3, "{kinds:?}");
    }
    assert_eq!(EventCursor::of_entry(1).before(), EventCursor::START);
    assert_eq!(EventCursor::of_entry(2).end().before(), EventCursor::of_entry(1).end());
    scene.runtime.shutdown().await.unwrap();
}

/// Reads a turn, and gives the answer only when it is told to.
#[derive(Debug)]
struct Late {
    read: Arc<Notify>,
    answers: Arc<Semaphore>,
}

impl Steps for Late {
    fn turn<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move {
            let found = of.turn(session, turn).await;
            self.read.notify_one();
            self.answers.acquire().await.unwrap().forget();
            found
        })
    }
}

#[tokio::test]
async fn a_turn_that_ends_while_it_is_asked_about_is_told_as_ended() {
    let read = Arc::new(Notify::new());
    let answers = Arc::new(Semaphore::new(0));
    let late = Late { read: read.clone(), answers: answers.clone() };
    let store = SteppedStore::new(MemoryStore::new(), late);
    let mut scene = Scene::new(store).await;
    let turn = scene.session.send("hi").await.unwrap();
    let id = turn.id();
    let completion = scene.script.next().await;
    let ends = async {
        read.notified().await;
        completion.finish(said("Hello."));
        turn.ended().await.unwrap();
        answers.add_permits(2);
    };
    let (words, ()) = tokio::join!(scene.words(id), ends);
    assert_eq!(words, "Answered, None, 7: 1 to 2.2");
    scene.runtime.shutdown().await.unwrap();
    let closed = scene.session.turn_status(id);
    answers.add_permits(1);
    assert!(closed.await.unwrap().is_some(), "what the store has can be read");
}

#[tokio::test]
async fn an_open_turn_of_a_runtime_that_has_shut_down_is_not_told_as_running() {
    let mut scene = Scene::new(MemoryStore::new()).await;
    let turn = scene.session.send("hi").await.unwrap();
    let _completion = scene.script.next().await;
    scene.runtime.shutdown().await.unwrap();
    let status = scene.session.turn_status(turn.id()).await;
    assert!(matches!(status, Err(Error::Closed)), "{status:?}");
    let ended = turn.ended().await;
    assert!(matches!(ended, Err(Error::Closed)), "{ended:?}");
}
