//! Says what became of a call as an MCP result.

use madang::{CallReport, tool::ToolOutcome};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::Value;

/// The id under which the ledger has the call.
const CALL: &str = "io.madang/call";
/// Whether the ledger has its end. The key is there only if the ledger does not.
const IS_RECORDED: &str = "io.madang/isRecorded";

/// Returns the data of a success, or else the envelope as one of the runtime's models would read
/// it.
pub(super) fn tool_result(report: &CallReport) -> CallToolResult {
    let mut meta = MetaObject::new();
    meta.insert(CALL.to_owned(), Value::from(report.record.id.to_string()));
    if !report.is_recorded {
        meta.insert(IS_RECORDED.to_owned(), Value::from(false));
    }
    let result = match report.outcome() {
        Some(ToolOutcome::Ok(ok)) => CallToolResult::structured(ok.data.clone()),
        Some(ToolOutcome::Err(_) | ToolOutcome::Cancelled(_)) | None => failed(&report.envelope),
    };
    result.with_meta(Some(meta))
}

/// Returns a result that is an error, with this text.
pub(super) fn failed(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}
