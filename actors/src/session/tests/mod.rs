//! A session's slot and its actor: asleep, waking, awake, killed in the middle of something, and
//! without its store.
//!
//! The tests run a whole runtime in memory (`test_runtime`), whose model and handlers wait for the
//! test. They look at three kinds of things:
//!
//! - One turn and its ends: `calls`, `answers`, `questions`, `idempotency`, `length`, `left_out`,
//!   `on_its_way`.
//! - The life of a session: `idle`, `waking`, `closing`, `clearing`, `admission`, `room`,
//!   `in_line`, `beside`, `lost`, `lost_reply`, `cut_off`, `no_model`, `effect_resolution`.
//! - Readers: `reading`, and `coming_back` for those that continue after a cursor.
//!
//! `scene` is a world of random steps and faults. `interleavings` compares its ledger with what the
//! tools did, and `heard` with what readers and persons received.

mod admission;
mod answers;
mod beside;
mod calls;
mod clearing;
mod closing;
mod coming_back;
mod cut_off;
mod effect_resolution;
mod heard;
mod idempotency;
mod idle;
mod in_line;
mod interleavings;
mod left_out;
mod length;
mod lost;
mod lost_reply;
mod no_model;
mod on_its_way;
mod questions;
mod reading;
mod room;
mod scene;
mod waking;

use std::{sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde_json::json;
use tokio::{runtime::Handle, sync::oneshot};

use super::{Error, RuntimeContext, Sent, SessionRequest, SessionSlot, ViewPage};
use crate::{
    dispatcher::{CallEnd, DispatcherEvent, DispatcherMsg},
    mailbox::Address,
    port::StoreError,
    protocol::{
        CallRecord, CallResult, Completion, Content, Decision, Effect, EventKind, Limits,
        PromptMessage, Timestamp, ToolOutcome, TurnEnding, WantedCall,
    },
    test_runtime::{PATIENCE, TestRuntime, in_time},
    testing::{FakeTool, Gate, HandScript, Probe, ScriptedCompletion, ScriptedModel, model_pair},
};

fn calling(text: &str, names: &[&str]) -> Completion {
    let call = |name: &&str| WantedCall::new(*name, "{}");
    Completion {
        text: text.to_owned(),
        tool_calls: names.iter().map(call).collect(),
        ..Completion::default()
    }
}

async fn by_hand(tools: impl IntoIterator<Item = FakeTool>) -> (TestRuntime, HandScript) {
    by_hand_with(Limits::default(), tools).await
}

async fn by_hand_with(
    limits: Limits,
    tools: impl IntoIterator<Item = FakeTool>,
) -> (TestRuntime, HandScript) {
    // Handlers wait at their gate for as long as the test wants.
    let limits = Limits { transaction_deadline: PATIENCE, ..limits };
    let (model, script) = model_pair();
    (TestRuntime::with(limits, model, tools).await, script)
}

async fn asleep(slot: &Arc<SessionSlot>) {
    while slot.awake().is_some() {
        tokio::task::yield_now().await;
    }
}

/// The transcript as words.
async fn words(runtime: &TestRuntime, slot: &Arc<SessionSlot>) -> Vec<String> {
    let word = |content| match content {
        Content::User { text, .. } | Content::Model { text, .. } => text.to_string(),
        Content::ToolCall(record) => {
            format!("{} {:?} {:?}", record.name, record.effect, record.result)
        }
        other @ (Content::Notice { .. } | Content::Cleared) => format!("{other:?}"),
    };
    let messages = runtime.state(slot).await.messages;
    let seqs: Vec<_> = messages.iter().map(|message| message.seq).collect();
    assert!(seqs.is_sorted_by(|a, b| *b == a + 1), "no gaps: {seqs:?}");
    messages.into_iter().map(|message| word(message.content)).collect()
}

#[tokio::test]
async fn an_idle_session_sleeps_and_wakes_with_its_transcript() {
    let limits = Limits { session_idle: Duration::from_millis(5), ..Limits::default() };
    let model = ScriptedModel::repeating([ScriptedCompletion::text("Hello.")]);
    let runtime = TestRuntime::with(limits, model, []).await;
    let slot = runtime.slot("s").await;
    for _ in 0..3 {
        let end = runtime.ask(&slot, "hi").await.unwrap();
        assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
        in_time(asleep(&slot)).await;
    }
    assert_eq!(words(&runtime, &slot).await, ["hi", "Hello."].repeat(3));
    runtime.at_rest().await;
}

#[tokio::test]
async fn what_comes_while_a_session_wakes_is_handled_in_order_and_too_much_is_given_back() {
    let limits = Limits { max_waiting_messages: 2, ..Limits::default() };
    let runtime = TestRuntime::with(limits, ScriptedModel::new([]), []).await;
    let slot = runtime.slot("s").await;
    let state = || {
        let (reply, state) = oneshot::channel();
        (SessionRequest::State { page: ViewPage::ALL, reply }, state)
    };
    let ((first, heard_first), (second, heard_second), (third, _)) = (state(), state(), state());
    assert!(matches!(slot.send(first), Sent::WakeIt));
    assert!(matches!(slot.send(second), Sent::Delivered));
    let Sent::Full(third, _) = slot.send(third) else { panic!("two wait already") };
    assert!(matches!(*third, SessionRequest::State { .. }));
    super::open(slot.clone(), runtime.context.clone(), super::WakePolicy::RefuseIfFull).await;
    in_time(heard_first).await.unwrap().unwrap();
    in_time(heard_second).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_session_that_cannot_wake_says_why_and_sleeps_on() {
    let runtime = TestRuntime::new([]).await;
    let user = crate::test_runtime::kim();
    let name = crate::test_runtime::session("never-opened");
    let slot = runtime.sessions.slot(&name, &user, &runtime.handles.calls.limits).unwrap();
    assert!(matches!(runtime.ask(&slot, "hi").await, Err(Error::Deleted)));
    assert!(slot.awake().is_none());
    runtime.slot("never-opened").await;
    assert!(words(&runtime, &slot).await.is_empty());
}

#[tokio::test]
async fn what_a_model_had_no_room_for_is_told_with_its_number() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "hi").await.unwrap();
    let answer = Completion { left_out: 7, ..calling("Hello.", &[]) };
    script.next().await.finish(answer);
    in_time(end).await.unwrap();
    probe
        .until(|events| {
            let told =
                |kind: &EventKind| matches!(kind, EventKind::MessagesLeftOut { messages: 7, .. });
            events.iter().any(|event| told(&event.kind))
        })
        .await;
}

/// The session is told of a call's end before the text that the model said with it has come back
/// from the store.
#[tokio::test]
async fn neither_readers_nor_the_model_hear_of_a_call_before_the_message_that_asks_for_it() {
    let (mut runtime, mut script) = by_hand([FakeTool::read("look")]).await;
    let (dispatcher, _) = Quick::spawn(None, Quick, ()).await.unwrap();
    let context =
        RuntimeContext { dispatcher: Address::new(dispatcher), ..(*runtime.context).clone() };
    runtime.context = Arc::new(context);
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "hi").await.unwrap();
    let paused = runtime.store.pause().await;
    script.next().await.finish(calling("Let me see.", &["look"]));
    let mut probe = Probe::new(slot.feed().subscribe());
    for _ in 0..100 {
        tokio::task::yield_now().await; // time enough for the call, if it did not wait for the message
    }
    drop(paused);
    let completion = script.next().await;
    let read: Vec<_> = completion.request().messages.iter().map(role).collect();
    assert_eq!(read, ["user", "model", "call"]);
    completion.say("Seen.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(1).await;
    let told: Vec<_> =
        probe.events().iter().map(|event| json!(event.kind)["type"].clone()).collect();
    let [said, proposed, ended] = ["model_message", "tool_call_proposed", "tool_call_ended"];
    assert_eq!(told, [said, proposed, ended, said, "turn_ended"]);
}

fn role(message: &PromptMessage) -> &'static str {
    match message {
        PromptMessage::User { .. } => "user",
        PromptMessage::Model { .. } => "model",
        PromptMessage::ToolCall { .. } => "call",
    }
}

/// A dispatcher that is quicker than the store.
struct Quick;

impl Actor for Quick {
    type Msg = DispatcherMsg;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        msg: DispatcherMsg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let DispatcherMsg::Dispatch { request, reply } = msg else { return Ok(()) };
        let at = Timestamp::from_millis(0);
        let record = Box::new(CallRecord {
            model: None,
            opaque: None,
            id: request.call.id,
            name: request.call.name.clone(),
            arguments: json!({}).into(),
            outcome: Some(ToolOutcome::ok(json!({}))),
            asked: None,
            approval: None,
            effect: Effect::None,
            resolved_by: None,
            result: CallResult::Shown,
            proposed_at: at,
            ended_at: at,
        });
        let end = CallEnd { seq: request.seq, record, is_recorded: true };
        reply.send(DispatcherEvent::Ended(end));
        Ok(())
    }
}

#[tokio::test]
async fn killed_while_a_handler_runs_the_session_wakes_with_what_the_handler_did() {
    for tool in [FakeTool::transactional("save"), FakeTool::write("save")] {
        let gate = Gate::new();
        let runs = tool.runs();
        let (runtime, mut script) = by_hand([tool.gate(&gate)]).await;
        let slot = runtime.slot("s").await;
        let end = runtime.ask(&slot, "go").await.unwrap();
        script.next().await.finish(calling("", &["save"]));
        in_time(gate.arrived(1)).await;
        slot.awake().unwrap().kill();
        // The next message waits until the handler has ended, so that all readers read its real
        // end.
        let (again, ()) = tokio::join!(runtime.ask(&slot, "again"), async {
            for _ in 0..100 {
                tokio::task::yield_now().await; // time enough to wake, if it did not wait
            }
            gate.open();
        });
        assert!(again.is_err(), "the turn goes on");
        let completion = script.next().await;
        let told: Vec<_> = completion.request().messages.iter().map(role).collect();
        assert_eq!(told, ["user", "call"]);
        completion.say("Saved.");
        assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
        assert_eq!(words(&runtime, &slot).await, ["go", "save Committed Shown", "Saved."]);
        assert_eq!((runs.count(), runtime.at_rest().await.len()), (1, 1));
    }
}

#[tokio::test]
async fn killed_while_the_model_speaks_or_a_person_is_asked_the_turn_goes_on() {
    let (runtime, mut script) = by_hand([FakeTool::destructive("mail")]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "one").await.unwrap();
    let completion = script.next().await;
    slot.awake().unwrap().kill();
    in_time(completion.cancelled()).await;
    script.next().await.say("One.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);

    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "two").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let request = probe.approval_request().await;
    slot.awake().unwrap().kill();
    let again = probe.approval_request().await;
    assert_eq!((again.call, again.digest), (request.call, request.digest), "it is asked again");
    runtime.decide(&again, Decision::Deny).await.unwrap();
    script.next().await.say("Not sent.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    let expected = ["one", "One.", "two", "mail None Shown", "Not sent."];
    assert_eq!(words(&runtime, &slot).await, expected);
    let stored =
        crate::port::Store::session(&runtime.store, slot.session()).await.unwrap().unwrap();
    assert_eq!(stored.open_turn, None);
    runtime.at_rest().await;
}

#[tokio::test]
async fn a_turn_that_the_store_refuses_is_refused_and_one_whose_end_it_refuses_goes_on() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    runtime.store.fail_next_begin();
    assert!(matches!(runtime.ask(&slot, "lost").await, Err(Error::Store(_))));
    let end = runtime.ask(&slot, "hi").await.unwrap();
    runtime.store.fail_next_begin();
    script.next().await.say("lost");
    script.next().await.say("Hello.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(words(&runtime, &slot).await, ["hi", "Hello."]);
}

#[tokio::test]
async fn what_was_stored_is_not_called_lost_where_only_the_reply_was() {
    let (runtime, mut script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    runtime.store.lose_next_commit_reply();
    let end = runtime.ask(&slot, "hi").await.unwrap();
    let completion = script.next().await;
    runtime.store.lose_next_commit_reply();
    completion.say("Hello.");
    assert_eq!(in_time(end).await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(words(&runtime, &slot).await, ["hi", "Hello."]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_to_whose_write_no_writer_comes_is_refused_and_never_begins() {
    let limits = Limits { store_timeout: Duration::from_secs(1), ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    let lease = runtime.handles.store.lease("a handler that blocks".into()).await.unwrap();
    let refused = in_time(runtime.ask(&slot, "send it")).await;
    assert!(matches!(refused, Err(Error::Store(StoreError::Withdrawn))), "{refused:?}");
    assert!(words(&runtime, &slot).await.is_empty(), "it has woken anew");
    in_time(slot.writes_ended()).await;
    drop(lease);
    runtime.handles.store.write(Vec::new()).await.unwrap(); // behind all that waited
    let stored =
        crate::port::Store::session(&runtime.store, slot.session()).await.unwrap().unwrap();
    assert_eq!((stored.open_turn, stored.messages), (None, Vec::new()));
    assert!(script.try_next().is_none(), "no model answers what was refused");
    runtime.at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_asks_while_a_commit_hangs_hears_what_becomes_of_it() {
    let limits = Limits { store_timeout: Duration::from_secs(1), ..Limits::default() };
    let (runtime, mut script) = by_hand_with(limits, []).await;
    let slot = runtime.slot("s").await;
    runtime.state(&slot).await;
    let paused = runtime.store.pause().await;
    let hangs = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(runtime.state(&slot).await.is_streaming, "its turn is about to begin");
        drop(paused);
    };
    let (end, ()) = tokio::join!(runtime.ask(&slot, "hi"), hangs);
    script.next().await.say("Hello.");
    in_time(end.unwrap()).await.unwrap();
    assert_eq!(words(&runtime, &slot).await, ["hi", "Hello."]);
}

#[tokio::test]
async fn what_a_session_writes_is_waited_for() {
    let (runtime, mut script) = by_hand([]).await;
    let slots = [runtime.slot("a").await, runtime.slot("b").await];
    for slot in &slots {
        runtime.state(slot).await;
    }
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let paused = runtime.store.pause().await;
    let waits = async {
        for slot in &slots {
            runtime.state(slot).await;
        }
        runtime.handles.store.waiting().await.unwrap();
        assert_eq!(tasks() - before, 3, "the writer, and one for each session");
        assert_eq!(runtime.context.tasks.len(), 3, "and all are waited for");
        drop(paused);
    };
    let asks = (runtime.ask(&slots[0], "hi"), runtime.ask(&slots[1], "hi"));
    let (one, two, ()) = tokio::join!(asks.0, asks.1, waits);
    for end in [one, two] {
        script.next().await.say("Hello.");
        in_time(end.unwrap()).await.unwrap();
    }
    runtime.at_rest().await;
}

#[tokio::test]
async fn a_session_that_wakes_while_the_runtime_closes_begins_no_turn() {
    let (runtime, _script) = by_hand([]).await;
    let slot = runtime.slot("s").await;
    runtime.context.closing.cancel();
    assert!(matches!(runtime.ask(&slot, "hi").await, Err(Error::Closed)));
    in_time(runtime.sessions.close()).await;
    runtime.at_rest().await;
}
