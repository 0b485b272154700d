//! A client that writes and reads lines, whatever they are.

use madang::UserId;
use madang_mcp::ToolServer;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};

use crate::{serving::Offered, support::PATIENCE};

/// A client of a revision with a handshake. It may leave either side.
pub(crate) struct Raw {
    pub(crate) reads: BufReader<ReadHalf<DuplexStream>>,
    pub(crate) writes: WriteHalf<DuplexStream>,
}

impl Raw {
    pub(crate) async fn begin(offered: &Offered, capabilities: Value) -> Self {
        let (ours, theirs) = tokio::io::duplex(4_096);
        let server = ToolServer::new(offered.runtime.clone(), UserId::new("kim").unwrap()).unwrap();
        let (input, output) = tokio::io::split(ours);
        tokio::spawn(server.serve(input, output));
        let (reads, writes) = tokio::io::split(theirs);
        let mut client = Self { reads: BufReader::new(reads), writes };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let greeting =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        client.write(&greeting).await;
        assert_eq!(client.read().await["id"], 0);
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    pub(crate) async fn write(&mut self, message: &Value) {
        self.write_bytes(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn write_bytes(&mut self, bytes: &[u8]) {
        self.writes.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn read(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, self.reads.read_line(&mut line)).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

/// A request that calls a tool.
pub(crate) fn call(id: usize, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": {} });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}
