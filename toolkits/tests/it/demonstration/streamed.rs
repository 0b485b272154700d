//! Tests how an answer reaches its reader while the model writes it.

use std::sync::{Arc, Mutex};

use madang::{
    model::{ChatModel as _, Completion, CompletionDelta, Deltas, ModelError},
    tool::Locale,
};
use madang_testing::{HandCompletion, HandDrivenModel, model_pair};
use madang_toolkits::demonstration::Demonstration;
use tokio_util::sync::CancellationToken;

use super::{request, user};

/// A completion that the test drives, and what its reader has got so far.
struct Running {
    completion: Option<HandCompletion>,
    heard: Arc<Mutex<Vec<String>>>,
    ended: tokio::task::JoinHandle<Result<Completion, ModelError>>,
    cancel: CancellationToken,
}

impl Running {
    async fn new() -> Self {
        let (model, mut script) = model_pair();
        let model: Arc<Demonstration<HandDrivenModel>> = Arc::new(Demonstration::new(model));
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let hears = Arc::clone(&heard);
        let deltas = Deltas::new(move |delta| {
            hears.lock().unwrap().push(match delta {
                CompletionDelta::Text(text) => text.to_owned(),
                CompletionDelta::Began => "<began>".to_owned(),
                CompletionDelta::Thinking(text) => format!("<{text}>"),
            });
        });
        let cancel = CancellationToken::new();
        let cancelled = cancel.clone();
        let ended = tokio::spawn(async move {
            model.complete(request(vec![user("hi")], Locale::EN), deltas, cancelled).await
        });
        let completion = Some(script.next().await);
        Self { completion, heard, ended, cancel }
    }

    fn says(&self, text: &str) -> Vec<String> {
        self.completion.as_ref().unwrap().delta(text);
        self.heard.lock().unwrap().clone()
    }

    async fn ends(mut self, text: &str) -> (String, Vec<String>) {
        self.completion.take().unwrap().finish(Completion::text(text));
        let ended = self.ended.await.unwrap().unwrap();
        let heard = self.heard.lock().unwrap().clone();
        (ended.text, heard)
    }
}

#[tokio::test]
async fn a_text_is_passed_on_as_it_comes() {
    let running = Running::new().await;
    assert_eq!(running.says("Good"), ["Good"]);
    assert_eq!(running.says(" {result}"), ["Good", " {result}"]);
    let (text, heard) = running.ends("Good {result}").await;
    assert_eq!((&*text, heard.concat()), ("Good {result}", "Good {result}".to_owned()));
}

#[tokio::test]
async fn a_text_that_only_begins_like_a_placeholder_is_passed_on_whole() {
    for pieces in
        [&["{", "re", "d} is a colour"][..], &["{result", "} is a word"], &["{result}", "\n", "x"]]
    {
        let running = Running::new().await;
        for piece in &pieces[..pieces.len() - 1] {
            assert_eq!(running.says(piece), ["<began>"], "{pieces:?}");
        }
        running.says(pieces[pieces.len() - 1]);
        let (text, heard) = running.ends(&pieces.concat()).await;
        assert_eq!((text, heard[1..].concat()), (pieces.concat(), pieces.concat()));
    }
}

#[tokio::test]
async fn an_answer_that_ends_within_a_placeholder_is_passed_on() {
    let running = Running::new().await;
    running.says("{wh");
    let (text, heard) = running.ends("{wh").await;
    assert_eq!((&*text, heard), ("{wh", vec!["<began>".to_owned(), "{wh".to_owned()]));
}

#[tokio::test]
async fn a_placeholder_in_pieces_never_reaches_the_reader() {
    for pieces in [&["{result}"][..], &["{", "result", "}"], &["", "{re", "sult}", "\n"]] {
        let running = Running::new().await;
        for piece in pieces {
            assert_eq!(running.says(piece), ["<began>"], "{pieces:?}");
        }
        let (text, heard) = running.ends(&pieces.concat()).await;
        assert!(text.starts_with("I did nothing this time."), "{text}");
        assert_eq!(heard, ["<began>".to_owned(), text]);
    }
}

#[tokio::test]
async fn a_placeholder_that_was_not_streamed_is_written_too() {
    let (text, heard) = Running::new().await.ends("{count}").await;
    assert_eq!(heard, std::slice::from_ref(&text));
    assert!(text.starts_with("There is no list"), "{text}");
}

#[tokio::test]
async fn of_a_cancelled_answer_nothing_of_a_placeholder_is_left() {
    let running = Running::new().await;
    running.says("{resul");
    running.cancel.cancel();
    let ended = running.ended.await.unwrap();
    assert!(matches!(ended, Err(ModelError::Cancelled { .. })), "{ended:?}");
    assert_eq!(*running.heard.lock().unwrap(), ["<began>"]);
}

#[tokio::test]
async fn an_answer_without_a_text_stays_without_one() {
    let (text, heard) = Running::new().await.ends("").await;
    assert_eq!((&*text, heard), ("", Vec::new()));
}
