use madang::tool::CancelReason;
use serde_json::json;

use super::*;

/// `look` reads and `write` writes; both have a `limit`, 10 by default.
struct TwoTools(Value);

impl Tools for TwoTools {
    fn schema(&self, _: &str) -> &Value {
        &self.0
    }

    fn may_write(&self, tool: &str) -> bool {
        tool == "write"
    }
}

fn case(kind: &str, language: &str, turns: &Value, more: &Value) -> Case {
    let mut case =
        json!({ "id": "c", "toolkit": "life", "language": language, "kind": kind, "turns": turns });
    case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(case).unwrap()
}

fn ok(name: &str, arguments: Value) -> SeenCall {
    let outcome = Some(ToolOutcome::ok(json!({ "id": 7 })));
    SeenCall { name: name.to_owned(), arguments, outcome }
}

fn denied(name: &str) -> SeenCall {
    SeenCall { outcome: Some(ToolOutcome::cancelled(CancelReason::Denied)), ..ok(name, json!({})) }
}

fn turn(calls: Vec<SeenCall>, text: &str) -> SeenTurn {
    SeenTurn { calls, text: text.to_owned(), error: None }
}

/// Renders the marks of a case as `calls rows restraint truth`: `+`, `-`, and `.` for no
/// expectation.
fn marks(case: &Case, turns: Vec<SeenTurn>, found: Vec<Found>) -> String {
    let tools = TwoTools(json!({ "properties": { "limit": { "default": 10 } } }));
    let seen = Seen { known: NamedResults::new(), turns, found };
    let (marks, complaints) = score(case, &seen, &tools);
    assert_eq!(marks.are_all_right(), complaints.is_empty(), "{complaints:?}");
    let sign = |is: bool| if is { '+' } else { '-' };
    let rows = marks.rows.map_or('.', sign);
    [sign(marks.calls), rows, sign(marks.restraint), sign(marks.truth)].iter().collect()
}

#[test]
fn a_call_is_exact_or_it_is_not() {
    let expected =
        json!([{ "user": "look", "calls": [{ "name": "look", "arguments": { "word": "milk" } }] }]);
    let case = case("single", "en", &expected, &json!({}));
    let table = [
        (vec![ok("look", json!({ "word": "milk" }))], "+.++"),
        (vec![ok("look", json!({ "limit": 10, "word": "milk" }))], "+.++"),
        (vec![ok("look", json!({ "word": "milk", "limit": 9 }))], "-.++"),
        (vec![ok("look", json!({ "word": "Milk" }))], "-.++"),
        (vec![ok("find", json!({ "word": "milk" }))], "-.++"),
        (vec![], "-.++"),
        (
            vec![ok("look", json!({ "word": "milk" })), ok("look", json!({ "word": "milk" }))],
            "-.++",
        ),
        (vec![ok("look", json!({ "word": "milk" })), ok("write", json!({}))], "-.-+"),
    ];
    for (calls, expected) in table {
        let shown = format!("{calls:?}");
        assert_eq!(marks(&case, vec![turn(calls, "Here it is.")], vec![]), expected, "{shown}");
    }
}

#[test]
fn a_call_may_refer_to_what_one_before_it_gave_also_in_an_earlier_turn() {
    let expected = json!([
        { "user": "look", "calls": [{ "as": "found", "name": "look" }] },
        { "user": "write", "calls": [{ "name": "write", "arguments": { "id": { "$ref": "found.id" } } }] },
    ]);
    let case = case("chain", "en", &expected, &json!({}));
    let with = |id: u64| {
        let second = turn(vec![ok("write", json!({ "id": id }))], "I changed it.");
        vec![turn(vec![ok("look", json!({}))], "There is one."), second]
    };
    assert_eq!(marks(&case, with(7), vec![]), "+.++");
    assert_eq!(marks(&case, with(8), vec![]), "-.-+", "a write to something else");
    let first = with(7).swap_remove(0);
    assert_eq!(marks(&case, vec![first], vec![]), "-.+-", "a turn that was not reached");
}

#[test]
fn rows_are_right_where_as_many_are_there_as_must_be_and_all_of_them_are_so() {
    let turns = json!([{ "user": "hm", "calls": [] }]);
    let rows =
        json!({ "rows": [{ "table": "habits", "columns": { "type": "build" }, "count": 2 }] });
    let case = case("single", "en", &turns, &rows);
    for ((rows, right), expected) in
        [((2, 2), "++++"), ((2, 1), "+-++"), ((3, 2), "+-++"), ((0, 0), "+-++")]
    {
        let said = vec![turn(vec![], "Well.")];
        assert_eq!(marks(&case, said, vec![Found { rows, right }]), expected);
    }
}

#[test]
fn what_must_not_be_called_is_counted_also_where_it_only_reads() {
    let turns = json!([{ "user": "hello", "calls": [] }]);
    for (never, call, expected) in [
        (json!([]), "look", "-.++"),
        (json!([]), "write", "-.-+"),
        (json!(["writes"]), "look", "-.++"),
        (json!(["any"]), "look", "-.-+"),
        (json!([{ "tool": "look" }]), "look", "-.-+"),
        (json!([{ "tool": "find" }]), "look", "-.++"),
    ] {
        let case = case("restraint", "en", &turns, &json!({ "never": never }));
        assert_eq!(
            marks(&case, vec![turn(vec![ok(call, json!({}))], "Hello.")], vec![]),
            expected,
            "{never}"
        );
    }
}

#[test]
fn a_text_must_be_true_of_what_was_done() {
    let expected = json!([{ "user": "write", "calls": [{ "name": "write" }] }]);
    let case = case("refusal", "en", &expected, &json!({}));
    let table = [
        (vec![ok("write", json!({}))], "I added it.", "+.++"),
        (vec![ok("write", json!({}))], "I could not add it.", "+.+-"),
        (vec![denied("write")], "I did not add it.", "+.++"),
        (vec![denied("write")], "I added it.", "+.+-"),
        (vec![denied("write")], "All right.", "+.+-"),
        (vec![], "I added it.", "-.+-"),
        (vec![], "What shall I add?", "-.++"),
        (vec![ok("write", json!({}))], "  ", "+.+-"),
        (vec![ok("write", json!({}))], "I added it. I did not change anything else.", "+.++"),
    ];
    for (calls, text, expected) in table {
        let shown = format!("{calls:?} {text}");
        assert_eq!(marks(&case, vec![turn(calls, text)], vec![]), expected, "{shown}");
    }
    let failed = SeenTurn {
        error: Some("LLM 응답 실패: Timeout".into()),
        ..turn(vec![ok("write", json!({}))], "")
    };
    assert_eq!(marks(&case, vec![failed], vec![]), "+.+-", "a turn that failed");
}

#[test]
fn a_text_says_no_also_where_only_one_of_two_writes_failed() {
    let calls = json!([{ "name": "write" }, { "name": "write" }]);
    let case = case("refusal", "en", &json!([{ "user": "w", "calls": calls }]), &json!({}));
    for (text, expected) in [
        ("Both were added.", "+.+-"),
        ("I added both.", "+.+-"),
        ("I added the first, the second was not added.", "+.++"),
    ] {
        let calls = vec![ok("write", json!({})), denied("write")];
        assert_eq!(marks(&case, vec![turn(calls, text)], vec![]), expected, "{text}");
    }
}

#[test]
fn a_write_is_expected_with_its_arguments_wherever_it_stands() {
    let calls = json!([
        { "as": "found", "name": "look", "arguments": { "word": "milk" } },
        { "name": "write", "arguments": { "id": { "$ref": "found.id" } } },
    ]);
    let case = case("chain", "en", &json!([{ "user": "w", "calls": calls }]), &json!({}));
    let milk = json!({ "word": "milk" });
    let tea = json!({ "word": "tea" });
    let write = |id: u64| ok("write", json!({ "id": id }));
    for (calls, expected) in [
        (vec![ok("look", milk.clone()), write(7)], "+.++"),
        (vec![ok("find", json!({})), ok("look", milk.clone()), write(7)], "-.++"),
        (vec![ok("look", milk), write(8)], "-.-+"),
        (vec![ok("look", tea), write(7)], "-.-+"),
    ] {
        let shown = format!("{calls:?}");
        assert_eq!(marks(&case, vec![turn(calls, "Written.")], vec![]), expected, "{shown}");
    }
}

#[test]
fn a_text_says_one_of_each_list_asks_where_it_must_and_says_nothing_forbidden() {
    let text =
        json!({ "says": [["3", "세 "], ["매일 걷기"]], "says_not": ["따뜻한 목욕"], "asks": true });
    let case =
        case("single", "ko", &json!([{ "user": "몇 개?", "calls": [], "text": text }]), &json!({}));
    for (text, expected) in [
        ("매일  걷기를 3일 했어요. 더 볼까요?", "+.++"),
        ("매일 걷기를 세 번 하셨네요. 더 볼까요?", "+.++"),
        ("매일 걷기를 하셨네요. 더 볼까요?", "+.+-"),
        ("3일이에요. 더 볼까요?", "+.+-"),
        ("매일 걷기는 3일, 따뜻한 목욕은 2일이에요. 더 볼까요?", "+.+-"),
        ("매일 걷기를 3일 했어요.", "+.+-"),
    ] {
        assert_eq!(marks(&case, vec![turn(vec![], text)], vec![]), expected, "{text}");
    }
}

#[test]
fn a_turn_that_is_played_is_not_judged() {
    let turns = json!([
        { "user": "write", "played": { "calls": [{ "name": "write" }], "say": "I did not." } },
        { "user": "thanks", "calls": [] },
    ]);
    let case = case("restraint", "en", &turns, &json!({ "never": ["any"] }));
    assert_eq!(marks(&case, vec![turn(vec![], "You are welcome.")], vec![]), "+.++");
}
