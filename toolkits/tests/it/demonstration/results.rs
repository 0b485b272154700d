//! Tests what is said of the results of real calls: each tool has words of its own, with the
//! figures and lists of its result.

use std::slice;

use expect_test::expect;
use madang::{
    Call, Runtime, SessionId, UserId,
    approval::{Approver, Decision},
    model::PromptMessage,
    store::SqliteStore,
    tool::Locale,
};
use madang_testing::ScriptedModel;
use madang_toolkits::{life, notes, summary::summary};
use serde_json::{Value, json};

use super::{LOCALES, PLACEHOLDERS, called, check_language, specs, told};

/// A person's habits and notes.
struct Person {
    runtime: Runtime,
    locale: Locale,
    /// The calls so far, with their envelopes.
    calls: Vec<PromptMessage>,
}

impl Person {
    async fn new(locale: Locale) -> Self {
        let store = SqliteStore::in_memory()
            .migrations("life", &life::MIGRATIONS)
            .migrations("notes", &notes::MIGRATIONS)
            .await
            .unwrap();
        let tools = [life::tools(), notes::tools()].concat();
        let model = ScriptedModel::new([]);
        let builder = Runtime::builder().model(model).store(store).tools(tools);
        Self { runtime: builder.start().await.unwrap(), locale, calls: Vec::new() }
    }

    /// Makes a call, and returns the data of its envelope.
    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let call = Call::new(UserId::new("kim").unwrap(), tool, arguments.to_string())
            .language(self.locale.tag())
            .session(SessionId::new("chat").unwrap())
            .approver(Approver::Decided(Decision::Approve));
        let report = self.runtime.begin(call).await.unwrap().ended().await;
        let envelope: Value = serde_json::from_str(&report.envelope).unwrap();
        assert_eq!(envelope["status"], "ok", "{tool}: {envelope}");
        self.calls.push(called(tool, &arguments, &report.envelope));
        envelope["data"].clone()
    }

    /// Returns what is said of the last call.
    async fn last(&self, placeholder: &'static str) -> String {
        told(placeholder, &self.calls[self.calls.len() - 1..], self.locale).await
    }
}

/// Calls each tool at least once.
async fn everything(locale: Locale) -> Vec<PromptMessage> {
    let mut person = Person::new(locale).await;
    person.call("search_catalog", json!({ "category": "sleep", "limit": 3 })).await;
    person.call("query_protocol", json!({ "id": "morning-light" })).await;
    person.call("list_active_habits", json!({})).await;
    let add = json!({ "protocol_id": "morning-light", "frame_level": "L2", "framed_text": "산책", "dose_text": "5분" });
    let habit = person.call("add_habit", add.clone()).await["habit_id"].clone();
    person.call("add_habit", add).await;
    let of_habit = json!({ "habit_id": habit });
    person.call("list_active_habits", json!({})).await;
    person.call("get_habit", of_habit.clone()).await;
    person.call("get_streak", of_habit.clone()).await;
    person.call("list_tracker_entries", of_habit.clone()).await;
    person.call("log_tracker_entry", json!({ "habit_id": habit, "value": "done" })).await;
    person.call("get_streak", of_habit.clone()).await;
    person.call("list_tracker_entries", of_habit.clone()).await;
    person.call("correct_tracker_entry", json!({ "habit_id": habit, "value": "blank" })).await;
    person.call("end_habit", of_habit).await;

    person.call("list_pages", json!({})).await;
    person.call("switch_to_index", json!({})).await;
    person.call("get_current_context", json!({})).await;
    let page = person.call("create_page", json!({ "title": "장보기" })).await["id"].clone();
    let blocks =
        json!([{ "content": "채소" }, { "content": "milk", "indent": 1 }, { "content": "a\nb" }]);
    let made = json!({ "title": "Plan", "blocks": blocks });
    let made = person.call("create_page_with_blocks", made).await;
    let plan = made["id"].clone();
    let block = made["blocks"][0]["id"].clone();
    person.call("open_page", json!({ "pageId": plan })).await;
    person.call("rename_page", json!({ "id": page, "title": "목록" })).await;
    person.call("query_pages", json!({ "query": "목록" })).await;
    person.call("query_pages", json!({ "query": "없는것" })).await;
    person.call("list_pages", json!({ "includeDirectories": true })).await;
    person.call("get_block", json!({ "id": block })).await;
    person.call("update_block", json!({ "id": block, "content": "과일" })).await;
    person.call("append_to_block", json!({ "id": block, "text": "사기" })).await;
    person.call("create_block", json!({ "pageId": plan, "content": "두부" })).await;
    person.call("insert_block_below", json!({ "blockId": block, "content": "빵" })).await;
    person.call("insert_block_below_current", json!({ "content": "물" })).await;
    person.call("query_blocks", json!({ "query": "두부" })).await;
    person.call("query_blocks", json!({ "query": "없는것" })).await;
    person.call("get_page_blocks", json!({ "pageId": plan })).await;
    person.call("get_page_blocks", json!({ "pageId": page })).await;
    person.call("get_current_context", json!({})).await;
    person.call("switch_to_index", json!({})).await;
    person.call("switch_to_note_view", json!({ "pageId": page })).await;
    person.call("navigate_to_path", json!({ "path": "Plan" })).await;
    person.call("go_back", json!({})).await;
    person.call("go_forward", json!({})).await;
    person.call("ping", json!({ "message": "hi" })).await;
    person.call("delete_block", json!({ "id": block })).await;
    person.call("delete_page", json!({ "id": page })).await;
    person.runtime.shutdown().await.unwrap();
    person.calls
}

#[tokio::test]
async fn each_result_of_each_tool_has_words_in_the_language_of_the_person() {
    for locale in LOCALES {
        let calls = everything(locale).await;
        for spec in specs() {
            let is_called = calls.iter().any(
                |call| matches!(call, PromptMessage::ToolCall { name, .. } if *name == spec.name),
            );
            assert!(is_called, "{} is not called", spec.name);
        }
        for call in &calls {
            let PromptMessage::ToolCall { name, envelope, .. } = call else { unreachable!() };
            let of = format!("{name} {envelope}");
            let mut texts = Vec::new();
            for placeholder in PLACEHOLDERS {
                let text = told(placeholder, slice::from_ref(call), locale).await;
                check_language(&text, locale, &of);
                texts.push(text);
            }
            let general = summary(
                "another",
                &serde_json::from_str::<Value>(envelope).unwrap()["data"],
                locale,
            );
            assert_ne!(texts[0].lines().next().unwrap(), general, "{of}");
            assert!(
                texts[0] != texts[1] && texts[1] != texts[2] && texts[0] != texts[2],
                "{texts:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_search_is_told_with_its_hits_its_question_and_its_count() {
    let mut person = Person::new(Locale::KO).await;
    person.call("search_catalog", json!({ "category": "sleep", "limit": 2 })).await;
    expect![[r#""#]].assert_eq(&person.last("{result}").await);
    expect![[r#""#]].assert_eq(&person.last("{which}").await);
    expect![[r#""#]].assert_eq(&person.last("{count}").await);
    person.runtime.shutdown().await.unwrap();
    let mut person = Person::new(Locale::EN).await;
    person.call("search_catalog", json!({ "category": "sleep", "limit": 2 })).await;
    expect![[r#""#]].assert_eq(&person.last("{result}").await);
    expect![[r#""#]].assert_eq(&person.last("{which}").await);
    expect![[r#""#]].assert_eq(&person.last("{count}").await);
    person.runtime.shutdown().await.unwrap();
}

/// Writes what is said of each call, for a reader of this test.
async fn all_told(locale: Locale) -> String {
    let calls = everything(locale).await;
    let mut all = String::new();
    for call in &calls {
        let PromptMessage::ToolCall { name, .. } = call else { unreachable!() };
        let text = told("{result}", slice::from_ref(call), locale).await;
        all.push_str(&format!("[{name}] {}\n", text.replace('\n', "\n    ")));
    }
    // The days are those of the test's run.
    let is_day = |word: &&str| {
        word.len() >= 10
            && word.as_bytes()[..4].iter().all(u8::is_ascii_digit)
            && word.as_bytes()[4] == b'-'
    };
    let days: Vec<_> = all
        .split(|letter: char| !letter.is_ascii_digit() && letter != '-')
        .filter(is_day)
        .map(str::to_owned)
        .collect();
    days.iter().fold(all, |all, day| all.replace(day, "DAY"))
}

#[tokio::test]
async fn results_are_told_in_korean() {
    expect![[r#""#]].assert_eq(&all_told(Locale::KO).await);
}

#[tokio::test]
async fn results_are_told_in_english() {
    expect![[r#""#]].assert_eq(&all_told(Locale::EN).await);
}

#[tokio::test]
async fn a_lookup_before_a_write_is_told_in_one_line() {
    let mut person = Person::new(Locale::EN).await;
    let page = person.call("create_page", json!({ "title": "Groceries" })).await["id"].clone();
    person.calls.clear();
    person.call("query_pages", json!({ "query": "groceries" })).await;
    person.call("create_block", json!({ "pageId": page, "content": "milk" })).await;
    person.call("create_block", json!({ "pageId": page, "content": "bread" })).await;
    let text = told("{result}", &person.calls, Locale::EN).await;
    assert_eq!(text, "Pages: 1 item.\nAdded the block 'milk'.\nAdded the block 'bread'.");
    let text = told("{count}", &person.calls[..1], Locale::EN).await;
    assert_eq!(text, "There is 1 page in all.");
    person.runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_rest_of_a_long_list_is_counted() {
    let mut person = Person::new(Locale::EN).await;
    let blocks: Vec<_> =
        (1..=31).map(|number| json!({ "content": format!("line {number}") })).collect();
    let page =
        person.call("create_page_with_blocks", json!({ "title": "Long", "blocks": blocks })).await;
    let page = page["id"].clone();
    for (offset, last, left) in [(0, 20, 11), (20, 31, 0)] {
        person.call("get_page_blocks", json!({ "pageId": page, "offset": offset })).await;
        let text = person.last("{result}").await;
        let rest = format!("\nAnd {left} more.");
        assert_eq!(text.ends_with(&rest), left > 0, "{text}");
        assert!(text.contains(&format!("\n- 'line {last}'")), "{text}");
        assert!(!text.contains(&format!("'line {}'", last + 1)), "{text}");
    }
    assert_eq!(person.last("{count}").await, "There are 31 blocks in all.");
    person.runtime.shutdown().await.unwrap();
}
