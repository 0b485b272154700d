//! No caller is admitted beyond the bounds, and a refused one is told which bound it was.

use madang::{
    Error, Limits,
    approval::{Approver, Decision},
    error::{Bound, Scope},
    ledger::{Effect, LedgerFilter},
};
use madang_testing::{RuntimeHooks as _, ScriptedModel};
use serde_json::json;

use crate::support::{TestRuntime, call_then_say, dispatched, kind};

fn with(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[tokio::test]
async fn a_user_at_a_bound_is_told_which_and_others_are_let_in() {
    let limits = with(|limits| limits.max_running_turns_per_user = 1);
    // It holds no transaction: what others ask meanwhile is stored at once.
    let model = call_then_say("slow_read", &json!({}), "Read.");
    let test = TestRuntime::with_limits(model, limits).await;
    let [first, second] = [
        test.runtime.user("kim").unwrap().session("1").await.unwrap(),
        test.runtime.user("kim").unwrap().session("2").await.unwrap(),
    ];
    let turn = first.send("go").await.unwrap();
    test.gate.begun(1).await;
    let Err(Error::Overloaded(refusal)) = second.send("go").await else { panic!("let in") };
    assert_eq!((refusal.bound, refusal.scope, refusal.max), (Bound::RunningTurns, Scope::User, 1));
    let dismissed = second.dismiss().await.unwrap_err();
    assert!(matches!(dismissed, Error::NoTurn), "a dismissal is never refused: {dismissed:?}");
    let lee = test.runtime.user("lee").unwrap().session("3").await.unwrap();
    let other = lee.send("hi").await.unwrap();
    test.gate.open(1);
    turn.ended().await.unwrap();
    other.ended().await.unwrap();
    assert_eq!(test.runtime.held(Bound::RunningTurns), 0);
    test.shutdown().await;
}

#[tokio::test]
async fn a_user_of_whom_too_much_is_stored_is_told_so_and_no_call_of_his_leaves_anything() {
    let limits = with(|limits| limits.max_stored_bytes_per_user = 1);
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let note = json!({ "name": "a" });
    assert_eq!(kind(&test.call("note", &note, Approver::None).await), "ok");
    let told = "저장된 내용이 한도(1바이트)에 이르렀습니다.";
    // The last would panic if it began.
    for tool in ["note", "search", "save", "panic_mail"] {
        let answer = Approver::Decided(Decision::Approve);
        let report = test.call(tool, &json!({ "name": "b" }), answer).await;
        assert_eq!(kind(&report), "overloaded", "{tool}");
        assert!(report.envelope.contains(told), "{}", report.envelope);
        assert_eq!(report.record.effect, Effect::None, "{tool}");
    }
    let calls = test.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!(calls.len(), 1, "nothing of a refused call stays");
    assert_eq!(test.rows().into_keys().collect::<Vec<_>>(), ["a"]);
    let session = test.runtime.user("kim").unwrap().session("1").await.unwrap();
    let Err(Error::Overloaded(refusal)) = session.send("hi").await else { panic!("let in") };
    assert_eq!(refusal.to_string(), "too many stored bytes for this user: 1 are allowed");
    test.shutdown().await;
}

#[tokio::test]
async fn bytes_on_their_way_to_the_store_are_counted_until_they_are_stored() {
    let limits = with(|limits| {
        limits.max_queued_bytes_per_user = 10;
        limits.max_user_text_bytes = 20;
    });
    let test =
        TestRuntime::with_limits(call_then_say("search", &json!({}), "Nothing."), limits).await;
    let session = test.runtime.user("kim").unwrap().session("1").await.unwrap();
    let Err(Error::Overloaded(refusal)) = session.send("eleven chars").await else {
        panic!("let in")
    };
    assert_eq!((refusal.bound, refusal.scope, refusal.max), (Bound::QueuedBytes, Scope::User, 10));
    let call = madang::Call::new(crate::support::kim(), "search", "{\"a\":\"much\"}");
    let refused = dispatched(&test.runtime, call).await;
    assert!(matches!(refused, Err(Error::Overloaded(_))), "{refused:?}");
    let turn = session.send("short").await.unwrap();
    assert_eq!(test.runtime.held(Bound::QueuedBytes), 0, "it is stored");
    turn.ended().await.unwrap();
    test.shutdown().await;
}
