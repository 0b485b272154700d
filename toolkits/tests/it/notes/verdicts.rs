//! Tests that each tool of the notes gives the same verdict with and without the dispatcher: the
//! rules belong to the repository.

use std::{collections::BTreeSet, sync::Arc};

use madang::SystemClock;
use madang::{
    CallId, Limits, SessionId,
    language::Text,
    tool::{Access, Locale, Need, Prepared, ToolContext, ToolOutcome, ToolRegistry},
};
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use super::*;

/// A database and a tool's context, without a runtime.
struct Outside {
    registry: ToolRegistry,
    db: SqliteConnection,
    ctx: ToolContext,
}

impl Outside {
    async fn new() -> Self {
        let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        notes::MIGRATIONS.run(&mut db).await.unwrap();
        let mut registry = ToolRegistry::new();
        registry.register_all(notes::tools()).unwrap();
        let ctx = ToolContext {
            session: SessionId::new("s").unwrap(),
            user: UserId::new("kim").unwrap(),
            call: CallId::new(uuid::Uuid::nil()),
            locale: Locale::EN,
            time_zone: "UTC".into(),
            clock: Arc::new(SystemClock),
            cancelled: Default::default(),
            progress: Default::default(),
            extensions: Default::default(),
        };
        Self { registry, db, ctx }
    }

    /// Runs in a transaction, which the caller undoes after a refusal: a tool never ends it.
    async fn call(&mut self, name: &str, arguments: Value) -> ToolOutcome {
        sqlx::query("BEGIN").execute(&mut self.db).await.unwrap();
        let tool = self.registry.get(name).unwrap();
        let own = notes::tools().into_iter().find(|tool| &*tool.spec().name == name).unwrap();
        let access = match own.needs() {
            None => Access::None,
            Some(Need::Reader(_)) => Access::Read(&mut self.db),
            Some(Need::Transaction(_)) => Access::Transaction(&mut self.db),
        };
        let outcome = match tool.validate(arguments) {
            Ok(checked) => {
                let prepared = Prepared::default();
                let limits = Limits::default();
                tool.handle(checked.arguments, prepared, &self.ctx, access, &limits).await.unwrap()
            }
            Err(problems) => {
                let words = problems.in_locale(Locale::EN);
                let told = Text::BadArguments(&words).in_locale(Locale::EN);
                ToolOutcome::error("validation", told)
            }
        };
        let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
        sqlx::query(end).execute(&mut self.db).await.unwrap();
        outcome
    }
}

/// Returns the code of an error, or the comparable part of a success: ids are replaced by the order
/// of their first use.
fn verdict(outcome: &ToolOutcome, ids: &mut Vec<String>) -> Value {
    let mut value = serde_json::to_value(outcome).unwrap();
    let mut left = vec![&mut value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) if uuid::Uuid::try_parse(text).is_ok() => {
                let place = ids.iter().position(|id| id == text).unwrap_or_else(|| {
                    ids.push(text.clone());
                    ids.len() - 1
                });
                *text = format!("id {place}");
            }
            // A sentence may contain an id.
            Value::String(text) => {
                for (place, id) in ids.iter().enumerate() {
                    *text = text.replace(id, &format!("id {place}"));
                }
            }
            Value::Array(items) => left.extend(items.iter_mut().rev()),
            Value::Object(fields) => left.extend(fields.values_mut().rev()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    value
}

/// The arguments of a step; `id N` stands for the Nth id.
fn with_ids(arguments: &Value, ids: &[String]) -> Value {
    let id = |text: &str| {
        text.strip_prefix("id ").and_then(|place| ids.get(place.parse::<usize>().ok()?))
    };
    let fields = arguments.as_object().unwrap().iter().map(|(key, value)| {
        let value = value.as_str().and_then(id).map_or_else(|| value.clone(), |id| json!(id));
        (key.clone(), value)
    });
    Value::Object(fields.collect())
}

/// The calls of one run, with their expected codes.
fn steps() -> Vec<(&'static str, Value, &'static str)> {
    let nobodys = "018f0000-0000-7000-8000-000000000000";
    vec![
        ("ping", json!({ "message": "a" }), "ok"),
        ("switch_to_note_view", json!({}), "no_page_open"),
        ("go_back", json!({}), "no_history"),
        ("insert_block_below_current", json!({ "content": "x" }), "no_page_open"),
        ("create_page", json!({ "title": "one" }), "ok"), // id 0
        ("create_page", json!({ "title": " " }), "validation"),
        ("create_page", json!({ "title": "x".repeat(201) }), "validation"),
        ("create_page", json!({ "title": "in", "parentId": nobodys }), "not_found"),
        ("create_page", json!({ "title": "inner", "parentId": "id 0" }), "ok"), // id 1
        (
            "create_page_with_blocks",
            json!({ "title": "two", "blocks": [{ "content": "a" }, { "content": "b\nc" }, { "content": "d", "indent": 1 }] }),
            "ok", // id 2 with the blocks 3 and 4
        ),
        (
            "create_page_with_blocks",
            json!({ "title": "none", "blocks": [{ "content": "a\nb" }] }),
            "no_blocks_created",
        ),
        ("list_pages", json!({ "includeDirectories": true }), "ok"),
        ("query_pages", json!({ "query": "one" }), "ok"),
        ("query_pages", json!({ "query": "" }), "validation"),
        ("rename_page", json!({ "id": "id 2", "title": "one" }), "title_taken"),
        ("rename_page", json!({ "id": "id 2", "title": "second" }), "ok"),
        ("get_page_blocks", json!({ "pageId": "id 2" }), "ok"),
        ("get_page_blocks", json!({ "pageId": nobodys }), "not_found"),
        ("get_block", json!({ "id": "id 3" }), "ok"),
        ("get_block", json!({ "id": nobodys }), "not_found"),
        ("create_block", json!({ "pageId": "id 2", "content": "e" }), "ok"),
        ("create_block", json!({ "pageId": "id 2", "content": "e\nf" }), "newline"),
        ("insert_block_below", json!({ "blockId": "id 3", "content": "below" }), "ok"),
        ("insert_block_below", json!({ "blockId": nobodys, "content": "below" }), "not_found"),
        ("insert_block_below", json!({ "blockId": "id 3", "content": "a\nb" }), "newline"),
        ("append_to_block", json!({ "id": "id 3", "text": "more" }), "ok"),
        ("update_block", json!({ "id": "id 3", "content": "changed" }), "ok"),
        ("update_block", json!({ "id": "id 3", "content": "a\nb" }), "newline"),
        ("query_blocks", json!({ "query": "changed" }), "ok"),
        ("open_page", json!({ "pageId": "id 2" }), "ok"),
        ("open_page", json!({ "pageTitle": "nowhere" }), "not_found"),
        ("insert_block_below_current", json!({ "content": "here" }), "ok"),
        ("get_current_context", json!({}), "ok"),
        ("switch_to_index", json!({}), "ok"),
        ("navigate_to_path", json!({ "path": "../etc" }), "outside_workspace"),
        ("navigate_to_path", json!({ "path": "one/inner" }), "ok"),
        ("go_back", json!({}), "ok"),
        ("go_forward", json!({}), "ok"),
        ("switch_to_note_view", json!({}), "ok"),
        ("delete_block", json!({ "id": "id 3" }), "ok"),
        ("delete_block", json!({ "id": "id 3" }), "not_found"),
        ("delete_page", json!({ "id": "id 0" }), "has_pages"),
        ("delete_page", json!({ "id": "id 1" }), "ok"),
        ("delete_page", json!({ "id": "id 0" }), "ok"),
        ("switch_to_note_view", json!({}), "page_gone"),
        ("list_pages", json!({}), "ok"),
    ]
}

#[tokio::test]
async fn each_tool_comes_to_the_same_verdict_outside_of_the_dispatcher_and_through_it() {
    let mut outside = Outside::new().await;
    let (runtime, _store) = silent().await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    drop(session);
    let mut ids_outside = Vec::new();
    let mut ids_inside = Vec::new();
    let mut called = BTreeSet::new();
    for (step, (name, arguments, expected)) in steps().into_iter().enumerate() {
        let outcome = outside.call(name, with_ids(&arguments, &ids_outside)).await;
        let call = Call::new(
            UserId::new("kim").unwrap(),
            name,
            with_ids(&arguments, &ids_inside).to_string(),
        );
        let call = call
            .session(SessionId::new("s").unwrap())
            .language(LanguageTag::EN)
            .approver(Approver::Decided(Decision::Approve));
        let report = runtime.begin(call).await.unwrap().ended().await;
        assert_eq!(kind(&report), expected, "step {step}, {name}: {}", report.envelope);
        let inside = verdict(report.outcome().unwrap(), &mut ids_inside);
        let outside = verdict(&outcome, &mut ids_outside);
        assert_eq!(outside, inside, "step {step}, {name} {arguments}");
        called.insert(name);
    }
    let all: BTreeSet<String> =
        notes::tools().iter().map(|it| it.spec().name.to_string()).collect();
    assert!(all.iter().eq(called.iter()), "each tool is called: {called:?}");
    runtime.shutdown().await.unwrap();
}
