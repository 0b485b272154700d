//! Reads what a client writes, and says what is wrong if it is not a message.
//!
//! A request that cannot be read is answered with an error, under its id if that can be found.
//! Without the answer the client would wait forever.

use std::{borrow::Cow, io};

use madang::tool::has_rounded_number;
use rmcp::{
    ErrorData, RoleServer,
    model::{ErrorCode, JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
};
use serde_json::{Value, error::Category};

use super::bounded::MAX_REQUESTS;
use crate::{
    broken::top_members,
    pipe::{LineReader, Read},
    values::{MAX_VALUES, has_too_many_values},
};

/// The most bytes of one message of a client, more than the arguments of any call may have.
pub(super) const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// Reads the messages of a line or a body, or returns what answers one that is not a message. What
/// needs no answer gets none.
pub(super) fn read(bytes: &[u8]) -> Vec<Read<RoleServer>> {
    let text = String::from_utf8_lossy(bytes);
    let is_text = matches!(text, Cow::Borrowed(_));
    let text = text.trim_start_matches('\u{feff}').trim();
    match message(text, is_text) {
        _ if text.is_empty() => Vec::new(),
        Ok(message) => vec![Ok(message)],
        Err(fault) => match list(text) {
            Some(parts) if is_text => of_list(&parts),
            Some(_) | None => refused(text, fault),
        },
    }
}

fn message(text: &str, is_text: bool) -> Result<RxJsonRpcMessage<RoleServer>, ErrorData> {
    if !is_text {
        return Err(ErrorData::parse_error("the message is not UTF-8", None));
    }
    if has_too_many_values(text.as_bytes()) {
        let sentence = format!("a message may have {MAX_VALUES} values");
        return Err(ErrorData::invalid_request(sentence, None));
    }
    match serde_json::from_str(text) {
        // The library would round it, and the tool would get another number than the client sent.
        Ok(JsonRpcMessage::Request(_)) if has_rounded_number(text) => {
            let sentence = "a whole number has more digits than 64 bits hold";
            Err(ErrorData::invalid_params(sentence, None))
        }
        Ok(message) => Ok(message),
        Err(error) => Err(match error.classify() {
            Category::Data => {
                ErrorData::invalid_request("this is not a message of the protocol", None)
            }
            Category::Io | Category::Syntax | Category::Eof => {
                let column = error.column();
                ErrorData::parse_error(format!("the message is not JSON at column {column}"), None)
            }
        }),
    }
}

fn list(text: &str) -> Option<Vec<Value>> {
    let is_list = text.starts_with('[') && !has_too_many_values(text.as_bytes());
    if is_list { serde_json::from_str(text).ok() } else { None }
}

/// Refuses each request of a list. Only one old revision has lists.
fn of_list(parts: &[Value]) -> Vec<Read<RoleServer>> {
    let refusal = |id| {
        let fault = ErrorData::invalid_request("a list of messages is not taken", None);
        Err(Box::new(JsonRpcMessage::error(fault, id)))
    };
    let requests = parts.iter().filter(|part| part.get("method").is_some());
    let ids = requests.filter_map(|part| id_of(part.get("id")?)).take(MAX_REQUESTS);
    let refused: Vec<_> = ids.map(|id| refusal(Some(id))).collect();
    if refused.is_empty() { vec![refusal(None)] } else { refused }
}

/// Refuses a message with this fault. An answer of the client that cannot be read ends its
/// question, because it is not a yes.
fn refused(text: &str, fault: ErrorData) -> Vec<Read<RoleServer>> {
    let members = top_members(text);
    let id = members.get("id").and_then(id_of);
    let method = members.get("method");
    let is_answer = members.contains_key("result") || members.contains_key("error");
    if is_answer && method.is_none() {
        return id.map(|id| Ok(JsonRpcMessage::error(fault, Some(id)))).into_iter().collect();
    }
    let tells = |method: &Value| method.as_str().is_some_and(|it| it.starts_with("notifications/"));
    if method.is_some_and(tells) && !members.contains_key("id") {
        return Vec::new();
    }
    let code = match fault.code {
        ErrorCode::PARSE_ERROR if id.is_some() => ErrorCode::INVALID_REQUEST,
        code => code,
    };
    vec![Err(Box::new(JsonRpcMessage::error(ErrorData { code, ..fault }, id)))]
}

fn id_of(id: &Value) -> Option<RequestId> {
    serde_json::from_value(id.clone()).ok()
}

/// Reads the lines of a client.
pub(super) struct Requests;

impl LineReader<RoleServer> for Requests {
    fn peer(&self) -> &str {
        "client"
    }

    fn read(&mut self, line: &[u8]) -> Vec<Read<RoleServer>> {
        read(line)
    }

    fn too_long(&mut self, begin: &[u8]) -> io::Result<Vec<Read<RoleServer>>> {
        let sentence = format!("a message may have {MAX_MESSAGE_BYTES} bytes");
        let fault = ErrorData::invalid_request(sentence, None);
        Ok(refused(&String::from_utf8_lossy(begin), fault))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_byte_in_a_request_makes_two_of_it_or_stops_the_reader() {
        let request = r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":[-1e3,"안\ud83d\ude00\"",{}]}}"#;
        assert!(matches!(&read(request.as_bytes())[..], [Ok(JsonRpcMessage::Request(_))]));
        for at in 0..request.len() {
            let before = &request.as_bytes()[..at];
            let behind = &request.as_bytes()[at + 1..];
            assert!(read(before).len() <= 1, "cut off at {at}");
            for byte in *b"\"\\{}[],:0eN\n\t \x00\xed\xff" {
                assert!(read(&[before, &[byte], behind].concat()).len() <= 1, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn each_request_of_a_list_is_refused_and_no_more_than_a_client_may_have_open() {
        let request = |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        let list = |count: usize| Value::from_iter((0..count).map(request)).to_string();
        assert_eq!(read(list(2).as_bytes()).len(), 2);
        assert_eq!(read(list(1_000).as_bytes()).len(), MAX_REQUESTS);
    }
}
