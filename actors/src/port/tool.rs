//! The tool port: what a tool is told, what it may touch, and how it says what happened.

use std::{
    any::{Any, TypeId},
    backtrace::Backtrace,
    borrow::Cow,
    collections::HashMap,
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Clock, ConnectionType, Resource};
use crate::protocol::{
    CallId, Fault, Locale, Problem, SessionId, Timestamp, ToolErr, ToolOutcome, ToolSpec, UserId,
};

/// A tool. Made from a typed async function by `madang::tool`, or by hand.
pub trait Tool: Send + Sync + fmt::Debug + 'static {
    /// Its description; always the same.
    fn spec(&self) -> &ToolSpec;

    /// The connection that its handler needs. Compared with its effect when it is registered, and with the store when
    /// the runtime is built.
    fn needs(&self) -> Option<Need> {
        None
    }

    /// Whether the handler can read these arguments, which the schema allows. A problem is a `validation` error: nobody
    /// is asked and nothing is run.
    ///
    /// # Errors
    /// What does not fit, without the value.
    fn accepts(&self, _arguments: &Value) -> Result<(), Problem> {
        Ok(())
    }

    /// Whether these validated arguments must be confirmed. Asked for `Destructive` tools only.
    fn asks(&self, _arguments: &Value) -> bool {
        true
    }

    /// What will happen, for the question to a person; `None` takes a general sentence.
    fn consequence(&self, _arguments: &Value, _locale: Locale) -> Option<String> {
        None
    }

    /// Whether [`consequence_from`](Self::consequence_from) is asked before `consequence`.
    fn looks_before_asking(&self) -> bool {
        false
    }

    /// What will happen, told from what the store has at the moment of the question, on a connection that cannot write.
    /// Where it fails or takes longer than the store may, `consequence` speaks. The store may change until the answer.
    fn consequence_from<'a>(
        &'a self,
        _arguments: &'a Value,
        _ctx: &'a ToolContext,
        _db: &'a mut (dyn Any + Send),
    ) -> BoxFuture<'a, ToolResult<Option<String>>> {
        Box::pin(async { Ok(None) })
    }

    /// What these validated arguments are to work on: at most as many calls as it says run at once on the same resource,
    /// over all sessions and users. Who comes later waits, as for a place of its tool: first come first served, for at
    /// most the tool's timeout, then it ends as `overloaded`. `None` waits for nobody.
    fn resource(&self, _arguments: &Value, _ctx: &ToolContext) -> Option<Resource> {
        None
    }

    /// Slow work before the transaction is taken, for transactional tools. Its result is handed to `call`.
    /// Past the tool's timeout its future is dropped, so it must leave no effect behind.
    fn prepare<'a>(
        &'a self,
        _arguments: &'a Value,
        _ctx: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult<Prepared>> {
        Box::pin(async { Ok(Prepared::default()) })
    }

    /// Runs the handler on validated arguments.
    ///
    /// Past its deadline the future is dropped where it was lent a connection: with [`Access::Transaction`] its writes
    /// are then undone, with [`Access::Read`] there are none. Without, it is never dropped. A mutex held during a panic
    /// stays poisoned.
    fn call<'a>(
        &'a self,
        arguments: Value,
        prepared: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>>;
}

/// The connection that a handler needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// One that cannot write: for tools whose effect is `Read`, and for no others.
    Reader(ConnectionType),
    /// That of the transaction in which the call is recorded: for tools that write.
    Transaction(ConnectionType),
}

impl Need {
    /// The type of the connection.
    #[must_use]
    pub const fn connection(self) -> ConnectionType {
        match self {
            Self::Reader(connection) | Self::Transaction(connection) => connection,
        }
    }
}

/// What a handler of this call may touch.
#[derive(Debug)]
pub enum Access<'a> {
    /// Nothing of the store: a tool with effects elsewhere, or none.
    None,
    /// A connection that cannot write.
    Read(&'a mut (dyn Any + Send)),
    /// The connection of the open transaction in which the call's ledger entry will be written too.
    Transaction(&'a mut (dyn Any + Send)),
}

/// What a tool's `prepare` step made for its `call`.
#[derive(Debug, Default)]
pub struct Prepared(Option<Box<dyn Any + Send>>);

impl Prepared {
    /// Wraps a value.
    pub fn new(value: impl Any + Send) -> Self {
        Self(Some(Box::new(value)))
    }

    /// Gives the value, if it has this type.
    #[must_use]
    pub fn take<T: Any>(self) -> Option<T> {
        self.0?.downcast().ok().map(|value| *value)
    }
}

/// What a handler gives: an outcome, or why it has none.
pub type ToolResult<T> = Result<T, ToolFault>;

/// Why a handler has no outcome.
#[derive(Debug)]
pub enum ToolFault {
    /// It found a rule broken: told as it is.
    Rule(ToolErr),
    /// It failed unexpectedly: only the type is told, the cause is logged.
    Unexpected {
        /// The type.
        fault: Fault,
        /// The cause.
        cause: Box<dyn Error + Send + Sync>,
        /// Where it became a fault, if [`ToolFault::keep_stacks`] was called.
        stack: Option<Box<Backtrace>>,
    },
}

/// Whether faults keep the stack on which they were made.
static KEEPS_STACKS: AtomicBool = AtomicBool::new(false);

impl ToolFault {
    /// A broken rule, with its code and its reason in the session's language.
    #[must_use]
    pub fn rule(code: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self::Rule(ToolErr {
            code: code.into(),
            reason: reason.into(),
            metadata: Default::default(),
        })
    }

    /// An unexpected failure that gives itself a type.
    #[must_use]
    pub fn unexpected(fault: Fault, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let keeps_stack = KEEPS_STACKS.load(Ordering::Relaxed);
        let stack = keeps_stack.then(|| Box::new(Backtrace::force_capture()));
        Self::Unexpected { fault, cause: cause.into(), stack }
    }

    /// Lets all unexpected failures of this process keep the stack on which they were made, for the log. It takes some
    /// milliseconds to write one, so the embedder says whether it is wanted (`Builder::panic_hook`).
    pub fn keep_stacks() {
        KEEPS_STACKS.store(true, Ordering::Relaxed);
    }
}

/// Lets a handler use `?` on any error: it is then an `Error`, unless it says more by [`ToolFault::unexpected`].
impl<E: Error + Send + Sync + 'static> From<E> for ToolFault {
    fn from(cause: E) -> Self {
        Self::unexpected(Fault::default(), cause)
    }
}

/// What a handler is told of its call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The session that asked.
    pub session: SessionId,
    /// Whose data it is about.
    pub user: UserId,
    /// The call: an idempotency key for whatever the tool calls outside.
    pub call: CallId,
    /// The language of reasons and texts.
    pub locale: Locale,
    /// The user's time zone, an IANA name such as `Asia/Seoul`.
    pub time_zone: Arc<str>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Cancelled when the turn was dismissed or the runtime shuts down: a long plain handler may end early if it can
    /// still say truthfully what it did.
    pub cancelled: CancellationToken,
    /// Whatever the embedder put in.
    pub extensions: Extensions,
}

impl ToolContext {
    /// The present moment by the runtime's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Gives what the embedder put in under this type.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.extensions.get()
    }
}

/// Values that the embedder hands to every tool, one for each type. Cheap to clone.
#[derive(Clone, Default)]
pub struct Extensions(Arc<HashMap<TypeId, Box<dyn Any + Send + Sync>>>);

impl Extensions {
    /// Collects values.
    #[must_use]
    pub fn new(values: HashMap<TypeId, Box<dyn Any + Send + Sync>>) -> Self {
        Self(Arc::new(values))
    }

    /// Gives the value of this type.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.0.len())
    }
}
