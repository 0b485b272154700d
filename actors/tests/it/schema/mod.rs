//! With the feature `schema`, the schemas of the vocabulary say what serde writes: no less, and
//! nothing else.

mod samples;

use std::collections::BTreeSet;

use jsonschema::Validator;
use madang_actors::protocol::{
    Asks, Bound, ChatMessage, CompletionId, EffectPolicy, EffectResolution, EventCursor,
    FeedCursor, FinishReason, IdempotencyKey, Imported, LanguageTag, OnDismiss, ResolvedBy, Scope,
    SessionEvent, StandingApproval, Timestamp, ToolCall, ToolSpec, TurnOptions,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use samples::{
    USAGE, approvals, at, call, contents, decisions, digest, kinds, model, outcomes, records,
    request, resolved, rows, session, turn, user,
};

/// Both readings of a schema: of what is sent, and of what is taken.
fn schemas_of<T: JsonSchema>() -> [Value; 2] {
    let settings = SchemaSettings::draft2020_12();
    [settings.clone().for_serialize(), settings.for_deserialize()]
        .map(|settings| settings.into_generator().into_root_schema_for::<T>().to_value())
}

fn validator(schema: &Value) -> Validator {
    let options = jsonschema::options().should_validate_formats(true);
    options.build(schema).unwrap_or_else(|error| panic!("{error} in {schema:#}"))
}

/// Checks that the schemas take each value as serde writes it, and that the values show each name
/// and word of the schemas. Checks also that the schemas refuse a value of which one part is
/// something else.
fn check<T: JsonSchema + Serialize>(values: impl IntoIterator<Item = T>) {
    let values: Vec<Value> =
        values.into_iter().map(|value| serde_json::to_value(value).unwrap()).collect();
    let name = T::schema_name();
    for schema in schemas_of::<T>() {
        let validator = validator(&schema);
        for value in &values {
            let wrong: Vec<_> = validator.iter_errors(value).map(|it| it.to_string()).collect();
            assert!(wrong.is_empty(), "{name}: {wrong:?}: {value:#} under {schema:#}");
            for (path, changed) in changes(value) {
                assert!(!validator.is_valid(&changed), "{name} takes another {path}: {changed:#}");
            }
        }
        let mut said = BTreeSet::new();
        let mut shown = BTreeSet::new();
        words_of_schema(&schema, &mut said);
        values.iter().for_each(|value| words_of_value(value, &mut shown));
        let missing: Vec<_> = said.difference(&shown).collect();
        assert!(missing.is_empty(), "no value of {name} shows {missing:?}");
    }
}

/// The names and the fixed words in a schema.
fn words_of_schema(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| words_of_schema(item, words)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        words.extend(properties.keys().cloned());
                        properties.values().for_each(|each| words_of_schema(each, words));
                    }
                    ("const", Value::String(word)) => drop(words.insert(word.clone())),
                    ("enum", Value::Array(all)) => {
                        words.extend(all.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    ("default", _) => {}
                    _ => words_of_schema(value, words),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The names and the texts in a value.
fn words_of_value(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| words_of_value(item, words)),
        Value::Object(fields) => {
            words.extend(fields.keys().cloned());
            fields.values().for_each(|each| words_of_value(each, words));
        }
        Value::String(text) => drop(words.insert(text.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Fields in which any JSON is right.
const FREE: [&str; 5] = ["arguments", "asked", "data", "metadata", "parameters"];

/// The value with another kind of JSON at one pointer, for each of its pointers.
fn changes(value: &Value) -> Vec<(String, Value)> {
    let mut changes = vec![("whole".to_owned(), json!([[]]))];
    if let Value::Object(fields) = value {
        for (name, field) in fields.iter().filter(|(name, _)| !FREE.contains(&&***name)) {
            for (path, changed) in self::changes(field) {
                let mut fields = fields.clone();
                fields.insert(name.clone(), changed);
                changes.push((format!("{name}.{path}"), Value::Object(fields)));
            }
        }
    }
    changes
}

#[test]
fn events_are_what_their_schema_says() {
    check(kinds());
    check(kinds().into_iter().map(|kind| SessionEvent {
        kind,
        seq: 3,
        cursor: EventCursor::of_entry(17).end(),
        turn: turn(),
        at: at(),
    }));
}

#[test]
fn entries_and_calls_are_what_their_schema_says() {
    check(contents());
    let message = |content| ChatMessage { seq: 1, turn: turn(), at: at(), content };
    check(contents().into_iter().map(message));
    check(records());
    check(outcomes());
    check([ToolCall {
        model: model(),
        opaque: None,
        id: call(),
        name: "save".into(),
        arguments: "{}".into(),
    }]);
    check([Imported::user("hi"), Imported::model("Hello.")]);
    check(rows());
}

#[test]
fn approvals_are_what_their_schema_says() {
    check([request()]);
    check(decisions());
    check(approvals());
    let standing = StandingApproval {
        session: session(),
        tool: "save".into(),
        schema: digest(),
        resource: Some(digest()),
        user: user(),
        call: call(),
        at: at(),
        until: at(),
        uses: 4,
    };
    check([StandingApproval { resource: None, ..standing.clone() }, standing]);
    check([
        resolved(ResolvedBy::Handler, EffectResolution::TookEffect),
        resolved(ResolvedBy::Person { user: user() }, EffectResolution::DidNot),
    ]);
}

#[test]
fn tools_turns_and_bounds_are_what_their_schema_says() {
    let spec = ToolSpec::new("save", "Saves.", json!({ "type": "object" }));
    let mut full = spec.clone().category("habit").effect(EffectPolicy::Write);
    full.timeout = Some(std::time::Duration::from_millis(1_500));
    full.max_concurrent = Some(2);
    full.narrower = Some("search".into());
    check([spec.clone().effect(EffectPolicy::Read), spec, full]);
    let options = TurnOptions {
        asks: Asks::Nobody,
        on_dismiss: OnDismiss::Finish,
        language: Some(LanguageTag::KO),
        time_zone: Some("Asia/Seoul".into()),
        instructions: Some("Be brief.".into()),
        model: model(),
        key: None,
    };
    check([TurnOptions::default(), options]);
    check([USAGE]);
    check([FinishReason::Stop, FinishReason::ToolCalls, FinishReason::Length]);
    check(Bound::ALL);
    check([Scope::Session, Scope::User, Scope::All]);
}

#[test]
fn ids_cursors_digests_and_moments_are_texts_and_numbers_of_their_form() {
    fn takes<T: JsonSchema + Serialize>(value: T, wrong: &[Value]) {
        check([value]);
        for schema in schemas_of::<T>() {
            let validator = validator(&schema);
            for wrong in wrong {
                assert!(!validator.is_valid(wrong), "{} is no {}", wrong, T::schema_name());
            }
        }
    }
    let no_names = [
        json!(""),
        json!("a\nb"),
        json!("\u{7f}"),
        json!("\u{85}"),
        json!("x".repeat(257)),
        json!(1),
    ];
    takes(session(), &no_names);
    takes(user(), &no_names);
    takes(IdempotencyKey::new("가".repeat(85)).unwrap(), &no_names);
    let no_uuids = [json!(""), json!("1"), json!("00000000-0000-0000-0000-00000000000g"), json!(1)];
    takes(call(), &no_uuids);
    takes(turn(), &no_uuids);
    takes(CompletionId::new(Uuid::nil()), &no_uuids);
    let no_cursors =
        [json!(""), json!("17.3"), json!("17."), json!("-1"), json!("1.1.1"), json!(17)];
    for cursor in [EventCursor::START, EventCursor::of_entry(u64::MAX).error()] {
        takes(cursor, &no_cursors);
    }
    for cursor in ["17", "17.2@5f1c.341", "0.1@0.0"] {
        takes(cursor.parse::<FeedCursor>().unwrap(), &no_cursors);
        takes(cursor.parse::<FeedCursor>().unwrap(), &[json!("17@5f1c"), json!("17@x.1")]);
    }
    let no_digests = [json!("a7"), json!("g".repeat(64)), json!("a".repeat(65)), json!(1)];
    takes(digest(), &no_digests);
    for tag in ["ko", "pt-BR", "zh-hant-tw"] {
        let no_tags =
            [json!("k"), json!("ko-"), json!("1ko"), json!("k".repeat(36)), json!("ko_KR")];
        takes(tag.parse::<LanguageTag>().unwrap(), &no_tags);
    }
    for moment in [at(), Timestamp::from_millis(i64::MIN)] {
        takes(moment, &[json!("2026-11-23T00:00:00Z"), json!(1.5), json!(null)]);
    }
}
