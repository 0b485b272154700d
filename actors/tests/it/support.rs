//! What the tests of registry and tools share: tools made by hand, and a context.

use std::sync::Arc;

use madang_actors::{
    port::{Access, BoxFuture, Prepared, SystemClock, Tool, ToolContext, ToolResult},
    protocol::{CallId, Locale, SessionId, ToolOutcome, ToolSpec, UserId},
};
use serde_json::{Value, json};

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
