//! Makes fake tools. The test chooses what they touch, whether they wait, and how they end.
//!
//! A handler counts its run, writes if its tool is transactional, and waits at the tool's [`Gate`].
//! Then it ends as [`End`] says: with data, a broken rule, a fault or a panic. The test waits until
//! handlers have arrived at the gate and then releases them, so it needs no sleep.
//!
//! ```
//! # use madang_testing::{FakeTool, Gate};
//! let gate = Gate::new();
//! let mail = FakeTool::destructive("send_mail").gate(&gate);
//! assert_eq!(mail.runs().count(), 0);
//! ```
//!
//! Invariants:
//! - A run counts from the handler's first step on, however it ends.
//! - At its gate, a transactional tool has written and its transaction is open.
//! - Clones of a [`Gate`] are one gate, and clones of [`Runs`] are one counter. The test keeps one
//!   of them, and the tool the other.

mod gate;
#[cfg(test)]
mod tests;

use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use super::MemoryConnection;
use madang_actors::{
    port::{
        Access, BoxFuture, ConnectionType, Need, Prepared, Resource, Tool, ToolContext, ToolFault,
        ToolResult,
    },
    protocol::{EffectPolicy, Fault, Locale, ToolOutcome, ToolSpec},
};

pub use gate::{Gate, Runs};

/// A tool for tests. It writes if it is transactional, waits at its gate if it has one, and then
/// ends as the test says. By default it returns its arguments.
pub struct FakeTool {
    spec: ToolSpec,
    touches: Touches,
    asks: fn(&Value) -> bool,
    consequence: Option<String>,
    resource: fn(&Value) -> Option<Resource>,
    gate: Option<Gate>,
    end: End,
    runs: Runs,
}

/// What a fake tool uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touches {
    /// No connection.
    Nothing,
    /// A connection of the memory store that cannot write.
    Reader,
    /// The memory store's open transaction.
    Transaction,
}

/// How a fake tool ends.
#[derive(Debug, Clone, Default)]
pub enum End {
    /// Returns its arguments.
    #[default]
    Echo,
    /// Returns this outcome.
    Give(ToolOutcome),
    /// Reports a broken rule: its code and its reason.
    Refuse(&'static str, &'static str),
    /// Fails unexpectedly. `Fault::SERIALIZE` is the fault of a typed tool whose outcome cannot be
    /// written as JSON.
    Fail(Fault),
    /// Panics with this text.
    Panic(&'static str),
    /// Panics with a payload of its own type.
    PanicWith(Payload),
    /// Panics while it holds this lock, which stays poisoned.
    PanicHolding(Arc<Mutex<()>>),
}

/// A panic's payload that is not a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Payload;

impl FakeTool {
    /// Creates a tool that reads outside the store.
    #[must_use]
    pub fn read(name: &str) -> Self {
        Self::new(name, EffectPolicy::Read, Touches::Nothing)
    }

    /// Creates a tool that reads the memory store's value of the tool's own name. It returns that
    /// as `value`, with its arguments.
    #[must_use]
    pub fn read_store(name: &str) -> Self {
        Self::new(name, EffectPolicy::Read, Touches::Reader)
    }

    /// Creates a tool with effects outside the store, about which no person is asked.
    #[must_use]
    pub fn write(name: &str) -> Self {
        Self::new(name, EffectPolicy::Write, Touches::Nothing)
    }

    /// Creates a tool with effects outside the store, which a person must confirm.
    #[must_use]
    pub fn destructive(name: &str) -> Self {
        Self::new(name, EffectPolicy::Destructive, Touches::Nothing)
    }

    /// Creates a tool that writes its arguments into the memory store under its own name, in the
    /// call's transaction.
    #[must_use]
    pub fn transactional(name: &str) -> Self {
        Self::new(name, EffectPolicy::Write, Touches::Transaction)
    }

    /// Creates a transactional tool that a person must confirm.
    #[must_use]
    pub fn destructive_transactional(name: &str) -> Self {
        Self::new(name, EffectPolicy::Destructive, Touches::Transaction)
    }

    fn new(name: &str, effect: EffectPolicy, touches: Touches) -> Self {
        Self {
            spec: ToolSpec::new(name, "Does what the test says.", json!({ "type": "object" }))
                .effect(effect),
            touches,
            asks: |_| true,
            consequence: None,
            resource: |_| None,
            gate: None,
            end: End::default(),
            runs: Runs::default(),
        }
    }

    /// Changes its description, such as schema, timeout or concurrency.
    #[must_use]
    pub fn with_spec(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// Accepts only arguments of this schema.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.spec.parameters = Arc::new(schema);
        self
    }

    /// Asks a person only about the calls for which `asks` returns true.
    #[must_use]
    pub fn asks(mut self, asks: fn(&Value) -> bool) -> Self {
        self.asks = asks;
        self
    }

    /// Sets the consequence that its question shows.
    #[must_use]
    pub fn consequence(mut self, text: impl Into<String>) -> Self {
        self.consequence = Some(text.into());
        self
    }

    /// Sets the resource that a call works on.
    #[must_use]
    pub fn resource(mut self, resource: fn(&Value) -> Option<Resource>) -> Self {
        self.resource = resource;
        self
    }

    /// Makes each call wait at this gate before it ends.
    #[must_use]
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Sets how it ends.
    #[must_use]
    pub fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// Returns the counter of its handlers. Take it before the tool is registered.
    #[must_use]
    pub fn runs(&self) -> Runs {
        self.runs.clone()
    }
}

impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        let memory = ConnectionType::of::<MemoryConnection>();
        match self.touches {
            Touches::Nothing => None,
            Touches::Reader => Some(Need::Reader(memory)),
            Touches::Transaction => Some(Need::Transaction(memory)),
        }
    }

    fn asks(&self, arguments: &Value) -> bool {
        (self.asks)(arguments)
    }

    fn consequence(&self, _: &Value, _: Locale) -> Option<String> {
        self.consequence.clone()
    }

    fn resource(&self, arguments: &Value, _: &ToolContext) -> Option<Resource> {
        (self.resource)(arguments)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        _: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        Box::pin(async move {
            self.runs.count_one();
            let mut given = arguments.clone();
            match access {
                Access::None => {}
                Access::Read(connection) => {
                    given["value"] = json!(memory(connection)?.get(&self.spec.name))
                }
                Access::Transaction(connection) => {
                    memory(connection)?.put(&*self.spec.name, arguments)?
                }
            }
            if let Some(gate) = &self.gate {
                gate.pass().await;
            }
            self.end.clone().come(given)
        })
    }
}

fn memory(connection: &mut (dyn Any + Send)) -> ToolResult<&mut MemoryConnection> {
    let other = || ToolFault::unexpected(Fault::default(), "the store lends another connection");
    connection.downcast_mut().ok_or_else(other)
}

impl End {
    fn come(self, given: Value) -> ToolResult<ToolOutcome> {
        match self {
            Self::Echo => Ok(ToolOutcome::ok(given)),
            Self::Give(outcome) => Ok(outcome),
            Self::Refuse(code, reason) => Err(ToolFault::rule(code, reason)),
            Self::Fail(fault) => {
                Err(ToolFault::unexpected(fault, "secret: the test wanted it to fail"))
            }
            Self::Panic(text) => panic!("{text}"),
            Self::PanicWith(payload) => std::panic::panic_any(payload),
            Self::PanicHolding(lock) => {
                let _held = lock.lock();
                panic!("secret: with a lock in its hands")
            }
        }
    }
}

impl fmt::Debug for FakeTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FakeTool").field(&self.spec.name).finish()
    }
}
