//! What the model reads of an outcome is bounded, whole where it must be, and free of metadata.

use madang_actors::protocol::{
    CallId, CallRecord, CallResult, CancelReason, Effect, Limits, Locale, ResolvedBy, Timestamp,
    ToolOutcome, ToolSpec, call_envelope, envelope,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const MAX: usize = 2_048;

fn read(outcome: &ToolOutcome, narrower: Option<&str>) -> Value {
    serde_json::from_str(&envelope(outcome, narrower, MAX)).unwrap()
}

#[test]
fn the_default_bound_is_two_kibibytes() {
    assert_eq!(Limits::default().max_envelope_bytes, MAX);
}

#[test]
fn each_outcome_has_its_form() {
    let table = [
        (ToolOutcome::ok(json!({ "id": 1 })), r#"{"status":"ok","data":{"id":1}}"#),
        (ToolOutcome::ok(Value::Null), r#"{"status":"ok","data":null}"#),
        (
            ToolOutcome::error("unknown_tool", "알 수 없는 도구: x"),
            r#"{"status":"error","code":"unknown_tool","reason":"알 수 없는 도구: x"}"#,
        ),
        (
            ToolOutcome::cancelled(CancelReason::Denied),
            r#"{"status":"cancelled","reason":"user did not confirm"}"#,
        ),
        (
            ToolOutcome::cancelled(CancelReason::Expired),
            r#"{"status":"cancelled","reason":"the question expired without an answer"}"#,
        ),
    ];
    for (outcome, expected) in table {
        assert_eq!(envelope(&outcome, None, MAX), expected);
        let more = outcome
            .with_metadata("stop_loop", json!(true))
            .with_metadata("secret", json!("s3cr3t"));
        assert_eq!(envelope(&more, None, MAX), expected, "metadata is never there");
    }
}

#[test]
fn data_that_fits_to_the_byte_is_whole() {
    let whole = |bytes: usize| ToolOutcome::ok(json!("x".repeat(bytes)));
    let frame = envelope(&whole(0), None, MAX).len();
    assert_eq!(envelope(&whole(MAX - frame), None, MAX).len(), MAX);
    let cut = read(&whole(MAX + 100), None)["data"].clone();
    assert_eq!(cut["_truncated"], json!(true));
    assert!(cut["text"].as_str().unwrap().contains("x…(+"), "{cut}");
}

#[test]
fn a_list_is_cut_to_as_many_whole_items_as_fit_with_the_total_as_its_count() {
    let items: Vec<_> = (0..100).map(|n| json!({ "id": n, "title": "수면에 좋은 습관" })).collect();
    let data =
        read(&ToolOutcome::ok(json!({ "items": items, "note": "kept" })), None)["data"].clone();
    let kept = data["items"].as_array().unwrap();
    assert_eq!(kept[..], items[..kept.len()]);
    assert_eq!(
        (&data["count"], &data["_truncated"], &data["note"]),
        (&json!(100), &json!(true), &json!("kept"))
    );
    // One more would not have fitted.
    let one_more =
        json!({ "items": items[..=kept.len()], "note": "kept", "count": 100, "_truncated": true });
    assert!(json!({ "status": "ok", "data": one_more }).to_string().len() > MAX);
    assert!(kept.len() > 20, "{}", kept.len());
}

#[test]
fn a_count_that_the_tool_gave_is_kept() {
    let items: Vec<_> = (0..100).map(|n| json!({ "id": n, "title": "x".repeat(50) })).collect();
    let data =
        read(&ToolOutcome::ok(json!({ "count": 4711, "items": items })), None)["data"].clone();
    assert_eq!((&data["count"], &data["_truncated"]), (&json!(4711), &json!(true)));
}

#[test]
fn a_bare_list_is_cut_under_the_name_items() {
    let items: Vec<_> = (0..1_000).map(|n| json!(n)).collect();
    let data = read(&ToolOutcome::ok(json!(items)), None)["data"].clone();
    let kept = data["items"].as_array().unwrap();
    assert_eq!(kept[..], items[..kept.len()]);
    assert_eq!((&data["count"], &data["_truncated"]), (&json!(1_000), &json!(true)));
}

#[test]
fn of_several_lists_the_largest_is_cut() {
    let data = json!({ "few": [1, 2, 3], "many": vec!["x".repeat(20); 200] });
    let data = read(&ToolOutcome::ok(data), None)["data"].clone();
    assert_eq!(data["few"], json!([1, 2, 3]));
    assert_eq!(data["count"], json!(200));
    assert!(data["many"].as_array().unwrap().len() > 10);

    let ids: Vec<_> = (0..100).collect();
    let data = json!({ "ids": ids, "rows": ["x".repeat(1_000), "y".repeat(1_000)] });
    let data = read(&ToolOutcome::ok(data), None)["data"].clone();
    assert_eq!(data["ids"], json!(ids));
    let rows = data["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "texts are cut before entries are left out");
    assert!(rows.iter().all(|row| row.as_str().unwrap().contains("…(+")), "{data}");
}

#[test]
fn a_long_text_is_cut_and_says_how_much_is_missing_and_where_it_is() {
    let text = "가".repeat(2_000);
    let data = json!({ "id": "0192f0c1-2b5e-7c52-9f9a-6a1c8e1f0d3b", "order": 7, "content": text });
    let told = read(&ToolOutcome::ok(data.clone()), Some("get_block"))["data"].clone();
    assert_eq!([&told["id"], &told["order"]], [&data["id"], &data["order"]]);
    let (shown, missing) = told["content"].as_str().unwrap().split_once("…(+").unwrap();
    let missing: usize = missing.strip_suffix(')').unwrap().parse().unwrap();
    assert_eq!(shown.chars().count() + missing, 2_000);
    assert!(shown.chars().count() > 500, "{}", shown.chars().count());
    assert_eq!(told["_hint"], "ask get_block for the rest");
    assert_eq!(read(&ToolOutcome::ok(data), None)["data"]["_hint"], Value::Null);
}

#[test]
fn what_cannot_be_cut_becomes_a_hint_that_names_a_narrower_tool() {
    let fields: Map<String, Value> = (0..500).map(|n| (format!("key {n}"), json!(n))).collect();
    let outcome = ToolOutcome::ok(Value::Object(fields));
    let told = read(&outcome, Some("query_protocol"))["data"].clone();
    assert!(told["_hint"].as_str().unwrap().contains("query_protocol"), "{told}");
    assert_eq!((told.as_object().unwrap().len(), &told["_truncated"]), (2, &json!(true)));
}

#[test]
fn a_list_beside_a_long_text_keeps_its_entries() {
    let data = json!({ "items": [1, 2], "text": "x".repeat(5_000) });
    let told = read(&ToolOutcome::ok(data), None)["data"].clone();
    assert_eq!(told["items"], json!([1, 2]));
}

#[test]
fn a_title_is_whole_while_a_text_beside_it_can_be_cut() {
    let item = |n: usize| {
        json!({ "habit_id": n, "title": "수면".repeat(20), "framed_text": "걷기".repeat(100),
            "anchor_when": "밤".repeat(200), "dose_text": "물".repeat(200), "started_on": "2026-03-10" })
    };
    let items: Vec<_> = (1..=4).map(item).collect();
    let told = read(&ToolOutcome::ok(json!({ "count": 4, "items": items })), None)["data"].clone();
    let shown = told["items"].as_array().unwrap();
    assert_eq!(shown.len(), 4, "few entries are all shown");
    for (told, item) in shown.iter().zip(&items) {
        for kept in ["habit_id", "title", "started_on"] {
            assert_eq!(told[kept], item[kept]);
        }
        assert!(told["dose_text"].as_str().unwrap().contains("…(+"));
    }
}

#[test]
fn of_several_long_lists_each_says_how_long_it_was() {
    let ids: Vec<_> = (0..500).map(|n| json!({ "index": n, "code": "newline" })).collect();
    let data = json!({ "id": "p", "blocks": ids, "failedBlocks": ids, "blocksCreated": 500 });
    let told = read(&ToolOutcome::ok(data), None)["data"].clone();
    assert_eq!([&told["id"], &told["blocksCreated"]], [&json!("p"), &json!(500)]);
    assert_eq!(told["_counts"], json!({ "blocks": 500, "failedBlocks": 500 }));
    assert!(!told["blocks"].as_array().unwrap().is_empty());
}

#[test]
fn a_list_inside_of_an_entry_says_how_many_entries_are_missing() {
    let inner: Vec<_> = (0..60).map(|n| json!({ "index": n, "name": "x".repeat(30) })).collect();
    let row = |n: usize| json!({ "id": n, "blocks": inner, "few": [1, 2], "lists": [inner] });
    let data = json!({ "items": (0..5).map(row).collect::<Vec<_>>() });
    let told = read(&ToolOutcome::ok(data), None)["data"].clone();
    assert_eq!((&told["count"], &told["_truncated"]), (&json!(5), &json!(true)));
    let shown = &told["items"][0];
    for list in [&shown["blocks"], &shown["lists"][0]] {
        let (note, kept) = list.as_array().unwrap().split_last().unwrap();
        assert_eq!(*note, json!(format!("…(+{})", 60 - kept.len())), "{told}");
        assert_eq!(kept[..], inner[..kept.len()]);
    }
    assert_eq!(shown["few"], json!([1, 2]), "shorter than the note would be");
}

#[test]
fn the_envelope_of_a_tool_read_on_by_an_offset_says_where_the_next_part_begins() {
    let of = |parameters: Value| ToolSpec::new("list", "Lists.", parameters);
    let paged = of(json!({ "type": "object", "properties": { "offset": { "type": "integer" } } }));
    let whole = of(json!({ "type": "object" }));
    let items: Vec<_> = (0..100).map(|n| json!({ "id": n, "title": "x".repeat(50) })).collect();
    let listed = |fields: Value| {
        let mut data = json!({ "total": 300, "items": items });
        data.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let mut record = record(Some(ToolOutcome::ok(data)), Effect::None);
        record.arguments = json!({ "offset": 70 }).into();
        record
    };
    let told = |tool: &ToolSpec, record: &CallRecord| -> Value {
        let told = call_envelope(record, Some(tool), Locale::EN, MAX);
        serde_json::from_str::<Value>(&told).unwrap()["data"].take()
    };
    for key in ["nextOffset", "next_offset"] {
        // The tool does not know how much of its part was shown.
        let told = told(&paged, &listed(json!({ key: 170 })));
        let shown = told["items"].as_array().unwrap().len();
        assert!((1..100).contains(&shown));
        assert_eq!(told[key], json!(70 + shown), "{told}");
    }
    let from_the_tool_alone = listed(json!({}));
    let read = told(&paged, &from_the_tool_alone);
    assert_eq!(read["nextOffset"], json!(70 + read["items"].as_array().unwrap().len()));
    assert_eq!(told(&whole, &from_the_tool_alone)["nextOffset"], Value::Null);
    // Where nothing of the list is missing the tool's word stands.
    let mut all = listed(json!({ "nextOffset": 71 }));
    all.outcome = Some(ToolOutcome::ok(json!({ "nextOffset": 71, "items": ["x".repeat(5_000)] })));
    assert_eq!(told(&paged, &all)["nextOffset"], json!(71));
}

#[test]
fn errors_and_cancellations_are_kept_whole() {
    let reason = "이유".repeat(2_000);
    let told = read(&ToolOutcome::error("r3_quota", reason.clone()), None);
    assert_eq!(told, json!({ "status": "error", "code": "r3_quota", "reason": reason }));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z가-힣\"\\\\\n]{0,200}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 200, 20, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..20).prop_map(Value::Array),
            proptest::collection::vec(("[a-z_가]{0,8}", inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn the_envelope_of_any_success_is_valid_json_within_its_bound(data in any_json(), max in 128_usize..4_096) {
        let outcome = ToolOutcome::ok(data.clone()).with_metadata("m", json!("metadata"));
        let text = envelope(&outcome, Some("narrower_tool"), max);
        prop_assert!(text.len() <= max, "{} > {max}: {text}", text.len());
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read["status"], "ok");
        let whole = json!({ "status": "ok", "data": data });
        if whole.to_string().len() <= max {
            prop_assert_eq!(read, whole);
        } else {
            prop_assert_eq!(&read["data"]["_truncated"], &json!(true));
        }
    }
}

fn record(outcome: Option<ToolOutcome>, effect: Effect) -> CallRecord {
    CallRecord {
        model: None,
        opaque: None,
        id: CallId::new(uuid::Uuid::nil()),
        name: "mail".into(),
        arguments: json!({ "to": "lee" }).into(),
        asked: None,
        approval: None,
        result: if outcome.is_some() { CallResult::Shown } else { CallResult::Discarded },
        outcome,
        effect,
        resolved_by: None,
        proposed_at: Timestamp::from_millis(0),
        ended_at: Timestamp::from_millis(0),
    }
}

#[test]
fn an_effect_that_became_known_stands_beside_an_outcome_that_does_not_know_it() {
    let told = |record: &CallRecord| call_envelope(record, None, Locale::EN, MAX);
    let timeout = ToolOutcome::error("timeout", "It may have taken effect.");
    let unknown = record(Some(timeout), Effect::Unknown);
    let plain = r#"{"status":"error","code":"timeout","reason":"It may have taken effect."}"#;
    assert_eq!(told(&unknown), plain);
    for (effect, words) in [
        (Effect::Committed, "mail: it is known now that it took effect."),
        (Effect::None, "mail: it is known now that it did not take effect."),
    ] {
        let known =
            CallRecord { effect, resolved_by: Some(ResolvedBy::Handler), ..unknown.clone() };
        let field = format!(r#""settled":"{words}","#);
        assert_eq!(told(&known), plain.replace(r#""code""#, &format!(r#"{field}"code""#)));
        let edited = CallRecord { asked: Some(json!({ "to": "kim" }).into()), ..known.clone() };
        let both: Value = serde_json::from_str(&told(&edited)).unwrap();
        assert_eq!(
            (&both["settled"], &both["user_changed_arguments_to"]["to"]),
            (&json!(words), &json!("lee"))
        );
        // What was discarded says what it did already.
        let discarded = record(None, effect);
        let resolved = CallRecord { resolved_by: Some(ResolvedBy::Handler), ..discarded.clone() };
        assert_eq!(told(&resolved), told(&discarded));
        // A list gives way to it.
        let list = ToolOutcome::ok(json!({ "items": vec!["x".repeat(50); 100] }));
        let long = CallRecord { outcome: Some(list), ..known };
        assert!(told(&long).len() <= MAX && told(&long).contains(words));
    }
}
