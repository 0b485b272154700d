//! The tool port: what a tool receives, what it may use, and how it reports what happened.

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

use super::{BoxFuture, Cancelled, Clock, ConnectionType, ProgressReporter, Resource};
use crate::protocol::{
    CallId, Fault, Locale, Problem, SessionId, Timestamp, ToolErr, ToolOutcome, ToolSpec, UserId,
};
use serde_json::Value;

/// Handles the calls of one name. The dispatcher calls it only with arguments that its schema
/// allows. It calls a destructive tool only after a person has approved, unless the tool
/// [exempts](Self::asks) these arguments.
pub trait Tool: Send + Sync + fmt::Debug + 'static {
    /// Returns its description, which is always the same.
    fn spec(&self) -> &ToolSpec;

    /// Returns the connection that its handler needs. It is compared with the tool's effect at
    /// registration, and with the store when the runtime is built.
    fn needs(&self) -> Option<Need> {
        None
    }

    /// Checks that the handler can read these arguments, which the schema allows. A problem is a
    /// `validation` error: no question is asked and nothing runs.
    ///
    /// # Errors
    /// The [`Problem`] says what does not fit, without the value.
    fn accepts(&self, _arguments: &Value) -> Result<(), Problem> {
        Ok(())
    }

    /// Returns whether a person must approve these validated arguments. Only `Destructive` tools
    /// are asked this.
    fn asks(&self, _arguments: &Value) -> bool {
        true
    }

    /// Describes what will happen, for the question to a person. `None` takes a general sentence.
    fn consequence(&self, _arguments: &Value, _locale: Locale) -> Option<String> {
        None
    }

    /// Returns whether [`consequence_from`](Self::consequence_from) is called before `consequence`.
    fn looks_before_asking(&self) -> bool {
        false
    }

    /// Describes what will happen, from what the store has when the question is asked, on a
    /// connection that cannot write. If it fails or takes longer than the store may, `consequence`
    /// is used. The store may change before the answer.
    fn consequence_from<'a>(
        &'a self,
        _arguments: &'a Value,
        _ctx: &'a ToolContext,
        _db: &'a mut (dyn Any + Send),
    ) -> BoxFuture<'a, ToolResult<Option<String>>> {
        Box::pin(async { Ok(None) })
    }

    /// Names the resource that these validated arguments work on. At most as many calls as it
    /// allows run at once on it, over all sessions and users. Later calls wait in order, for at
    /// most the tool's timeout, and then end as `overloaded`. With `None` the call waits for no
    /// other.
    fn resource(&self, _arguments: &Value, _ctx: &ToolContext) -> Option<Resource> {
        None
    }

    /// Does slow work before the transaction is taken, for transactional tools. Its result is
    /// passed to `call`. After the tool's timeout its future is dropped, so it must leave no
    /// effect.
    fn prepare<'a>(
        &'a self,
        _arguments: &'a Value,
        _ctx: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult<Prepared>> {
        Box::pin(async { Ok(Prepared::default()) })
    }

    /// Runs the handler on validated arguments.
    ///
    /// If the handler borrows a connection, its future is dropped at its deadline. With
    /// [`Access::Transaction`] its writes are then undone, and with [`Access::Read`] it made none.
    /// Without a connection the future is never dropped. A mutex held during a panic stays
    /// poisoned.
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
    /// A connection that cannot write, for tools whose effect is `Read` and no others.
    Reader(ConnectionType),
    /// The connection of the transaction in which the call is recorded, for tools that write.
    Transaction(ConnectionType),
}

impl Need {
    /// Returns the type of the connection.
    #[must_use]
    pub const fn connection(self) -> ConnectionType {
        match self {
            Self::Reader(connection) | Self::Transaction(connection) => connection,
        }
    }
}

/// The connection that a handler of this call may use.
#[derive(Debug)]
pub enum Access<'a> {
    /// No connection: a tool with effects elsewhere, or none.
    None,
    /// A connection that cannot write.
    Read(&'a mut (dyn Any + Send)),
    /// The connection of the open transaction in which the call's ledger entry will be written too.
    Transaction(&'a mut (dyn Any + Send)),
}

/// The value that a tool's `prepare` step makes for its `call`.
#[derive(Debug, Default)]
pub struct Prepared(Option<Box<dyn Any + Send>>);

impl Prepared {
    /// Wraps a value.
    pub fn new(value: impl Any + Send) -> Self {
        Self(Some(Box::new(value)))
    }

    /// Returns the value, if it has this type.
    #[must_use]
    pub fn take<T: Any>(self) -> Option<T> {
        self.0?.downcast().ok().map(|value| *value)
    }
}

/// The result of a handler: an outcome, or the reason why there is none.
pub type ToolResult<T> = Result<T, ToolFault>;

/// A reason why a handler has no outcome.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolFault {
    /// A rule was broken. The model reads which.
    Rule(ToolErr),
    /// The handler failed unexpectedly. Readers learn only the type, and the cause is logged.
    Unexpected {
        /// The type of the failure.
        fault: Fault,
        /// The error beneath it, for the log.
        cause: Box<dyn Error + Send + Sync>,
        /// The stack at which it became a fault, if [`ToolFault::keep_stacks`] was called.
        stack: Option<Box<Backtrace>>,
    },
}

/// Whether faults keep the stack on which they were made.
static KEEPS_STACKS: AtomicBool = AtomicBool::new(false);

impl ToolFault {
    /// Reports a broken rule, with its code and its reason in the session's language.
    #[must_use]
    pub fn rule(code: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self::Rule(ToolErr {
            code: code.into(),
            reason: reason.into(),
            metadata: Default::default(),
        })
    }

    /// Reports an unexpected failure that names its own type.
    #[must_use]
    pub fn unexpected(fault: Fault, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let keeps_stack = KEEPS_STACKS.load(Ordering::Relaxed);
        let stack = keeps_stack.then(|| Box::new(Backtrace::force_capture()));
        Self::Unexpected { fault, cause: cause.into(), stack }
    }

    /// Makes all unexpected failures of this process keep the stack on which they were made, for
    /// the log. Writing a stack takes some milliseconds, so an application turns this on
    /// (`Builder::panic_hook`).
    pub fn keep_stacks() {
        KEEPS_STACKS.store(true, Ordering::Relaxed);
    }
}

/// Lets a handler use `?` on any error. The fault is then an `Error`, unless
/// [`ToolFault::unexpected`] names another type.
impl<E: Error + Send + Sync + 'static> From<E> for ToolFault {
    fn from(cause: E) -> Self {
        Self::unexpected(Fault::default(), cause)
    }
}

/// What a handler knows about its call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The session that asked.
    pub session: SessionId,
    /// The user whose data the call is about.
    pub user: UserId,
    /// The id of the call, which is an idempotency key for requests that the tool sends elsewhere.
    pub call: CallId,
    /// The language of reasons and texts.
    pub locale: Locale,
    /// The user's time zone, an IANA name such as `Asia/Seoul`.
    pub time_zone: Arc<str>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Asks the handler to end if the turn is dismissed or the runtime shuts down, and names the
    /// cause. A long plain handler may then end early, if it can still say truthfully what it did.
    pub cancelled: Cancelled,
    /// Receives reports of how far the call has come. The person sees them, the model and the
    /// ledger do not.
    pub progress: ProgressReporter,
    /// The values that the application passed in.
    pub extensions: Extensions,
}

impl ToolContext {
    /// Returns the present moment by the runtime's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the application's value of this type.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.extensions.get()
    }
}

/// Values that the application passes to every tool, one for each type. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Extensions(Arc<HashMap<TypeId, Box<dyn Any + Send + Sync>>>);

impl Extensions {
    /// Collects values.
    #[must_use]
    pub fn new(values: HashMap<TypeId, Box<dyn Any + Send + Sync>>) -> Self {
        Self(Arc::new(values))
    }

    /// Returns the value of this type.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}
