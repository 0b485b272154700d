//! Every call ends in exactly one outcome: each row of the dispatch table.

use std::time::Duration;

use madang::{
    Limits,
    approval::{Approver, Decision},
    language::{Locale, Text},
    ledger::{CallResult, Effect, LedgerFilter},
};
use madang_testing::{RuntimeHooks as _, ScriptedModel};
use serde_json::{Value, json};

use crate::support::{TestRuntime, kind};

fn approve() -> Approver {
    Approver::Decided(Decision::Approve)
}

async fn reason(test: &TestRuntime, name: &str, arguments: &Value, confirm: Approver) -> String {
    let report = test.call(name, arguments, confirm).await;
    format!("{}: {}", kind(&report), report.outcome().unwrap())
}

#[tokio::test]
async fn an_unknown_tool_is_refused_by_name() {
    let test = TestRuntime::without_model().await;
    assert_eq!(
        reason(&test, "foo", &json!({}), approve()).await,
        "unknown_tool: 알 수 없는 도구: foo"
    );
    test.shutdown().await;
}

#[tokio::test]
async fn arguments_that_break_the_schema_are_refused_with_their_pointer() {
    let test = TestRuntime::without_model().await;
    let report = test.call("save", &json!({ "name": 123_456 }), approve()).await;
    assert_eq!(kind(&report), "validation");
    let reason = report.outcome().unwrap().to_string();
    assert!(reason.starts_with("인자 오류: ") && reason.contains("name"), "{reason}");
    assert!(!reason.contains("123456"), "values are masked: {reason}");
    assert!(test.rows().is_empty());
    test.shutdown().await;
}

#[tokio::test]
async fn a_destructive_call_is_cancelled_where_no_person_can_be_asked() {
    let test = TestRuntime::without_model().await;
    let report = test.call("save", &json!({ "name": "a" }), Approver::None).await;
    assert_eq!(kind(&report), "unreachable");
    assert_eq!(
        report.envelope,
        r#"{"status":"cancelled","reason":"nobody could be asked to confirm"}"#
    );
    assert!(test.rows().is_empty());
    test.shutdown().await;
}

#[tokio::test]
async fn a_destructive_call_that_is_approved_gives_the_handlers_result() {
    let test = TestRuntime::without_model().await;
    let report = test.call("save", &json!({ "name": "a" }), approve()).await;
    assert_eq!(report.envelope, r#"{"status":"ok","data":{"saved":"a"}}"#);
    assert_eq!(
        (report.record.effect, report.record.result),
        (Effect::Committed, CallResult::Shown)
    );
    assert_eq!(test.rows().into_keys().collect::<Vec<_>>(), ["a"]);
    test.shutdown().await;
}

#[tokio::test]
async fn a_destructive_call_that_is_denied_is_cancelled() {
    let test = TestRuntime::without_model().await;
    let report =
        test.call("save", &json!({ "name": "a" }), Approver::Decided(Decision::Deny)).await;
    assert_eq!(kind(&report), "denied");
    assert_eq!(report.envelope, r#"{"status":"cancelled","reason":"user did not confirm"}"#);
    assert!(test.rows().is_empty());
    test.shutdown().await;
}

#[tokio::test]
async fn a_handler_that_fails_is_told_by_its_type_only() {
    let test = TestRuntime::without_model().await;
    assert_eq!(
        reason(&test, "fail", &json!({}), approve()).await,
        "handler_error: 도구 실행 실패: Error"
    );
    assert_eq!(
        reason(&test, "fail_named", &json!({}), approve()).await,
        "handler_error: 도구 실행 실패: Offline"
    );
    test.shutdown().await;
}

#[tokio::test]
async fn a_reading_call_runs_without_a_question() {
    let test = TestRuntime::without_model().await;
    let report = test.call("search", &json!({}), Approver::None).await;
    assert_eq!(report.envelope, r#"{"status":"ok","data":{"count":0,"items":[]}}"#);
    assert_eq!(report.record.effect, Effect::None);
    test.shutdown().await;
}

#[tokio::test]
async fn a_panic_of_any_kind_becomes_a_handler_error_and_the_next_call_runs() {
    let test = TestRuntime::without_model().await;
    for name in ["panic_text", "panic_custom", "panic_in_drop", "panic_locked"] {
        let told = reason(&test, name, &json!({}), approve()).await;
        assert_eq!(told, "handler_error: 도구 실행 실패: Panic", "{name}");
    }
    assert_eq!(kind(&test.call("note", &json!({ "name": "after" }), approve()).await), "ok");
    test.shutdown().await;
}

#[tokio::test]
async fn an_error_a_rule_and_a_panic_leave_none_of_a_transactional_tools_writes() {
    let test = TestRuntime::without_model().await;
    for (name, code) in
        [("half_note", "handler_error"), ("rule_note", "r3_quota"), ("panic_note", "handler_error")]
    {
        let report = test.call(name, &json!({ "name": "ghost" }), approve()).await;
        assert_eq!((kind(&report).as_str(), report.record.effect), (code, Effect::None), "{name}");
    }
    assert!(test.rows().is_empty());
    test.shutdown().await;
}

#[tokio::test]
async fn a_broken_rule_is_told_unchanged() {
    let test = TestRuntime::without_model().await;
    let report = test.call("rule_note", &json!({ "name": "a" }), approve()).await;
    assert_eq!(
        report.envelope,
        r#"{"status":"error","code":"r3_quota","reason":"이미 세 개입니다."}"#
    );
    test.shutdown().await;
}

#[tokio::test]
async fn a_panic_after_effects_elsewhere_may_have_taken_effect() {
    let test = TestRuntime::without_model().await;
    let report = test.call("panic_mail", &json!({}), approve()).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("handler_error", Effect::Unknown));
    test.shutdown().await;
}

#[tokio::test]
async fn arguments_that_are_no_object_too_long_or_too_deep_are_refused() {
    let test = TestRuntime::without_model().await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(10 * 1024 * 1024));
    for arguments in ["[1]", "\"text\"", "{\"name\":", "nonsense", &deep, &long] {
        let report = test.call_raw("save", arguments, approve()).await;
        let begin: String = arguments.chars().take(20).collect();
        assert_eq!(kind(&report), "validation", "{begin}");
        assert!(report.envelope.len() < 2_048, "{begin}");
    }
    test.shutdown().await;
}

#[tokio::test]
async fn arguments_that_the_schema_does_not_know_are_removed_unless_it_forbids_them() {
    let test = TestRuntime::without_model().await;
    let arguments = json!({ "name": "a", "invented": 1 });
    let report = test.call("echo", &arguments, Approver::None).await;
    assert_eq!(report.record.arguments, json!({ "name": "a" }).into());
    assert_eq!(report.envelope, r#"{"status":"ok","data":{"name":"a"}}"#);
    assert_eq!(kind(&test.call("strict", &arguments, Approver::None).await), "validation");
    let rows = test.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!(&*rows[0].raw_arguments, arguments.to_string(), "the raw text stays in the ledger");
    test.shutdown().await;
}

#[tokio::test]
async fn the_predicate_decides_which_arguments_must_be_confirmed() {
    let test = TestRuntime::without_model().await;
    let quiet = test.call("save", &json!({ "name": "quiet one" }), Approver::None).await;
    assert_eq!(kind(&quiet), "ok");
    assert_eq!(
        kind(&test.call("save", &json!({ "name": "loud one" }), Approver::None).await),
        "unreachable"
    );
    test.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_expires_and_that_is_not_a_no() {
    let limits = Limits { decision_timeout: Duration::from_millis(50), ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let silent = Approver::Ask(Box::new(|_| Box::pin(async { None })));
    assert_eq!(kind(&test.call("save", &json!({ "name": "a" }), silent).await), "expired");
    test.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_although_the_person_never_does() {
    let limits = Limits { decision_timeout: Duration::from_millis(50), ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let thinking = Approver::Ask(Box::new(|_| Box::pin(std::future::pending())));
    assert_eq!(kind(&test.call("save", &json!({ "name": "a" }), thinking).await), "expired");
    test.shutdown().await;
}

#[tokio::test]
async fn the_answer_to_a_call_outlives_the_actor_that_it_was_given_to() {
    let test = TestRuntime::without_model().await;
    let confirm = test.runtime.actors().confirm.clone();
    let kills_first = Approver::Ask(Box::new(move |_| {
        confirm.actor().kill();
        Box::pin(async { Some(Decision::Approve) })
    }));
    assert_eq!(kind(&test.call("save", &json!({ "name": "a" }), kills_first).await), "ok");
    assert_eq!(test.rows().len(), 1);
    test.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_transactional_handler_past_its_deadline_is_undone() {
    let limits = Limits { transaction_deadline: Duration::from_millis(50), ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let report = test.call("slow_note", &json!({ "name": "ghost" }), approve()).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("timeout", Effect::None));
    test.gate.open(1);
    assert_eq!(kind(&test.call("note", &json!({ "name": "after" }), approve()).await), "ok");
    assert_eq!(test.rows().into_keys().collect::<Vec<_>>(), ["after"]);
    test.shutdown().await;
}

#[tokio::test]
async fn a_plain_handler_past_its_deadline_is_left_to_end_and_its_late_end_is_recorded() {
    let test = TestRuntime::without_model().await;
    let report = test.call("slow_mail", &json!({}), approve()).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("timeout", Effect::Unknown));
    let limits_second = Text::TimedOut { seconds: 0.1, effect: Effect::Unknown };
    assert_eq!(report.outcome().unwrap().to_string(), limits_second.in_locale(Locale::KO));
    test.gate.open(1);
    let runtime = test.runtime.clone();
    let store = test.store.clone();
    test.shutdown().await;
    let rows = runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!(rows[0].effect, Some(Effect::Committed), "{store:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reading_handler_past_its_deadline_changes_nothing() {
    let limits = Limits { tool_timeout: Duration::from_millis(50), ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let report = test.call("slow_read", &json!({}), Approver::None).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("timeout", Effect::None));
    test.gate.open(1);
    test.shutdown().await;
}

#[tokio::test]
async fn a_bound_that_is_reached_is_overloaded() {
    let limits = Limits { max_running_calls: 1, ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let nothing = json!({});
    let slow = test.call("slow_read", &nothing, Approver::None);
    let refused = async {
        test.gate.begun(1).await;
        let report = test.call("search", &json!({}), Approver::None).await;
        test.gate.open(1);
        report
    };
    let (slow, refused) = tokio::join!(slow, refused);
    assert_eq!((kind(&slow).as_str(), kind(&refused).as_str()), ("ok", "overloaded"));
    test.shutdown().await;
}

#[tokio::test]
async fn a_store_that_cannot_be_written_runs_nothing() {
    let test = TestRuntime::without_model().await;
    let store = test.store.clone();
    let fails_meanwhile = Approver::Ask(Box::new(move |_| {
        store.fail_next_begin();
        Box::pin(async { Some(Decision::Approve) })
    }));
    let report = test.call("save", &json!({ "name": "ghost" }), fails_meanwhile).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("store", Effect::None));
    assert!(report.is_recorded && test.rows().is_empty(), "the next write came through");
    test.shutdown().await;
}

#[tokio::test]
async fn only_the_ledger_decides_where_the_reply_about_a_commit_is_lost() {
    let test = TestRuntime::without_model().await;
    let arguments = json!({ "name": "a" });
    let call = test.call("slow_note", &arguments, Approver::None);
    let lose_the_reply = async {
        test.gate.begun(1).await;
        test.store.lose_next_commit_reply();
        test.gate.open(1);
    };
    let (report, ()) = tokio::join!(call, lose_the_reply);
    assert_eq!((kind(&report).as_str(), report.record.effect), ("ok", Effect::Committed));
    assert_eq!(test.rows().len(), 1);
    test.shutdown().await;
}

#[tokio::test]
async fn every_call_has_its_entry_in_the_ledger_looked_up_or_not() {
    let test = TestRuntime::without_model().await;
    for name in ["foo", "save", "search", "panic_text"] {
        test.call(name, &json!({ "name": "a" }), Approver::None).await;
    }
    let rows = test.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    let names: Vec<_> = rows.iter().map(|row| row.name.to_string()).collect();
    assert_eq!(names, ["foo", "save", "search", "panic_text"]);
    assert!(rows.iter().all(|row| row.outcome.is_some() && row.effect == Some(Effect::None)));
    test.shutdown().await;
}
