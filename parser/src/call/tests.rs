//! Tests reading calls, whole and broken.

use super::*;

const OBJECT: CallForm = CallForm::Object { within: None, arguments: "arguments" };

fn hermes(body: &str) -> Result<(String, String), Malformed> {
    OBJECT.read(body, &[]).map(|call| (call.name.to_string(), call.arguments.to_string()))
}

#[test]
fn arguments_keep_the_text_that_the_model_wrote() {
    let body = r#" {"name": "add", "arguments": {"n":  1e400, "n": 2}}"#;
    assert_eq!(hermes(body), Ok(("add".into(), r#"{"n":  1e400, "n": 2}"#.into())));
}

#[test]
fn other_spellings_of_arguments_are_understood() {
    assert_eq!(
        hermes(r#"{"name":"a","parameters":{"x":1}}"#),
        Ok(("a".into(), r#"{"x":1}"#.into()))
    );
    assert_eq!(
        hermes(r#"{"name":"a","arguments":"{\"x\":1}"}"#),
        Ok(("a".into(), r#"{"x":1}"#.into()))
    );
    assert_eq!(hermes(r#"{"name":"a"}"#), Ok(("a".into(), "{}".into())));
}

#[test]
fn a_broken_call_keeps_its_name_and_what_there_is_of_its_arguments() {
    assert_eq!(
        hermes(r#"{"name":"a","arguments":{"x": tru"#),
        Ok(("a".into(), r#"{"x": tru"#.into()))
    );
    assert_eq!(hermes(r#"{"nam":"a"}"#), Err(Malformed));
    assert_eq!(hermes("search sleep"), Err(Malformed));
}
