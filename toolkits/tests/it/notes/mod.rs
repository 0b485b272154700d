//! Tests the notes toolkit on a real database, through the runtime.

mod asking;
mod seed;
mod standing;
mod verdicts;

use madang::{
    Call, CallReport, LanguageTag, Runtime, UserId,
    approval::{Approver, Decision},
    model::ChatModel,
    store::SqliteStore,
};
use madang_testing::ScriptedModel;
use madang_toolkits::notes;
use serde_json::Value;

use crate::support::{data, kind};

/// A runtime with the tools of notes, and its store.
pub(crate) async fn fixture(model: impl ChatModel) -> (Runtime, SqliteStore) {
    let store = SqliteStore::in_memory().migrations("notes", &notes::MIGRATIONS).await.unwrap();
    let builder = Runtime::builder().model(model).store(store.clone()).tools(notes::tools());
    let builder = builder.language(LanguageTag::KO);
    (builder.start().await.unwrap(), store)
}

async fn silent() -> (Runtime, SqliteStore) {
    fixture(ScriptedModel::new([])).await
}

async fn call(runtime: &Runtime, name: &str, arguments: Value) -> CallReport {
    call_as(runtime, "kim", name, arguments).await
}

async fn call_as(runtime: &Runtime, user: &str, name: &str, arguments: Value) -> CallReport {
    let call = Call::new(UserId::new(user).unwrap(), name, arguments.to_string())
        .approver(Approver::Decided(Decision::Approve));
    runtime.begin(call).await.unwrap().ended().await
}

/// Returns the data of a success.
async fn done(runtime: &Runtime, name: &str, arguments: Value) -> Value {
    let report = call(runtime, name, arguments).await;
    assert_eq!(kind(&report), "ok", "{name}: {}", report.envelope);
    data(report.outcome().unwrap()).clone()
}

fn feedback(report: &CallReport) -> String {
    let metadata = report.outcome().unwrap().metadata();
    metadata.get("feedback").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Renders the page as lines, with two spaces a level.
async fn shown(runtime: &Runtime, page: &Value) -> Vec<String> {
    let data = done(runtime, "get_page_blocks", serde_json::json!({ "pageId": page })).await;
    let items = data["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| {
            let depth = usize::try_from(item["depth"].as_u64().unwrap()).unwrap();
            format!("{}{}", "  ".repeat(depth), item["content"].as_str().unwrap())
        })
        .collect()
}

fn english(name: &str, arguments: &Value) -> Call {
    Call::new(UserId::new("kim").unwrap(), name, arguments.to_string()).language(LanguageTag::EN)
}
