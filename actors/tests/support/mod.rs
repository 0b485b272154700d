//! What the tests of registry and tools share: tools made by hand, a context, and a log to read.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it, and fails by panicking"
)]

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
};

use madang_actors::{
    port::{Access, BoxFuture, Prepared, SystemClock, Tool, ToolContext, ToolResult},
    protocol::{CallId, Locale, SessionId, ToolOutcome, ToolSpec, UserId},
};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};

/// A tool that gives its arguments back.
#[derive(Debug)]
pub(crate) struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        _: &'a ToolContext,
        _: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async { Ok(ToolOutcome::ok(arguments)) })
    }
}

/// A tool with this description that gives its arguments back.
pub(crate) fn echo(spec: ToolSpec) -> Echo {
    Echo(spec)
}

/// The description of a tool that takes anything.
pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Does something.", json!({ "type": "object" }))
}

/// A tool with this schema that gives its arguments back.
pub(crate) fn with_schema(parameters: Value) -> Echo {
    echo(ToolSpec::new("probe", "Does something.", parameters))
}

/// A context in this language.
pub(crate) fn context(locale: Locale) -> ToolContext {
    ToolContext {
        session: SessionId::new("session").unwrap(),
        user: UserId::new("user").unwrap(),
        call: CallId::new(uuid::Uuid::nil()),
        locale,
        time_zone: "Asia/Seoul".into(),
        clock: Arc::new(SystemClock),
        cancelled: Default::default(),
        progress: Default::default(),
        extensions: Default::default(),
    }
}

/// Runs something and gives what it logged on this thread, one event a line.
pub(crate) fn logged<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let given = tracing::subscriber::with_default(Log(Arc::clone(&lines)), run);
    let lines = lines.lock().unwrap().clone();
    (given, lines)
}

struct Log(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("madang")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => write!(self.0, " {value:?}").unwrap(),
            name => write!(self.0, " {name}={value:?}").unwrap(),
        }
    }
}
