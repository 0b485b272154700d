//! A runtime without a model: calls, questions and the ledger as ever, and no turns.

use madang::{
    Asks, Call, Error, Limits, Runtime, TurnOptions,
    approval::{Decision, InboxItem},
    ledger::{Effect, LedgerFilter},
    store::Store as _,
    tool::ToolOutcome,
};
use madang_testing::{FakeTool, MemoryStore, RuntimeHooks as _};

use super::asking;
use crate::support::{dispatched, kim};

#[tokio::test]
async fn a_runtime_without_a_model_runs_calls_and_asks_about_them() {
    let builder = Runtime::builder().store(MemoryStore::new());
    let runtime = builder.tool(FakeTool::destructive("burn")).start().await.unwrap();
    assert!(!runtime.has_model());
    assert_eq!(runtime.models().count(), 0);
    let user = runtime.user_with_id(&kim());
    let mut inbox = user.inbox().await.unwrap();
    let call = Call::new(kim(), "burn", "{}").asks(Asks::User);
    let decides = async {
        loop {
            match inbox.next().await.unwrap() {
                InboxItem::ApprovalRequested { request } => {
                    let decision = Decision::Approve;
                    return user.decide(request.call, request.digest, decision).await;
                }
                _ => continue,
            }
        }
    };
    let (report, decided) = tokio::join!(dispatched(&runtime, call), decides);
    decided.unwrap();
    assert!(matches!(report.unwrap().outcome(), Some(ToolOutcome::Ok(_))));
    let rows = runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.effect).collect::<Vec<_>>(), [Some(Effect::Committed)]);
    runtime.shutdown().await.unwrap();
    assert_eq!(runtime.running_tasks(), 0);
}

#[tokio::test]
async fn a_text_is_refused_without_a_model_before_anything_is_stored() {
    let store = MemoryStore::new();
    let limits = Limits::default();
    let runtime = Runtime::builder().store(store.clone()).limits(limits).start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    for options in [TurnOptions::default(), asking("small")] {
        let refused = session.send_with("hi", options).await.unwrap_err();
        assert!(matches!(refused, Error::NoModel), "{refused:?}");
        assert_eq!(refused.to_string(), "this runtime has no model");
    }
    let stored = store.session(session.id()).await.unwrap().unwrap();
    assert!(stored.messages.is_empty() && stored.open_turn.is_none());
    assert!(session.state().await.unwrap().messages.is_empty());
    session.clear().await.unwrap();
    runtime.shutdown().await.unwrap();
}
