//! A turn that began gives its text, its events and its end, whatever else happens in its session.

use std::{future::Future, pin::Pin, task};

use futures_core::Stream;
use madang::{
    Error, IdempotencyKey, LanguageTag, Limits, OnDismiss, Session, Turn, TurnOptions,
    error::{ReplyError, TurnError},
    event::{EventKind, StreamItem, TurnEnding},
    model::Completion,
    turn::TurnEvents,
};
use madang_testing::{HandScript, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::json;

use crate::support::{PATIENCE, TestRuntime, call_then_say, wanted};

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it comes in time")
}

async fn session_of(test: &TestRuntime) -> Session {
    test.runtime.user("kim").unwrap().session("s").await.unwrap()
}

async fn with_hand() -> (TestRuntime, Session, HandScript) {
    let (model, script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = session_of(&test).await;
    (test, session, script)
}

async fn submit(session: &Session, key: &str, text: &str) -> Turn {
    let key = Some(IdempotencyKey::new(key).unwrap());
    let options = TurnOptions { key, ..TurnOptions::default() };
    in_time(session.send_with(text, options)).await.unwrap()
}

/// What the stream tells until it ends, a word an event; pieces of streamed text are left out.
async fn words(events: &mut TurnEvents) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(item) = in_time(events.next()).await {
        words.push(match item {
            StreamItem::Event(event) => match &event.kind {
                EventKind::UserMessage { text, .. } => format!("user {text}"),
                EventKind::ModelMessage { text, .. } => format!("model {text}"),
                EventKind::ToolCallEnded { record } => format!("called {}", record.name),
                EventKind::Error { error, .. } => format!("error {error:?}"),
                EventKind::TurnEnded { ending, .. } => format!("ended {ending:?}"),
                EventKind::ToolCallProposed { wanted, .. } => format!("proposed {}", wanted.name),
                other @ (EventKind::ApprovalRequested { .. }
                | EventKind::ApprovalEnded { .. }
                | EventKind::ToolCallResolved { .. }
                | EventKind::SystemNotice { .. }
                | EventKind::Cleared
                | EventKind::MessagesLeftOut { .. }
                | EventKind::TurnResumed
                | EventKind::TurnInterrupted { .. }
                | _) => panic!("no such event is expected: {other:?}"),
            },
            StreamItem::Lagged { .. } => "lagged".to_owned(),
            StreamItem::ReplayFailed => "unread".to_owned(),
            StreamItem::Text { .. } | StreamItem::Thinking { .. } | _ => continue,
        });
    }
    assert_eq!(in_time(events.next()).await, None, "a stream that ended stays so");
    words
}

#[tokio::test]
async fn the_text_of_a_turn_is_all_that_the_model_said_around_its_calls() {
    let (test, session, mut script) = with_hand().await;
    let turn = session.send("note a").await.unwrap();
    let says = async {
        script.next().await.finish(Completion {
            text: "I write it down.".into(),
            tool_calls: vec![wanted("note", &json!({ "name": "a" }))],
            ..Completion::default()
        });
        script.next().await.say("It is there.");
    };
    let (text, ()) = in_time(async { tokio::join!(turn.text(), says) }).await;
    assert_eq!(text.as_deref(), Ok("I write it down.\n\nIt is there."));
    assert_eq!(test.rows().len(), 1);
    test.shutdown().await;
}

#[tokio::test]
async fn a_turn_that_a_tool_stops_gives_what_was_said_until_then() {
    let test =
        TestRuntime::new(ScriptedModel::new([ScriptedCompletion::call("stop", &json!({}))])).await;
    let turn = session_of(&test).await.send("stop").await.unwrap();
    assert_eq!(in_time(turn.text()).await.as_deref(), Ok(""));
    test.shutdown().await;
}

#[tokio::test]
async fn the_text_of_a_turn_that_failed_is_its_error_with_its_words() {
    let (test, session, mut script) = with_hand().await;
    let options = TurnOptions { language: Some(LanguageTag::EN), ..TurnOptions::default() };
    let turn = session.send_with("hi", options).await.unwrap();
    script.next().await.fail("Offline");
    let Err(ReplyError::Failed { error, text }) = in_time(turn.text()).await else {
        panic!("it failed");
    };
    assert_eq!(error, TurnError::model("Offline"));
    assert!(text.contains("Offline"), "{text}");
    let again = session.send("hi").await.unwrap();
    script.next().await.say("Hello.");
    assert_eq!(in_time(again.text()).await.as_deref(), Ok("Hello."), "the session goes on");
    test.shutdown().await;
}

#[tokio::test]
async fn the_text_of_a_turn_that_is_dismissed_says_so() {
    for on_dismiss in [OnDismiss::Stop, OnDismiss::Finish] {
        let (test, session, mut script) = with_hand().await;
        let options = TurnOptions { on_dismiss, ..TurnOptions::default() };
        let turn = session.send_with("hi", options).await.unwrap();
        let completion = script.next().await;
        let dismissed = async {
            session.dismiss().await.unwrap();
            if on_dismiss == OnDismiss::Finish {
                completion.say("Nobody reads this.");
            }
        };
        let (text, ()) = in_time(async { tokio::join!(turn.text(), dismissed) }).await;
        assert_eq!(text, Err(ReplyError::Dismissed), "{on_dismiss:?}");
        test.shutdown().await;
    }
}

#[tokio::test]
async fn a_turn_that_a_shutdown_leaves_to_the_next_start_has_no_text_yet() {
    let (test, session, mut script) = with_hand().await;
    let turn = submit(&session, "1", "hi").await;
    let events = submit(&session, "1", "hi").await;
    let end = submit(&session, "1", "hi").await;
    let mut events = events.events();
    let _completion = script.next().await;
    test.runtime.shutdown().await.unwrap();
    assert_eq!(in_time(turn.text()).await, Err(ReplyError::Closed));
    assert!(matches!(in_time(end.ended()).await, Err(Error::Closed)));
    assert_eq!(words(&mut events).await, ["user hi"], "the stream ends without an end of the turn");
}

#[tokio::test]
async fn the_events_of_a_turn_begin_with_its_message_and_end_with_its_end() {
    let test = TestRuntime::new(call_then_say("search", &json!({}), "There is nothing.")).await;
    let turn = session_of(&test).await.send("search").await.unwrap();
    // Long after it ended: the stream began before the turn did.
    while session_of(&test).await.state().await.unwrap().messages.len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        words(&mut turn.events()).await,
        [
            "user search",
            "proposed search",
            "called search",
            "model There is nothing.",
            "ended Answered"
        ]
    );
    test.shutdown().await;
}

#[tokio::test]
async fn the_pieces_of_the_text_are_in_the_stream() {
    let (test, session, mut script) = with_hand().await;
    let mut events = session.send("hi").await.unwrap().events();
    let completion = script.next().await;
    completion.delta("Hel");
    let mut heard = String::new();
    while heard != "Hel" {
        if let Some(StreamItem::Text { text: piece, .. }) = in_time(events.next()).await {
            heard.push_str(&piece);
        }
    }
    completion.say("Hello.");
    assert_eq!(words(&mut events).await, ["model Hello.", "ended Answered"]);
    test.shutdown().await;
}

#[tokio::test]
async fn the_events_are_a_stream_for_others_to_combine() {
    let test = TestRuntime::new(ScriptedModel::new([ScriptedCompletion::text("Hello.")])).await;
    let events = session_of(&test).await.send("hi").await.unwrap().events();
    let mut events: Pin<Box<dyn Stream<Item = StreamItem> + Send>> = Box::pin(events);
    let mut count = 0;
    while let Some(item) = in_time(std::future::poll_fn(|context: &mut task::Context<'_>| {
        events.as_mut().poll_next(context)
    }))
    .await
    {
        count += usize::from(matches!(item, StreamItem::Event(_)));
    }
    assert_eq!(count, 3);
    test.shutdown().await;
}

#[tokio::test]
async fn a_handle_that_is_dropped_cancels_nothing() {
    let (test, session, mut script) = with_hand().await;
    let mut watched = session.subscribe();
    let turn = session.send("one").await.unwrap();
    let completion = script.next().await;
    drop(turn);
    completion.say("First.");
    let mut events = session_until_free(&session, "two").await.events();
    let _ = in_time(events.next()).await;
    drop(events);
    script.next().await.say("Second.");
    let mut said = Vec::new();
    while said.len() < 2 {
        if let Some(StreamItem::Event(event)) = in_time(watched.next()).await
            && let EventKind::ModelMessage { text, .. } = &event.kind
        {
            said.push(text.to_string());
        }
    }
    assert_eq!(said, ["First.", "Second."]);
    test.shutdown().await;
}

/// Sends a text as soon as no other turn runs.
async fn session_until_free(session: &Session, text: &str) -> Turn {
    in_time(async {
        loop {
            match session.send(text).await {
                Ok(turn) => return turn,
                Err(madang::Error::Busy) => tokio::task::yield_now().await,
                Err(refused) => panic!("{refused}"),
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_slow_reader_is_told_so_and_reads_what_it_missed_from_the_store() {
    let limits = Limits { max_feed_events: 2, ..Limits::default() };
    let script = (0..3).map(|number| {
        ScriptedCompletion::call("note", &json!({ "name": format!("row {number}") }))
    });
    let script = script.chain([ScriptedCompletion::text("All three.")]);
    let test = TestRuntime::with_limits(ScriptedModel::new(script), limits).await;
    let session = session_of(&test).await;
    let turn = session.send("note three").await.unwrap();
    let state = async {
        while session.state().await.unwrap().is_streaming {
            tokio::task::yield_now().await;
        }
    };
    in_time(state).await;
    let told = words(&mut turn.events()).await;
    assert_eq!(told[0], "lagged", "{told:?}");
    assert_eq!(told.iter().filter(|word| *word == "called note").count(), 3, "{told:?}");
    assert_eq!((&*told[1], &*told[told.len() - 1]), ("user note three", "ended Answered"));
    test.shutdown().await;
}

#[tokio::test]
async fn a_text_that_a_slow_store_forgot_is_read_again_or_said_to_be_unread() {
    let limits = Limits { max_feed_events: 1, ..Limits::default() };
    let test = TestRuntime::with_limits(
        ScriptedModel::repeating([ScriptedCompletion::text("Yes.")]),
        limits,
    )
    .await;
    let session = session_of(&test).await;
    for (fails, expected) in [(false, Ok("Yes.".to_owned())), (true, Err(ReplyError::NotRead))] {
        let turn = session_until_free(&session, "sure?").await;
        let free = async {
            while session.state().await.unwrap().is_streaming {
                tokio::task::yield_now().await;
            }
        };
        in_time(free).await;
        if fails {
            test.store.fail_next_read();
        }
        assert_eq!(in_time(turn.text()).await, expected);
    }
    test.shutdown().await;
}

#[tokio::test]
async fn turns_of_two_sessions_and_of_one_are_kept_apart() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let (one, two) = (
        test.runtime.user("kim").unwrap().session("one").await.unwrap(),
        test.runtime.user("lee").unwrap().session("two").await.unwrap(),
    );
    let (first, second) = tokio::join!(one.send("a"), two.send("b"));
    for _ in 0..2 {
        let completion = script.next().await;
        let user = completion.request().messages.iter().map(|message| format!("{message:?}"));
        let answer = if user.collect::<String>().contains("\"a\"") { "to a" } else { "to b" };
        completion.say(answer);
    }
    let first = first.unwrap();
    let second = second.unwrap();
    // The next turn of the same session runs while the first one's events are read.
    let third = session_until_free(&one, "c").await;
    script.next().await.say("to c");
    assert_eq!(words(&mut first.events()).await, ["user a", "model to a", "ended Answered"]);
    assert_eq!(in_time(second.text()).await.as_deref(), Ok("to b"));
    assert_eq!(words(&mut third.events()).await, ["user c", "model to c", "ended Answered"]);
    test.shutdown().await;
}

#[tokio::test]
async fn a_text_that_is_sent_again_under_its_key_gives_the_same_turn_from_its_beginning() {
    let (test, session, mut script) = with_hand().await;
    let before = session.send("before").await.unwrap();
    script.next().await.say("Not of this turn.");
    in_time(before.text()).await.unwrap();
    let first = submit(&session, "1", "hi").await;
    let completion = script.next().await;
    completion.delta("Hel");
    let running = submit(&session, "1", "hi").await;
    assert_eq!(running.id(), first.id());
    completion.say("Hello.");
    let whole = ["user hi", "model Hello.", "ended Answered"];
    assert_eq!(words(&mut running.events()).await, whole);
    assert_eq!(words(&mut first.events()).await, whole);
    let other = session_until_free(&session, "more").await;
    script.next().await.say("Not of this turn either.");
    in_time(other.text()).await.unwrap();
    assert_eq!(words(&mut submit(&session, "1", "hi").await.events()).await, whole);
    assert_eq!(in_time(submit(&session, "1", "hi").await.text()).await.as_deref(), Ok("Hello."));
    let end = in_time(submit(&session, "1", "hi").await.ended()).await.unwrap();
    assert_eq!(end.ending, TurnEnding::Answered);
    test.shutdown().await;
}

#[tokio::test]
async fn the_turn_that_runs_is_read_from_its_beginning_through_another_handle() {
    let (test, session, mut script) = with_hand().await;
    let _ = session.send("hi").await.unwrap();
    let completion = script.next().await;
    let turn = session.turn().await.unwrap().expect("it runs");
    completion.say("Hello.");
    assert_eq!(words(&mut turn.events()).await, ["user hi", "model Hello.", "ended Answered"]);
    test.shutdown().await;
}

#[tokio::test]
async fn a_turn_is_streamed_and_its_outcome_read_from_the_same_handle() {
    let test = TestRuntime::new(call_then_say("note", &json!({ "name": "a" }), "Noted.")).await;
    let turn = session_of(&test).await.send("note a").await.unwrap();
    let told = words(&mut turn.events()).await;
    assert_eq!(told, words(&mut turn.events()).await, "it is read again from its beginning");
    let outcome = in_time(turn.outcome()).await.unwrap();
    assert_eq!((&*outcome.text, outcome.ending), ("Noted.", TurnEnding::Answered));
    assert_eq!((outcome.calls.len(), &*outcome.calls[0].name), (1, "note"));
    assert_eq!(in_time(turn.text()).await.unwrap(), "Noted.");
    let end = in_time(turn.ended()).await.unwrap();
    assert_eq!((end.ending, end.usage, outcome.error), (outcome.ending, outcome.usage, None));
    test.runtime.shutdown().await.unwrap();
}
