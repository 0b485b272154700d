//! The kinds of handlers, and what each is given: typed arguments, a connection, prepared work.

use std::{
    any::{Any, type_name},
    fmt,
    future::Future,
    marker::PhantomData,
};

use madang_actors::{
    port::{Access, BoxFuture, ConnectionType, Need, Prepared, ToolContext, ToolFault, ToolResult},
    protocol::{Fault, ToolOutcome},
};
use serde::Serialize;
use serde_json::Value;

use super::async_fn::{AsyncFn1, AsyncFn2, AsyncFn3, PrepareFn};

/// The future of a handler of any kind.
type Ended<'a> = BoxFuture<'a, ToolResult<ToolOutcome>>;

/// A handler of any kind, for arguments of one type.
pub(super) trait Handler<A: 'static>: Send + Sync {
    fn needs(&self) -> Option<Need> {
        None
    }

    fn prepare<'a>(
        &'a self,
        _arguments: A,
        _ctx: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult<Prepared>> {
        Box::pin(async { Ok(Prepared::default()) })
    }

    fn call<'a>(
        &'a self,
        arguments: A,
        prepared: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> Ended<'a>;
}

/// A handler without a connection.
pub(super) struct Plain<F>(pub(super) F);

impl<A: Send + 'static, F: for<'a> AsyncFn1<'a, A>> Handler<A> for Plain<F> {
    fn call<'a>(
        &'a self,
        arguments: A,
        _: Prepared,
        ctx: &'a ToolContext,
        _: Access<'a>,
    ) -> Ended<'a> {
        Box::pin(async move { outcome_of(self.0.run(arguments, ctx).await?) })
    }
}

/// A handler without a connection, for arguments of any form.
pub(super) struct Literal<F>(pub(super) F);

impl<F, Fut> Handler<Value> for Literal<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = ToolResult<ToolOutcome>> + Send + 'static,
{
    fn call<'a>(
        &'a self,
        arguments: Value,
        _: Prepared,
        ctx: &'a ToolContext,
        _: Access<'a>,
    ) -> Ended<'a> {
        Box::pin((self.0)(arguments, ctx.clone()))
    }
}

/// A handler with a connection.
pub(super) struct Storing<F, C> {
    run: F,
    need: Need,
    connection: PhantomData<fn(C)>,
}

impl<F, C: Any> Storing<F, C> {
    pub(super) fn new(run: F, need: fn(ConnectionType) -> Need) -> Self {
        Self { run, need: need(ConnectionType::of::<C>()), connection: PhantomData }
    }
}

impl<A, C, F> Handler<A> for Storing<F, C>
where
    A: Send + 'static,
    C: Any + Send,
    F: for<'a> AsyncFn2<'a, A, &'a mut C>,
{
    fn needs(&self) -> Option<Need> {
        Some(self.need)
    }

    fn call<'a>(
        &'a self,
        arguments: A,
        _: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> Ended<'a> {
        Box::pin(async move {
            let db = connection::<C>(access, self.need)?;
            outcome_of(self.run.run(arguments, db, ctx).await?)
        })
    }
}

/// A handler with a transaction after slow work.
pub(super) struct AfterPreparing<F, G, P, C> {
    pub(super) prepare: F,
    pub(super) run: G,
    pub(super) types: PhantomData<fn(P, C)>,
}

impl<A, F, G, P, C> Handler<A> for AfterPreparing<F, G, P, C>
where
    A: Send + Sync + 'static,
    F: for<'a> PrepareFn<'a, A, P>,
    G: for<'a> AsyncFn3<'a, A, P, &'a mut C>,
    P: Any + Send,
    C: Any + Send,
{
    fn needs(&self) -> Option<Need> {
        Some(Need::Transaction(ConnectionType::of::<C>()))
    }

    fn prepare<'a>(
        &'a self,
        arguments: A,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult<Prepared>> {
        Box::pin(async move { Ok(Prepared::new(self.prepare.run(&arguments, ctx).await?)) })
    }

    fn call<'a>(
        &'a self,
        arguments: A,
        prepared: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> Ended<'a> {
        Box::pin(async move {
            let db = connection::<C>(access, Need::Transaction(ConnectionType::of::<C>()))?;
            let prepared = prepared.take::<P>().ok_or_else(|| misuse(type_name::<P>()))?;
            outcome_of(self.run.run(arguments, prepared, db, ctx).await?)
        })
    }
}

/// Tells what will happen to arguments of one type, by what the database has.
pub(super) trait Look<A: 'static>: Send + Sync {
    fn look<'a>(
        &'a self,
        arguments: A,
        ctx: &'a ToolContext,
        db: &'a mut (dyn Any + Send),
    ) -> BoxFuture<'a, ToolResult<String>>;
}

/// A function with a connection that cannot write, for the question to a person.
pub(super) struct Looking<F, C> {
    tell: F,
    connection: PhantomData<fn(C)>,
}

impl<F, C: Any> Looking<F, C> {
    pub(super) fn new(tell: F) -> Self {
        Self { tell, connection: PhantomData }
    }
}

impl<A, C, F> Look<A> for Looking<F, C>
where
    A: Send + Sync + 'static,
    C: Any + Send,
    F: for<'a> AsyncFn2<'a, &'a A, &'a mut C, Data = String> + 'static,
{
    fn look<'a>(
        &'a self,
        arguments: A,
        ctx: &'a ToolContext,
        db: &'a mut (dyn Any + Send),
    ) -> BoxFuture<'a, ToolResult<String>> {
        Box::pin(async move {
            let db = db.downcast_mut::<C>().ok_or_else(|| misuse(type_name::<C>()))?;
            told(&self.tell, &arguments, db, ctx).await
        })
    }
}

/// Calls the function with lifetimes no longer than this call's.
async fn told<F, A, C>(tell: &F, arguments: &A, db: &mut C, ctx: &ToolContext) -> ToolResult<String>
where
    A: 'static,
    C: Any,
    F: for<'a> AsyncFn2<'a, &'a A, &'a mut C, Data = String>,
{
    tell.run(arguments, db, ctx).await
}

/// Takes the lent connection. The runtime compared its type with the store's when it was built, so a misfit here is a
/// caller's mistake.
fn connection<C: Any>(access: Access<'_>, need: Need) -> Result<&mut C, ToolFault> {
    let lent = match (access, need) {
        (Access::Transaction(lent), Need::Transaction(_))
        | (Access::Read(lent), Need::Reader(_)) => lent.downcast_mut::<C>(),
        (Access::Transaction(_), Need::Reader(_))
        | (Access::Read(_), Need::Transaction(_))
        | (Access::None, _) => None,
    };
    lent.ok_or_else(|| misuse(type_name::<C>()))
}

fn misuse(lacking: impl fmt::Display) -> ToolFault {
    ToolFault::unexpected(
        Fault::default(),
        format!("the handler was called without the {lacking} that it needs"),
    )
}

/// Takes a [`ToolOutcome`] as it is; any other value is the data of a success.
fn outcome_of<T: Serialize + Any>(data: T) -> ToolResult<ToolOutcome> {
    let mut data = Some(data);
    if let Some(outcome) = (&mut data as &mut dyn Any).downcast_mut::<Option<ToolOutcome>>() {
        return Ok(outcome.take().expect("it was put in above"));
    }
    let data = serde_json::to_value(&data)
        .map_err(|error| ToolFault::unexpected(Fault::SERIALIZE, error))?;
    Ok(ToolOutcome::ok(data))
}
