//! Refused requests: which are sent again, how often, and what the person is told.

use std::{sync::Arc, time::Duration};

use madang::{
    error::TurnError,
    model::remote::Provider,
    model::{ChatModel as _, Completion, CompletionRequest, Deltas, PromptMessage},
};
use madang_actors::protocol::{CompletionId, LanguageTag, SessionId, UserId};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    ALL, ask, failed,
    mock::{KEY, Mock, Reply},
    runtime,
    speech::{answer, calls},
};

const BUSY: &str = "HTTP/1.1 429 Busy\r\nretry-after: 0";
const BUSY_FOR_LONG: &str = "HTTP/1.1 429 Busy\r\nRetry-After: 3600";
const WRONG: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json";

fn whole(head: &'static str, body: &str) -> Reply {
    Reply::Whole(head, body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_pause_is_waited_for_and_a_long_one_told() {
    for provider in ALL {
        let here = Reply::Stream(answer(provider, "Here."));
        let mut mock = Mock::start([whole(BUSY, "{}"), whole(BUSY, "{}"), here]).await;
        let asking = runtime(mock.model(provider)).await;
        assert_eq!((ask(&asking, "hi").await.0, mock.rest()), ("Here.".to_owned(), 3));
        asking.shutdown().await.unwrap();

        let mut mock = Mock::start([whole(BUSY_FOR_LONG, "{}")]).await;
        let asking = runtime(mock.model(provider)).await;
        let retry_after_ms = Some(3_600_000);
        let kind = "Overloaded".to_owned();
        let error = TurnError::Model { kind, retry_after_ms, said: None, prompt: None };
        assert_eq!((ask(&asking, "hi").await.2, mock.rest()), (Some(error), 1), "{provider:?}");
        asking.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_told_at_once_and_stands_in_no_error() {
    let body = format!("{{\"error\":{{\"message\":\"wrong key {KEY}\"}}}}");
    let mut mock = Mock::start([whole("HTTP/1.1 401 Unauthorized", &body)]).await;
    let model = mock.model(Provider::OpenAi);
    let request = request(Vec::new());
    let cancel = CancellationToken::new();
    let error = model.complete(request, Deltas::ignored(), cancel).await.unwrap_err();
    assert_eq!((error.kind(), mock.rest()), ("Unauthorized", 1));
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_redirect_takes_the_key_along() {
    let mut other = Mock::start([Reply::Stream(answer(Provider::OpenAi, "Caught."))]).await;
    let url = other.options(Provider::OpenAi);
    let to = format!("{url:?}");
    let to = to.split('"').find(|part| part.starts_with("http")).unwrap().to_owned();
    let head: &'static str =
        Box::leak(format!("HTTP/1.1 307 Elsewhere\r\nlocation: {to}/chat/completions").into());
    let mut mock = Mock::start([whole(head, "")]).await;
    let asking = runtime(mock.model(Provider::OpenAi)).await;
    assert_eq!(ask(&asking, "hi").await.2, failed("Http307"));
    assert_eq!((mock.rest(), other.rest()), (1, 0));
    asking.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_is_asked_twice_more() {
    let failing = "HTTP/1.1 500 Internal Server Error";
    let mut mock = Mock::start((0..4).map(|_| whole(failing, "{}"))).await;
    let asking = runtime(mock.model(Provider::Anthropic)).await;
    assert_eq!((ask(&asking, "hi").await.2, mock.rest()), (failed("Http500"), 3));
    asking.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_knows_the_older_bound_alone_is_asked_by_it_from_then_on() {
    let unknown = r#"{"error":{"message":"Unrecognized request argument: max_completion_tokens"}}"#;
    let here = || Reply::Stream(answer(Provider::OpenAi, "Here."));
    let mut mock = Mock::start([whole(WRONG, unknown), here(), here()]).await;
    let asking = runtime(mock.model(Provider::OpenAi)).await;
    for _ in 0..2 {
        assert_eq!(ask(&asking, "hi").await.0, "Here.");
    }
    for bound in ["max_completion_tokens", "max_tokens", "max_tokens"] {
        assert!(mock.asked().await.body[bound].is_number(), "{bound}");
    }
    asking.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn completions_that_meet_such_a_server_at_once_all_ask_again() {
    let unknown = r#"{"error":{"message":"Unrecognized request argument: max_completion_tokens"}}"#;
    let here = || Reply::Stream(answer(Provider::OpenAi, "Here."));
    let both = Arc::new(Barrier::new(2));
    let refused = || Reply::Behind(both.clone(), Box::new(whole(WRONG, unknown)));
    let mock = Mock::start([refused(), refused(), here(), here()]).await;
    let model = mock.model(Provider::OpenAi);
    let ask = || model.complete(request(Vec::new()), Deltas::ignored(), CancellationToken::new());
    // Both have sent before either hears of it: the second is refused behind the first.
    let (first, second) = tokio::join!(ask(), ask());
    assert_eq!((&*first.unwrap().text, &*second.unwrap().text), ("Here.", "Here."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_that_is_not_taken_back_is_left_at_home_once() {
    for (provider, message) in [
        (Provider::Gemini, "corrupted thought_signature"),
        (Provider::Anthropic, "Invalid `signature` in `thinking` block"),
    ] {
        let refusal = format!("{{\"error\":{{\"message\":\"{message}\"}}}}");
        let script = [
            Reply::Stream(calls(provider, &["look"], "sig-1")),
            whole(WRONG, &refusal),
            Reply::Stream(answer(provider, "Seen.")),
            whole(WRONG, &refusal),
            whole(WRONG, &refusal),
        ];
        let mut mock = Mock::start(script).await;
        let asking = runtime(mock.model(provider)).await;
        assert_eq!(ask(&asking, "look").await.0, "Seen.", "{provider:?}");
        for has in [false, true, false] {
            let body = mock.asked().await.body.to_string();
            assert_eq!(body.contains("sig-1"), has, "{provider:?}: {body}");
        }
        // Refused again without it: it is not asked for ever.
        assert_eq!((ask(&asking, "hi").await.2, mock.rest()), (failed("Http400"), 2));
        asking.shutdown().await.unwrap();
    }
}

fn request(messages: Vec<PromptMessage>) -> CompletionRequest {
    CompletionRequest {
        id: CompletionId::new(Uuid::now_v7()),
        session: SessionId::new("s").unwrap(),
        user: UserId::new("kim").unwrap(),
        system: Some("Be brief.".into()),
        instructions: None,
        messages: messages.into(),
        tools: [].into(),
        language: LanguageTag::EN,
        max_tokens: 10,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_half_of_a_long_prompt_is_left_out_three_times_at_most() {
    const LONG: &str = r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#;
    let said = |number: usize| {
        let text = format!("text {number}").into();
        if number.is_multiple_of(2) {
            PromptMessage::User { text }
        } else {
            PromptMessage::Model { text }
        }
    };
    let messages: Vec<_> = (0..33).map(said).collect();
    let here = Reply::Stream(answer(Provider::OpenAi, "Here."));
    let mut mock = Mock::start([whole(WRONG, LONG), whole(WRONG, LONG), here]).await;
    let model = mock.model(Provider::OpenAi);
    let asking = model.complete(request(messages.clone()), Deltas::ignored(), Default::default());
    let Completion { text, left_out, .. } = asking.await.unwrap();
    assert_eq!((&*text, left_out), ("Here.", 26));
    let mut first_texts = Vec::new();
    for _ in 0..3 {
        let body = mock.asked().await.body;
        assert_eq!(body["messages"][0]["content"], "Be brief.");
        first_texts.push(body["messages"][1]["content"].clone());
    }
    assert_eq!(first_texts, ["text 0", "text 18", "text 26"]);

    let mut mock = Mock::start((0..9).map(|_| whole(WRONG, LONG))).await;
    let model = mock.model(Provider::OpenAi);
    let asking = model.complete(request(messages), Deltas::ignored(), Default::default());
    let error = asking.await.unwrap_err();
    assert_eq!((error.kind(), mock.rest()), ("PromptTooLong", 4));

    // One message cannot be halved.
    let mut mock = Mock::start([whole(WRONG, LONG)]).await;
    let model = mock.model(Provider::OpenAi);
    let asking = model.complete(request(vec![said(0)]), Deltas::ignored(), Default::default());
    assert_eq!((asking.await.unwrap_err().kind(), mock.rest()), ("PromptTooLong", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_pause_ends_at_once() {
    let busy = "HTTP/1.1 503 Busy\r\nretry-after: 9";
    let mut mock = Mock::start([whole(busy, "{}")]).await;
    let model = mock.model(Provider::Ollama);
    let cancel = CancellationToken::new();
    let asking = model.complete(request(vec![]), Deltas::ignored(), cancel.clone());
    let cancelling = async {
        mock.asked().await;
        cancel.cancel();
    };
    let both = async { tokio::join!(asking, cancelling) };
    let (ended, ()) = tokio::time::timeout(Duration::from_secs(5), both).await.unwrap();
    assert_eq!(ended.unwrap_err().kind(), "Cancelled");
}
