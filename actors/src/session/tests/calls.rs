//! The calls of a turn: too many of them, those that have not begun, and what their handlers
//! receive.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{by_hand, by_hand_with, calling, words};
use crate::{
    ledger::{Proposal, Transition, text_digest},
    port::{Access, BoxFuture, Prepared, Tool, ToolContext, ToolResult, TurnStep, Write},
    protocol::{
        Bound, CallId, CallResult, ChatMessage, Completion, Content, Decision, EffectPolicy,
        EventCursor, EventKind, Limits, OnDismiss, PromptMessage, Timestamp, ToolOutcome, ToolSpec,
        TurnId, TurnOptions, Usage,
    },
    session::{SessionMsg, SessionRequest, SessionSlot, StreamItem, TurnEnd, TurnRequest},
    test_runtime::{TestRuntime, in_time, kind},
    testing::{FakeTool, Gate, Probe, model_pair},
};

/// Asks in a turn that outlives its screen.
async fn asks_to_finish(
    runtime: &TestRuntime,
    slot: &Arc<SessionSlot>,
) -> oneshot::Receiver<TurnEnd> {
    let ((began, beginning), (ended, end)) = (oneshot::channel(), oneshot::channel());
    let on_dismiss = OnDismiss::Finish;
    let options = TurnOptions { on_dismiss, ..TurnOptions::default() };
    let bytes = runtime.handles.calls.admission.admit(Bound::QueuedBytes, slot.user(), 2).unwrap();
    runtime.send(
        slot,
        SessionRequest::Submit(TurnRequest { text: "go".into(), options, bytes, began, ended }),
    );
    in_time(beginning).await.unwrap().unwrap();
    end
}

async fn dismisses(runtime: &TestRuntime, slot: &Arc<SessionSlot>) {
    let (reply, dismissed) = oneshot::channel();
    runtime.send(slot, SessionRequest::Dismiss { only: None, reply });
    in_time(dismissed).await.unwrap().unwrap();
}

/// What the model reads of its calls.
fn envelopes(messages: &[PromptMessage]) -> Vec<String> {
    let envelope = |message: &PromptMessage| {
        let PromptMessage::ToolCall { envelope, .. } = message else { return None };
        Some(envelope.to_string())
    };
    messages.iter().filter_map(envelope).collect()
}

#[tokio::test]
async fn each_call_beyond_the_bound_is_recorded_and_told_as_an_error_and_runs_nothing() {
    let limits = Limits { max_calls_per_completion: 2, ..Limits::default() };
    let tool = FakeTool::write("note");
    let runs = tool.runs();
    let (runtime, mut script) = by_hand_with(limits, [tool]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["note"; 5]));
    let completion = script.next().await;
    let read = envelopes(&completion.request().messages);
    let too_many = r#"{"status":"error","code":"too_many_calls","reason":"Not run, because at most 2 calls are taken at once. Call it again if it is still needed."}"#;
    assert_eq!(read[2..], [too_many; 3]);
    completion.say("Noted.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(1).await;
    assert_eq!(probe.lines().matches("too_many_calls").count(), 3, "{}", probe.lines());
    assert_eq!((runs.count(), runtime.at_rest().await.len()), (2, 5));
}

#[tokio::test]
async fn of_arguments_that_are_too_long_the_beginning_is_stored_and_told() {
    let limits = Limits { max_arguments_bytes: 2_000, ..Limits::default() };
    let tool = FakeTool::write("note");
    let runs = tool.runs();
    let (runtime, mut script) = by_hand_with(limits, [tool]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    let mut asked = calling("", &["note", &"n".repeat(9_000)]);
    // Whole it is JSON, and a part of it would be too.
    asked.tool_calls[0].arguments = format!("{{}}{}", " ".repeat(3 << 20)).into();
    script.next().await.finish(asked);
    let completion = script.next().await;
    let read = envelopes(&completion.request().messages);
    let too_long = r#"{"status":"error","code":"validation","reason":"invalid arguments: longer than 2000 bytes"}"#;
    assert_eq!(read[0], too_long);
    assert!(read[1].contains("unknown_tool") && read[1].len() < 2_000, "{}", read[1]);
    completion.say("Noted.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(1).await;
    assert!(probe.lines().len() < 20_000, "{}", probe.lines().len());
    let rows = runtime.at_rest().await;
    assert_eq!((runs.count(), rows.len()), (0, 2));
    for row in &rows {
        assert!(row.raw_arguments.len() < 2_000 && row.name.len() < 2_000);
        assert!(format!("{row:?}").len() < 10_000, "neither is there in another place");
    }
    assert!(rows[0].raw_arguments.ends_with(" bytes)"), "{}", rows[0].raw_arguments);
}

#[tokio::test]
async fn a_call_beyond_the_bound_runs_nothing_after_a_restart_either() {
    let limits = Limits { max_calls_per_completion: 1, ..Limits::default() };
    let gate = Gate::new();
    let tool = FakeTool::write("note").gate(&gate);
    let runs = tool.runs();
    let (runtime, mut script) = by_hand_with(limits, [tool]).await;
    let slot = runtime.slot("s").await;
    let mut reads = slot.feed().subscribe();
    // As a process leaves it that ends before the first of three calls begins.
    let (session, turn, at) =
        (slot.session(), TurnId::new(Uuid::now_v7()), Timestamp::from_millis(1));
    let options = TurnOptions::default();
    let content = Content::user("go");
    let message = ChatMessage { seq: 1, turn, at, content };
    let called = TurnStep::Called { round: 1, from: 2, usage: Usage::default() };
    let mut left = vec![
        Write::TurnStarted {
            session: session.clone(),
            turn,
            at,
            options,
            text: text_digest("go"),
            max_stored_bytes: u64::MAX,
        },
        Write::Message { session: session.clone(), message },
        Write::Turn { session: session.clone(), turn, at, step: called },
    ];
    left.extend((2..5).map(|seq| {
        let name = "note".into();
        let arguments = "{}".into();
        let user = slot.user().clone();
        let proposed = Transition::Proposed(Proposal {
            model: None,
            opaque: None,
            turn,
            seq,
            name,
            arguments,
            user,
        });
        let session = session.clone();
        let call = CallId::new(Uuid::now_v7());
        Write::Call { session, call, at, transition: proposed }
    }));
    runtime.handles.store.write(left).await.unwrap();
    runtime.state(&slot).await;
    in_time(gate.arrived(1)).await;
    let told: Vec<_> = std::iter::from_fn(|| reads.try_next()).collect();
    let Some(StreamItem::Event(resumed)) = told.first() else { panic!("{told:?}") };
    assert_eq!(resumed.cursor, EventCursor::of_entry(1), "before the calls that go on");
    let is_proposed = |item: &StreamItem| matches!(item, StreamItem::Event(event) if matches!(event.kind, EventKind::ToolCallProposed { .. }));
    assert_eq!(told.into_iter().filter(is_proposed).count(), 1, "the one that writes goes alone");
    gate.open();
    let completion = script.next().await;
    let read = envelopes(&completion.request().messages);
    let beyond: Vec<_> = read.iter().map(|envelope| envelope.contains("too_many_calls")).collect();
    assert_eq!(beyond, [false, true, true], "{read:?}");
    assert_eq!(runs.count(), 1);
}

#[tokio::test]
async fn no_call_begins_at_shutdown_even_where_a_turn_outlives_its_screen() {
    for is_asked_to_close in [true, false] {
        let ((model, mut script), gate) = (model_pair(), Gate::new());
        let one = FakeTool::write("one").gate(&gate);
        let two = FakeTool::write("two");
        let runs = (one.runs(), two.runs());
        let runtime = TestRuntime::with_tools(Limits::default(), model, [one, two]).await;
        let slot = runtime.slot("s").await;
        let _end = asks_to_finish(&runtime, &slot).await;
        script.next().await.finish(calling("", &["one", "two", "two"]));
        in_time(gate.arrived(1)).await;
        let closed = runtime.context.closing.clone();
        if is_asked_to_close {
            let (reply, closes) = oneshot::channel();
            closed.cancel();
            slot.awake().unwrap().cast(SessionMsg::Close { reply }).unwrap();
            gate.open();
            in_time(closes).await.unwrap();
        } else {
            closed.cancel();
            gate.open();
        }
        runtime.context.tasks.close();
        in_time(runtime.context.tasks.wait()).await;
        let rows = runtime.ledger().await;
        let outcomes: Vec<_> =
            rows.iter().map(|row| row.outcome.as_ref().map(ToolOutcome::is_ok)).collect();
        assert_eq!((runs.0.count(), runs.1.count()), (1, 0));
        assert_eq!(outcomes, [Some(true), None, None]);
    }
}

#[tokio::test]
async fn what_waits_for_its_permit_goes_on_with_its_turn_where_the_session_was_lost() {
    let ((model, mut script), gate) = (model_pair(), Gate::new());
    let tool = FakeTool::read("look").gate(&gate).with_spec(|spec| spec.max_concurrent(1));
    let runs = tool.runs();
    let runtime = TestRuntime::with_tools(Limits::default(), model, [tool]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let _end = asks_to_finish(&runtime, &slot).await;
    script.next().await.finish(calling("", &["look", "look"]));
    in_time(gate.arrived(1)).await;
    slot.awake().unwrap().kill();
    gate.open();
    script.next().await.say("Seen.");
    probe.until_turns_ended(1).await;
    let expected = ["go", "look None Shown", "look None Shown", "Seen."];
    assert_eq!(
        (words(&runtime, &slot).await, runs.count()),
        (expected.map(str::to_owned).to_vec(), 2)
    );
    runtime.at_rest().await;
}

/// Remembers what its handlers were told as they began.
#[derive(Debug)]
struct Looks {
    spec: ToolSpec,
    told: Arc<Mutex<Vec<bool>>>,
    gate: Gate,
}

impl Tool for Looks {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: Prepared,
        ctx: &'a ToolContext,
        _: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async move {
            let before = ctx.cancelled.is_cancelled();
            self.gate.pass().await;
            self.told.lock().unwrap().extend([before, ctx.cancelled.is_cancelled()]);
            Ok(ToolOutcome::ok(json!({})))
        })
    }
}

#[tokio::test]
async fn if_a_turn_outlives_its_screen_only_handlers_that_ran_then_hear_of_the_dismissal() {
    let (model, mut script) = model_pair();
    let gate = Gate::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let spec = ToolSpec::new("post", "Posts.", json!({ "type": "object" }));
    let spec = spec.effect(EffectPolicy::Write);
    let tool = Looks { spec, told: told.clone(), gate: gate.clone() };
    let runtime = TestRuntime::with_tools(Limits::default(), model, [tool]).await;
    let slot = runtime.slot("s").await;
    let end = asks_to_finish(&runtime, &slot).await;
    // The second of these is asked for before the dismissal, and begins behind it.
    script.next().await.finish(calling("", &["post", "post"]));
    in_time(gate.arrived(1)).await;
    dismisses(&runtime, &slot).await;
    gate.open();
    script.next().await.finish(calling("", &["post"]));
    script.next().await.say("Done.");
    in_time(end).await.unwrap();
    assert_eq!(*told.lock().unwrap(), [false, true, false, false, false, false]);
    let results: Vec<_> = runtime.at_rest().await.iter().map(|row| row.result).collect();
    let expected = [CallResult::Discarded, CallResult::Shown, CallResult::Shown];
    assert_eq!(results, expected.map(Some), "what counts is told that it does");
}

#[tokio::test]
async fn a_model_that_counts_to_the_end_of_the_numbers_ends_no_turn() {
    let (runtime, mut script) = by_hand([FakeTool::read("look")]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "hi").await.unwrap();
    let most = u32::MAX;
    let usage = Usage { prompt_tokens: most, cached_tokens: most - 1, completion_tokens: 1 };
    script.next().await.finish(Completion { usage, ..calling("", &["look"]) });
    script.next().await.finish(Completion { usage, ..calling("Hello.", &[]) });
    let end = in_time(end).await.unwrap();
    let sum = Usage { prompt_tokens: most, cached_tokens: most, completion_tokens: 2 };
    assert_eq!(end.usage, sum);
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_told_and_recorded_as_a_plain_yes() {
    let (runtime, mut script) = by_hand([FakeTool::destructive("mail")]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    script.next().await.finish(calling("", &["mail"]));
    let request = probe.approval_request().await;
    let arguments = Value::clone(&request.arguments);
    runtime.decide(&request, Decision::Edit { arguments }).await.unwrap();
    script.next().await.say("Sent.");
    in_time(end).await.unwrap();
    probe.until_turns_ended(1).await;
    assert!(probe.lines().contains("answered Approve\n"), "{}", probe.lines());
    let call = runtime.at_rest().await.pop().unwrap();
    assert_eq!((call.approval, call.asked), (Some(crate::protocol::Approval::Once), None));
}

#[tokio::test]
async fn what_is_told_of_several_calls_at_once_is_what_is_stored() {
    let (runtime, mut script) = by_hand([FakeTool::write("note")]).await;
    let slot = runtime.slot("s").await;
    let end = runtime.ask(&slot, "go").await.unwrap();
    let completion = script.next().await;
    completion.finish(calling("Noting.", &["note", "note", "gone"]));
    script.next().await.say("Noted.");
    in_time(end).await.unwrap();
    let told = runtime.state(&slot).await.messages;
    let stored =
        crate::port::Store::session(&runtime.store, slot.session()).await.unwrap().unwrap();
    assert_eq!(told, stored.messages);
    let direct = runtime.call("note", "{}").await;
    assert_eq!(kind(&direct), "ok, Committed");
}
