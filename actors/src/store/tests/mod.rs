//! The StoreActor on the memory store.

mod groups;
mod leases;
mod parts;
mod waiting;

use std::sync::Arc;

use ractor::{Actor, ActorRef, concurrency::JoinHandle};
use serde_json::json;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::{Jobs, Lease, StoreActor, StoreArguments, StoreHandle, StoreMsg, WriterHealth};
use crate::{
    ledger::{Ended, Proposal, Transition, text_digest},
    mailbox::Address,
    port::{Store, StoreError, Write},
    protocol::{
        CallId, CallResult, ChatMessage, Content, Digest, Effect, Limits, SessionId, Timestamp,
        ToolOutcome, TurnId, TurnOptions, UserId,
    },
    testing::{MemoryConnection, MemoryStore, SteppedStore, Steps},
};

/// A StoreActor on an empty memory store, with session `s` and its turn.
struct StoreFixture {
    store: MemoryStore,
    handle: StoreHandle,
    actor: ActorRef<StoreMsg>,
    address: Address<StoreMsg>,
    arguments: StoreArguments,
    ended: JoinHandle<()>,
    tasks: TaskTracker,
    health: Arc<WriterHealth>,
}

async fn fixture() -> StoreFixture {
    fixture_with(Limits::default()).await
}

async fn fixture_with(limits: Limits) -> StoreFixture {
    fixture_of(limits, |store| Arc::new(store)).await
}

/// The same where the store takes its steps in another way.
async fn fixture_where(steps: impl Steps) -> StoreFixture {
    fixture_of(Limits::default(), |store| Arc::new(SteppedStore::new(store, steps))).await
}

async fn fixture_of(
    limits: Limits,
    port: impl FnOnce(MemoryStore) -> Arc<dyn Store>,
) -> StoreFixture {
    let store = MemoryStore::new();
    let tasks = TaskTracker::new();
    let limits = Arc::new(limits);
    let health = Arc::new(WriterHealth::default());
    let port = port(store.clone());
    let arguments = StoreArguments {
        store: port.clone(),
        tasks: tasks.clone(),
        health: health.clone(),
        jobs: Jobs::new(port.writers(), &limits),
        limits,
    };
    let (actor, ended) = Actor::spawn(None, StoreActor, arguments.clone()).await.unwrap();
    let address = Address::new(actor.clone());
    let jobs = arguments.jobs.clone();
    let handle = StoreHandle::new(address.clone(), jobs, port, &arguments.limits);
    let opened = Write::Session { session: session(), user: user(), at: at() };
    let started = Write::TurnStarted {
        session: session(),
        turn: turn(),
        at: at(),
        options: TurnOptions::default(),
        text: text_digest("hi"),
        max_stored_bytes: u64::MAX,
    };
    // Where the limits leave little time for it, it is not too late for another try.
    while let Err(error) = handle.write(vec![opened.clone(), started.clone()]).await {
        assert!(matches!(error, StoreError::Withdrawn), "{error:?}");
    }
    StoreFixture { store, handle, actor, address, arguments, ended, tasks, health }
}

impl StoreFixture {
    async fn texts(&self) -> Vec<String> {
        let stored = self.store.session(&session()).await.unwrap().unwrap();
        let say = |message: ChatMessage| match message.content {
            Content::User { text, .. } => text.to_string(),
            Content::Model { .. }
            | Content::ToolCall(_)
            | Content::Notice { .. }
            | Content::Cleared => "-".into(),
        };
        stored.messages.into_iter().map(say).collect()
    }

    async fn entries(&self) -> usize {
        self.store.session(&session()).await.unwrap().unwrap().messages.len()
    }

    fn value(&self, name: &str) -> Option<serde_json::Value> {
        self.store.connection().get(name)
    }

    async fn lease(&self) -> Lease {
        self.handle.lease("tool".into()).await.unwrap()
    }

    /// Everything that was sent before has reached the actor.
    async fn barrier(&self) {
        self.handle.waiting().await.unwrap();
    }
}

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn user() -> UserId {
    UserId::new("kim").unwrap()
}

fn turn() -> TurnId {
    TurnId::new(Uuid::from_u128(1))
}

fn at() -> Timestamp {
    Timestamp::from_millis(1)
}

fn say(seq: u64, text: &str) -> Vec<Write> {
    let message = ChatMessage { seq, turn: turn(), at: at(), content: Content::user(text) };
    vec![Write::Message { session: session(), message }]
}

fn record(seq: u64) -> Vec<Write> {
    let proposal = Proposal {
        model: None,
        opaque: None,
        turn: turn(),
        seq,
        name: "t".into(),
        arguments: "{}".into(),
        user: user(),
    };
    let outcome = ToolOutcome::ok(json!(1));
    let ended = Ended {
        arguments: None,
        outcome,
        effect: Effect::Committed,
        result: CallResult::Shown,
        decided_by: None,
    };
    let call = CallId::new(Uuid::from_u128(seq.into()));
    let step = |transition| Write::Call { session: session(), call, at: at(), transition };
    let running = Transition::Running { arguments: json!({}).into(), digest: Digest::new([1; 32]) };
    vec![step(Transition::Proposed(proposal)), step(running), step(Transition::Ended(ended))]
}

fn put(lease: &mut Lease, name: &str) {
    let connection = lease.connection().downcast_mut::<MemoryConnection>().unwrap();
    connection.put(name, json!(1)).unwrap();
}
