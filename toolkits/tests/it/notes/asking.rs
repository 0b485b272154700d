//! Tests that of the asking tools all that write notes ask a person, with a sentence that says what
//! will be written, and that nothing is written if the person denies it.

use std::sync::{Arc, Mutex};

use madang::{
    Call, CallReport, LanguageTag, Runtime, SessionId, UserId,
    approval::{Approver, Decision},
    store::SqliteStore,
    tool::EffectPolicy,
};
use madang_testing::ScriptedModel;
use madang_toolkits::notes;
use serde_json::{Value, json};

use crate::support::{data, kind};

/// The tools that write only where a session is.
const NAVIGATING: [&str; 6] = [
    "open_page",
    "switch_to_index",
    "switch_to_note_view",
    "navigate_to_path",
    "go_back",
    "go_forward",
];

/// The notes of a person who is asked.
struct Asked {
    runtime: Runtime,
    /// The questions so far.
    questions: Arc<Mutex<Vec<String>>>,
}

impl Asked {
    async fn new() -> Self {
        let store = SqliteStore::in_memory().migrations("notes", &notes::MIGRATIONS).await.unwrap();
        let builder = Runtime::builder().model(ScriptedModel::new([])).store(store);
        let runtime = builder.tools(notes::asking_tools()).start().await.unwrap();
        Self { runtime, questions: Arc::default() }
    }

    /// Makes a call, and answers its question.
    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        language: LanguageTag,
        answer: Decision,
    ) -> CallReport {
        let questions = Arc::clone(&self.questions);
        let approver = Approver::Ask(Box::new(move |request| {
            questions.lock().unwrap().push(request.consequence.to_string());
            let answer = answer.clone();
            Box::pin(async move { Some(answer) })
        }));
        let call = Call::new(UserId::new("kim").unwrap(), tool, arguments.to_string());
        let call = call.session(SessionId::new("chat").unwrap()).language(language);
        self.runtime.begin(call.approver(approver)).await.unwrap().ended().await
    }

    /// Makes a call that the person approves if asked, and returns its data.
    async fn approved(&self, tool: &str, arguments: Value) -> Value {
        let report = self.call(tool, arguments, LanguageTag::EN, Decision::Approve).await;
        assert_eq!(kind(&report), "ok", "{tool}: {}", report.envelope);
        data(report.outcome().unwrap()).clone()
    }

    fn questions(&self) -> Vec<String> {
        std::mem::take(&mut self.questions.lock().unwrap())
    }
}

#[test]
fn each_tool_that_writes_notes_asks_and_is_otherwise_the_same() {
    let plain = notes::tools();
    let asking = notes::asking_tools();
    assert_eq!(plain.len(), asking.len());
    for (plain, asking) in plain.iter().zip(&asking) {
        let spec = plain.spec();
        let writes = spec.effect != EffectPolicy::Read && !NAVIGATING.contains(&&*spec.name);
        let effect = if writes { EffectPolicy::Destructive } else { spec.effect };
        assert_eq!(*asking.spec(), spec.clone().effect(effect));
        assert_eq!(asking.needs(), plain.needs());
        assert_eq!(asking.looks_before_asking(), plain.looks_before_asking());
        assert!(!writes || asking.asks(&json!({})));
        assert_eq!(asking.accepts(&json!(7)).is_ok(), plain.accepts(&json!(7)).is_ok());
    }
}

#[tokio::test]
async fn a_write_that_is_denied_is_not_there_and_its_question_said_what_it_was() {
    let asked = Asked::new().await;
    let page = asked.approved("create_page", json!({ "title": "Plan" })).await["id"].clone();
    let block = asked.approved("create_block", json!({ "pageId": page, "content": "milk" })).await
        ["id"]
        .clone();
    let before = asked.approved("get_page_blocks", json!({ "pageId": page })).await;
    asked.questions();
    asked.approved("open_page", json!({ "pageId": page })).await;
    asked.approved("switch_to_index", json!({})).await;
    asked.approved("go_back", json!({})).await;
    assert_eq!(asked.questions(), [""; 0], "who reads or goes elsewhere is not asked");

    let unknown = json!("00000000-0000-7000-8000-000000000000");
    let blocks = json!([{ "content": "a" }, { "content": "b" }]);
    for (tool, arguments, ko, en) in [
        (
            "create_page",
            json!({ "title": "장보기" }),
            "'장보기' 페이지를 만듭니다.",
            "Creates the page '장보기'.",
        ),
        (
            "create_page_with_blocks",
            json!({ "title": "List", "blocks": blocks }),
            "'List' 페이지를 블록 2개와 함께 만듭니다.",
            "Creates the page 'List' with 2 blocks.",
        ),
        (
            "rename_page",
            json!({ "id": page, "title": "Other" }),
            "'Plan' 페이지의 이름을 'Other'(으)로 바꿉니다.",
            "Renames the page 'Plan' to 'Other'.",
        ),
        (
            "rename_page",
            json!({ "id": unknown, "title": "Other" }),
            "페이지의 이름을 'Other'(으)로 바꿉니다.",
            "Renames a page to 'Other'.",
        ),
        (
            "update_block",
            json!({ "id": block, "content": "oat milk" }),
            "블록 'milk'을(를) 'oat milk'(으)로 바꿉니다.",
            "Changes the block 'milk' to 'oat milk'.",
        ),
        (
            "update_block",
            json!({ "id": unknown, "content": "oat milk" }),
            "블록을 'oat milk'(으)로 바꿉니다.",
            "Changes a block to 'oat milk'.",
        ),
        (
            "append_to_block",
            json!({ "id": block, "text": "today" }),
            "블록 'milk'에 'today'을(를) 덧붙입니다.",
            "Appends 'today' to the block 'milk'.",
        ),
        (
            "append_to_block",
            json!({ "id": unknown, "text": "today" }),
            "블록에 'today'을(를) 덧붙입니다.",
            "Appends 'today' to a block.",
        ),
        (
            "create_block",
            json!({ "pageId": page, "content": "bread" }),
            "'Plan' 페이지에 블록 'bread'을(를) 추가합니다.",
            "Adds the block 'bread' to the page 'Plan'.",
        ),
        (
            "create_block",
            json!({ "parentBlockId": block, "content": "bread" }),
            "블록 'milk' 안에 블록 'bread'을(를) 추가합니다.",
            "Adds the block 'bread' inside 'milk'.",
        ),
        (
            "create_block",
            json!({ "content": "bread" }),
            "블록 'bread'을(를) 추가합니다.",
            "Adds the block 'bread'.",
        ),
        (
            "insert_block_below",
            json!({ "blockId": block, "content": "bread" }),
            "블록 'milk' 아래에 블록 'bread'을(를) 추가합니다.",
            "Adds the block 'bread' below 'milk'.",
        ),
        (
            "insert_block_below_current",
            json!({ "content": "bread" }),
            "'Plan' 페이지에 블록 'bread'을(를) 추가합니다.",
            "Adds the block 'bread' to the page 'Plan'.",
        ),
    ] {
        for (language, expected) in [(LanguageTag::KO, ko), (LanguageTag::EN, en)] {
            let report = asked.call(tool, arguments.clone(), language, Decision::Deny).await;
            assert_eq!(kind(&report), "denied", "{tool}: {}", report.envelope);
            assert_eq!(asked.questions(), [expected], "{tool}");
        }
    }
    assert_eq!(asked.approved("get_page_blocks", json!({ "pageId": page })).await, before);
    assert_eq!(asked.approved("list_pages", json!({})).await["total"], 1);
    asked.runtime.shutdown().await.unwrap();
}
