//! Tests a daily note of realistic size, the checks of types, and the ways of an error.

use madang::tool::ToolRegistry;
use madang_testing::{ScriptedCompletion, ScriptedModel};
use madang_toolkits::notes;
use serde_json::json;
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};

use super::*;

fn daily_note() -> Value {
    json!({
        "title": "2026-01-25 일일 노트",
        "blocks": [
            { "content": "## 오늘의 주요 활동", "indent": 0 },
            { "content": "- [x] 작업 완료", "indent": 1 },
            { "content": "- [ ] 산책", "indent": 1 },
            { "content": "## 메모", "indent": 0 },
            { "content": "회의", "indent": 1 },
            { "content": "다음 주로 미룸", "indent": 2 },
        ]
    })
}

#[tokio::test]
async fn the_daily_note_comes_out_of_one_scripted_call_in_order_and_nested() {
    let model = ScriptedModel::new([
        ScriptedCompletion::call("create_page_with_blocks", &daily_note()),
        ScriptedCompletion::text("만들었어요."),
    ]);
    let (runtime, store) = fixture(model).await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    session.send("2026-01-25 일일 노트를 만들어줘").await.unwrap().ended().await.unwrap();
    let page = done(&runtime, "open_page", json!({ "pageTitle": "2026-01-25 일일 노트" })).await;
    assert_eq!(page["blockCount"], 6);
    assert_eq!(
        shown(&runtime, &page["pageId"]).await,
        [
            "## 오늘의 주요 활동",
            "  - [x] 작업 완료",
            "  - [ ] 산책",
            "## 메모",
            "  회의",
            "    다음 주로 미룸",
        ]
    );
    drop(store);
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn section_2_the_result_says_what_was_asked_for_and_made() {
    let (runtime, _) = silent().await;
    let report = call(&runtime, "create_page_with_blocks", daily_note()).await;
    let data = data(report.outcome().unwrap());
    assert_eq!(
        [&data["blocksRequested"], &data["blocksCreated"], &data["blocksFailed"]],
        [&json!(6), &json!(6), &json!(0)]
    );
    let blocks = data["blocks"].as_array().unwrap();
    let parents: Vec<_> = blocks.iter().map(|block| &block["parentId"]).collect();
    let id = |place: usize| &blocks[place]["id"];
    assert_eq!(parents, [&Value::Null, id(0), id(0), &Value::Null, id(3), id(4)]);
    assert_eq!(feedback(&report), "✅ 페이지를 성공적으로 생성했습니다.");
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn section_3_the_tools_are_registered_once_by_their_names() {
    let mut registry = ToolRegistry::new();
    registry.register_all(notes::tools()).unwrap();
    assert_eq!(registry.len(), 23);
    assert!(registry.register_all(notes::tools()).is_err(), "a second time changes nothing");
    assert_eq!(registry.len(), 23);
    for name in registry.names() {
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name} is snake case");
        let tool = registry.get(&name).unwrap();
        assert!(!tool.spec().description.trim().is_empty());
        assert_eq!(tool.spec().parameters["type"], "object");
    }
}

#[tokio::test]
async fn section_4_each_type_is_checked_before_anything_runs() {
    let (runtime, _) = silent().await;
    let title = "x";
    for arguments in [
        json!({ "title": 7, "blocks": [] }),
        json!({ "blocks": [] }),
        json!({ "title": title }),
        json!({ "title": title, "blocks": "a" }),
        json!({ "title": title, "blocks": [{ "content": 7 }] }),
        json!({ "title": title, "blocks": [{ "indent": 0 }] }),
        json!({ "title": title, "blocks": ["a"] }),
        json!({ "title": title, "blocks": [{ "content": "a", "indent": -1 }] }),
        json!({ "title": title, "blocks": [{ "content": "a", "indent": 0.5 }] }),
        json!({ "title": title, "blocks": [{ "content": "a", "indent": "0" }] }),
        json!({ "title": title, "blocks": [{ "content": "a", "indent": 1e30 }] }),
        json!({ "title": "", "blocks": [] }),
        json!({ "title": "x".repeat(201), "blocks": [] }),
    ] {
        let shown = arguments.to_string();
        let report = call(&runtime, "create_page_with_blocks", arguments).await;
        assert_eq!(kind(&report), "validation", "{shown}");
    }
    assert_eq!(done(&runtime, "list_pages", json!({})).await["total"], 0, "nothing was written");
    let plain =
        json!({ "title": title, "blocks": [{ "content": "indent is 0 where it is left out" }] });
    done(&runtime, "create_page_with_blocks", plain).await;
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn section_5_a_missing_parent_page_is_not_found_and_nothing_is_written() {
    let (runtime, _) = silent().await;
    let mut note = daily_note();
    note["parentId"] = json!("018f0000-0000-7000-8000-000000000000");
    let report = call(&runtime, "create_page_with_blocks", note).await;
    assert_eq!(kind(&report), "not_found");
    assert!(feedback(&report).starts_with("❌ 오류: "), "{}", feedback(&report));
    assert_eq!(done(&runtime, "list_pages", json!({})).await["total"], 0);
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn section_5_a_block_that_fails_does_not_stop_the_rest() {
    let (runtime, _) = silent().await;
    let mut note = daily_note();
    note["blocks"][1]["content"] = json!("two\nlines");
    note["blocks"][4]["content"] = json!("x".repeat(10_001));
    let data = done(&runtime, "create_page_with_blocks", note).await;
    assert_eq!([&data["blocksCreated"], &data["blocksFailed"]], [&json!(4), &json!(2)]);
    assert_eq!(
        data["failedBlocks"],
        json!([{ "index": 1, "code": "newline" }, { "index": 4, "code": "too_long" }])
    );
    let lines = shown(&runtime, &data["id"]).await;
    assert_eq!(
        lines,
        ["## 오늘의 주요 활동", "  - [ ] 산책", "## 메모", "  다음 주로 미룸"],
        "what lay in a block that failed lies in the one around it"
    );
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn section_5_where_no_block_could_be_made_the_page_goes_too() {
    let (runtime, _) = silent().await;
    let arguments = json!({ "title": "x", "blocks": [{ "content": "a\nb" }, { "content": "\n" }] });
    let report = call(&runtime, "create_page_with_blocks", arguments).await;
    assert_eq!(kind(&report), "no_blocks_created");
    assert_eq!(done(&runtime, "list_pages", json!({})).await["total"], 0);
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn section_5_an_unexpected_error_is_told_by_its_type_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.db");
    let store = SqliteStore::open(&path).migrations("notes", &notes::MIGRATIONS).await.unwrap();
    let model = ScriptedModel::new([]);
    let runtime = Runtime::builder()
        .model(model)
        .store(store)
        .language(LanguageTag::KO)
        .tools(notes::tools())
        .start()
        .await
        .unwrap();
    let mut other = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    sqlx::query("DROP TABLE notes_words").execute(&mut other).await.unwrap();
    let report = call(&runtime, "create_page_with_blocks", daily_note()).await;
    assert_eq!(kind(&report), "handler_error");
    assert_eq!(report.outcome().unwrap().to_string(), "도구 실행 실패: Error");
    assert!(!report.envelope.contains("notes_words"), "{}", report.envelope);
    assert_eq!(done(&runtime, "list_pages", json!({})).await["total"], 0, "nothing was written");
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn section_5_feedback_is_in_the_language_of_the_call() {
    let (runtime, _) = silent().await;
    let page = call(&runtime, "create_page", json!({ "title": "p" })).await;
    assert_eq!(feedback(&page), "✅ 페이지를 성공적으로 생성했습니다.");
    let opened = call(&runtime, "open_page", json!({ "pageTitle": "P" })).await;
    assert_eq!(feedback(&opened), "✅ 완료했습니다");
    let failed = call(&runtime, "open_page", json!({ "pageTitle": "q" })).await;
    assert_eq!(feedback(&failed), "❌ 오류: 'q' 페이지를 찾을 수 없습니다.");
    assert!(!failed.envelope.contains('❌'), "the model reads none of it: {}", failed.envelope);
    let english = runtime
        .begin(english("open_page", &json!({ "pageTitle": "q" })))
        .await
        .unwrap()
        .ended()
        .await;
    assert_eq!(feedback(&english), "❌ Error: there is no page 'q'.");
    runtime.shutdown().await.unwrap();
}
