//! Temporary chats: they sleep and wake like any other, and their texts are erased when the runtime
//! ends.

use std::time::Duration;

use madang::{
    Limits, Runtime,
    approval::Decision,
    error::Bound,
    event::Content,
    ledger::LedgerFilter,
    session::Imported,
    store::{SessionPage, Store as _},
};
use madang_testing::{FakeTool, HandScript, MemoryStore, Probe, RuntimeHooks as _, model_pair};

use crate::support::{PATIENCE, kim, wanted};

fn runtime(store: &MemoryStore) -> (madang::Builder, HandScript) {
    let (model, script) = model_pair();
    let limits = Limits { session_idle: Duration::from_millis(1), ..Limits::default() };
    let builder = Runtime::builder().model(model).store(store.clone()).limits(limits);
    (builder.tool(FakeTool::destructive("mail")), script)
}

async fn texts(runtime: &Runtime, name: &str) -> Vec<String> {
    let session = runtime.user("kim").unwrap().session(name).await.unwrap();
    let said = |content| match content {
        Content::User { text, .. } | Content::Model { text, .. } => Some(text.to_string()),
        Content::ToolCall(record) => Some(record.name.to_string()),
        Content::Notice { .. } | Content::Cleared => None,
    };
    let messages = session.state().await.unwrap().messages;
    messages.into_iter().filter_map(|message| said(message.content)).collect()
}

async fn listed(runtime: &Runtime) -> Vec<String> {
    let page = SessionPage::of(9).unwrap();
    let chats = runtime.user_with_id(&kim()).sessions(page).await.unwrap();
    chats.into_iter().map(|chat| chat.session.to_string()).collect()
}

#[tokio::test]
async fn its_texts_are_erased_at_the_shutdown_and_the_ledger_of_its_calls_stays() {
    let store = MemoryStore::new();
    let (builder, mut script) = runtime(&store);
    let first = builder.temporary_chats().start().await.unwrap();
    let session = first.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("mail her").await.unwrap();
    script.next().await.finish(madang::model::Completion {
        tool_calls: vec![wanted("mail", &serde_json::json!({}))],
        ..Default::default()
    });
    let request = probe.approval_request().await;
    session.decide(&request, Decision::ApproveAlways).await.unwrap();
    script.next().await.say("Sent.");
    turn.ended().await.unwrap();
    // Asleep, it is in the store alone.
    let sleeps = async {
        while first.held(Bound::AwakeSessions) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, sleeps).await.expect("it sleeps in time");
    assert_eq!(texts(&first, "s").await, ["mail her", "mail", "Sent."]);
    assert_eq!(listed(&first).await, ["s"]);
    first.shutdown().await.unwrap();

    let stored = store.session(session.id()).await.unwrap().unwrap();
    assert!(stored.messages.is_empty(), "{stored:?}");
    let (builder, _script) = runtime(&store);
    let second = builder.start().await.unwrap();
    assert_eq!(texts(&second, "s").await, [""; 0]);
    assert_eq!(listed(&second).await, [""; 0]);
    let calls = second.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!(calls.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["mail"]);
    let standing = second.ledger(&LedgerFilter::standing_approvals()).await.unwrap();
    assert!(standing.is_empty(), "whoever begins anew is asked anew: {standing:?}");
    let kept = second.user("kim").unwrap().session("kept").await.unwrap();
    kept.import(vec![Imported::user("kept")]).await.unwrap();
    second.shutdown().await.unwrap();
    let (builder, _script) = runtime(&store);
    let third = builder.temporary_chats().start().await.unwrap();
    assert_eq!(texts(&third, "kept").await, ["kept"], "it was not temporary when it began");
    third.shutdown().await.unwrap();
    let kept = store.session(kept.id()).await.unwrap().unwrap();
    assert_eq!(kept.messages.len(), 1);
}
