//! Servers that misbehave in one way each: tables of what they do and of what must come of it.

mod answers;
mod bodies;
mod schemas;
mod starts;

use std::time::Duration;

use madang::{CallReport, ledger::Effect};
use madang_test_support::mcp_server::calls;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Scene, told};

/// The time in which a call ends whose answer has come; far less than it may take.
const AT_ONCE: Duration = Duration::from_secs(20);
/// The seconds that a call may take here.
const TIMEOUT: u32 = 50;

/// What must come of a call.
#[derive(Debug)]
enum Comes {
    /// It was done, and the model reads this.
    Done(Value),
    /// It was not done, and the model reads these words of the server.
    Refused(&'static str),
    /// Whether it was done is not known, and the model reads this reason.
    Unknown(&'static str),
}

const UNCLEAR: Comes = Comes::Unknown("the answer of the MCP server cannot be understood");
const FAILED: Comes = Comes::Unknown("the MCP server failed");
const LOST: Comes = Comes::Unknown("the connection to the MCP server was lost before it answered");

/// A behaviour: its name, the bytes that the server writes, and what must come of the call.
type Row = (&'static str, Vec<u8>, Comes);

/// Calls a tool for each row, one after the other. Each call is sent once, and ends at once as its
/// row says.
async fn each_ends_at_once(scene: &Scene, rows: &[Row], version: &str) {
    let mut wrong = Vec::new();
    for (name, _, comes) in rows {
        let begun = Instant::now();
        let report = scene.call(&format!("s__{name}")).await;
        let took = begun.elapsed();
        wrong.extend(comes.missed(&report).map(|what| format!("{name}: {what}")));
        wrong.extend((took > AT_ONCE).then(|| format!("{name}: it took {took:?}")));
        assert_eq!(calls(scene.folder.notes(), name).len(), 1, "{name} is sent once");
    }
    assert!(wrong.is_empty(), "{version}:\n{}", wrong.join("\n"));
}

impl Comes {
    /// Says what is wrong, if that did not come.
    fn missed(&self, report: &CallReport) -> Option<String> {
        let told = told(report);
        let effect = report.record.effect;
        let is_so = match self {
            Self::Done(data) => effect == Effect::Committed && told == *data,
            Self::Refused(words) => {
                let reason = format!("the MCP server s reports an error: {words}");
                let silent = "the MCP server s reports an error without a text";
                let reason = if words.is_empty() { silent.to_owned() } else { reason };
                effect == Effect::None && told == json!(["mcp_tool_error", reason])
            }
            Self::Unknown(reason) => {
                let is_told = told[1].as_str().is_some_and(|told| told.contains(reason));
                effect == Effect::Unknown && told[0] == "handler_error" && is_told
            }
        };
        (!is_so).then(|| format!("{effect:?} {told}, not {self:?}"))
    }
}
