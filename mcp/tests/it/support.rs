//! What the promises share: a configuration in a folder of its own, a runtime with its tools, and
//! waits with a deadline.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use madang::{
    Call, CallReport, Runtime, UserId,
    approval::{Approver, Decision},
    tool::ToolOutcome,
};
use madang_mcp::{McpConfig, McpServers};
use madang_test_support::mcp_server::Script;
use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a test waits for anything before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const NEWEST: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// A folder for a configuration and the notes of its server.
pub(crate) struct ConfigFolder(TempDir);

impl ConfigFolder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn notes(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("mcp.json")
    }

    /// Writes a configuration of these servers and reads it.
    pub(crate) fn configured(&self, servers: &Value) -> McpConfig {
        std::fs::write(self.file(), json!({ "mcpServers": servers }).to_string()).unwrap();
        McpConfig::read(self.file()).unwrap()
    }
}

/// Puts more keys into an entry.
pub(crate) fn with(mut entry: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("keys") };
    entry.as_object_mut().unwrap().extend(more);
    entry
}

/// A runtime with the tools of one server, `s`.
pub(crate) struct Scene {
    pub(crate) folder: ConfigFolder,
    pub(crate) servers: McpServers,
    pub(crate) runtime: Runtime,
}

impl Scene {
    pub(crate) async fn new(version: &str, tools: Value, more: Value) -> Self {
        Self::playing([], version, tools, more).await
    }

    pub(crate) async fn playing(
        script: impl IntoIterator<Item = ScriptedCompletion>,
        version: &str,
        tools: Value,
        more: Value,
    ) -> Self {
        let folder = ConfigFolder::new();
        let entry = Script::new(folder.notes(), version, &tools).entry();
        let config = folder.configured(&json!({ "s": with(entry, more) }));
        Self::of(folder, config, ScriptedModel::new(script)).await
    }

    pub(crate) async fn of(folder: ConfigFolder, config: McpConfig, model: ScriptedModel) -> Self {
        let servers = McpServers::start(&config).await.unwrap();
        let builder =
            Runtime::builder().model(model).store(MemoryStore::new()).tools(servers.tools());
        let runtime = builder.start().await.unwrap();
        Self { folder, servers, runtime }
    }

    /// One call without a model, of which a person says yes where one is asked.
    pub(crate) async fn call(&self, tool: &str) -> CallReport {
        self.call_with(tool, Approver::Decided(Decision::Approve)).await
    }

    pub(crate) async fn call_with(&self, tool: &str, approver: Approver) -> CallReport {
        let call =
            Call::new(UserId::new("kim").unwrap(), tool, r#"{"text":"hi"}"#).approver(approver);
        let running = self.runtime.begin(call).await.unwrap();
        tokio::time::timeout(PATIENCE, running.ended()).await.unwrap()
    }

    pub(crate) async fn end(self) {
        tokio::time::timeout(PATIENCE, async {
            self.runtime.shutdown().await.unwrap();
            self.servers.close().await;
        })
        .await
        .unwrap();
    }
}

/// The data of a success, or the code and reason of an error.
pub(crate) fn told(report: &CallReport) -> Value {
    match report.outcome().unwrap() {
        ToolOutcome::Ok(ok) => ok.data.clone(),
        ToolOutcome::Err(error) => json!([error.code, error.reason]),
        ToolOutcome::Cancelled(cancelled) => json!(cancelled.to_string()),
    }
}

/// Waits until this holds.
pub(crate) async fn until(what: &str, is_true: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_true().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("waited too long: {what}"));
}
