//! A message that is edited begins a fork of its thread: the texts before it are taken along, and
//! nothing else.

use madang_testing::{HandScript, model_pair};
use serde_json::json;

use super::{Client, deleting};
use crate::support::Setup;

/// Runs, answers with this text, and gives the number of messages that the model was told.
async fn answered(client: &mut Client<'_>, script: &mut HandScript, text: &str) -> usize {
    let events = client.open().await;
    let completion = script.next().await;
    let told = completion.request().messages.len();
    completion.say(text);
    assert_eq!(client.end(events).await.end(), "success");
    told
}

fn edits<'a, 'b>(client: &'b mut Client<'a>, at: usize, text: &str) -> &'b mut Client<'a> {
    client.messages.truncate(at + 1);
    client.messages[at]["content"] = text.into();
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_message_of_a_thread_is_answered_behind_the_texts_before_it_alone() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut client = Client::new(&test, "t");
    answered(client.says("m1", "one"), &mut script, "1").await;
    answered(client.says("m2", "two"), &mut script, "2").await;
    let told = answered(edits(&mut client, 2, "zwei"), &mut script, "II").await;
    let all = ["u: one", "a: 1", "u: zwei", "a: II"];
    assert_eq!((told, client.shows()), (3, all.map(str::to_owned).to_vec()));
    // What is sent again begins nothing, and is told in its order.
    client.run().await;
    assert_eq!(client.shows(), all);
    // The thread goes on in its fork, which another device is told as well.
    assert_eq!(answered(client.says("m3", "three"), &mut script, "3").await, 5);
    let mut phone = Client::new(&test, "t");
    phone.run().await;
    assert_eq!(phone.shows(), client.shows());
    // Its first message is known from the thread before the fork, and from the snapshot.
    assert_eq!(answered(edits(&mut client, 0, "uno"), &mut script, "I").await, 1);
    assert_eq!(client.shows(), ["u: uno", "a: I"]);
    assert_eq!(answered(edits(&mut phone, 0, "eins"), &mut script, "J").await, 1);
    assert_eq!(phone.shows(), ["u: eins", "a: J"]);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_whose_question_is_open_takes_no_edit() {
    let (test, runs) = deleting().await;
    let mut client = Client::new(&test, "t");
    let interrupt = client.says("m1", "delete 7").run().await.interrupt();
    let messages = client.messages.clone();
    let refused = edits(&mut client, 0, "delete 8").open().await;
    assert_eq!(client.end(refused).await.end(), "interrupt_open");
    client.messages = messages;
    client.resume(&interrupt, json!({ "approved": true })).await;
    assert_eq!(runs.count(), 1);
    test.shutdown().await;
}
