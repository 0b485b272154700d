//! Outcomes say what happened, in each form that has a reader.

use madang_actors::protocol::{CancelReason, ToolOutcome};
use serde_json::{Value, json};

const REASONS: [CancelReason; 5] = [
    CancelReason::Denied,
    CancelReason::Expired,
    CancelReason::Unreachable,
    CancelReason::Dismissed,
    CancelReason::Withdrawn,
];

#[test]
fn the_success_factory_sets_the_state() {
    let outcome = ToolOutcome::ok(json!({ "id": 1 }));
    assert!(outcome.is_ok());
    assert_eq!(outcome.code(), None);
    assert!(matches!(&outcome, ToolOutcome::Ok(ok) if ok.data == json!({ "id": 1 })));
}

#[test]
fn the_failure_factory_sets_the_state() {
    let outcome = ToolOutcome::error("not_found", "File not found: src/missing.rs");
    assert!(!outcome.is_ok());
    assert_eq!(outcome.code(), Some("not_found"));
    assert!(
        matches!(&outcome, ToolOutcome::Err(e) if e.reason == "File not found: src/missing.rs")
    );
}

#[test]
fn a_cancellation_is_neither_a_success_nor_an_error() {
    for reason in REASONS {
        let outcome = ToolOutcome::cancelled(reason);
        assert!(!outcome.is_ok());
        assert_eq!(outcome.code(), None);
    }
}

#[test]
fn metadata_is_empty_until_it_is_set_and_the_first_outcome_stays_as_it_was() {
    for outcome in [
        ToolOutcome::ok(json!(1)),
        ToolOutcome::error("a", "b"),
        ToolOutcome::cancelled(REASONS[0]),
    ] {
        assert!(outcome.metadata().is_empty());
        let more = outcome.clone().with_metadata("task", json!(7)).with_metadata("task", json!(8));
        assert_eq!(Value::Object(more.metadata().clone()), json!({ "task": 8 }));
        assert!(outcome.metadata().is_empty());
    }
}

#[test]
fn only_the_flag_stop_loop_with_true_ends_the_loop() {
    let outcome = ToolOutcome::ok(json!("Gate passed."));
    assert!(!outcome.stops_loop());
    assert!(outcome.clone().with_metadata("stop_loop", json!(true)).stops_loop());
    for other in [json!(false), json!("true"), json!(1), Value::Null] {
        assert!(!outcome.clone().with_metadata("stop_loop", other).stops_loop());
    }
}

#[test]
fn display_gives_data_or_reason_and_never_metadata() {
    let with = |outcome: ToolOutcome| outcome.with_metadata("secret", json!("s3cr3t")).to_string();
    assert_eq!(with(ToolOutcome::ok(json!("file contents here"))), "file contents here");
    assert_eq!(
        with(ToolOutcome::ok(json!({ "b": [1, "a"], "a": null }))),
        r#"{"b":[1,"a"],"a":null}"#
    );
    assert_eq!(with(ToolOutcome::error("not_found", "없는 습관입니다")), "없는 습관입니다");
    assert_eq!(with(ToolOutcome::cancelled(CancelReason::Denied)), "user did not confirm");
}

#[test]
fn the_five_cancellations_stay_distinct() {
    let names = REASONS.map(CancelReason::name);
    assert_eq!(names, ["denied", "expired", "unreachable", "dismissed", "withdrawn"]);
    let mut texts = REASONS.map(CancelReason::envelope_text).to_vec();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 5);
    assert_eq!(CancelReason::Denied.envelope_text(), "user did not confirm");
}

#[test]
fn an_outcome_is_stored_and_read_back_as_it_was() {
    let outcomes = [
        (ToolOutcome::ok(json!({ "id": 1 })), json!({ "status": "ok", "data": { "id": 1 } })),
        (ToolOutcome::error("a", "b"), json!({ "status": "error", "code": "a", "reason": "b" })),
        (
            ToolOutcome::cancelled(CancelReason::Expired),
            json!({ "status": "cancelled", "reason": "expired" }),
        ),
    ];
    for (outcome, stored) in outcomes {
        assert_eq!(serde_json::to_value(&outcome).unwrap(), stored);
        let more = outcome.with_metadata("stop_loop", json!(true));
        let text = serde_json::to_string(&more).unwrap();
        assert_eq!(serde_json::from_str::<ToolOutcome>(&text).unwrap(), more);
    }
}
