//! What refused requests mean, if the rows of the servers (`tests/it/providers`) say less.

use std::time::Duration;

use madang_actors::port::ModelError;

use super::super::{
    quirks::{Quirk, Quirks},
    refusal::{Meaning, ModelRefusal},
};

fn meaning(status: u16, body: &str) -> Meaning {
    ModelRefusal::of(status, None, body.as_bytes()).meaning
}

fn kind(status: u16, body: &str) -> String {
    let error = ModelRefusal::of(status, None, body.as_bytes()).into_error(None);
    error.kind().to_owned()
}

fn said(refusal: ModelRefusal, key: Option<&str>) -> Option<String> {
    let error = refusal.into_error(key);
    let shown = format!("{error:?}");
    let ModelError::Failed { said, .. } = error else { panic!("{shown}") };
    let said = said.map(|said| said.to_string())?;
    assert!(!shown.contains(&said), "a log has no words of a provider: {shown}");
    Some(said)
}

#[test]
fn who_has_too_much_to_do_says_how_long() {
    for status in [429, 498, 503, 529] {
        let retry_after = Some(Duration::from_secs(7));
        let refusal = ModelRefusal::of(status, retry_after, b"busy");
        assert_eq!(refusal.meaning, Meaning::Overloaded { retry_after }, "{status}");
    }
}

#[test]
fn a_refusal_has_the_kind_of_its_status() {
    for (status, expected) in [
        (400, "Http400"),
        (401, "Unauthorized"),
        (403, "Unauthorized"),
        (404, "Http404"),
        (302, "Http302"),
        (413, "PromptTooLong"),
        (429, "Overloaded"),
        (500, "Http500"),
    ] {
        assert_eq!(kind(status, "{}"), expected);
    }
}

#[test]
fn a_long_prompt_is_meant_before_a_member_that_is_not_known() {
    let both = "this model's maximum context length is 10: max_completion_tokens is not supported";
    assert_eq!(meaning(400, both), Meaning::TooLong);
    let bound = "max_completion_tokens is not supported";
    assert_eq!(meaning(400, bound), Meaning::Wants(Quirks::from_iter([Quirk::OldBound])));
    assert_eq!(meaning(401, both), Meaning::Final);
}

/// Words of the prompt, which a server repeats, mean nothing. Each of these would.
#[test]
fn what_repeats_the_prompt_is_not_searched() {
    let prompt = "unknown max_completion_tokens signature context length content_filter";
    let long = "x".repeat(70_000);
    for body in [
        format!(r#"{{"detail":[{{"loc":["body"],"msg":"wrong","input":"{prompt}"}}]}}"#),
        format!(
            r#"{{"detail":[{{"msg":"wrong","input":[{{"role":"user","content":"{prompt}"}}]}}]}}"#
        ),
        format!(r#"{{"detail":"wrong","body":{{"messages":["{prompt}"]}}}}"#),
        format!(r#"{{"message":"{{\"detail\":[{{\"msg\":\"wrong\",\"input\":\"{prompt}\"}}]}}"}}"#),
        format!(r#"{{"message":"[{{'msg': 'wrong', 'input': '{prompt}'}}]"}}"#),
        format!(r#"{{"detail":[{{"msg":"wrong","input":"{prompt} {long}"#),
    ] {
        let refusal = ModelRefusal::of(422, None, body.as_bytes());
        assert_eq!(refusal.meaning, Meaning::Final, "{}", &body[..50]);
        let said = said(refusal, None).unwrap();
        assert!(!said.contains("max_completion"), "{said}");
    }
}

#[test]
fn a_person_reads_some_sentences_on_one_line_without_the_key() {
    let said = |body: &str| said(ModelRefusal::of(400, None, body.as_bytes()), Some("key-of-kim"));
    for (body, expected) in [
        ("", None),
        ("{}", None),
        (r#"{"error":{"message":"wrong\n\u001b[31m  key key-of-kim"}}"#, Some("wrong [31m key …")),
        (r#"{"error":"a","message":"b"}"#, Some("a: b")),
        (r#"{"code":"only_code"}"#, Some("only_code")),
        ("<html><b>Bad</b> Gateway</html>", Some("Bad Gateway")),
        (r#"{"detail":[{"loc":["body",0],"msg":"wrong"}]}"#, Some("body.0: wrong")),
    ] {
        assert_eq!(said(body).as_deref(), expected, "{body}");
    }
    let long = said(&"가".repeat(1_000)).unwrap();
    assert!(long.len() <= 403 && long.ends_with("가…"), "{long}");
    // The key is looked for before the words are cut.
    let cut = said(&format!("{}key-of-kim", "x".repeat(395))).unwrap();
    assert!(!cut.contains("key"), "{cut}");
}
