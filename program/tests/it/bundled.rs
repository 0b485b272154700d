//! Tests the bundled model with the real engine: it finds protocols, adds approved habits, and
//! tells the truth.

use madang::{
    Call, LanguageTag, Runtime, UserId,
    approval::{Approver, Decision},
    event::Content,
    store::SqliteStore,
    tool::Locale,
};
use madang_testing::Probe;
use madang_toolkits::{
    demonstration,
    life::{self, catalogue::Catalogue},
};
use serde_json::{Value, json};

async fn runtime() -> Runtime {
    let model = tokio::task::spawn_blocking(demonstration::load);
    Runtime::builder()
        .language(LanguageTag::KO)
        .model(model.await.unwrap().unwrap())
        .store(SqliteStore::in_memory().migrations("life", &life::MIGRATIONS).await.unwrap())
        .tools(life::tools())
        .start()
        .await
        .unwrap()
}

/// Returns the last text of the model.
fn last_words(messages: &[madang::event::ChatMessage]) -> String {
    let said = messages.iter().rev().find_map(|message| match &message.content {
        Content::Model { text, .. } => Some(text.to_string()),
        Content::User { .. } | Content::ToolCall(_) | Content::Notice { .. } | Content::Cleared => {
            None
        }
    });
    said.expect("the model answers")
}

#[tokio::test]
async fn a_search_is_answered_with_items_of_the_catalogue() {
    let runtime = runtime().await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    session.send("수면에 좋은 프로토콜 찾아줘").await.unwrap().ended().await.unwrap();
    let messages = session.state().await.unwrap().messages;
    let calls: Vec<(&str, &Value)> = messages
        .iter()
        .filter_map(|message| match &message.content {
            Content::ToolCall(record) => Some((&*record.name, &*record.arguments)),
            Content::User { .. }
            | Content::Model { .. }
            | Content::Notice { .. }
            | Content::Cleared => None,
        })
        .collect();
    assert_eq!(calls, [("search_catalog", &json!({"category": "sleep"}))]);
    let answer = last_words(&messages);
    let titles = Catalogue::bundled().iter().map(|item| item.title.get(Locale::KO));
    assert!(titles.filter(|title| answer.contains(title.as_str())).count() > 0, "{answer}");
    runtime.shutdown().await.unwrap();
}

/// Asks for a habit and answers the question. Returns the model's last text and the number of
/// habits.
async fn add(decision: Decision) -> (String, usize) {
    let runtime = runtime().await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("감사 일기 습관으로 추가해줘").await.unwrap();
    let request = probe.approval_request().await;
    assert_eq!(&*request.tool, "add_habit");
    session.decide(&request, decision).await.unwrap();
    turn.ended().await.unwrap();
    let words = last_words(&session.state().await.unwrap().messages);
    let list =
        Call::new(UserId::new("kim").unwrap(), "list_active_habits", "{}").approver(Approver::None);
    let report = runtime.begin(list).await.unwrap().ended().await;
    let envelope: Value = serde_json::from_str(&report.envelope).unwrap();
    let habits = envelope["data"]["items"].as_array().map_or(usize::MAX, Vec::len);
    runtime.shutdown().await.unwrap();
    (words, habits)
}

#[tokio::test]
async fn a_habit_that_is_approved_is_there_and_the_model_says_so() {
    let (words, habits) = add(Decision::Approve).await;
    assert_eq!(habits, 1);
    assert!(words.contains("추가했"), "{words}");
}

#[tokio::test]
async fn a_habit_that_is_denied_is_not_there_and_the_model_says_so() {
    let (words, habits) = add(Decision::Deny).await;
    assert_eq!(habits, 0);
    assert!(words.contains("않았") && !words.contains("추가했"), "{words}");
}
