//! A call without a model in a session that is named: it stands behind the last entry, and the
//! session sleeps meanwhile.

use madang::{
    Call, CallReport, Error, Limits, SessionId, UserId,
    approval::Approver,
    event::{Content, EventKind, StreamItem, TurnEnding},
    store::Store as _,
};
use madang_testing::{RuntimeHooks as _, ScriptedCompletion, ScriptedModel};
use serde_json::json;
use tokio::{task::JoinHandle, time::timeout};

use crate::support::{PATIENCE, TestRuntime, dispatched, kim, kind};

fn named(session: &str, tool: &str) -> Call {
    Call::new(kim(), tool, json!({ "name": tool }).to_string())
        .session(SessionId::new(session).unwrap())
}

fn says(texts: &[&str]) -> ScriptedModel {
    ScriptedModel::new(texts.iter().map(|text| ScriptedCompletion::text(*text)))
}

fn in_background(test: &TestRuntime, call: Call) -> JoinHandle<Result<CallReport, Error>> {
    let runtime = test.runtime.clone();
    tokio::spawn(async move { dispatched(&runtime, call).await })
}

async fn joined<T>(task: JoinHandle<T>) -> T {
    timeout(PATIENCE, task).await.expect("it ends in time").unwrap()
}

/// The transcript in words.
async fn transcript(test: &TestRuntime, session: &str) -> Vec<(u64, String)> {
    let stored = test.store.session(&SessionId::new(session).unwrap()).await.unwrap().unwrap();
    let words = |content| match content {
        Content::User { text, .. } | Content::Model { text, .. } => text.to_string(),
        Content::ToolCall(record) => record.name.to_string(),
        Content::Notice { .. } | Content::Cleared => "-".to_owned(),
    };
    stored.messages.into_iter().map(|message| (message.seq, words(message.content))).collect()
}

#[tokio::test]
async fn a_call_stands_behind_the_last_entry_of_its_session_and_the_chat_goes_on_after_it() {
    let test = TestRuntime::new(says(&["Hello.", "Noted."])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut heard = session.subscribe();
    session.send("hi").await.unwrap().ended().await.unwrap();
    let report = test.runtime.begin(named("s", "note")).await.unwrap().ended().await;
    assert_eq!((kind(&report).as_str(), report.session.as_str()), ("ok", "s"));
    session.send("and now?").await.unwrap().ended().await.unwrap();
    let entries = ["hi", "Hello.", "note", "and now?", "Noted."];
    let expected: Vec<_> = (1..).zip(entries.map(str::to_owned)).collect();
    assert_eq!(transcript(&test, "s").await, expected);
    let ended = async {
        loop {
            let Some(StreamItem::Event(event)) = heard.next().await else {
                panic!("nothing is missed")
            };
            if let EventKind::ToolCallEnded { record } = &event.kind {
                break record.name.clone();
            }
        }
    };
    let name = timeout(PATIENCE, ended).await.expect("a reader of the chat hears of it");
    assert_eq!(&*name, "note");
    test.shutdown().await;
}

#[tokio::test]
async fn a_session_that_does_not_exist_is_opened_for_the_call() {
    let test = TestRuntime::without_model().await;
    for _ in 0..2 {
        assert_eq!(
            kind(&test.runtime.begin(named("new", "note")).await.unwrap().ended().await),
            "ok"
        );
    }
    let expected = [(1, "note".to_owned()), (2, "note".to_owned())];
    assert_eq!(transcript(&test, "new").await, expected);
    let lee = UserId::new("lee").unwrap();
    let foreign = Call::new(lee, "search", "{}").session(SessionId::new("new").unwrap());
    let refused = dispatched(&test.runtime, foreign).await;
    assert!(matches!(refused, Err(Error::Foreign(_))), "{refused:?}");
    assert_eq!(transcript(&test, "new").await, expected);
    test.shutdown().await;
}

#[tokio::test]
async fn what_is_asked_of_a_session_waits_for_the_call_in_it_and_another_call_is_refused() {
    let test = TestRuntime::new(says(&["Hello."])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let slow = in_background(&test, named("s", "slow_note"));
    test.gate.begun(1).await;
    let asking = tokio::spawn({
        let session = session.clone();
        async move { session.send("hi").await.unwrap().ended().await.unwrap().ending }
    });
    let refused = dispatched(&test.runtime, named("s", "note")).await;
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    test.gate.open(1);
    assert_eq!(kind(&joined(slow).await.unwrap()), "ok");
    assert_eq!(joined(asking).await, TurnEnding::Answered);
    let expected = [(1, "slow_note"), (2, "hi"), (3, "Hello.")];
    assert_eq!(transcript(&test, "s").await, expected.map(|(seq, text)| (seq, text.to_owned())));
    test.shutdown().await;
}

#[tokio::test]
async fn an_abandoned_call_keeps_its_session_until_it_has_ended() {
    let test = TestRuntime::new(says(&["Hello."])).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let slow = in_background(&test, named("s", "slow_note"));
    test.gate.begun(1).await;
    slow.abort();
    assert!(slow.await.unwrap_err().is_cancelled());
    let refused = dispatched(&test.runtime, named("s", "note")).await;
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    test.gate.open(1);
    session.send("hi").await.unwrap().ended().await.unwrap();
    let entries: Vec<_> = transcript(&test, "s").await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(entries, ["slow_note", "hi", "Hello."]);
    assert_eq!(test.rows().len(), 1, "what it wrote is kept");
    test.shutdown().await;
}

#[tokio::test]
async fn a_call_whose_reply_is_lost_keeps_its_session_until_its_end_is_stored() {
    let test = TestRuntime::without_model().await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    test.runtime.actors().dispatcher.actor().kill();
    let lost = test.runtime.begin(named("s", "note")).await.unwrap();
    let paused = test.store.pause().await;
    // The chat is looked at meanwhile, and the session wakes for that only behind the call.
    assert!(session.state().await.unwrap().messages.is_empty());
    for _ in 0..100 {
        tokio::task::yield_now().await; // time enough to wake, if it did not wait
    }
    drop(paused);
    let report = timeout(PATIENCE, lost.ended()).await.expect("it ends in time");
    let state = session.state().await.unwrap();
    let shown: Vec<_> = state.messages.iter().map(|message| message.seq).collect();
    assert_eq!(shown, [1]);
    assert_eq!(kind(&report), "handler_error");
    drop(lost);
    test.shutdown().await;
}

#[tokio::test]
async fn a_call_is_refused_while_a_turn_runs_in_its_session() {
    let arguments = json!({ "name": "a" });
    let test =
        TestRuntime::new(crate::support::call_then_say("slow_note", &arguments, "Noted.")).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    test.gate.begun(1).await;
    let refused = dispatched(&test.runtime, named("s", "note")).await;
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    test.gate.open(1);
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Answered);
    assert_eq!(kind(&test.runtime.begin(named("s", "note")).await.unwrap().ended().await), "ok");
    assert_eq!(test.rows().len(), 2);
    test.shutdown().await;
}

/// Its question was never asked, and the caller that named the session is told the same as without.
#[tokio::test]
async fn an_unconfirmed_call_is_an_entry_as_well_and_lets_the_session_go() {
    let test = TestRuntime::with_limits(says(&["Hello."]), Limits::default()).await;
    let report = test
        .runtime
        .begin(named("s", "save").approver(Approver::None))
        .await
        .unwrap()
        .ended()
        .await;
    assert_eq!(kind(&report), "unreachable");
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    session.send("hi").await.unwrap().ended().await.unwrap();
    let entries: Vec<_> = transcript(&test, "s").await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(entries, ["save", "hi", "Hello."]);
    test.shutdown().await;
}
