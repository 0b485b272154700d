//! The next server: it asks again, and goes on where a decision comes first.

use madang::store::SqliteStore;
use madang_testing::{ScriptedModel, model_pair};
use serde_json::json;

use super::{Client, SHOWN, deleting_script};
use crate::support::{Setup, delete};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_the_server_leaves_ends_with_an_error_and_the_next_server_asks_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::open(&path).await.unwrap();
    let (model, mut script) = model_pair();
    let mut test = Setup::over(model, store().await).start().await;
    let mut client = Client::new(&test, "t");
    let events = client.says("m1", "delete 7").open().await;
    let completion = script.next().await;
    completion.delta("half");
    let messages = client.messages.clone();
    test.stop();
    let mut client = Client::new(&test, "t");
    (client.messages, client.runs) = (messages.clone(), 1);
    assert_eq!(client.end(events).await.end(), "draining");
    test.ended().await.unwrap();

    let tool = delete();
    let runs = tool.runs();
    let test = Setup::over(ScriptedModel::repeating(deleting_script()), store().await).tool(tool);
    let test = test.start().await;
    let mut client = Client::new(&test, "t");
    client.messages = messages;
    let interrupt = client.run().await.interrupt();
    assert_eq!(client.resume(&interrupt, json!({ "approved": true })).await.end(), "success");
    assert_eq!((client.shows(), runs.count()), (SHOWN.map(str::to_owned).to_vec(), 1));
    test.shutdown().await;
}

/// The next server asks again while the decision comes: what is decided interrupts no run.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_comes_to_the_next_server_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::open(&path).await.unwrap();
    let [asks, done] = deleting_script();
    let test = Setup::over(ScriptedModel::new([asks]), store().await).tool(delete()).start().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let messages = std::mem::take(&mut client.messages);
    test.shutdown().await;

    let tool = delete();
    let runs = tool.runs();
    let test = Setup::over(ScriptedModel::new([done]), store().await).tool(tool).start().await;
    let mut client = Client::new(&test, "t");
    client.messages = messages;
    assert_eq!(client.resume(&interrupt, json!({ "approved": true })).await.end(), "success");
    assert_eq!((client.shows(), runs.count()), (SHOWN.map(str::to_owned).to_vec(), 1));
    test.shutdown().await;
}
