//! Opaque state of a call: the model that gave it gets it back with the call, also after a restart.
//! No event, state or ledger entry shows it.

use std::path::Path;

use madang::{
    Limits, Runtime,
    ledger::LedgerFilter,
    model::{Completion, CompletionRequest, PromptMessage},
    store::SqliteStore,
    tool::WantedCall,
};
use madang_testing::{FakeTool, HandScript, Probe, model_pair};
use serde_json::json;

const SEAL: &str = "a signed thought";

fn sealed(opaque: &str) -> Completion {
    let call = WantedCall { opaque: Some(opaque.into()), ..WantedCall::new("look", "{}") };
    Completion { tool_calls: vec![call], ..Completion::default() }
}

/// What the model gets back with its calls.
fn given_back(request: &CompletionRequest) -> Vec<Option<&str>> {
    let mut given_back = Vec::new();
    for message in request.messages.iter() {
        if let PromptMessage::ToolCall { opaque, .. } = message {
            given_back.push(opaque.as_deref());
        }
    }
    given_back
}

async fn runtime(file: &Path, limits: Limits) -> (Runtime, HandScript) {
    let (model, script) = model_pair();
    let store = SqliteStore::open(file).await.unwrap();
    let builder = Runtime::builder().model(model).store(store).tool(FakeTool::read("look"));
    (builder.limits(limits).start().await.unwrap(), script)
}

#[tokio::test(flavor = "multi_thread")]
async fn its_model_gets_it_back_in_each_round_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chats.db");
    let (first, mut script) = runtime(&file, Limits::default()).await;
    let session = first.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let turn = session.send("look").await.unwrap();
    script.next().await.finish(sealed(SEAL));
    let round = script.next().await;
    assert_eq!(given_back(round.request()), [Some(SEAL)]);
    round.say("Seen.");
    turn.ended().await.unwrap();
    probe.until_turns_ended(1).await;
    first.shutdown().await.unwrap();

    let (second, mut script) = runtime(&file, Limits::default()).await;
    let session = second.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("and now?").await.unwrap();
    let round = script.next().await;
    assert_eq!(given_back(round.request()), [Some(SEAL)]);
    round.say("The same.");
    turn.ended().await.unwrap();

    let rows = second.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!(rows[0].opaque.as_deref(), Some(SEAL), "the ledger keeps it");
    let state = session.state().await.unwrap();
    let shown = json!([rows, state.messages, probe.events()]).to_string();
    assert!(shown.contains("look") && !shown.contains(SEAL), "{shown}");
    second.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_left_out_where_it_is_longer_than_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { max_opaque_bytes: SEAL.len(), ..Limits::default() };
    let (runtime, mut script) = runtime(&folder.path().join("chats.db"), limits).await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("look twice").await.unwrap();
    script.next().await.finish(sealed(SEAL));
    script.next().await.finish(sealed(&format!("{SEAL}s")));
    let round = script.next().await;
    assert_eq!(given_back(round.request()), [Some(SEAL), None]);
    round.say("Seen.");
    turn.ended().await.unwrap();
    runtime.shutdown().await.unwrap();
}
