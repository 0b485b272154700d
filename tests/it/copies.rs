//! A fork begins with the texts before an entry and with nothing else. A whole chat can be read to
//! keep it elsewhere.

use madang::{
    Error, IdempotencyKey, Session, SessionId, TurnOptions,
    approval::Decision,
    event::{ChatMessage, Content, EventCursor, EventKind, StreamItem},
    model::{Completion, ModelError},
    session::Imported,
};
use madang_testing::{HandScript, Probe, model_pair};
use serde_json::json;

use crate::support::{TestRuntime, wanted};

/// A runtime whose model is driven by hand, with a chat.
struct Chat {
    test: TestRuntime,
    script: HandScript,
    session: Session,
}

impl Chat {
    async fn new() -> Self {
        let (model, script) = model_pair();
        let test = TestRuntime::new(model).await;
        let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
        Self { test, script, session }
    }

    /// The number of the user's last text.
    async fn asked(&self) -> u64 {
        let messages = self.session.state().await.unwrap().messages;
        let is_users = |entry: &&ChatMessage| matches!(entry.content, Content::User { .. });
        messages.iter().rfind(is_users).unwrap().seq
    }

    /// Sends a text, which the model answers with this. Returns the number of the text.
    async fn said(&mut self, text: &str, answer: &str) -> u64 {
        let key = IdempotencyKey::new(text).ok();
        let options = TurnOptions { key, ..TurnOptions::default() };
        let turn = self.session.send_with(text, options).await.unwrap();
        self.script.next().await.say(answer);
        turn.ended().await.unwrap();
        self.asked().await
    }

    /// Sends a text, for which the model calls a tool that a person allows for ever.
    async fn saved(&mut self, text: &str) {
        let mut probe = Probe::new(self.session.subscribe());
        let turn = self.session.send(text).await.unwrap();
        let call = wanted("save", &json!({ "name": text }));
        let calls = Completion { tool_calls: vec![call], ..Completion::default() };
        self.script.next().await.finish(calls);
        let request = probe.approval_request().await;
        self.session.decide(&request, Decision::ApproveAlways).await.unwrap();
        self.script.next().await.say("saved");
        turn.ended().await.unwrap();
    }
}

fn word(message: &ChatMessage) -> String {
    match &message.content {
        Content::User { text, origin, key } => {
            format!("user {text} {} {}", origin.is_chat(), key.is_some())
        }
        Content::Model { text, origin, .. } => format!("model {text} {}", origin.is_chat()),
        Content::ToolCall(record) => format!("call {}", record.name),
        Content::Notice { notice } => format!("{notice:?}"),
        Content::Cleared => "cleared".to_owned(),
    }
}

async fn words(session: &Session) -> Vec<String> {
    session.state().await.unwrap().messages.iter().map(word).collect()
}

#[tokio::test]
async fn a_fork_has_the_texts_before_an_entry_and_no_calls_keys_and_approvals() {
    let mut chat = Chat::new().await;
    chat.said("one", "1").await;
    chat.saved("two").await;
    let third = chat.said("three", "3").await;
    let before = words(&chat.session).await;
    let fork = chat.session.fork(third, "fork").await.unwrap();
    assert_eq!((fork.is_new, fork.messages, fork.calls, fork.is_cut), (true, 4, 1, false));
    let expected = [
        "user one false false",
        "model 1 false",
        "user two false false",
        "model saved false",
        "Forked",
    ];
    assert_eq!(words(&fork.session).await, expected);
    assert_eq!(fork.session.standing_approvals().await.unwrap(), []);
    assert_eq!(chat.session.standing_approvals().await.unwrap().len(), 1);
    assert_eq!(words(&chat.session).await, before, "the chat is as it was");
    // The same key begins another turn there.
    let options = TurnOptions { key: IdempotencyKey::new("one").ok(), ..TurnOptions::default() };
    let turn = fork.session.send_with("one", options).await.unwrap();
    chat.script.next().await.say("again");
    turn.ended().await.unwrap();
    assert_eq!(words(&fork.session).await.len(), 7);
    let again = chat.session.fork(third, "fork").await.unwrap();
    assert!(!again.is_new, "a chat that has begun is left as it is");
    assert_eq!(words(&fork.session).await.len(), 7);
    chat.test.shutdown().await;
}

#[tokio::test]
async fn a_chat_is_forked_at_its_first_entry_its_end_and_at_none_that_it_does_not_show() {
    let mut chat = Chat::new().await;
    let first = chat.said("one", "1").await;
    let fork = chat.session.fork(first, "first").await.unwrap();
    assert_eq!((fork.messages, words(&fork.session).await), (0, vec!["Forked".to_owned()]));
    let whole = chat.session.fork(None, "whole").await.unwrap();
    assert_eq!(whole.messages, 2);
    chat.session.clear().await.unwrap();
    for name in ["first", "gone"] {
        let refused = chat.session.fork(first, name).await;
        assert!(
            matches!(refused, Err(Error::UnknownEntry(entry)) if entry == first),
            "{refused:?}"
        );
    }
    let user = chat.test.runtime.user("kim").unwrap();
    assert!(
        user.find_session(&SessionId::new("gone").unwrap()).await.unwrap().is_none(),
        "none is made"
    );
    chat.test.shutdown().await;
}

#[tokio::test]
async fn a_fork_before_a_running_turn_leaves_it_running_and_one_of_all_texts_is_refused() {
    let mut chat = Chat::new().await;
    chat.said("one", "1").await;
    let turn = chat.session.send("two").await.unwrap();
    let completion = chat.script.next().await;
    let refused = chat.session.fork(None, "whole").await;
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    let fork = chat.session.fork(chat.asked().await, "fork").await.unwrap();
    assert_eq!(fork.messages, 2);
    assert!(chat.session.state().await.unwrap().is_streaming, "it runs");
    completion.say("2");
    turn.ended().await.unwrap();
    chat.test.shutdown().await;
}

#[tokio::test]
async fn a_fork_is_forked_before_any_of_the_entries_that_it_begins_with() {
    let mut chat = Chat::new().await;
    chat.said("one", "1").await;
    chat.said("two", "2").await;
    let copy = chat.session.fork(None, "copy").await.unwrap().session;
    let entries = copy.state().await.unwrap().messages;
    for (at, entry) in entries.iter().enumerate() {
        let fork = copy.fork(entry.seq, &format!("fork-{at}")).await.unwrap();
        assert_eq!(fork.messages, at);
        let mut expected = words(&copy).await[..at].to_vec();
        expected.push("Forked".to_owned());
        assert_eq!(words(&fork.session).await, expected);
    }
    chat.test.shutdown().await;
}

#[tokio::test]
async fn a_fork_of_a_long_chat_has_its_newest_texts_and_says_so() {
    let mut chat = Chat::new().await;
    let history = (0..199).map(|number| Imported::user(format!("{number}")));
    chat.session.import(history.collect()).await.unwrap();
    chat.said("last", "!").await;
    let fork = chat.session.fork(None, "fork").await.unwrap();
    assert_eq!((fork.messages, fork.is_cut), (200, true));
    let words = words(&fork.session).await;
    assert_eq!((&*words[0], words.len()), ("user 1 false false", 201));
    chat.test.shutdown().await;
}

#[tokio::test]
async fn a_fork_whose_chat_begins_with_a_text_of_a_model_says_that_it_is_left_out() {
    let mut chat = Chat::new().await;
    let history = vec![Imported::model("Welcome."), Imported::user("hi")];
    chat.session.import(history).await.unwrap();
    chat.said("one", "1").await;
    let fork = chat.session.fork(None, "fork").await.unwrap();
    assert_eq!((fork.messages, fork.is_cut), (3, true));
    assert_eq!(words(&fork.session).await[0], "user hi false false");
    chat.test.shutdown().await;
}

#[tokio::test]
async fn a_fork_has_no_text_of_a_turn_that_the_model_no_longer_reads() {
    let mut chat = Chat::new().await;
    chat.said("one", "1").await;
    let turn = chat.session.send("boom").await.unwrap();
    chat.script.next().await.fail(ModelError::KILLED_ENGINE);
    turn.ended().await.unwrap();
    chat.said("two", "2").await;
    let fork = chat.session.fork(None, "fork").await.unwrap();
    let expected = [
        "user one false false",
        "model 1 false",
        "user two false false",
        "model 2 false",
        "Forked",
    ];
    assert_eq!((fork.messages, fork.is_cut), (4, false));
    assert_eq!(words(&fork.session).await, expected);
    // The notice of the turn is behind the entry before which it is forked.
    let entries = chat.session.state().await.unwrap().messages;
    let notice = entries.iter().find(|entry| word(entry) == "TurnLeftOut").unwrap();
    let fork = chat.session.fork(notice.seq, "before").await.unwrap();
    assert_eq!(words(&fork.session).await, ["user one false false", "model 1 false", "Forked"]);
    chat.test.shutdown().await;
}

#[tokio::test]
async fn the_notice_of_a_fork_is_in_the_language_of_its_chat() {
    let mut chat = Chat::new().await;
    chat.said("잠을 잘 자려면 어떻게 하나요?", "일찍 주무세요.").await;
    let turn = chat.said("And then?", "Sleep.").await;
    let fork = chat.session.fork(turn, "fork").await.unwrap();
    let mut events = fork.session.subscribe_after(EventCursor::START).await.unwrap();
    let text = loop {
        let Some(StreamItem::Event(event)) = events.next().await else { panic!("no notice") };
        if let EventKind::SystemNotice { text, .. } = &event.kind {
            break text.clone();
        }
    };
    assert!(text.starts_with("다른 대화에서"), "{text}");
    chat.test.shutdown().await;
}

#[tokio::test]
async fn a_whole_chat_is_read_part_by_part_with_what_was_cleared() {
    let mut chat = Chat::new().await;
    let long = "x".repeat(60_000);
    for text in ["one", "two", "three"] {
        chat.said(text, &long).await;
    }
    chat.session.clear().await.unwrap();
    chat.saved("four").await;
    let mut entries = chat.session.entries();
    let mut parts = Vec::new();
    while let Some(part) = entries.next().await.unwrap() {
        parts.push(part);
    }
    assert!(entries.next().await.unwrap().is_none());
    let all: Vec<_> = parts.iter().flatten().map(word).collect();
    assert_eq!(all.iter().filter(|word| *word == "cleared").count(), 1);
    assert_eq!(all.first().map(|word| &**word), Some("user one true true"));
    assert_eq!(all.last().map(|word| &**word), Some("model saved true"));
    assert!(all.contains(&"call save".to_owned()), "{}", all.len());
    chat.test.store.fail_next_read();
    let mut entries = chat.session.entries();
    assert!(matches!(entries.next().await, Err(Error::Store(_))));
    assert!(entries.next().await.unwrap().is_some(), "it is read again");
    chat.session.delete().await.unwrap();
    assert!(matches!(entries.next().await, Ok(None) | Err(Error::Deleted)));
    assert!(matches!(chat.session.entries().next().await, Err(Error::Deleted)));
    chat.test.shutdown().await;
}
