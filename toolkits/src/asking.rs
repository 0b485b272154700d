//! Makes a tool ask a person before each call, for a model that makes mistakes.
use std::{any::Any, sync::Arc};

use madang::tool::{
    Access, BoxFuture, EffectPolicy, Locale, Need, Prepared, Problem, Resource, Tool, ToolContext,
    ToolOutcome, ToolResult, ToolSpec,
};
use serde_json::Value;

/// Makes a tool ask, whatever its arguments are.
pub(crate) fn asking(tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
    let spec = tool.spec().clone().effect(EffectPolicy::Destructive);
    Arc::new(Asking { spec, tool })
}

/// A tool that asks before each call.
#[derive(Debug)]
struct Asking {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

impl Tool for Asking {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        self.tool.needs()
    }

    fn accepts(&self, arguments: &Value) -> Result<(), Problem> {
        self.tool.accepts(arguments)
    }

    fn asks(&self, _: &Value) -> bool {
        true
    }

    fn consequence(&self, arguments: &Value, locale: Locale) -> Option<String> {
        self.tool.consequence(arguments, locale)
    }

    fn looks_before_asking(&self) -> bool {
        self.tool.looks_before_asking()
    }

    fn consequence_from<'a>(
        &'a self,
        arguments: &'a Value,
        ctx: &'a ToolContext,
        db: &'a mut (dyn Any + Send),
    ) -> BoxFuture<'a, ToolResult<Option<String>>> {
        self.tool.consequence_from(arguments, ctx, db)
    }

    fn resource(&self, arguments: &Value, ctx: &ToolContext) -> Option<Resource> {
        self.tool.resource(arguments, ctx)
    }

    fn prepare<'a>(
        &'a self,
        arguments: &'a Value,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult<Prepared>> {
        self.tool.prepare(arguments, ctx)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        prepared: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        self.tool.call(arguments, prepared, ctx, access)
    }
}
