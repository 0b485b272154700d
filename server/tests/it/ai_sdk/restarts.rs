//! The next server: it goes on with a stream that broke off, and with a decision that comes first.

use madang::store::SqliteStore;
use madang_testing::{FakeTool, ScriptedCompletion, ScriptedModel, model_pair};

use super::{ASKED, Client, asks, finish};
use crate::{http::StreamEnd, support::Setup};

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_the_server_leaves_breaks_off_and_the_next_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::open(&path).await.unwrap();
    let (model, mut script) = model_pair();
    let mut test = Setup::over(model, store().await).start().await;
    let mut events = Client::new(&test, "c").says("m1", "delete 7").open().await;
    let completion = script.next().await;
    completion.delta("half");
    test.stop();
    let (frames, end) = events.end().await;
    assert_eq!(end, StreamEnd::BrokenOff, "a clean end would look like a whole answer");
    assert_eq!(frames.last().unwrap().data["type"], "error");
    test.ended().await.unwrap();

    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let script = [asks(), ScriptedCompletion::text("done")];
    let test =
        Setup::over(ScriptedModel::repeating(script), store().await).tool(tool).start().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7");
    let back = client.come_back().await;
    client.end(back).await;
    assert_eq!(client.shows(), ASKED);
    client.responds(true, None).send().await;
    assert_eq!((&*client.shows()[1], runs.count()), ("a: I delete it. (output-available) done", 1));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_comes_to_the_next_server_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || SqliteStore::open(&path).await.unwrap();
    let test = Setup::over(ScriptedModel::new([asks()]), store().await);
    let test = test.tool(FakeTool::destructive("delete")).start().await;
    let mut client = Client::new(&test, "c");
    client.says("m1", "delete 7").send().await;
    let messages = std::mem::take(&mut client.messages);
    test.shutdown().await;

    let tool = FakeTool::destructive("delete");
    let runs = tool.runs();
    let model = ScriptedModel::new([ScriptedCompletion::text("done")]);
    let test = Setup::over(model, store().await).tool(tool).start().await;
    let mut client = Client::new(&test, "c");
    client.messages = messages;
    let stream = client.responds(true, None).send().await;
    assert_eq!((finish(&stream), runs.count()), ("stop", 1));
    test.shutdown().await;
}
