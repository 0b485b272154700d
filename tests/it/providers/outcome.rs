//! What came of a row, in the words of a row.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use madang::{
    Runtime,
    error::TurnError,
    event::{EventKind, StreamItem, TurnEnding},
    model::{
        ChatModel, Completion, CompletionDelta, CompletionRequest, Deltas, ModelError, ModelInfo,
        remote::RemoteModel,
    },
};
use madang_actors::port::BoxFuture;
use madang_testing::{FakeTool, MemoryStore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{row::Row, server::Server};
use crate::remote::mock::{KEY, PATIENCE};

/// What came of a row.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What the model thought, said and called, how its last turn ended, and how often it was
    /// asked.
    pub(super) lines: Vec<String>,
    /// What the person was told of a failure.
    pub(super) told: String,
    /// The last request.
    pub(super) sent: String,
}

/// Lets a person speak to the server of a row.
pub(super) async fn outcome(server: &Server, index: usize, row: &Row) -> Outcome {
    let tools = [FakeTool::read("look"), FakeTool::read("list"), FakeTool::write("purge")];
    let runs: BTreeMap<_, _> =
        ["look", "list", "purge"].into_iter().zip(tools.iter().map(FakeTool::runs)).collect();
    let thought = Arc::new(Mutex::new(String::new()));
    let model = Overheard { model: server.model(index, row.provider), thought: thought.clone() };
    let mut builder = Runtime::builder().model(model).store(MemoryStore::new());
    for tool in tools {
        builder = builder.tool(tool);
    }
    let runtime = builder.start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut lines = Vec::new();
    let mut told = String::new();
    for _ in 0..row.turns {
        let mut items = session.subscribe();
        session.send("hi").await.unwrap();
        loop {
            let item = timeout(PATIENCE, items.next()).await.expect("the turn ends").unwrap();
            let StreamItem::Event(event) = item else { continue };
            if let EventKind::ModelMessage { text, .. } = &event.kind {
                lines.push(format!("says {text}"));
            } else if let EventKind::ToolCallEnded { record } = &event.kind {
                lines.push(format!("calls {} {}", record.name, record.arguments));
            } else if let EventKind::Error { error, text } = &event.kind {
                told.clone_from(text);
                lines.push(format!("fails {}", kind(error)));
            } else if let EventKind::TurnEnded { ending, .. } = &event.kind {
                answered(&mut lines, *ending);
                break;
            }
        }
    }
    let thought = thought.lock().unwrap().clone();
    if !thought.is_empty() {
        lines.insert(0, format!("thinks {thought}"));
    }
    for line in &mut lines {
        *line = line.replace('\n', "\\n");
    }
    for (name, runs) in &runs {
        let told = format!("calls {name} {{");
        let told = lines.iter().filter(|line| line.starts_with(&told)).count();
        assert_eq!(runs.count(), told, "{}: {name} ran as often as told", row.name);
    }
    assert!(!told.contains(KEY), "{}: the key is told", row.name);
    let asked = server.asked(index);
    lines.push(format!("asks {}", asked.len()));
    runtime.shutdown().await.unwrap();
    Outcome { lines, told, sent: asked.last().cloned().unwrap_or_default() }
}

/// A model whose thoughts are kept: a reader of a session may come too late for them.
#[derive(Debug)]
struct Overheard {
    model: RemoteModel,
    thought: Arc<Mutex<String>>,
}

impl ChatModel for Overheard {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let thought = self.thought.clone();
        let heard = Deltas::new(move |delta| {
            if let CompletionDelta::Thinking(text) = delta {
                thought.lock().unwrap().push_str(text);
            }
            deltas.push(delta);
        });
        self.model.complete(request, heard, cancel)
    }
}

/// The last text of a turn that was answered is the answer.
fn answered(lines: &mut [String], ending: TurnEnding) {
    if let Some(last) = lines.last_mut().filter(|_| ending == TurnEnding::Answered) {
        *last = last.replacen("says ", "answers ", 1);
    }
}

fn kind(error: &TurnError) -> String {
    if let TurnError::Model { kind, .. } = error { kind.clone() } else { format!("{error:?}") }
}
