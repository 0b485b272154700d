//! Judging with a script in place of a model, and each committed case played as it is meant.

use clap::ValueEnum as _;
use madang_testing::ScriptedCompletion;
use serde_json::json;

use super::*;

fn case(turns: &Value, more: &Value) -> Placed {
    let mut case =
        json!({ "id": "c", "toolkit": "life", "language": "en", "kind": "single", "turns": turns });
    case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Placed { case: serde_json::from_value(case).unwrap(), part: Part::Open }
}

/// Judges these cases with this script.
async fn judged(
    cases: &[Placed],
    script: impl IntoIterator<Item = ScriptedCompletion>,
) -> Result<Vec<Verdict>, Failure> {
    let model = Arc::new(ScriptedModel::new(script));
    let toolkits = [Toolkit::Life];
    let stage = Stage { model, system: None, toolkits: &toolkits, cast: Cast::Model };
    judge(cases, &stage).await
}

async fn verdict(case: Placed, script: impl IntoIterator<Item = ScriptedCompletion>) -> Verdict {
    judged(&[case], script).await.unwrap().swap_remove(0)
}

fn marks(verdict: &Verdict) -> (bool, Option<bool>, bool, bool) {
    let marks = verdict.marks;
    (marks.calls, marks.rows, marks.restraint, marks.truth)
}

fn adds(item: &str) -> Value {
    json!({ "protocol_id": item, "frame_level": "L2", "framed_text": "I do it" })
}

/// Adds daily-walk, and approves it.
fn adding() -> Placed {
    let calls = json!([{ "name": "add_habit", "arguments": adds("daily-walk") }]);
    let turns = json!([{ "user": "Add Daily walk.", "decisions": ["approve"], "calls": calls }]);
    case(&turns, &json!({ "rows": [{ "table": "habits", "where": { "item": "daily-walk" } }] }))
}

#[tokio::test]
async fn every_committed_case_is_right_when_it_is_played_as_it_is_meant() {
    let toolkits = Toolkit::value_variants();
    let mut cases = cases::open().unwrap();
    cases.extend(cases::sealed().unwrap());
    for file in ["later.jsonl", "sealed.hex"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(file);
        cases.extend(cases::of_file(&path).unwrap());
    }
    cases::check_ids(&cases).unwrap();
    let verdicts = as_meant(&cases, toolkits).await.unwrap();
    assert_eq!(verdicts.len(), cases.len());
    let wrong = verdicts.iter().filter(|verdict| !verdict.marks.are_all_right());
    let shown = |verdict: &Verdict| match verdict.part {
        Part::Open => format!("{verdict:#?}"),
        Part::Sealed => verdict.id.clone(),
    };
    let wrong: Vec<_> = wrong.map(shown).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_model_that_does_what_is_expected_is_right_in_everything() {
    let call = ScriptedCompletion::call("add_habit", &adds("daily-walk"));
    let verdict = verdict(adding(), [call, ScriptedCompletion::text("I added it.")]).await;
    assert_eq!(marks(&verdict), (true, Some(true), true, true), "{verdict:?}");
}

#[tokio::test]
async fn a_model_that_claims_what_it_has_not_done_is_untrue_and_leaves_no_row() {
    let verdict = verdict(adding(), [ScriptedCompletion::text("I added Daily walk.")]).await;
    assert_eq!(marks(&verdict), (false, Some(false), true, false), "{verdict:?}");
}

#[tokio::test]
async fn an_unexpected_write_is_counted_and_denied() {
    let turns = json!([{ "user": "Hello!", "calls": [] }]);
    let case = case(&turns, &json!({ "rows": [{ "table": "habits", "count": 0 }] }));
    let call = ScriptedCompletion::call("add_habit", &adds("daily-walk"));
    let verdict = verdict(case, [call, ScriptedCompletion::text("I added nothing.")]).await;
    assert_eq!(marks(&verdict), (false, Some(true), false, true), "{verdict:?}");
}

#[tokio::test]
async fn a_past_is_played_with_its_results_and_the_model_goes_on_from_there() {
    let found = json!({ "$ref": "found.items.0.id" });
    let search =
        json!({ "as": "found", "name": "search_catalog", "arguments": { "keyword": "nap" } });
    let turns = json!([
        { "user": "Find nap.", "played": { "calls": [search], "say": "I found one." } },
        { "user": "Tell me more.", "calls": [{ "name": "query_protocol", "arguments": { "id": found } }] },
    ]);
    let call = ScriptedCompletion::call("query_protocol", &json!({ "id": "short-nap" }));
    let verdict =
        verdict(case(&turns, &json!({})), [call, ScriptedCompletion::text("It is short.")]).await;
    assert_eq!(marks(&verdict), (true, None, true, true), "{verdict:?}");
}

#[tokio::test]
async fn today_is_always_the_same_day_and_a_setup_may_lie_before_it() {
    let done = |habit: u64, date: &str| json!({ "habit_id": habit, "value": "done", "date": date });
    let setup = json!([
        { "name": "add_habit", "arguments": adds("daily-walk"), "on": "2026-01-01" },
        { "name": "add_habit", "arguments": adds("daily-walk"), "user": "other" },
        { "name": "log_tracker_entry", "arguments": done(1, "2026-01-02"), "on": "2026-01-02" },
    ]);
    let turns = json!([{
        "user": "Habit 1 is done.", "decisions": ["approve"],
        "calls": [{ "name": "log_tracker_entry", "arguments": { "habit_id": 1, "value": "done" } }],
    }]);
    let rows = json!([
        { "table": "entries", "where": { "date": run::TODAY } },
        { "table": "entries", "where": { "item": "daily-walk" }, "columns": { "value": "done" }, "count": 2 },
        { "table": "habits", "where": { "user": "other" }, "columns": { "habit": 2, "is_active": true } },
    ]);
    let call =
        ScriptedCompletion::call("log_tracker_entry", &json!({ "habit_id": 1, "value": "done" }));
    let case = case(&turns, &json!({ "setup": setup, "rows": rows }));
    let verdict = verdict(case, [call, ScriptedCompletion::text("It is recorded.")]).await;
    assert_eq!(marks(&verdict), (true, Some(true), true, true), "{verdict:?}");
}

#[tokio::test]
async fn a_refusal_and_its_reason_reach_the_model() {
    let decisions = json!([{ "deny_with": "not today" }]);
    let calls = json!([{ "name": "add_habit", "arguments": adds("daily-walk") }]);
    let turns = json!([{ "user": "Add Daily walk.", "decisions": decisions, "calls": calls }]);
    let case =
        case(&turns, &json!({ "kind": "refusal", "rows": [{ "table": "habits", "count": 0 }] }));
    let call = ScriptedCompletion::call("add_habit", &adds("daily-walk"));
    let verdict = verdict(case, [call, ScriptedCompletion::text("Then I did not add it.")]).await;
    assert_eq!(marks(&verdict), (true, Some(true), true, true), "{verdict:?}");
}

#[tokio::test]
async fn a_model_that_fails_is_scored_and_the_next_case_is_run() {
    let script = [
        ScriptedCompletion::error("Boom"),
        ScriptedCompletion::call("add_habit", &adds("daily-walk")),
        ScriptedCompletion::text("I added it."),
    ];
    let verdicts = judged(&[adding(), adding()], script).await.unwrap();
    assert_eq!(marks(&verdicts[0]), (false, Some(false), true, false));
    assert!(verdicts[1].marks.are_all_right());
}

#[tokio::test]
async fn a_setup_that_does_not_succeed_is_told_with_its_case() {
    let setup = json!([{ "name": "query_protocol", "arguments": { "id": "nowhere" } }]);
    let case = case(&json!([{ "user": "Hm", "calls": [] }]), &json!({ "setup": setup }));
    let failed = judged(&[case], []).await;
    let Err(Failure::Explained { sentence, .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(
        sentence,
        r#"the case c could not be run: query_protocol in its setup gave {"status":"error","code":"not_found","reason":"The catalogue has no such item."}"#
    );
}

#[tokio::test]
async fn of_a_sealed_case_that_cannot_be_run_only_its_id_is_told() {
    let setup = json!([{ "name": "query_protocol", "arguments": { "id": "nowhere" } }]);
    let mut case = case(&json!([{ "user": "Hm", "calls": [] }]), &json!({ "setup": setup }));
    case.part = Part::Sealed;
    let failed = judged(&[case], []).await;
    let Err(Failure::Explained { sentence, cause }) = failed else { panic!("{failed:?}") };
    assert_eq!(sentence, "the case c could not be run: it is sealed");
    assert!(cause.is_none());
}
