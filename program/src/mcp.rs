//! MCP servers: their tools for `chat` and `serve`, and `madang mcp`, which looks at them and
//! trusts them.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
};

use madang::tool::{EffectPolicy, ToolSpec};
use madang_mcp::{McpConfig, McpOffer, McpReview, McpServerReport, McpServers, PinnedChange};

use crate::{
    args::{McpChoice, McpOrder},
    failure::Failure,
    mcp_server, output,
};

/// Starts the servers that were chosen, and says what is odd about them.
pub(crate) async fn servers(wanted: &McpChoice) -> Result<Option<McpServers>, Failure> {
    let Some(file) = &wanted.file else { return Ok(None) };
    let config = McpConfig::read(file).map_err(Failure::of)?;
    let servers = McpServers::start(&config).await.map_err(Failure::of)?;
    servers.warnings().iter().for_each(|warning| output::complain(warning));
    Ok(Some(servers))
}

/// Carries out the order.
pub(crate) async fn run(wanted: McpOrder) -> Result<(), Failure> {
    match wanted {
        McpOrder::Serve(wanted) => mcp_server::run(*wanted).await,
        McpOrder::List { file } => {
            let config = read(&file)?;
            let reports = McpServers::look(&config).await.map_err(Failure::of)?;
            reports.iter().try_for_each(|report| output::report(&described(report)))
        }
        McpOrder::Trust { server, fingerprint, file } => {
            let review = McpReview::of(&read(&file)?, &server).await.map_err(Failure::of)?;
            let fingerprint = match fingerprint {
                Some(fingerprint) => fingerprint,
                None => asked_for(&review, &server)?,
            };
            let changes = review.trust(&fingerprint).map_err(Failure::of)?;
            output::report(&listed(&changes))
        }
    }
}

fn read(file: &Path) -> Result<McpConfig, Failure> {
    let config = McpConfig::read(file).map_err(Failure::of)?;
    config.warnings().iter().for_each(|warning| output::complain(warning));
    Ok(config)
}

/// Shows what would be pinned, and returns its fingerprint if the person agrees.
fn asked_for(review: &McpReview, server: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(format!(
            "nothing was pinned: without a terminal no question can be asked, so look with `madang mcp list`, then give the fingerprint: `madang mcp trust {server} FINGERPRINT`"
        )));
    }
    output::report(&described(&review.report()))?;
    output::report(&listed(&review.changes().map_err(Failure::of)?))?;
    output::notice("Pin these tools as they are shown? Type yes to do it.");
    let mut typed = String::new();
    let read = io::stdin().read_line(&mut typed);
    read.map_err(|cause| Failure::because("nothing was pinned: the answer cannot be read", cause))?;
    if typed.trim() == "yes" {
        return Ok(review.fingerprint().to_owned());
    }
    Err(Failure::new("nothing was pinned: the answer was not yes"))
}

/// Prints how each tool compares with its pin, one on each line.
fn listed(changes: &[(String, PinnedChange)]) -> String {
    let line = |(tool, change): &(String, PinnedChange)| {
        let change = match change {
            PinnedChange::New => "new",
            PinnedChange::Same => "unchanged",
            PinnedChange::Changed => "changed",
            PinnedChange::Gone => "gone",
            _ => "pinned",
        };
        format!("{tool:?}: {change}\n")
    };
    changes.iter().map(line).collect()
}

/// Describes a server and its tools: the name for the model, what a call asks, and all that the
/// model reads.
fn described(report: &McpServerReport) -> String {
    let mut text = format!("{}\n", report.server);
    if let Some(failure) = &report.failure {
        text.push_str(&format!("  did not start: {failure}\n"));
    }
    if let Some(fingerprint) = &report.fingerprint {
        text.push_str(&format!("  fingerprint {fingerprint}\n"));
    }
    for tool in &report.tools {
        let original = &tool.original;
        match &tool.offer {
            McpOffer::Offered(spec) => {
                text.push_str(&format!("  {}: {}\n", spec.name, asks(spec)));
                text.push_str(&words(spec));
            }
            McpOffer::Withheld { spec, why } => {
                text.push_str(&format!("  {original:?} is left out: {why}\n"));
                text.push_str(&words(spec));
            }
            McpOffer::Refused { why } => {
                text.push_str(&format!("  {original:?} is left out: {why}\n"));
            }
        }
    }
    text
}

fn asks(spec: &ToolSpec) -> &'static str {
    match spec.effect {
        EffectPolicy::Read => "reads, and does not ask",
        EffectPolicy::Write => "writes, and does not ask",
        EffectPolicy::Destructive => "asks",
    }
}

/// Gives what the model reads of a tool. The bar keeps a description of several lines from looking
/// like lines of ours.
fn words(spec: &ToolSpec) -> String {
    let description = spec.description.replace('\n', "\n    | ");
    format!("    | {description}\n    arguments {}\n", spec.parameters)
}
