//! Tests what is said of the results of real calls: each tool has words of its own, with the
//! figures and lists of its result.

use std::slice;

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
    for (locale, hits, choices, count) in [
        (
            Locale::KO,
            "카탈로그에서 7개 중 2개를 찾았습니다.\n\
             1. '같은 기상 시각': '주말에도 같은 시각에 일어나요.'\n\
             2. '카페인 마감 시각': '오후 2시 뒤에는 디카페인을 골라요.'\n\
             그 밖에 5개가 더 있습니다.",
            "카탈로그에서 7개 중 2개를 찾았습니다.\n1. '같은 기상 시각'\n2. '카페인 마감 시각'\n\
             그 밖에 5개가 더 있습니다.\n어느 항목을 말씀하시나요?",
            "맞는 항목은 모두 7개입니다.",
        ),
        (
            Locale::EN,
            "Found 2 of 7 items in the catalogue.\n\
             1. 'Fixed wake time': 'Get up at the same time, weekends included.'\n\
             2. 'Caffeine cutoff time': 'Choose decaf after two in the afternoon.'\n\
             And 5 more.",
            "Found 2 of 7 items in the catalogue.\n1. 'Fixed wake time'\n2. 'Caffeine cutoff time'\n\
             And 5 more.\nWhich item do you mean?",
            "There are 7 items in all.",
        ),
    ] {
        let mut person = Person::new(locale).await;
        person.call("search_catalog", json!({ "category": "sleep", "limit": 2 })).await;
        assert_eq!(person.last("{result}").await, hits);
        assert_eq!(person.last("{which}").await, choices);
        assert_eq!(person.last("{count}").await, count);
        person.runtime.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn of_a_single_hit_it_is_asked_whether_that_is_meant() {
    let mut person = Person::new(Locale::EN).await;
    person.call("create_page", json!({ "title": "Groceries for May" })).await;
    person.call("query_pages", json!({ "query": "groceries" })).await;
    let asked = "Pages: 1 item.\n1. 'Groceries for May'\nDo you mean this one?";
    assert_eq!(person.last("{which}").await, asked);
    person.runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn what_was_read_is_told_whole() {
    let mut person = Person::new(Locale::EN).await;
    let add = json!({
        "protocol_id": "morning-light", "frame_level": "L2", "framed_text": "I go outside",
        "anchor_when": "8 am", "dose_text": "5 minutes",
    });
    let habit = person.call("add_habit", add).await["habit_id"].clone();
    let told = person.last("{result}").await;
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines[1..4], ["Text: 'I go outside'", "When: '8 am'", "Amount: '5 minutes'"]);
    person.call("log_tracker_entry", json!({ "habit_id": habit, "value": "done" })).await;
    person.call("get_streak", json!({ "habit_id": habit })).await;
    let told = person.last("{result}").await;
    let figures = [
        "Longest run of days: 1",
        "Days of the last 30: 1",
        "Days of the first 42: 1",
        "Tier: 'T0'",
    ];
    assert!(told.ends_with(&figures.join("\n")) && told.contains("1 day in a row."), "{told}");
    let page =
        json!({ "title": "Plan", "blocks": [{ "content": "a" }, { "content": "b", "indent": 1 }] });
    let page = person.call("create_page_with_blocks", page).await["id"].clone();
    person.call("get_page_blocks", json!({ "pageId": page })).await;
    let told = person.last("{result}").await;
    assert_eq!(told, "Blocks of the page 'Plan': 2 items.\n- 'a'\n  - 'b'");
    person.runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_lookup_before_a_write_is_told_only_if_it_failed() {
    let mut person = Person::new(Locale::EN).await;
    let page = person.call("create_page", json!({ "title": "Groceries" })).await["id"].clone();
    person.calls.clear();
    person.call("query_pages", json!({ "query": "groceries" })).await;
    assert_eq!(person.last("{count}").await, "There is 1 page in all.");
    person.call("create_block", json!({ "pageId": page, "content": "milk" })).await;
    person.call("create_block", json!({ "pageId": page, "content": "bread" })).await;
    let text = told("{result}", &person.calls, Locale::EN).await;
    assert_eq!(text, "Added the block 'milk'.\nAdded the block 'bread'.");

    let failed = json!({ "status": "error", "code": "overloaded", "reason": "busy" });
    let foreign = json!({ "status": "ok", "data": {} });
    person.calls[0] = called("query_pages", &json!({ "query": "g" }), &failed.to_string());
    person.calls.insert(1, called("send_mail", &json!({}), &foreign.to_string()));
    let text = told("{result}", &person.calls, Locale::EN).await;
    let expected = [
        "I could not search the pages. Busy.",
        "Done.",
        "Added the block 'milk'.",
        "Added the block 'bread'.",
    ];
    assert_eq!(text, expected.join("\n"));

    let mut lookups = vec![called("get_streak", &json!({ "habit_id": 3 }), &foreign.to_string())];
    lookups.push(called(
        "list_pages",
        &json!({}),
        r#"{"status":"ok","data":{"count":0,"items":[]}}"#,
    ));
    let text = told("{result}", &lookups, Locale::EN).await;
    assert_eq!(text.lines().count(), 2, "without a write each look-up is told: {text}");
    person.runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_record_names_its_habit_as_the_list_before_it_did() {
    for (locale, named, unnamed) in [
        (
            Locale::KO,
            "'과일 간식' (1번 습관)의 2026-03-09 기록을 빈칸으로 남겼습니다.",
            "1번 습관의 2026-03-09 기록을 빈칸으로 남겼습니다.",
        ),
        (
            Locale::EN,
            "Recorded 'Fruit snack' (habit 1) as blank for 2026-03-09.",
            "Recorded habit 1 as blank for 2026-03-09.",
        ),
    ] {
        let mut person = Person::new(locale).await;
        let add = json!({ "protocol_id": "fruit-snack", "frame_level": "L2", "framed_text": "a" });
        person.call("add_habit", add).await;
        person.calls.clear();
        person.call("list_active_habits", json!({})).await;
        let day = json!({ "habit_id": 1, "value": "blank", "date": "2026-03-09" });
        person.call("log_tracker_entry", day).await;
        assert_eq!(told("{result}", &person.calls, locale).await, named);
        assert_eq!(person.last("{result}").await, unnamed);
        person.runtime.shutdown().await.unwrap();
    }
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
