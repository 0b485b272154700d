//! The tools of a run: they write, send, break rules, panic, dawdle, and leave traces that name their call.

use std::{any::Any, panic::resume_unwind, sync::Arc, time::Duration};

use madang::tool::{
    Access, BoxFuture, ConnectionType, EffectPolicy, Fault, Need, Prepared, Tool, ToolContext,
    ToolFault, ToolOutcome, ToolResult, ToolSpec,
};
use madang_testing::MemoryConnection;
use serde_json::{Value, json};

use super::{fate::Fate, witness::Witness};
use crate::test_runtime::{Act, PARTS};

/// A tool that does one act.
#[derive(Debug)]
pub(super) struct Deed {
    act: Act,
    spec: ToolSpec,
    fate: Fate,
    witness: Arc<Witness>,
}

/// All tools of a run.
pub(super) fn all(fate: &Fate, witness: &Arc<Witness>) -> Vec<Arc<dyn Tool>> {
    let deed = |act| Arc::new(Deed::new(act, fate, witness)) as Arc<dyn Tool>;
    Act::ALL.into_iter().map(deed).collect()
}

/// The name under which a part of an effect stands in the store.
pub(super) fn effect_name(token: &str, part: i64) -> String {
    format!("effect {token} {part}")
}

impl Deed {
    fn new(act: Act, fate: &Fate, witness: &Arc<Witness>) -> Self {
        let effect = match act {
            Act::Erase => EffectPolicy::Destructive,
            Act::Look => EffectPolicy::Read,
            Act::Save | Act::Breach | Act::Panic | Act::Mail => EffectPolicy::Write,
        };
        let schema = json!({
            "type": "object",
            "properties": { "token": { "type": "string" } },
            "required": ["token"],
        });
        let spec = ToolSpec::new(act.name(), "Does what the simulation says.", schema)
            .effect(effect)
            .timeout(Duration::from_millis(400));
        Self { act, spec, fate: fate.clone(), witness: witness.clone() }
    }

    /// Writes a part of the effect, and counts how often it was written.
    fn write(
        &self,
        db: &mut MemoryConnection,
        token: &str,
        part: i64,
        ctx: &ToolContext,
    ) -> ToolResult<()> {
        let name = effect_name(token, part);
        let times = db.get(&name).and_then(|effect| effect["times"].as_u64()).unwrap_or(0);
        let effect =
            json!({ "act": self.act.name(), "call": ctx.call.to_string(), "times": times + 1 });
        Ok(db.put(name, effect)?)
    }

    async fn carry_out(
        &self,
        token: &str,
        ctx: &ToolContext,
        access: Access<'_>,
    ) -> ToolResult<ToolOutcome> {
        let (name, call) = (self.act.name(), ctx.call);
        self.witness.begins(&self.fate, self.act, token, ctx);
        self.fate.step(format!("tool {name} {token} begins for {call}")).await;
        match (self.act, access) {
            (Act::Mail, _) => {
                self.witness.sends(token, call);
                self.fate.step(format!("tool {name} {token} has sent")).await;
            }
            (Act::Look, _) => {}
            (Act::Save | Act::Erase | Act::Breach | Act::Panic, Access::Transaction(db)) => {
                let db = memory(db)?;
                for part in 1..=PARTS {
                    self.write(db, token, part, ctx)?;
                    self.fate.step(format!("tool {name} {token} has written {part}")).await;
                }
            }
            (_, Access::None | Access::Read(_)) => {
                let cause = "a tool that writes was lent no transaction";
                return Err(ToolFault::unexpected(Fault::default(), cause));
            }
        }
        let panics = self.act == Act::Panic || self.fate.fails_once_in(60);
        if panics {
            self.fate.note(format_args!("tool {name} {token} panics"));
            // A panic like any other, but that it is not printed.
            resume_unwind(Box::new("a tool panics on purpose"));
        }
        if self.act == Act::Breach {
            return Err(ToolFault::rule("breach", "a rule is broken"));
        }
        if self.fate.fails_once_in(60) {
            self.fate.note(format_args!("tool {name} {token} fails"));
            return Err(ToolFault::unexpected(Fault::default(), "it fails on purpose"));
        }
        self.fate.note(format_args!("tool {name} {token} ends"));
        Ok(ToolOutcome::ok(json!({ "done": token })))
    }
}

fn memory(db: &mut (dyn Any + Send)) -> ToolResult<&mut MemoryConnection> {
    let other = || ToolFault::unexpected(Fault::default(), "the store lends another connection");
    db.downcast_mut().ok_or_else(other)
}

impl Tool for Deed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        let memory = ConnectionType::of::<MemoryConnection>();
        match self.act {
            Act::Save | Act::Erase | Act::Breach | Act::Panic => Some(Need::Transaction(memory)),
            Act::Look => Some(Need::Reader(memory)),
            Act::Mail => None,
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
            let token = arguments["token"].as_str().unwrap_or_default();
            self.carry_out(token, ctx, access).await
        })
    }
}
