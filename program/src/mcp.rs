//! MCP servers: their tools for `chat` and `serve`, and `madang mcp`, which looks at them and trusts them.

use madang::tool::EffectPolicy;
use madang_mcp::{McpConfig, McpServerReport, McpServers, PinnedChange, trust};

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
            let config = McpConfig::read(&file).map_err(Failure::of)?;
            config.warnings().iter().for_each(|warning| output::complain(warning));
            let reports = McpServers::look(&config).await.map_err(Failure::of)?;
            reports.iter().try_for_each(|report| output::report(&described(report)))
        }
        McpOrder::Trust { server, file } => {
            let config = McpConfig::read(&file).map_err(Failure::of)?;
            let changes = trust(&config, &server).await.map_err(Failure::of)?;
            changes.iter().try_for_each(|(tool, change)| {
                let change = match change {
                    PinnedChange::New => "new",
                    PinnedChange::Same => "unchanged",
                    PinnedChange::Changed => "changed, and trusted now",
                    PinnedChange::Gone => "gone",
                    _ => "pinned",
                };
                output::foreign(&format!("{tool}: {change}"))
            })
        }
    }
}

/// Describes a server and its tools: the name for the model, what a call asks, and the description that the model reads.
fn described(report: &McpServerReport) -> String {
    let mut text = report.server.clone();
    if let Some(failure) = &report.failure {
        text.push_str(&format!("\n  did not start: {failure}"));
    }
    for tool in &report.tools {
        match &tool.offer {
            Ok(spec) => {
                let asks = match spec.effect {
                    EffectPolicy::Read => "reads, and does not ask",
                    EffectPolicy::Write => "writes, and does not ask",
                    EffectPolicy::Destructive => "asks",
                };
                text.push_str(&format!(
                    "\n  {}: {asks}\n    {}",
                    spec.name,
                    spec.description.replace('\n', "\n    ")
                ));
            }
            Err(why) => text.push_str(&format!("\n  {:?} is left out: {why}", tool.original)),
        }
    }
    text
}
