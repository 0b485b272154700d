//! A message of a server, and the errors that replace answers which cannot be read.

use rmcp::{
    RoleClient,
    model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
};
use serde_json::Value;

/// A message of a server.
pub(super) type Message = RxJsonRpcMessage<RoleClient>;

/// The code of the error for an answer that cannot be read. It is outside of the range that
/// JSON-RPC reserves.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(i32::MIN);

/// Makes the error that ends a request whose answer cannot be read.
pub(super) fn unreadable(id: RequestId) -> Message {
    JsonRpcMessage::error(ErrorData::new(UNREADABLE, "the answer cannot be read", None), Some(id))
}

/// Reads an error of JSON-RPC, whatever its code and its message are made of.
pub(super) fn error_data(error: &Value) -> Option<ErrorData> {
    if !error.is_object() && !error.is_string() {
        return None;
    }
    let text = error.get("message").unwrap_or(if error.is_string() { error } else { &Value::Null });
    let message = match text.as_str() {
        Some(text) => text.to_owned(),
        None if text.is_null() => String::new(),
        None => text.to_string(),
    };
    let code = error.get("code").and_then(|code| match code.as_str() {
        Some(code) => code.trim().parse().ok(),
        None => code.as_f64(),
    });
    let bounds = f64::from(i32::MIN)..=f64::from(i32::MAX);
    let code = code.filter(|code| code.fract() == 0.0 && bounds.contains(code));
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number of 32 bits")]
    let code = code.map_or(ErrorCode::INTERNAL_ERROR, |code| ErrorCode(code as i32));
    Some(ErrorData::new(code, message, error.get("data").cloned()))
}
