//! Makes the mistakes of a way to a server of tools.

use std::sync::Arc;

use madang::tool::{Access, Prepared, Tool, ToolContext, ToolOutcome, from_schema};
use serde_json::Value;

use super::RemoteMistake;

/// Gives all of these tools the mistake, where it is one of tools.
pub(crate) fn remote_tools(
    tools: Vec<Arc<dyn Tool>>,
    mistake: Option<RemoteMistake>,
) -> Vec<Arc<dyn Tool>> {
    match mistake {
        Some(RemoteMistake::CallsLostNone) => tools.into_iter().map(losing).collect(),
        Some(RemoteMistake::SendsAgain) | None => tools,
    }
}

/// Makes a tool that tells a lost answer as an error of the server.
fn losing(tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
    let spec = tool.spec().clone();
    Arc::new(from_schema(spec, move |arguments: Value, ctx: ToolContext| {
        let tool = tool.clone();
        async move {
            let ended = tool.call(arguments, Prepared::default(), &ctx, Access::None).await;
            Ok(ended.unwrap_or_else(|_| ToolOutcome::error("mcp_unavailable", "it is not there")))
        }
    }))
}
