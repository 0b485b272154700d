//! What refused requests mean.

use std::time::Duration;

use super::super::{
    provider::Provider::{self, Anthropic, Gemini, Ollama, OpenAi},
    refusal::ModelRefusal,
};

fn refusal(provider: Provider, status: u16, body: &str) -> ModelRefusal {
    ModelRefusal::of(provider, status, None, body.as_bytes())
}

#[test]
fn who_has_too_much_to_do_says_how_long() {
    for status in [429, 503, 529] {
        let retry_after = Some(Duration::from_secs(7));
        let refusal = ModelRefusal::of(OpenAi, status, retry_after, b"busy");
        assert_eq!(refusal, ModelRefusal::Overloaded { retry_after }, "{status}");
    }
}

#[test]
fn a_long_prompt_is_known_by_the_words_of_each_provider() {
    for (provider, body) in [
        (OpenAi, r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#),
        (OpenAi, r#"{"error":{"message":"the request exceeds the available context size"}}"#),
        (OpenAi, r#"{"error":"This model's maximum context length is 4096 tokens."}"#),
        (Anthropic, r#"{"type":"error","error":{"message":"prompt is too long: 210000 tokens"}}"#),
        (
            Gemini,
            r#"[{"error":{"code":400,"message":"The input token count exceeds the maximum"}}]"#,
        ),
        (Ollama, r#"{"error":"input exceeds the context window"}"#),
        (OpenAi, "prompt is too long"),
    ] {
        assert_eq!(refusal(provider, 400, body), ModelRefusal::TooLong, "{body}");
    }
    assert_eq!(refusal(OpenAi, 413, ""), ModelRefusal::TooLong);
}

#[test]
fn other_refusals_say_whether_the_same_may_be_asked_again() {
    let is = |kind: &str| ModelRefusal::Final { kind: kind.to_owned() };
    assert_eq!(refusal(OpenAi, 401, "{}"), is("Unauthorized"));
    assert_eq!(refusal(Gemini, 403, "{}"), is("Unauthorized"));
    assert_eq!(refusal(OpenAi, 404, "{}"), is("Http404"));
    assert_eq!(refusal(OpenAi, 302, ""), is("Http302"), "no redirect is followed");
    assert_eq!(refusal(OpenAi, 400, r#"{"error":{"message":"bad"}}"#), is("Http400"));
    assert_eq!(refusal(OpenAi, 500, ""), ModelRefusal::Failed { kind: "Http500".to_owned() });
    let bound = r#"{"error":{"message":"Unrecognized request argument: max_completion_tokens"}}"#;
    assert_eq!(refusal(OpenAi, 400, bound), ModelRefusal::UnknownBound);
    let signature = r#"{"error":{"message":"Function call is missing a thought_signature"}}"#;
    assert_eq!(refusal(Gemini, 400, signature), ModelRefusal::BadSignature);
    let signature = r#"{"error":{"message":"Invalid `signature` in `thinking` block"}}"#;
    assert_eq!(refusal(Anthropic, 400, signature), ModelRefusal::BadSignature);
}
