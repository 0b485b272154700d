//! Calls as remote models send them: one that was cut off does not run, and no call runs with what belongs to another.

use madang::{Runtime, error::TurnError, event::Content, model::remote::Provider};
use madang_testing::{FakeTool, MemoryStore};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    ALL,
    mock::{Mock, PATIENCE, Reply},
    speech::answer,
};

/// Lets a model answer by this stream, then by a text; gives the calls that were told, and the kind of error. A call whose
/// arguments are no object does not run.
async fn ask(provider: Provider, stream: String) -> (Vec<(String, Value)>, Option<String>) {
    let replies = [stream, answer(provider, "Done.")].map(Reply::Stream);
    let mock = Mock::start(replies).await;
    let (purge, list) = (FakeTool::write("purge"), FakeTool::write("list"));
    let runs = [("purge", purge.runs()), ("list", list.runs())];
    let builder = Runtime::builder().model(mock.model(provider)).store(MemoryStore::new());
    let runtime = builder.tool(purge).tool(list).start().await.unwrap();
    let session = runtime.session("kim", "s").await.unwrap();
    let turn = session.send("Purge what is older than a year").await.unwrap();
    let end = timeout(PATIENCE, turn.ended()).await.expect("the turn ends").unwrap();
    let state = session.state().await.unwrap();
    let mut ran = Vec::new();
    for message in &state.messages {
        if let Content::ToolCall(call) = &message.content {
            ran.push((call.name.to_string(), call.arguments.clone()));
        }
    }
    let valid = |name: &str| ran.iter().filter(|(n, a)| n == name && a.is_object()).count();
    for (name, runs) in &runs {
        assert_eq!(runs.count(), valid(name), "{provider:?}: {name} ran as often as told");
    }
    runtime.shutdown().await.unwrap();
    let kind = end.error.map(|error| {
        if let TurnError::Model { kind, .. } = error { kind } else { format!("{error:?}") }
    });
    (ran, kind)
}

fn events(frames: impl IntoIterator<Item = Value>) -> String {
    frames.into_iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

/// A piece of a call in OpenAI's format.
fn piece(call: &Value) -> Value {
    json!({ "choices": [{ "delta": { "tool_calls": [call] } }] })
}

fn ends(reason: &str) -> Value {
    json!({ "choices": [{ "delta": {}, "finish_reason": reason }] })
}

/// An answer that ends at the bound of tokens after the name of a tool: of its arguments nothing has come.
fn cut_off_after_the_name(provider: Provider) -> String {
    match provider {
        Provider::OpenAi => events([
            piece(
                &json!({ "index": 0, "id": "c", "function": { "name": "purge", "arguments": "" } }),
            ),
            ends("length"),
        ]),
        Provider::Anthropic => events([
            json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "tool_use", "id": "c", "name": "purge", "input": {} } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "max_tokens" } }),
            json!({ "type": "message_stop" }),
        ]),
        Provider::Gemini => events([json!({ "candidates": [{ "finishReason": "MAX_TOKENS",
            "content": { "parts": [{ "functionCall": { "name": "purge" } }] } }] })]),
        Provider::Ollama | _ => {
            let call = json!({ "function": { "name": "purge", "arguments": {} } });
            let message = json!({ "message": { "content": "", "tool_calls": [call] } });
            format!("{message}\n{}\n", json!({ "done": true, "done_reason": "length" }))
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_arguments_were_cut_off_is_not_run_with_none() {
    for provider in ALL {
        let (ran, error) = ask(provider, cut_off_after_the_name(provider)).await;
        assert_eq!(ran, [], "{provider:?}");
        assert_eq!(error.as_deref(), Some("AnswerTooLong"), "{provider:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_arguments_are_taken_for_none_without_the_providers_own_end() {
    let call =
        || json!({ "index": 0, "id": "c", "function": { "name": "purge", "arguments": "" } });
    let done = "data: [DONE]\n\n";
    for end in ["abort", "insufficient_system_resource", "error", "network_error", "new_word", ""] {
        let (ran, error) = ask(Provider::OpenAi, events([piece(&call()), ends(end)]) + done).await;
        assert_eq!((&*ran, error.as_deref()), (&[][..], Some("BadOutput")), "{end:?}");
    }
    for end in ["max_tokens", "model_length"] {
        let (ran, error) = ask(Provider::OpenAi, events([piece(&call()), ends(end)]) + done).await;
        assert_eq!((&*ran, error.as_deref()), (&[][..], Some("AnswerTooLong")), "{end:?}");
    }
    for end in ["tool_calls", "stop", "function_call", "eos", "tool_use"] {
        let (ran, error) = ask(Provider::OpenAi, events([piece(&call()), ends(end)]) + done).await;
        assert_eq!((&*ran, error), (&[("purge".to_owned(), json!({}))][..], None), "{end:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_call_before_one_that_was_cut_off_runs() {
    let call = |index: u64, name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        piece(&json!({ "index": index, "id": format!("c{index}"), "function": function }))
    };
    let pieces = [call(0, "list", "{}"), call(1, "purge", ""), ends("length")];
    let (ran, error) = ask(Provider::OpenAi, events(pieces)).await;
    assert_eq!((&*ran, error), (&[("list".to_owned(), json!({}))][..], None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_piece_that_contradicts_a_call_is_no_part_of_it() {
    let call = |id: Option<&str>, index: Option<Value>, name: &str, arguments: &str| {
        let mut call = json!({ "function": { "name": name, "arguments": arguments } });
        if let Some(id) = id {
            call["id"] = id.into();
        }
        if let Some(index) = index {
            call["index"] = index;
        }
        piece(&call)
    };
    let (zero, older) = (|| Some(json!(0)), r#"{"older":1}"#);
    let purge = || ("purge".to_owned(), json!({ "older": 1 }));
    let list = |arguments| ("list".to_owned(), arguments);
    let both = vec![list(json!({})), purge()];
    for (case, pieces, expected) in [
        (
            "another id at the same index",
            vec![call(Some("a"), zero(), "list", ""), call(Some("b"), zero(), "purge", older)],
            Some(both.clone()),
        ),
        (
            "another id at the same index, pieces that follow in turn",
            vec![
                call(Some("a"), zero(), "list", ""),
                call(Some("b"), zero(), "purge", r#"{"old"#),
                call(Some("b"), zero(), "", r#"er":1"#),
                call(None, zero(), "", "}"),
            ],
            Some(both.clone()),
        ),
        (
            "another name after whole arguments, without ids",
            vec![call(None, zero(), "list", "{}"), call(None, zero(), "purge", older)],
            Some(both.clone()),
        ),
        (
            "neither index nor id",
            vec![call(None, None, "list", "{}"), call(None, None, "purge", older)],
            Some(both.clone()),
        ),
        (
            "no index, and the id in each piece",
            vec![
                call(Some("a"), None, "list", "{}"),
                call(Some("b"), None, "purge", r#"{"older""#),
                call(Some("b"), None, "purge", ":1}"),
            ],
            Some(both.clone()),
        ),
        (
            "an index that is a text",
            vec![
                call(Some("a"), Some(json!("0")), "purge", r#"{"older""#),
                call(None, Some(json!("0")), "", ":1}"),
            ],
            Some(vec![purge()]),
        ),
        (
            "one id for calls of two indices",
            vec![
                call(Some("a"), zero(), "list", ""),
                call(Some("a"), Some(json!(1)), "purge", older),
            ],
            Some(both),
        ),
        (
            "another name, and nothing that says where the call before ended",
            vec![call(None, zero(), "list", ""), call(None, zero(), "purge", older)],
            None,
        ),
        (
            "a name in pieces",
            vec![call(Some("a"), zero(), "pur", ""), call(None, zero(), "ge", older)],
            None,
        ),
        (
            "one id and one index, and another name before the arguments are whole",
            vec![call(Some("a"), zero(), "list", ""), call(Some("a"), zero(), "purge", older)],
            None,
        ),
        ("arguments of no call", vec![call(None, None, "", older)], None),
        ("arguments of no call at an index", vec![call(Some("a"), zero(), "", older)], None),
    ] {
        let stream = events(pieces.into_iter().chain([ends("tool_calls")])) + "data: [DONE]\n\n";
        let (ran, error) = ask(Provider::OpenAi, stream).await;
        let error_is = expected.is_none().then_some("BadOutput");
        assert_eq!((ran, error.as_deref()), (expected.unwrap_or_default(), error_is), "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_blocks_of_one_number_are_two_calls_or_none() {
    let begins = |name: &str| {
        let block = json!({ "type": "tool_use", "id": name, "name": name, "input": {} });
        json!({ "type": "content_block_start", "index": 0, "content_block": block })
    };
    let adds = json!({ "type": "content_block_delta", "index": 0,
        "delta": { "type": "input_json_delta", "partial_json": r#"{"older":1}"# } });
    let stops = json!({ "type": "content_block_stop", "index": 0 });
    let ends = json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } });
    let whole = [begins("list"), stops.clone(), begins("purge"), adds.clone(), stops, ends.clone()];
    let (ran, error) = ask(Provider::Anthropic, events(whole)).await;
    let both = [("list".to_owned(), json!({})), ("purge".to_owned(), json!({ "older": 1 }))];
    assert_eq!((&*ran, error), (&both[..], None));
    let open = [begins("list"), begins("purge"), adds, ends];
    let (ran, error) = ask(Provider::Anthropic, events(open)).await;
    assert_eq!((&*ran, error.as_deref()), (&[][..], Some("BadOutput")));
}
