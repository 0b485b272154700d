//! Tests that a day is the user's: by turn, by user, by runtime, and at both sides of the date
//! line.

use std::sync::Arc;

use madang::{
    Call, Clock, Error, LanguageTag, Runtime, Timestamp, TurnOptions, UserId,
    approval::{Approver, Decision},
    store::SqliteStore,
    tool::ToolOutcome,
};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use madang_toolkits::life;
use serde_json::{Value, json};

/// Half past ten of the 10th in London: 00:30 of the 11th on Kiritimati, 23:30 of the 9th on Samoa.
const NOW: i64 = 1_773_138_600_000;
const EAST: &str = "Pacific/Kiritimati";
const WEST: &str = "Pacific/Pago_Pago";

#[derive(Debug)]
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(NOW)
    }
}

async fn started(model: ScriptedModel) -> (Runtime, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store =
        SqliteStore::open(folder.path().join("app.db")).migrations("life", &life::MIGRATIONS).await;
    let runtime = Runtime::builder()
        .model(model)
        .store(store.unwrap())
        .tools(life::tools())
        .clock(Stopped)
        .language(LanguageTag::EN)
        .time_zone("UTC")
        .time_zone_of(|user| match user.as_str() {
            "east" => Some(EAST.into()),
            "west" => Some(WEST.into()),
            "lost" => Some("Mars/Olympus".into()),
            _ => None,
        })
        .start()
        .await
        .unwrap();
    (runtime, folder)
}

fn call(user: &str, tool: &str, arguments: &Value) -> Call {
    Call::new(UserId::new(user).unwrap(), tool, arguments.to_string())
        .approver(Approver::Decided(Decision::Approve))
}

fn data(outcome: Option<&ToolOutcome>) -> Value {
    match outcome {
        Some(ToolOutcome::Ok(ok)) => ok.data.clone(),
        other => panic!("{other:?}"),
    }
}

async fn add_habit(runtime: &Runtime, user: &str) -> Value {
    let arguments = json!({
        "protocol_id": "morning-light", "frame_level": "L2", "framed_text": "I walk at dawn"
    });
    let report = runtime.begin(call(user, "add_habit", &arguments)).await.unwrap().ended().await;
    data(report.outcome())
}

#[tokio::test]
async fn each_user_logs_the_day_that_it_is_there() {
    let (runtime, _folder) = started(ScriptedModel::new([])).await;
    for (user, today, tomorrow) in [
        ("kim", "2026-03-10", "2026-03-11"),
        ("east", "2026-03-11", "2026-03-12"),
        ("west", "2026-03-09", "2026-03-10"),
    ] {
        let habit = add_habit(&runtime, user).await;
        assert_eq!(habit["started_on"], today, "{user}");
        let mut entry = json!({ "habit_id": habit["habit_id"], "value": "done" });
        let logged =
            runtime.begin(call(user, "log_tracker_entry", &entry)).await.unwrap().ended().await;
        assert_eq!(data(logged.outcome())["date"], today, "{user}");
        entry["date"] = tomorrow.into();
        let refused =
            runtime.begin(call(user, "log_tracker_entry", &entry)).await.unwrap().ended().await;
        assert_eq!(refused.outcome().unwrap().code(), Some("validation"), "{user}: the future");
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn what_a_turn_or_a_call_names_goes_before_what_the_user_has() {
    let logs = |habit: i64| {
        ScriptedCompletion::call(
            "log_tracker_entry",
            &json!({ "habit_id": habit, "value": "blank" }),
        )
    };
    let said = || ScriptedCompletion::text("Done.");
    let model = ScriptedModel::new([logs(1), said(), logs(1), said(), logs(1), said()]);
    let (runtime, _folder) = started(model).await;
    let habit = add_habit(&runtime, "east").await;
    assert_eq!(habit["habit_id"], 1);
    let session = runtime.user("east").unwrap().session("s").await.unwrap();
    for (zone, today) in
        [(Some(WEST), "2026-03-09"), (None, "2026-03-11"), (Some("UTC"), "2026-03-10")]
    {
        let options = TurnOptions { time_zone: zone.map(Arc::from), ..TurnOptions::default() };
        session.send_with("log it", options).await.unwrap().ended().await.unwrap();
        let state = session.state().await.unwrap();
        let told = state.messages.iter().rev().find_map(|message| {
            let madang::event::Content::ToolCall(record) = &message.content else { return None };
            Some(data(record.outcome.as_ref()))
        });
        assert_eq!(told.unwrap()["date"], today, "{zone:?}");
    }
    let entry = json!({ "habit_id": 1, "value": "blank", "date": "2026-03-11" });
    let in_the_west = call("east", "log_tracker_entry", &entry).time_zone(WEST);
    let refused = runtime.begin(in_the_west).await.unwrap().ended().await;
    assert_eq!(refused.outcome().unwrap().code(), Some("validation"));
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_zone_that_is_not_known_is_refused_and_never_taken_for_another() {
    let (runtime, _folder) = started(ScriptedModel::new([])).await;
    for (user, zone) in [("kim", Some("Mars/Olympus")), ("lost", None)] {
        let session = runtime.user(user).unwrap().session(user).await.unwrap();
        let options = TurnOptions { time_zone: zone.map(Arc::from), ..TurnOptions::default() };
        let refused = session.send_with("hi", options).await.unwrap_err();
        assert!(matches!(refused, Error::TimeZone(_)), "{refused:?}");
        let call = call(user, "list_active_habits", &json!({}));
        let call = zone.into_iter().fold(call, |call, zone| call.time_zone(zone));
        let refused = runtime.begin(call).await.unwrap_err();
        assert!(matches!(refused, Error::TimeZone(_)), "{refused:?}");
    }
    runtime.shutdown().await.unwrap();
    let refused = Runtime::builder()
        .model(ScriptedModel::new([]))
        .store(madang_testing::MemoryStore::new())
        .time_zone("Mars/Olympus")
        .start()
        .await;
    assert!(matches!(refused, Err(madang::error::BuildError::TimeZone(_))));
}
