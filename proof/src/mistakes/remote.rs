//! Makes the mistakes of a way to a server of tools.

use std::sync::Arc;

use madang::tool::{
    Access, BoxFuture, Prepared, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec,
};
use serde_json::Value;

use super::RemoteMistake;

/// A remote tool that tells a lost answer as an error of the server.
#[derive(Debug)]
struct LosingTool(Arc<dyn Tool>);

/// Gives all of these tools the mistake, where it is one of tools.
pub(crate) fn remote_tools(
    tools: Vec<Arc<dyn Tool>>,
    mistake: Option<RemoteMistake>,
) -> Vec<Arc<dyn Tool>> {
    match mistake {
        Some(RemoteMistake::CallsLostNone) => {
            tools.into_iter().map(|tool| Arc::new(LosingTool(tool)) as Arc<dyn Tool>).collect()
        }
        Some(RemoteMistake::SendsAgain) | None => tools,
    }
}

impl Tool for LosingTool {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        prepared: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async move {
            let ended = self.0.call(arguments, prepared, ctx, access).await;
            Ok(ended.unwrap_or_else(|_| ToolOutcome::error("mcp_unavailable", "it is not there")))
        })
    }
}
