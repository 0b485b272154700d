//! A report about a turn that is over changes nothing in the turn that runs.
//!
//! The reply about a write is lost. The look at the store that is to tell about it comes late:
//! while the next turn runs.

use std::{
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use madang::{
    OnDismiss, Runtime, Session, SessionId, Turn, TurnOptions, event::TurnEnding,
    model::Completion, store::Store,
};
use madang_actors::port::{BoxFuture, StoredSession};
use madang_testing::{
    FakeTool, HandCompletion, HandScript, MemoryStore, Read, SteppedStore, Steps, model_pair,
};
use serde_json::json;
use tokio::{sync::Semaphore, task::yield_now, time::timeout};

use crate::support::{PATIENCE, wanted};

/// Holds the next read of a whole session back, once it is told to.
#[derive(Debug, Clone)]
struct LateLook {
    holds: Arc<AtomicBool>,
    asked: Arc<Semaphore>,
    may_go: Arc<Semaphore>,
}

impl LateLook {
    fn new() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { holds: Arc::default(), asked: closed(), may_go: closed() }
    }

    fn holds_next(&self) {
        self.holds.store(true, SeqCst);
    }

    async fn is_asked(&self) {
        in_time(self.asked.acquire()).await.unwrap().forget();
    }

    fn let_go(&self) {
        self.may_go.add_permits(1);
    }
}

impl Steps for LateLook {
    fn session<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<StoredSession>>> {
        if !self.holds.swap(false, SeqCst) {
            return of.session(session);
        }
        Box::pin(async move {
            self.asked.add_permits(1);
            self.may_go.acquire().await.unwrap().forget();
            of.session(session).await
        })
    }
}

async fn in_time<T>(future: impl IntoFuture<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it comes in time")
}

/// A chat whose store answers late where the test says so.
struct Chat {
    _runtime: Runtime,
    memory: MemoryStore,
    look: LateLook,
    script: HandScript,
    session: Session,
}

impl Chat {
    async fn new() -> Self {
        let (model, script) = model_pair();
        let memory = MemoryStore::new();
        let look = LateLook::new();
        let runtime = Runtime::builder()
            .model(model)
            .store(SteppedStore::new(memory.clone(), look.clone()))
            .tool(FakeTool::read("look"))
            .tool(FakeTool::read("list"))
            .start()
            .await
            .unwrap();
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        Self { _runtime: runtime, memory, look, script, session }
    }

    /// Begins a turn that a dismissal lets come to its end.
    async fn first(&mut self) -> (Turn, HandCompletion) {
        let options = TurnOptions { on_dismiss: OnDismiss::Finish, ..TurnOptions::default() };
        let turn = self.session.send_with("first", options).await.unwrap();
        (turn, in_time(self.script.next()).await)
    }

    /// Lets the reply about the next write be lost, and the look that tells about it come late.
    fn loses_next_reply(&self) {
        self.look.holds_next();
        self.memory.lose_next_commit_reply();
    }

    /// Lets the late look come, and the session take what it says.
    async fn late_report_comes(&self) {
        self.look.let_go();
        for _ in 0..1_000 {
            yield_now().await;
        }
    }

    async fn answers(&mut self, turn: Turn) {
        in_time(self.script.next()).await.say("Hello.");
        is_answered(turn).await;
    }
}

async fn is_answered(turn: Turn) {
    let end = in_time(turn.ended()).await.unwrap();
    assert_eq!((end.ending, end.error), (TurnEnding::Answered, None));
}

#[tokio::test]
async fn a_late_report_about_a_dismissal_leaves_the_next_turn_alone() {
    let mut chat = Chat::new().await;
    let (first, completion) = chat.first().await;
    chat.loses_next_reply();
    let dismissed = chat.session.dismiss().await.unwrap();
    chat.look.is_asked().await;
    completion.say("Done.");
    is_answered(first).await;
    let second = chat.session.send("second").await.unwrap();
    chat.late_report_comes().await;
    in_time(dismissed.stored()).await.unwrap();
    chat.answers(second).await;
}

#[tokio::test]
async fn the_calls_of_a_round_begin_once_a_late_report_says_that_the_store_has_it() {
    let mut chat = Chat::new().await;
    let (first, completion) = chat.first().await;
    chat.loses_next_reply();
    let tool_calls = ["look", "list"].map(|name| wanted(name, &json!({}))).to_vec();
    completion.finish(Completion { tool_calls, ..Completion::default() });
    chat.look.is_asked().await;
    assert!(chat.script.try_next().is_none(), "the calls have not begun");
    chat.late_report_comes().await;
    in_time(chat.script.next()).await.say("Seen.");
    is_answered(first).await;
    let second = chat.session.send("second").await.unwrap();
    chat.answers(second).await;
}

#[tokio::test]
async fn a_look_that_fails_after_the_end_of_its_turn_leaves_the_next_turn_alone() {
    let mut chat = Chat::new().await;
    let (first, completion) = chat.first().await;
    chat.loses_next_reply();
    let dismissed = chat.session.dismiss().await.unwrap();
    chat.look.is_asked().await;
    completion.say("Done.");
    is_answered(first).await;
    // The user's own words are on their way when the report comes.
    chat.memory.fail_next_load();
    let paused = chat.memory.pause().await;
    let session = chat.session.clone();
    let second = tokio::spawn(async move { session.send("second").await });
    for _ in 0..1_000 {
        yield_now().await;
    }
    chat.late_report_comes().await;
    in_time(dismissed.stored()).await.expect("the turn is over, and its dismissal with it");
    drop(paused);
    let second = in_time(second).await.unwrap().expect("the store has the user's words");
    chat.answers(second).await;
}
