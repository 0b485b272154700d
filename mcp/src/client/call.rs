//! The end of a call that was sent: one that the server reported, or a loss after which nothing is
//! known.

use std::error::Error;

use madang::tool::{Fault, Locale, ToolFault, ToolOutcome};
use rmcp::{
    ServiceError,
    model::{ErrorCode, ServerResult},
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};

use super::{
    connection::as_value,
    message::UNREADABLE,
    result::{outcome, reported_error},
};

/// How asking a server ended.
#[derive(Debug)]
pub(super) enum Asked {
    /// The server reported the end of the call, or surely did not take it.
    Ended(ToolOutcome),
    /// The session at the server is over, so the call was not taken.
    SessionOver,
    /// The call was sent, and what it did is not known.
    Lost(Loss),
}

/// Why nothing is known of a call that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// The connection was lost, or the server ended.
    Connection,
    /// The server did not answer in time, and was asked to stop.
    Deadline,
    /// The turn was dismissed, and the server was asked to stop.
    Dismissed,
    /// The answer is not the end of a call.
    Unclear,
    /// The server failed, with this code of JSON-RPC.
    Failed(i32),
}

/// Reads the reply to a call that was sent.
pub(super) fn asked(server: &str, reply: Result<ServerResult, ServiceError>) -> Asked {
    match reply {
        Ok(result) => {
            let outcome = as_value(result).and_then(|result| outcome(server, &result));
            outcome.map_or(Asked::Lost(Loss::Unclear), Asked::Ended)
        }
        Err(ServiceError::McpError(error)) => match error.code {
            // The server did not understand the call, so it began nothing.
            ErrorCode::PARSE_ERROR
            | ErrorCode::INVALID_REQUEST
            | ErrorCode::METHOD_NOT_FOUND
            | ErrorCode::INVALID_PARAMS => Asked::Ended(reported_error(server, &error.message)),
            UNREADABLE => Asked::Lost(Loss::Unclear),
            code => Asked::Lost(Loss::Failed(code.0)),
        },
        Err(ServiceError::TransportSend(error)) => not_taken(server, &error),
        Err(_) => Asked::Lost(Loss::Connection),
    }
}

/// Reads an error of sending a call, and distinguishes a call that the server surely did not take
/// from one that was lost on the way.
fn not_taken(server: &str, error: &DynamicTransportError) -> Asked {
    let cause: &(dyn Error + 'static) = &*error.error;
    let refused = |status: u16| Asked::Ended(reported_error(server, &format!("HTTP {status}")));
    match cause.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::SessionExpired) => Asked::SessionOver,
        Some(StreamableHttpError::AuthRequired(_)) => refused(401),
        Some(StreamableHttpError::InsufficientScope(_)) => refused(403),
        Some(StreamableHttpError::HttpStatus(error)) => match error.status {
            status @ 400..500 => refused(status),
            status => Asked::Lost(Loss::Failed(status.into())),
        },
        Some(StreamableHttpError::Client(error)) if error.is_connect() => {
            Asked::Ended(unavailable(server))
        }
        _ => Asked::Lost(Loss::Connection),
    }
}

/// Makes the outcome of a call that was not sent, because its server is not running.
pub(super) fn unavailable(server: &str) -> ToolOutcome {
    let server = super::text::visible(server);
    ToolOutcome::error(
        "mcp_unavailable",
        format!("the MCP server {server} is not there right now, so nothing was done"),
    )
}

impl Loss {
    /// Makes the fault that leaves the effect unknown, or without effect for a read. None of its
    /// words come from the server.
    pub(super) fn fault(self, server: &str, is_read: bool, locale: Locale) -> ToolFault {
        let (ko, en) = match self {
            Self::Connection => (
                "MCP 서버와의 연결이 응답 전에 끊어졌습니다",
                "the connection to the MCP server was lost before it answered",
            ),
            Self::Deadline => {
                ("MCP 서버가 제때 응답하지 않았습니다", "the MCP server did not answer in time")
            }
            Self::Dismissed => (
                "MCP 서버가 응답하기 전에 중단되었습니다",
                "it was stopped before the MCP server answered",
            ),
            Self::Unclear => (
                "MCP 서버의 응답을 이해할 수 없습니다",
                "the answer of the MCP server cannot be understood",
            ),
            Self::Failed(_) => ("MCP 서버에 오류가 났습니다", "the MCP server failed"),
        };
        let effect = match is_read {
            true => "",
            false => locale.pick("; 이미 적용되었을 수도 있습니다", "; it may have taken effect"),
        };
        let fault = Fault::named(format!("{}{effect}", locale.pick(ko, en)));
        ToolFault::unexpected(
            fault,
            format!("the answer of the MCP server {server:?} is lost: {self:?}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CustomResult, ErrorData};
    use serde_json::json;

    use super::*;

    fn code_of(reply: Result<ServerResult, ServiceError>) -> String {
        match asked("gh", reply) {
            Asked::Ended(ToolOutcome::Err(error)) => error.code.into_owned(),
            Asked::Ended(outcome) => format!("{outcome}"),
            Asked::SessionOver => "session over".to_owned(),
            Asked::Lost(loss) => format!("{loss:?}"),
        }
    }

    #[test]
    fn only_what_the_server_surely_did_not_begin_is_an_error_without_effect() {
        let error = |code| Err(ServiceError::McpError(ErrorData::new(ErrorCode(code), "x", None)));
        for code in [-32_700, -32_600, -32_601, -32_602] {
            assert_eq!(code_of(error(code)), "mcp_tool_error", "{code}");
        }
        for code in [-32_603, -32_000, -1, 0, 7] {
            assert_eq!(code_of(error(code)), format!("Failed({code})"));
        }
        assert_eq!(code_of(Err(ServiceError::TransportClosed)), "Connection");
        assert_eq!(code_of(Err(ServiceError::UnexpectedResponse)), "Connection");
        let odd =
            ServerResult::CustomResult(CustomResult(json!({ "content": [{ "type": "new" }] })));
        assert_eq!(code_of(Ok(odd)), r#"{"result":[],"left_out":["new"]}"#);
        let other = ServerResult::CustomResult(CustomResult(json!({ "tools": 1 })));
        assert_eq!(code_of(Ok(other)), "Unclear");
    }
}
