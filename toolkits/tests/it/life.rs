//! Tests the life toolkit on a real database, through the runtime: each tool, and the rules of
//! habits.

use std::collections::BTreeMap;

use madang::{
    Call, CallReport, LanguageTag, Runtime, TurnOptions, UserId,
    approval::{Approver, Decision},
    event::EventKind,
    ledger::LedgerFilter,
    model::ChatModel,
    store::SqliteStore,
};
use madang_testing::{Probe, ScriptedCompletion, ScriptedModel};
use madang_toolkits::life;
use serde_json::{Value, json};

use crate::support::kind;

async fn runtime(model: impl ChatModel) -> Runtime {
    let store = SqliteStore::in_memory().migrations("life", &life::MIGRATIONS).await.unwrap();
    let builder = Runtime::builder().model(model).store(store).language(LanguageTag::KO);
    builder.tools(life::tools()).start().await.unwrap()
}

async fn call(runtime: &Runtime, name: &str, arguments: Value) -> CallReport {
    call_as(runtime, "kim", name, arguments, Approver::Decided(Decision::Approve)).await
}

async fn call_as(
    runtime: &Runtime,
    user: &str,
    name: &str,
    arguments: Value,
    confirm: Approver,
) -> CallReport {
    let call = Call::new(UserId::new(user).unwrap(), name, arguments.to_string()).approver(confirm);
    runtime.begin(call).await.unwrap().ended().await
}

fn add(id: &str) -> Value {
    json!({ "protocol_id": id, "frame_level": "L2", "framed_text": "매일 조금씩 해보기" })
}

fn data(report: &CallReport) -> Value {
    serde_json::from_str::<Value>(&report.envelope).unwrap()["data"].clone()
}

#[tokio::test]
async fn of_the_asking_tools_a_blank_day_is_asked_for_as_well() {
    for (tools, is_written) in [(life::tools(), true), (life::asking_tools(), false)] {
        let store = SqliteStore::in_memory().migrations("life", &life::MIGRATIONS).await.unwrap();
        let builder = Runtime::builder().model(ScriptedModel::new([])).store(store);
        let runtime = builder.tools(tools).start().await.unwrap();
        call(&runtime, "add_habit", add("daily-walk")).await;
        let blank = json!({ "habit_id": 1, "value": "blank" });
        let denied = Approver::Decided(Decision::Deny);
        call_as(&runtime, "kim", "log_tracker_entry", blank, denied).await;
        let entries = call(&runtime, "list_tracker_entries", json!({ "habit_id": 1 })).await;
        assert_eq!(data(&entries)["count"], u64::from(is_written));
        runtime.shutdown().await.unwrap();
    }
}

async fn active(runtime: &Runtime, user: &str) -> u64 {
    let report = call_as(runtime, user, "list_active_habits", json!({}), Approver::None).await;
    data(&report)["count"].as_u64().unwrap()
}

#[tokio::test]
async fn the_calls_of_its_table_by_name() {
    let runtime = runtime(ScriptedModel::new([])).await;
    let mut ends = BTreeMap::new();
    for (case, name, arguments, confirm) in [
        ("unknown tool", "foo", json!({}), Approver::None),
        ("validation fail", "add_habit", json!({ "protocol_id": 123 }), Approver::None),
        ("destructive, no person", "add_habit", add("morning-light"), Approver::None),
        (
            "destructive, denied",
            "add_habit",
            add("morning-light"),
            Approver::Decided(Decision::Deny),
        ),
        (
            "destructive, approved",
            "add_habit",
            add("morning-light"),
            Approver::Decided(Decision::Approve),
        ),
        ("reading", "search_catalog", json!({ "category": "sleep" }), Approver::None),
    ] {
        ends.insert(case, kind(&call_as(&runtime, "kim", name, arguments, confirm).await));
    }
    let expected = [
        ("destructive, approved", "ok"),
        ("destructive, denied", "denied"),
        ("destructive, no person", "unreachable"),
        ("reading", "ok"),
        ("unknown tool", "unknown_tool"),
        ("validation fail", "validation"),
    ];
    assert_eq!(ends, expected.map(|(case, end)| (case, end.to_owned())).into());
    assert_eq!(active(&runtime, "kim").await, 1, "only the approved one is there");
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn rules_are_refused_by_code_and_in_the_users_language() {
    let runtime = runtime(ScriptedModel::new([])).await;
    let mut low_frame = add("morning-light");
    low_frame["frame_level"] = json!("L1");
    let mut avoiding = add("morning-light");
    avoiding["framed_text"] = json!("늦게 자지 않기");
    assert_eq!(kind(&call(&runtime, "add_habit", low_frame).await), "r3_frame");
    assert_eq!(kind(&call(&runtime, "add_habit", avoiding).await), "r7_avoidance");
    assert_eq!(kind(&call(&runtime, "add_habit", add("no-such-item")).await), "not_found");
    assert_eq!(kind(&call(&runtime, "get_streak", json!({ "habit_id": 99 })).await), "not_found");

    let habit = data(&call(&runtime, "add_habit", add("morning-light")).await)["habit_id"].clone();
    let again = data(&call(&runtime, "add_habit", add("morning-light")).await);
    assert_eq!((&again["habit_id"], &again["already_active"]), (&habit, &json!(true)));
    let foreign =
        call_as(&runtime, "lee", "get_streak", json!({ "habit_id": habit }), Approver::None).await;
    assert_eq!(kind(&foreign), "not_found", "another user's habit");

    let log = |value: &str| json!({ "habit_id": habit, "value": value });
    assert_eq!(kind(&call(&runtime, "log_tracker_entry", log("done")).await), "ok");
    assert_eq!(
        kind(&call(&runtime, "log_tracker_entry", log("done")).await),
        "ok",
        "the same again"
    );
    assert_eq!(kind(&call(&runtime, "log_tracker_entry", log("blank")).await), "r5_duplicate");
    assert_eq!(kind(&call(&runtime, "log_tracker_entry", log("half")).await), "validation");
    let tomorrow = json!({ "habit_id": habit, "value": "done", "date": "2999-01-01" });
    assert_eq!(kind(&call(&runtime, "log_tracker_entry", tomorrow).await), "validation");

    for id in ["daily-walk", "wind-down"] {
        let report = call(&runtime, "add_habit", add(id)).await;
        assert_eq!(kind(&report), "ok", "{id}: {}", report.envelope);
    }
    let english =
        Call::new(UserId::new("kim").unwrap(), "add_habit", add("slow-breathing").to_string())
            .approver(Approver::Decided(Decision::Approve))
            .language(LanguageTag::EN);
    let fourth = runtime.begin(english).await.unwrap().ended().await;
    assert_eq!(kind(&fourth), "r3_quota");
    assert!(fourth.outcome().unwrap().to_string().is_ascii(), "{}", fourth.envelope);
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn only_what_must_be_confirmed_asks() {
    let runtime = runtime(ScriptedModel::new([])).await;
    let habit = data(&call(&runtime, "add_habit", add("morning-light")).await)["habit_id"].clone();
    let log = |value: &str| json!({ "habit_id": habit, "value": value });
    let done = call_as(&runtime, "kim", "log_tracker_entry", log("done"), Approver::None).await;
    let blank = call_as(&runtime, "kim", "log_tracker_entry", log("blank"), Approver::None).await;
    assert_eq!([kind(&done), kind(&blank)], ["unreachable", "ok"]);
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_question_calls_a_habit_by_its_name_and_one_that_is_not_there_by_its_number() {
    let runtime = runtime(ScriptedModel::new([])).await;
    let habit = data(&call(&runtime, "add_habit", add("morning-light")).await)["habit_id"].clone();
    for (user, expected) in [
        ("kim", "' 습관의 오늘 기록을 완료로 남깁니다."),
        ("lee", "1번 습관의 오늘 기록을 완료로 남깁니다."),
    ] {
        let (said, question) = tokio::sync::oneshot::channel();
        let said = std::sync::Mutex::new(Some(said));
        let asks = Approver::Ask(Box::new(move |question| {
            said.lock().unwrap().take().unwrap().send(question.consequence).unwrap();
            Box::pin(async { Some(Decision::Deny) })
        }));
        let arguments = json!({ "habit_id": habit, "value": "done" });
        call_as(&runtime, user, "log_tracker_entry", arguments, asks).await;
        let consequence = question.await.unwrap();
        assert!(consequence.ends_with(expected), "{consequence}");
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_adds_at_the_same_moment_cannot_both_take_the_last_place() {
    let runtime = runtime(ScriptedModel::new([])).await;
    for round in 0..10 {
        let user = format!("user {round}");
        for id in ["morning-light", "daily-walk"] {
            call_as(&runtime, &user, "add_habit", add(id), Approver::Decided(Decision::Approve))
                .await;
        }
        let rivals = ["slow-breathing", "wind-down", "stretch-break"].map(|id| {
            let runtime = runtime.clone();
            let user = user.clone();
            tokio::spawn(async move {
                let approve = Approver::Decided(Decision::Approve);
                kind(&call_as(&runtime, &user, "add_habit", add(id), approve).await)
            })
        });
        let mut ends = Vec::new();
        for rival in rivals {
            ends.push(rival.await.unwrap());
        }
        ends.sort();
        assert_eq!(ends, ["ok", "r3_quota", "r3_quota"]);
        assert_eq!(active(&runtime, &user).await, 3);
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_chat_that_adds_a_habit_leaves_a_row_if_it_was_approved_and_none_if_it_was_not() {
    for (decision, rows, effect) in
        [(Decision::Approve, 1, "committed"), (Decision::Deny, 0, "none")]
    {
        let model = ScriptedModel::new([
            ScriptedCompletion::call("search_catalog", &json!({ "category": "sleep" })),
            ScriptedCompletion::call("query_protocol", &json!({ "id": "wind-down" })),
            ScriptedCompletion::call("add_habit", &add("wind-down")),
            ScriptedCompletion::text("끝났어요."),
        ]);
        let runtime = runtime(model).await;
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        let mut probe = Probe::new(session.subscribe());
        let options = TurnOptions::default();
        let turn = session.send_with("수면 습관 추가해줘", options).await.unwrap();
        let question = probe.approval_request().await;
        assert!(question.consequence.contains("습관"), "{}", question.consequence);
        session.decide(&question, decision).await.unwrap();
        turn.ended().await.unwrap();
        probe.until_turns_ended(1).await;
        let told = probe.events().iter().rev().find_map(|event| {
            let EventKind::ToolCallEnded { record } = &event.kind else { return None };
            Some(serde_json::to_value(record).unwrap())
        });
        assert_eq!(told.unwrap()["effect"], effect);
        assert_eq!(active(&runtime, "kim").await, rows);
        let filter = LedgerFilter::default().in_session(session.id());
        let ledger = runtime.ledger(&filter).await.unwrap();
        let names: Vec<_> = ledger.iter().map(|row| row.name.to_string()).collect();
        assert_eq!(names, ["search_catalog", "query_protocol", "add_habit"]);
        runtime.shutdown().await.unwrap();
    }
}
