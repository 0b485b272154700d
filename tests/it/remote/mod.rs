//! Remote models, each against a server that speaks its format and fails in each way.
//!
//! - `mock` is a provider on a socket: it keeps each request, and answers as the test says.
//! - `speech` writes texts, thoughts, calls and ends in the format of each provider.
//! - `refused` tests refused requests: which the model sends again, how often, and what the person
//!   is told.

pub(crate) mod mock;
mod refused;
pub(crate) mod speech;

use std::time::Duration;

use madang::{
    Runtime,
    error::TurnError,
    event::{Content, TurnEnding},
    model::remote::{Provider, RemoteModel, RemoteOptions},
};
use madang_testing::{FakeTool, MemoryStore, Probe};
use serde_json::json;
use tokio::time::{Instant, timeout};

use mock::{KEY, Mock, PATIENCE, Reply};
use speech::{answer, calls, ends, says};

const ALL: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::Ollama];

async fn runtime(model: RemoteModel) -> Runtime {
    let builder = Runtime::builder().model(model).store(MemoryStore::new());
    builder.tool(FakeTool::read("look")).tool(FakeTool::read("list")).start().await.unwrap()
}

/// Sends a text; gives what was answered, and how the turn ended.
async fn ask(runtime: &Runtime, text: &str) -> (String, TurnEnding, Option<TurnError>) {
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send(text).await.unwrap();
    let end = timeout(PATIENCE, turn.ended()).await.expect("the turn ends").unwrap();
    let state = session.state().await.unwrap();
    let said = state.messages.iter().rev().find_map(|message| {
        let Content::Model { text, .. } = &message.content else { return None };
        Some(text.to_string())
    });
    // The words of a provider are tested by `providers`.
    let mut error = end.error;
    if let Some(TurnError::Model { said, .. }) = &mut error {
        *said = None;
    }
    (said.unwrap_or_default(), end.ending, error)
}

fn failed(kind: &str) -> Option<TurnError> {
    Some(TurnError::model(kind))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_streamed_and_its_cost_told() {
    for provider in ALL {
        let said = says(provider, "안녕, ") + &says(provider, "Kim.") + &ends(provider);
        let mut mock = Mock::start([Reply::Stream(said)]).await;
        let runtime = runtime(mock.model(provider)).await;
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        let mut probe = Probe::new(session.subscribe());
        let end = session.send("hi").await.unwrap().ended().await.unwrap();
        assert_eq!(end.ending, TurnEnding::Answered, "{provider:?}: {end:?}");
        assert_eq!((end.usage.prompt_tokens, end.usage.completion_tokens), (5, 2), "{provider:?}");
        probe.until_turns_ended(1).await;
        assert!(probe.lines().contains("model: 안녕, Kim. (Complete)"), "{}", probe.lines());
        let asked = mock.asked().await;
        assert!(asked.head.contains(KEY) && asked.body.to_string().contains("hi"), "{asked:?}");
        runtime.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_calls_at_once_go_back_with_both_results_in_one_group() {
    for provider in ALL {
        let script = [calls(provider, &["look", "list"], "sig-1"), answer(provider, "Seen.")];
        let mut mock = Mock::start(script.map(Reply::Stream)).await;
        let runtime = runtime(mock.model(provider)).await;
        let (said, ending, error) = ask(&runtime, "look").await;
        assert_eq!((&*said, ending, error), ("Seen.", TurnEnding::Answered, None), "{provider:?}");
        mock.asked().await;
        let body = mock.asked().await.body;
        let messages = body.get("messages").or(body.get("contents")).unwrap().as_array().unwrap();
        // The text, the two calls, and the results: one message for both, or one each.
        let results = if matches!(provider, Provider::OpenAi | Provider::Ollama) { 2 } else { 1 };
        assert_eq!(messages.len(), 2 + results, "{provider:?}: {body:#}");
        runtime.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_thoughts_go_back_over_three_rounds() {
    for provider in [Provider::Anthropic, Provider::Gemini] {
        let script = ["sig-1", "sig-2", "sig-3"].map(|sign| calls(provider, &["look"], sign));
        let script = script.into_iter().chain([answer(provider, "Seen.")]);
        let mut mock = Mock::start(script.map(Reply::Stream)).await;
        let runtime = runtime(mock.model(provider)).await;
        let (said, ..) = ask(&runtime, "look").await;
        assert_eq!(said, "Seen.");
        for round in 0..4 {
            let body = mock.asked().await.body.to_string();
            for number in 1..4 {
                let has = body.contains(&format!("sig-{number}"));
                assert_eq!(has, number <= round, "{provider:?}, round {round}: {body}");
            }
        }
        runtime.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_behind_words_ends_the_turn_and_keeps_them() {
    for provider in ALL {
        let half = says(provider, "Half of ") + &says(provider, "it \" \\");
        // In the middle of an escape of the last frame.
        let half = &half[..half.rfind("\\\\").unwrap() + 1];
        let mut mock = Mock::start([Reply::Cut(half.to_owned())]).await;
        let runtime = runtime(mock.model(provider)).await;
        let (said, ending, error) = ask(&runtime, "hi").await;
        let expected = ("Half of ", TurnEnding::Failed, failed("ConnectionLost"));
        assert_eq!((&*said, ending, error), expected, "{provider:?}");
        assert_eq!(mock.rest(), 1, "it is not asked again");
        runtime.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_before_any_word_is_tried_again_twice() {
    for provider in ALL {
        let script = [Reply::Nothing, Reply::Cut(String::new())];
        let script = script.into_iter().chain([Reply::Stream(answer(provider, "Here."))]);
        let mock = Mock::start(script).await;
        let asking = runtime(mock.model(provider)).await;
        let (said, ..) = ask(&asking, "hi").await;
        assert_eq!(said, "Here.", "{provider:?}");
        asking.shutdown().await.unwrap();
    }
    let script = (0..4).map(|_| Reply::Nothing);
    let mut mock = Mock::start(script).await;
    let runtime = runtime(mock.model(Provider::OpenAi)).await;
    let (_, _, error) = ask(&runtime, "hi").await;
    assert_eq!((error, mock.rest()), (failed("ConnectionLost"), 3));
    runtime.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_a_timeout() {
    for provider in ALL {
        for before in [String::new(), says(provider, "Well, ")] {
            let mock = Mock::start([Reply::Hold(before.clone())]).await;
            let options = mock.options(provider).silence(Duration::from_millis(300));
            let runtime = runtime(RemoteModel::new(options).unwrap()).await;
            let (said, _, error) = ask(&runtime, "hi").await;
            let expected = if before.is_empty() { "" } else { "Well, " };
            assert_eq!((&*said, error), (expected, failed("Timeout")), "{provider:?}");
            runtime.shutdown().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_json_is_bad_output() {
    for provider in ALL {
        let stream = if provider == Provider::Ollama { "{]\n" } else { "data: {]\n\n" };
        let mut mock = Mock::start([Reply::Stream(stream.to_owned())]).await;
        let runtime = runtime(mock.model(provider)).await;
        let (_, _, error) = ask(&runtime, "hi").await;
        assert_eq!((error, mock.rest()), (failed("BadOutput"), 1), "{provider:?}");
        runtime.shutdown().await.unwrap();
    }
}

/// A cancelled turn closes its connection at once. The machine may be busy for a while, so the
/// soonest of some tries counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_dismissed_turn_closes_its_connection_within_100_ms() {
    for provider in ALL {
        let mut soonest = Duration::MAX;
        for _ in 0..10 {
            let mut mock = Mock::start([Reply::Hold(says(provider, "Well, "))]).await;
            let runtime = runtime(mock.model(provider)).await;
            let session = runtime.user("kim").unwrap().session("s").await.unwrap();
            let mut probe = Probe::new(session.subscribe());
            let turn = session.send("hi").await.unwrap();
            probe.until_streamed("Well, ").await;
            let begin = Instant::now();
            session.dismiss().await.unwrap();
            let closed = timeout(PATIENCE, mock.closed.recv()).await.expect("it is closed");
            soonest = soonest.min(closed.unwrap() - begin);
            assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
            runtime.shutdown().await.unwrap();
            if soonest < Duration::from_millis(100) {
                break;
            }
        }
        assert!(soonest < Duration::from_millis(100), "{provider:?}: {soonest:?}");
    }
}

#[test]
fn options_that_cannot_work_are_refused_with_one_sentence() {
    let error = |options: RemoteOptions| RemoteModel::new(options).unwrap_err().to_string();
    let new = |provider| RemoteOptions::new(provider, "m");
    assert_eq!(error(new(Provider::OpenAi)), "this provider wants a key: set OPENAI_API_KEY");
    assert!(error(new(Provider::Gemini).key("k\n")).contains("characters that no key has"));
    for url in ["nonsense", "file:///etc/passwd", "http://"] {
        assert!(error(new(Provider::OpenAi).url(url)).contains("is not an address"), "{url}");
    }
    let far = new(Provider::OpenAi).url("http://models.example/v1");
    assert!(error(far.clone().key("k")).contains("not sent in clear text"));
    assert!(RemoteModel::new(far).is_ok(), "without a key there is none to lose");
    for near in ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"] {
        assert!(RemoteModel::new(new(Provider::OpenAi).url(near).key("k")).is_ok(), "{near}");
    }
    for name in ["", "a b", "a?key=1", "../m", "m\n"] {
        let options = RemoteOptions::new(Provider::Gemini, name).key("k");
        assert!(error(options).contains("is not the name of a model"), "{name:?}");
    }
    let model = RemoteModel::new(new(Provider::Anthropic).key(KEY)).unwrap();
    assert!(!format!("{model:?}").contains(KEY));
    assert_eq!(json!(madang::model::ChatModel::info(&model).name), "anthropic:m");
}
