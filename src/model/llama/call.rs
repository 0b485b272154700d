//! A tool call as a model wrote it: read as far as it can be read, so that the model can be told what was wrong.

use madang_actors::protocol::WantedCall;

use super::{json_scan::member, parser::CallSyntax};

/// A call that names no tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// Reads the body of a call. Arguments keep the text that the model wrote, broken or not.
pub(super) fn read(body: &str, syntax: CallSyntax) -> Result<WantedCall, Malformed> {
    let call = match syntax {
        CallSyntax::Hermes => body,
        CallSyntax::Envelope => member(body, "tool_call").ok_or(Malformed)?,
    };
    let name: String =
        member(call, "name").and_then(|name| serde_json::from_str(name).ok()).ok_or(Malformed)?;
    let arguments =
        member(call, "arguments").or_else(|| member(call, "parameters")).unwrap_or("{}");
    // Some models write the arguments as a string that holds JSON.
    let arguments =
        serde_json::from_str::<String>(arguments).unwrap_or_else(|_| arguments.to_owned());
    Ok(WantedCall { name: name.into(), arguments: arguments.into() })
}

/// Whether a text begins with an envelope, fenced or not; `None` when it is too short to tell.
pub(super) fn envelope_begins(text: &str) -> Option<bool> {
    let mut rest = text;
    for fence in ["```json", "```"] {
        if let Some(fenced) = rest.strip_prefix(fence) {
            rest = fenced;
            break;
        }
        if fence.starts_with(rest) {
            return None;
        }
    }
    for mark in ["{", "\"tool_call\"", ":"] {
        rest = rest.trim_start();
        match rest.strip_prefix(mark) {
            Some(behind) => rest = behind,
            None if mark.starts_with(rest) => return None,
            None => return Some(false),
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hermes(body: &str) -> Result<(String, String), Malformed> {
        read(body, CallSyntax::Hermes)
            .map(|call| (call.name.to_string(), call.arguments.to_string()))
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

    #[test]
    fn an_envelope_is_known_by_its_first_key() {
        for begin in ["", "{", "{ \"tool", "``", "```json\n {", "{\"tool_call\" "] {
            assert_eq!(envelope_begins(begin), None, "{begin}");
        }
        for other in ["Hello", "{\"answer\"", "{}", "```rust"] {
            assert_eq!(envelope_begins(other), Some(false), "{other}");
        }
        assert_eq!(envelope_begins("```json\n{\"tool_call\": {"), Some(true));
    }
}
