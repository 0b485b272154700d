//! A deleted chat is gone for every handle and every reader, and no chat is deleted while anything
//! of it goes on.

use std::time::Duration;

use madang::{
    Call, Error, Session,
    approval::{Approver, Decision},
    ledger::LedgerFilter,
    model::Completion,
    store::{SessionPage, SessionTitle, Store as _},
};
use madang_testing::{Probe, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::support::{PATIENCE, TestRuntime, dispatched, kim, wanted};

/// A chat of one turn, which has ended.
async fn chat(texts: usize) -> (TestRuntime, Session) {
    let answers = (0..texts).map(|_| ScriptedCompletion::text("안녕!"));
    let test = TestRuntime::new(ScriptedModel::new(answers)).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    session.send("안녕").await.unwrap().ended().await.unwrap();
    (test, session)
}

fn is_deleted<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Deleted))
}

fn is_busy<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Busy))
}

/// Begins a write that a paused store holds back. The next one waits behind it.
fn holds_a_write(test: &TestRuntime) {
    let user = test.runtime.user("kim").unwrap();
    tokio::spawn(async move { user.session("other").await.map(drop) });
}

/// Waits until the store has no session `s`.
async fn until_gone(test: &TestRuntime, session: &Session) {
    let gone = async {
        while test.store.owner(session.id()).await.unwrap().is_some() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, gone).await.expect("it is deleted in time");
}

#[tokio::test]
async fn a_deleted_chat_is_gone_for_its_handles_and_readers_and_its_id_is_free() {
    let (test, session) = chat(2).await;
    let user = test.runtime.user("kim").unwrap();
    let other = user.session("s").await.unwrap();
    let mut probe = Probe::new(other.subscribe());
    session.delete().await.unwrap();
    assert!(timeout(PATIENCE, probe.is_closed()).await.unwrap(), "its reader reads no more");
    assert!(user.find_session(session.id()).await.unwrap().is_none());
    assert_eq!(user.sessions(SessionPage::of(9).unwrap()).await.unwrap(), []);

    let anew = user.session("s").await.unwrap();
    anew.send("again").await.unwrap().ended().await.unwrap();
    assert_eq!(anew.state().await.unwrap().messages.len(), 2, "it begins anew");
    for old in [&session, &other] {
        assert!(is_deleted(&old.state().await));
        assert!(is_deleted(&old.send("more").await));
        assert!(is_deleted(&old.summary().await));
        assert!(is_deleted(&old.unresolved().await));
        assert!(is_deleted(&old.rename(SessionTitle::new("mine").unwrap()).await));
        assert!(is_deleted(&old.delete().await));
        assert!(old.subscribe().next().await.is_none());
    }
    assert_eq!(anew.state().await.unwrap().messages.len(), 2, "the old handles changed nothing");
    test.shutdown().await;
}

#[tokio::test]
async fn no_chat_is_deleted_while_its_turn_runs_or_waits_for_an_answer() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("저장해줘").await.unwrap();
    let completion = script.next().await;
    assert!(is_busy(&session.delete().await), "the model answers");
    completion.finish(Completion {
        tool_calls: vec![wanted("save", &json!({ "name": "a" }))],
        ..Completion::default()
    });
    let request = probe.approval_request().await;
    assert!(is_busy(&session.delete().await), "a person is asked");
    session.decide(&request, Decision::Deny).await.unwrap();
    script.next().await.say("저장하지 않았어요.");
    turn.ended().await.unwrap();
    session.delete().await.unwrap();
    test.shutdown().await;
}

#[tokio::test]
async fn no_chat_is_deleted_while_a_call_without_a_model_runs_in_it() {
    let (test, session) = chat(1).await;
    let call = Call::new(kim(), "slow_note", r#"{"name":"a"}"#).session(session.id().clone());
    let running = test.runtime.begin(call).await.unwrap();
    test.gate.begun(1).await;
    assert!(is_busy(&session.delete().await));
    test.gate.open(1);
    timeout(PATIENCE, running.ended()).await.unwrap();
    session.delete().await.unwrap();
    assert_eq!(test.rows().len(), 1, "what its tool wrote stays");
    test.shutdown().await;
}

#[tokio::test]
async fn no_chat_is_deleted_while_a_handler_still_owes_its_effect() {
    let (test, session) = chat(1).await;
    let call = Call::new(kim(), "slow_mail", "{}").session(session.id().clone());
    let call = call.approver(Approver::None);
    dispatched(&test.runtime, call).await.unwrap();
    assert_eq!(session.unresolved().await.unwrap().len(), 1, "the handler passed its deadline");
    assert!(is_busy(&session.delete().await));
    test.gate.open(1);
    let resolved = async {
        while !session.unresolved().await.unwrap().is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, resolved).await.expect("it reports its effect");
    session.delete().await.unwrap();
    assert_eq!(test.runtime.ledger(&LedgerFilter::default()).await.unwrap(), []);
    test.shutdown().await;
}

#[tokio::test]
async fn of_two_deletions_at_once_one_deletes_and_waiting_requests_learn_of_it() {
    let (test, session) = chat(1).await;
    let paused = test.store.pause().await;
    holds_a_write(&test);
    let deletions = [session.clone(), session.clone()];
    let deletions = deletions.map(|session| tokio::spawn(async move { session.delete().await }));
    test.waiting(1).await;
    let waits = tokio::spawn({
        let session = session.clone();
        async move { session.state().await }
    });
    tokio::task::yield_now().await;
    drop(paused);
    let mut ends = Vec::new();
    for deletion in deletions {
        ends.push(timeout(PATIENCE, deletion).await.unwrap().unwrap());
    }
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1, "{ends:?}");
    assert!(ends.iter().filter(|end| end.is_err()).all(is_deleted));
    assert!(is_deleted(&timeout(PATIENCE, waits).await.unwrap().unwrap()));
    test.shutdown().await;
}

#[tokio::test]
async fn a_deletion_is_what_the_store_has_though_its_answer_is_lost() {
    let (test, session) = chat(1).await;
    for lose in [
        |test: &TestRuntime| test.store.fail_next_commit(),
        |test: &TestRuntime| {
            test.store.lose_next_commit();
        },
    ] {
        lose(&test);
        let refused = session.delete().await;
        assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
        assert_eq!(session.state().await.unwrap().messages.len(), 2);
    }
    test.store.lose_next_commit_reply();
    session.delete().await.unwrap();
    assert!(is_deleted(&session.state().await));
    test.shutdown().await;
}

#[tokio::test]
async fn a_deletion_whose_caller_leaves_is_done_nevertheless() {
    let (test, session) = chat(1).await;
    let paused = test.store.pause().await;
    holds_a_write(&test);
    {
        let deleting = session.delete();
        tokio::select! {
            biased;
            _ = deleting => panic!("the store takes nothing yet"),
            () = test.waiting(1) => {}
        }
    }
    drop(paused);
    until_gone(&test, &session).await;
    assert!(is_deleted(&session.state().await));
    test.shutdown().await;
}
