//! Offers a tool of a server as a tool of the runtime: what a person is asked, and how a call is
//! made.

use std::{future::pending, sync::Arc, time::Duration};

use madang::{
    event::quoted,
    language::Particle,
    tool::{
        Access, BoxFuture, Cancelled, CancelledBy, EffectPolicy, Locale, Prepared, Tool,
        ToolContext, ToolOutcome, ToolResult, ToolSpec,
    },
};
use rmcp::ServiceError;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use super::{
    call::{Asked, Loss, asked, unavailable},
    connection::Connection,
    limits::{LATE_ANSWER, WAIT_FOR_SERVER},
    supervisor::{Live, SupervisedServer},
};

/// A tool of a server.
#[derive(Debug)]
pub(super) struct McpTool {
    pub(super) spec: ToolSpec,
    /// The name that the server knows.
    pub(super) original: String,
    pub(super) fingerprint: String,
    pub(super) timeout: Duration,
    pub(super) server: Arc<SupervisedServer>,
}

impl McpTool {
    fn is_read(&self) -> bool {
        self.spec.effect == EffectPolicy::Read
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolResult<ToolOutcome> {
        let Value::Object(arguments) = arguments else {
            return Ok(ToolOutcome::error("validation", "the arguments are not an object"));
        };
        // The dispatcher enforces the deadline. An answer that comes shortly after it still says
        // what was done.
        let due = Instant::now() + self.timeout;
        let mut may_ask_again = self.is_read();
        let mut asked = None;
        loop {
            match self.send(&arguments, ctx, due + LATE_ANSWER, &mut asked).await {
                Asked::Ended(outcome) => return Ok(outcome),
                // The server did not take the call, and a new session is on its way.
                Asked::SessionOver => return Ok(unavailable(&self.server.name)),
                Asked::Lost(Loss::Connection) if may_ask_again && Instant::now() < due => {
                    may_ask_again = false;
                }
                Asked::Lost(loss) => {
                    return Err(loss.fault(&self.server.name, self.is_read(), ctx.locale));
                }
            }
        }
    }

    async fn send(
        &self,
        arguments: &Map<String, Value>,
        ctx: &ToolContext,
        until: Instant,
        before: &mut Option<Arc<Live>>,
    ) -> Asked {
        let server = &self.server.name;
        let patience = WAIT_FOR_SERVER.min(self.timeout);
        let Some(live) = self.server.live(patience, before.as_ref()).await else {
            return Asked::Ended(unavailable(server));
        };
        *before = Some(Arc::clone(&live));
        if live.fingerprints.get(&self.original) != Some(&self.fingerprint) {
            return Asked::Ended(self.changed(ctx.locale));
        }
        let call = ctx.call.to_string();
        let progress = Arc::new(ctx.progress.clone());
        let send = Connection::send_call(&live.peer, &self.original, arguments.clone(), &call);
        let Ok(mut sent) = live.reports.send(&progress, send).await else {
            return Asked::Ended(unavailable(server));
        };
        let (loss, reason) = tokio::select! {
            // An answer that is there comes before anything else.
            biased;
            reply = &mut sent.rx => {
                let asked = asked(server, reply.unwrap_or(Err(ServiceError::TransportClosed)));
                if let Asked::SessionOver = asked {
                    live.is_over.notify_one();
                }
                return asked;
            }
            () = result_is_unwanted(&ctx.cancelled) => (Loss::Dismissed, "the turn was dismissed"),
            () = sleep_until(until) => (Loss::Deadline, "the deadline has passed"),
        };
        // The server may be gone. The call is lost in any case.
        let _ = sent.cancel(Some(reason.to_owned())).await;
        Asked::Lost(loss)
    }

    fn changed(&self, locale: Locale) -> ToolOutcome {
        let reason = locale.pick(
            "시작할 때와 도구가 달라져서 실행하지 않았습니다.",
            "Not run, because the tool has changed since the start.",
        );
        ToolOutcome::error("tool_changed", reason)
    }
}

/// Waits until the user has left and wants nothing finished. When the runtime ends, a call
/// continues to its deadline, because what it did is worth knowing and the runtime waits for it.
async fn result_is_unwanted(cancelled: &Cancelled) {
    match cancelled.cancelled().await {
        CancelledBy::Dismissal => {}
        CancelledBy::Finish | CancelledBy::Shutdown => pending().await,
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn consequence(&self, _: &Value, locale: Locale) -> Option<String> {
        let tool = quoted(&self.original);
        let server = quoted(&self.server.name);
        let object = Particle::Object.after(&tool);
        Some(locale.pick(
            format!("MCP 서버 {server}의 도구 {tool}{object} 실행합니다."),
            format!("Runs the tool {tool} of the MCP server {server}."),
        ))
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        ctx: &'a ToolContext,
        _: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(self.run(arguments, ctx))
    }
}
