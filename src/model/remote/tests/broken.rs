//! Streams that break: each ends as what it is, and none takes memory without a bound.

use super::{
    super::{broken::Broken, provider::Provider, refusal::Meaning},
    read,
};

const ALL: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::Ollama];

fn text(provider: Provider, text: &str) -> String {
    let text = serde_json::Value::from(text).to_string();
    match provider {
        Provider::OpenAi => {
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{text}}}}}]}}\n\n")
        }
        Provider::Anthropic => format!(
            "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}}}\n\n"
        ),
        Provider::Gemini => {
            format!(
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":{text}}}]}}}}]}}\n\n"
            )
        }
        Provider::Ollama => format!("{{\"message\":{{\"content\":{text}}},\"done\":false}}\n"),
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_has_no_end_and_keeps_its_words() {
    for provider in ALL {
        let stream = [text(provider, "half \"of\\"), text(provider, " it")].concat();
        for cut in 0..stream.len() {
            let (heard, ended) = read(provider, &[&stream.as_bytes()[..cut]]);
            assert!(ended.unwrap().is_none(), "{provider:?} cut at {cut}");
            assert!(
                "says half \"of\\ it".starts_with(heard.last().map_or("", |said| said))
                    || heard == ["began"]
            );
        }
        let (heard, _) = read(provider, &[stream.as_bytes()]);
        assert_eq!(heard, ["began", "says half \"of\\ it"], "{provider:?}");
    }
}

#[test]
fn rubbish_in_a_frame_is_bad_output_and_what_is_new_is_left_alone() {
    for provider in ALL {
        let line = if provider == Provider::Ollama { "" } else { "data: " };
        for rubbish in ["{", "nonsense", "[DONE", "\u{1}"] {
            let stream = format!("{line}{rubbish}\n\n");
            let (_, ended) = read(provider, &[stream.as_bytes()]);
            assert!(
                matches!(ended, Err(Broken::NoAnswer(_))),
                "{provider:?} {rubbish:?}: {ended:?}"
            );
        }
        for new in
            ["null", "[]", "7", "{}", r#"{"type":"new"}"#, r#"{"choices":{},"candidates":7}"#]
        {
            let stream = format!("{line}{new}\n\n");
            let (heard, ended) = read(provider, &[stream.as_bytes()]);
            assert!(ended.unwrap().is_none() && heard.is_empty(), "{provider:?} {new}");
        }
    }
}

#[test]
fn an_endless_frame_and_an_endless_answer_are_cut_off() {
    let piece = vec![b'x'; 1024 * 1024];
    for provider in ALL {
        let endless: Vec<&[u8]> = std::iter::repeat_n(&*piece, 9).collect();
        let (_, ended) = read(provider, &endless);
        assert!(matches!(ended, Err(Broken::BadOutput(_))), "{provider:?}: a frame");
        let long = text(provider, &"y".repeat(1024 * 1024));
        let endless: Vec<&[u8]> = std::iter::repeat_n(long.as_bytes(), 17).collect();
        let (_, ended) = read(provider, &endless);
        assert!(matches!(ended, Err(Broken::BadOutput(_))), "{provider:?}: an answer");
    }
    let begin: &[u8] = b"{\"a\":\"";
    let endless: Vec<&[u8]> =
        std::iter::once(begin).chain(std::iter::repeat_n(&*piece, 9)).collect();
    let (_, ended) = read(Provider::OpenAi, &endless);
    assert!(matches!(ended, Err(Broken::BadOutput(_))), "an answer in JSON: {ended:?}");
    let (_, ended) = read(Provider::OpenAi, &[b"<html>", &piece]);
    assert!(matches!(ended, Err(Broken::NoAnswer(_))), "a page: {ended:?}");
    let call = |number| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{number},\"function\":{{\"name\":\"t\"}}}}]}}}}]}}\n\n"
        )
    };
    let calls: String = (0..257).map(call).collect();
    let (_, ended) = read(Provider::OpenAi, &[calls.as_bytes()]);
    assert!(matches!(ended, Err(Broken::BadOutput(_))), "{ended:?}");
}

#[test]
fn a_refusal_to_answer_is_an_error_and_no_answer() {
    for (provider, frame) in [
        (
            Provider::OpenAi,
            r#"data: {"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}"#,
        ),
        (Provider::OpenAi, r#"data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#),
        (
            Provider::Anthropic,
            r#"data: {"type":"message_delta","delta":{"stop_reason":"refusal"}}"#,
        ),
        (Provider::Gemini, r#"data: {"candidates":[{"finishReason":"SAFETY"}]}"#),
        (Provider::Gemini, r#"data: {"promptFeedback":{"blockReason":"OTHER"}}"#),
    ] {
        let (_, ended) = read(provider, &[frame.as_bytes(), b"\n\n"]);
        assert!(matches!(ended, Err(Broken::Refused(_))), "{frame}: {ended:?}");
    }
}

#[test]
fn a_provider_that_fails_in_mid_stream_is_heard() {
    let busy = || Meaning::Overloaded { retry_after: None };
    for (provider, frame, meaning) in [
        (
            Provider::OpenAi,
            r#"data: {"error":{"message":"m","code":"rate_limit_exceeded"}}"#,
            busy(),
        ),
        (
            Provider::Anthropic,
            r#"data: {"type":"error","error":{"type":"overloaded_error"}}"#,
            busy(),
        ),
        (Provider::Gemini, r#"data: {"error":{"code":503,"status":"UNAVAILABLE"}}"#, busy()),
        (Provider::Ollama, r#"{"error":"model runner has unexpectedly stopped"}"#, Meaning::Failed),
    ] {
        let (_, ended) = read(provider, &[frame.as_bytes(), b"\n\n"]);
        let Err(Broken::Failed(refusal)) = ended else { panic!("{frame}: {ended:?}") };
        assert_eq!(refusal.meaning, meaning, "{frame}");
    }
}
