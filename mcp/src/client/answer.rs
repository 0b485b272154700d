//! Reads messages out of the bytes of a server, which may not be a message at all.
//!
//! An answer to a request that waits ends that request, however wrong it is written. It counts as
//! far as it can be read, and otherwise as the error `UNREADABLE`. If it did not, the call would
//! wait for its deadline although its answer has come.

use rmcp::model::{CustomResult, JsonRpcMessage, RequestId, ServerResult};
use serde_json::{Deserializer, Map, Value};

use super::{
    bulk::bulk_answer,
    message::{Message, error_data, unreadable},
    pending::Pending,
    repair::repaired,
};
use crate::{broken::top_members, values::has_too_many_values};

/// Reads the messages of a line, a body or an event. It usually has one, and none if it is noise.
/// Bytes that are not text become U+FFFD.
pub(super) fn messages(bytes: &[u8], pending: &Pending) -> Vec<Message> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    if !text.starts_with(['{', '[']) {
        return Vec::new();
    }
    let read = of_json(text, pending);
    if let Some(messages) = &read
        && !messages.iter().any(|message| answers_a_call(message, pending))
    {
        return read.unwrap_or_default();
    }
    // The model is given what a tool returned with all its digits. In a schema, however, a number
    // must stay a number.
    let repaired = repaired(text);
    if let Some(messages) = read
        && repaired == text
    {
        return messages;
    }
    let text = repaired;
    of_json(&text, pending).unwrap_or_else(|| {
        let answer = bulk_answer(&text, pending).or_else(|| of_broken(&text, pending));
        answer.into_iter().collect()
    })
}

fn answers_a_call(message: &Message, pending: &Pending) -> bool {
    match message {
        JsonRpcMessage::Response(answer) => pending.is_call(&answer.id),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) | JsonRpcMessage::Error(_) => {
            false
        }
    }
}

/// Reads the values of a text, which is usually one object. Some servers write their answer as a
/// list, or two answers in a line. Returns `None` if the text is not JSON, or is more than is kept.
fn of_json(text: &str, pending: &Pending) -> Option<Vec<Message>> {
    if has_too_many_values(text.as_bytes()) {
        return None;
    }
    let mut messages = Vec::new();
    for value in Deserializer::from_str(text).into_iter::<Value>() {
        match value {
            Ok(Value::Object(members)) => messages.extend(of_object(members, pending)),
            Ok(Value::Array(parts)) => {
                messages.extend(parts.into_iter().filter_map(|part| match part {
                    Value::Object(members) => answer(members, pending),
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_) => None,
                }))
            }
            Ok(_) => {}
            Err(_) if messages.is_empty() => return None,
            Err(_) => break,
        }
    }
    Some(messages)
}

fn of_object(members: Map<String, Value>, pending: &Pending) -> Option<Message> {
    if members.contains_key("method") && !is_answer(&members) {
        return serde_json::from_value(Value::Object(members)).ok();
    }
    answer(members, pending)
}

fn is_answer(members: &Map<String, Value>) -> bool {
    members.contains_key("result") || members.contains_key("error")
}

/// Reads an answer to a request that waits. An error without an id says what was wrong with some
/// request that the client sent.
fn answer(mut members: Map<String, Value>, pending: &Pending) -> Option<Message> {
    // Servers write other things to the same place, such as a log in JSON.
    let is_of_protocol = members.contains_key("jsonrpc")
        || is_answer(&members)
            && members.keys().all(|key| matches!(&**key, "id" | "result" | "error"));
    if !is_of_protocol {
        return None;
    }
    let error = members.get("error").filter(|error| !error.is_null()).and_then(error_data);
    let Some(id) = members.get("id").filter(|id| !id.is_null()) else {
        return Some(JsonRpcMessage::error(error?, None));
    };
    let id = pending.find(&serde_json::from_value(id.clone()).ok()?)?;
    let is_object = members.get("error").is_some_and(Value::is_object);
    Some(match (error, members.remove("result")) {
        (Some(error), _) if is_object => JsonRpcMessage::error(error, Some(id)),
        (_, Some(result)) if !result.is_null() => result_of(result, id),
        (Some(error), _) => JsonRpcMessage::error(error, Some(id)),
        (None, Some(_) | None) => unreadable(id),
    })
}

fn result_of(result: Value, id: RequestId) -> Message {
    let result = serde_json::from_value(result)
        .unwrap_or_else(|_| ServerResult::CustomResult(CustomResult(Value::Null)));
    JsonRpcMessage::response(result, id)
}

/// Reads what can be read of an answer that is not JSON. An answer without its version and its id
/// is noise.
fn of_broken(text: &str, pending: &Pending) -> Option<Message> {
    let members = top_members(text);
    let is_answer =
        members.contains_key("jsonrpc") && (is_answer(&members) || !members.contains_key("method"));
    members.get("id").filter(|id| is_answer && !id.is_null())?;
    answer(members, pending)
}

#[cfg(test)]
mod tests {
    use rmcp::model::ClientRequest;
    use serde_json::json;

    use super::*;
    use crate::client::message::UNREADABLE;

    /// Reads what is sent while the requests 3 and "a" wait, and says what came of each message.
    fn read(bytes: &[u8]) -> Vec<Value> {
        let pending = Pending::calls([RequestId::Number(3), RequestId::String("a".into())]);
        let said = messages(bytes, &pending).into_iter().map(|message| match message {
            JsonRpcMessage::Response(answer) => {
                json!([answer.id, serde_json::to_value(answer.result).unwrap()])
            }
            JsonRpcMessage::Error(error) if error.error.code == UNREADABLE => {
                json!([error.id, "unreadable"])
            }
            JsonRpcMessage::Error(error) => {
                json!([error.id, error.error.code, error.error.message])
            }
            JsonRpcMessage::Request(asked) => json!(["asks", asked.id]),
            JsonRpcMessage::Notification(_) => json!("notes"),
        });
        said.collect()
    }

    fn said(text: &str) -> Value {
        Value::Array(read(text.as_bytes()))
    }

    #[test]
    fn an_answer_is_read_as_far_as_its_server_said_something() {
        let odd = json!({ "odd": 1 });
        let table = [
            (r#"{"jsonrpc":"2.0","id":3,"result":{"odd":1}}"#, json!([[3, odd]])),
            (r#"{"jsonrpc":"2.0","id":"a","result":{"odd":1}}"#, json!([["a", odd]])),
            (r#"{"jsonrpc":"2.0","id":"3","result":{"odd":1}}"#, json!([[3, odd]])),
            (r#"{"jsonrpc":"2.0","id":3.0,"result":{"odd":1}}"#, json!([[3, odd]])),
            ("\u{feff} {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"odd\":1}}\r", json!([[3, odd]])),
            (r#"{"id":3,"result":{"odd":1}}"#, json!([[3, odd]])),
            (r#"{"jsonrpc":1,"id":3,"result":{"odd":1}}"#, json!([[3, odd]])),
            (r#"{"jsonrpc":"2.0","id":3,"result":{"odd":1},"error":null}"#, json!([[3, odd]])),
            (r#"{"jsonrpc":"2.0","id":3,"result":{"odd":1},"error":"no"}"#, json!([[3, odd]])),
            (
                r#"{"jsonrpc":"2.0","id":3,"result":{"odd":1},"method":"tools/call"}"#,
                json!([[3, odd]]),
            ),
            (r#"{"jsonrpc":"2.0","id":3,"result":{"odd":NaN}}"#, json!([[3, { "odd": null }]])),
            (
                r#"{"jsonrpc":"2.0","id":3,"result":{"odd":"\ud83d"}}"#,
                json!([[3, { "odd": "\u{fffd}" }]]),
            ),
            (r#"{"jsonrpc":"2.0","id":3,"result":{"odd":1},"more":undefined}"#, json!([[3, odd]])),
            (r#"[{"jsonrpc":"2.0","id":3,"result":{"odd":1}},7]"#, json!([[3, odd]])),
            (
                r#"{"jsonrpc":"2.0","id":3,"result":{"odd":1}}{"jsonrpc":"2.0","id":"a","result":{"odd":1}}x"#,
                json!([[3, odd], ["a", odd]]),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"},"result":{}}"#,
                json!([[3, -32_602, "no"]]),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":"-32602","message":{"a":1}}}"#,
                json!([[3, -32_602, r#"{"a":1}"#]]),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":"E_FULL"},"result":null}"#,
                json!([[3, -32_603, ""]]),
            ),
            (r#"{"jsonrpc":"2.0","id":3,"error":{}}"#, json!([[3, -32_603, ""]])),
            (r#"{"jsonrpc":"2.0","id":3,"error":"boom"}"#, json!([[3, -32_603, "boom"]])),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
                json!([[null, -32_700, "?"]]),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(said(text), expected, "{text}");
        }
        let broken = b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"odd\":\"caf\xe9\"}}";
        assert_eq!(read(broken), [json!([3, { "odd": "caf\u{fffd}" }])]);
    }

    #[test]
    fn what_answers_a_request_and_is_no_message_ends_it_at_once() {
        let deep = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{}"#, "[".repeat(1 << 20));
        let many = format!(r#"{{"jsonrpc":"2.0","id":3,"result":[{}"#, "0,".repeat(1 << 20));
        for text in [
            r#"{"jsonrpc":"2.0","id":3}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":null,"error":null}"#,
            r#"{"jsonrpc":"2.0","id":3,"error":7}"#,
            r#"{"jsonrpc":"2.0","id":3,"results":{}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"te"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"a":undefined}}"#,
            r#"{"result":{"a":{"id":4},},'x':1,"id":3,"jsonrpc":"2.0",}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"a":'"#,
            &deep,
            &many,
        ] {
            assert_eq!(said(text), json!([[3, "unreadable"]]), "{}", &text[..text.len().min(99)]);
        }
    }

    #[test]
    fn noise_and_answers_to_others_are_nothing() {
        for text in [
            "",
            "DEBUG: working on it",
            r#"sent {"jsonrpc":"2.0","id":3,"result":{}}"#,
            "[INFO] loaded",
            "[1,2]",
            "{",
            "{}",
            r#"{"level":30,"id":3,"error":{"code":1}}"#,
            r#"{"level":30,"id":3,"result":NaN"#,
            r#"{"id":3}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{"#,
            r#"{"jsonrpc":"2.0","id":true,"result":{}}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","result":"\"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"a":"#,
            r#"{"jsonrpc":"2.0","method":7}"#,
            r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#,
        ] {
            assert_eq!(said(text), json!([]), "{text}");
        }
    }

    #[test]
    fn no_byte_in_an_answer_makes_two_of_it_or_stops_the_reader() {
        let answer =
            r#"{"jsonrpc":"2.0","id":3,"result":{"a":[-1e3,"안\ud83d\ude00\"",{}]},"x":"é"}"#;
        for at in 0..answer.len() {
            let before = &answer.as_bytes()[..at];
            let behind = &answer.as_bytes()[at + 1..];
            assert!(read(before).len() <= 1, "cut off at {at}");
            for byte in *b"\"\\{}[],:0eN\n\t \x00\xed\xff" {
                assert!(read(&[before, &[byte], behind].concat()).len() <= 1, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn a_number_of_a_schema_stays_a_number_and_one_of_a_result_keeps_its_digits() {
        let answer = br#"{"jsonrpc":"2.0","id":3,"result":{"odd":18446744073709551616}}"#;
        let result = |pending: &Pending| match messages(answer, pending).pop() {
            Some(JsonRpcMessage::Response(answer)) => serde_json::to_value(answer.result).unwrap(),
            other => panic!("an answer was expected: {other:?}"),
        };
        let of_a_call = Pending::calls([RequestId::Number(3)]);
        assert_eq!(result(&of_a_call), json!({ "odd": "18446744073709551616" }));
        let of_a_list = Pending::default();
        of_a_list
            .insert(RequestId::Number(3), &ClientRequest::ListToolsRequest(Default::default()));
        assert_eq!(result(&of_a_list), json!({ "odd": 18_446_744_073_709_551_616.0 }));
    }

    #[test]
    fn what_a_server_asks_and_tells_is_read() {
        let asks = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
        assert_eq!(said(asks), json!([["asks", 3]]));
        let tells = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\ud83d"}}"#;
        assert_eq!(said(tells), json!(["notes"]));
    }
}
