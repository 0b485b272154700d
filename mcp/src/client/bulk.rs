//! Reads only what became of the call, if an answer has very many values or is nested very deep. In
//! memory a value takes fifty times what it takes in a message.

use rmcp::model::{CustomResult, JsonRpcMessage, RequestId, ServerResult};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::{
    message::{Message, unreadable},
    pending::Pending,
};

/// What is read of such an answer. All other members are passed over.
#[derive(Deserialize)]
struct BulkAnswer {
    #[serde(rename = "jsonrpc")]
    _version: IgnoredAny,
    id: RequestId,
    result: Option<BulkResult>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BulkResult {
    is_error: Option<bool>,
    result_type: Option<String>,
    content: Option<IgnoredAny>,
    structured_content: Option<IgnoredAny>,
}

/// Reads such an answer to a request that waits: how a call ended, without its result.
pub(super) fn bulk_answer(text: &str, pending: &Pending) -> Option<Message> {
    let answer: BulkAnswer = serde_json::from_str(text).ok()?;
    let id = pending.find(&answer.id)?;
    let result = answer.result.filter(|_| answer.error.is_none());
    Some(match result.and_then(BulkResult::in_short) {
        Some(result) => {
            JsonRpcMessage::response(ServerResult::CustomResult(CustomResult(result)), id)
        }
        None => unreadable(id),
    })
}

impl BulkResult {
    /// Returns a short result that ends in the same way. Returns `None` if this is not the result
    /// of a call.
    fn in_short(self) -> Option<Value> {
        if self.content.is_none() && self.structured_content.is_none() {
            return None;
        }
        let kind = self.result_type;
        let is_error = self.is_error == Some(true);
        let content = match is_error {
            true => json!([{ "type": "text", "text": "its words are too many to be shown" }]),
            false => json!([]),
        };
        let hint = "it ended well, but its result is too large or too deep to be shown";
        let structure = (!is_error).then(|| json!({ "_truncated": true, "_hint": hint }));
        Some(json!({
            "resultType": kind, "isError": is_error, "content": content, "structuredContent": structure,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{MAX_VALUES, has_too_many_values};

    /// Reads an answer with very many values in addition to this, while the request 3 waits.
    fn read(rest: &str) -> Value {
        let pending = Pending::calls([RequestId::Number(3)]);
        let many = "0,".repeat(MAX_VALUES);
        let text = format!("{{\"jsonrpc\":\"2.0\",\"many\":[{many}0],{rest}}}");
        assert!(has_too_many_values(text.as_bytes()));
        serde_json::to_value(bulk_answer(&text, &pending)).unwrap()
    }

    #[test]
    fn an_answer_of_very_many_values_tells_how_its_call_ended() {
        let done = read(r#""id":3,"result":{"content":[]}"#);
        assert_eq!(done["result"]["structuredContent"]["_truncated"], true, "{done}");
        let failed = read(r#""id":3,"result":{"content":[],"isError":true}"#);
        assert_eq!(failed["result"]["isError"], true, "{failed}");
        let result = r#""id":3,"result":{"content":[]},"error":{}"#;
        for rest in [r#""id":3"#, r#""id":3,"result":{}"#, result] {
            assert_eq!(read(rest)["error"]["code"], i32::MIN, "{rest}");
        }
        for rest in [r#""id":4,"result":{"content":[]}"#, r#""method":"x""#] {
            assert_eq!(read(rest), Value::Null, "{rest}");
        }
    }
}
