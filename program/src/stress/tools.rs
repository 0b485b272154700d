//! The tools that a scripted run calls: they do what the plan says, and go wrong where it says so.

use std::{sync::Arc, time::Duration};

use madang::tool::{
    Access, BoxFuture, ConnectionType, EffectPolicy, Need, Prepared, Tool, ToolContext, ToolFault,
    ToolOutcome, ToolResult, ToolSpec,
};
use serde_json::{Value, json};

use super::{
    plan::{Act, Fault},
    world::World,
};

/// A slow handler that holds the transaction: others wait behind it.
const SLOW_WRITE: Duration = Duration::from_millis(2);
/// A slow handler elsewhere.
const SLOW_LETTER: Duration = Duration::from_millis(50);

/// A tool of each kind, on a store that lends such connections.
pub(crate) fn tools(connection: ConnectionType, world: &Arc<World>) -> Vec<Arc<dyn Tool>> {
    let tool = |act: Act| -> Arc<dyn Tool> {
        Arc::new(PlannedTool { act, spec: spec(act), connection, world: world.clone() })
    };
    Act::ALL.into_iter().map(tool).collect()
}

#[derive(Debug)]
struct PlannedTool {
    act: Act,
    spec: ToolSpec,
    connection: ConnectionType,
    world: Arc<World>,
}

fn spec(act: Act) -> ToolSpec {
    let (description, effect) = match act {
        Act::Save => ("Writes a row.", EffectPolicy::Write),
        Act::Erase => ("Writes a row, once a person said yes.", EffectPolicy::Destructive),
        Act::Mail => ("Sends a letter.", EffectPolicy::Write),
        Act::Look => ("Does nothing.", EffectPolicy::Read),
    };
    let parameters = json!({
        "type": "object",
        "properties": { "fault": { "type": ["string", "null"] } },
        "additionalProperties": false,
    });
    ToolSpec::new(act.name(), description, parameters).effect(effect)
}

impl Tool for PlannedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        match self.act {
            Act::Save | Act::Erase => Some(Need::Transaction(self.connection)),
            Act::Mail | Act::Look => None,
        }
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async move {
            let fault = arguments["fault"].as_str().and_then(Fault::read);
            match fault {
                Some(Fault::PanicsFirst) => panic_quietly(),
                Some(Fault::Breach) => return Err(ToolFault::rule("planned", "planned")),
                Some(Fault::Fails) => return Err(std::io::Error::other("planned").into()),
                Some(Fault::IsSlow) => {
                    let holds = matches!(access, Access::Transaction(_));
                    tokio::time::sleep(if holds { SLOW_WRITE } else { SLOW_LETTER }).await;
                }
                Some(Fault::IsTooSlow) if matches!(access, Access::Transaction(_)) => {
                    std::future::pending::<()>().await;
                }
                Some(Fault::IsTooSlow | Fault::PanicsLast) | None => {}
            }
            if self.act == Act::Mail {
                self.world.note(ctx.call, |handled| handled.letters += 1);
            }
            if fault == Some(Fault::PanicsLast) {
                panic_quietly();
            }
            Ok(ToolOutcome::ok(json!({ "done": true })))
        })
    }
}

/// A panic like any other, but not printed.
fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("planned"))
}
