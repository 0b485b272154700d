//! What the kinds of handlers are given: typed arguments, a connection, prepared work.

use std::{
    any::{Any, type_name},
    fmt,
    sync::Arc,
};

use madang_actors::{
    port::{Access, BoxFuture, ConnectionType, Need, Prepared, ToolContext, ToolFault, ToolResult},
    protocol::{Fault, ToolOutcome},
};
use serde::Serialize;

use super::async_fn::{AsyncFn1, AsyncFn2, AsyncFn3, PrepareFn};

/// The future of a handler, or of work beside it.
type Work<'a, T> = BoxFuture<'a, ToolResult<T>>;

/// A handler of any kind, for arguments of one type.
pub(super) type Handler<A> =
    dyn for<'a> Fn(A, Prepared, &'a ToolContext, Access<'a>) -> Work<'a, ToolOutcome> + Send + Sync;

/// The slow work before a handler.
pub(super) type Preparing<A> =
    dyn for<'a> Fn(A, &'a ToolContext) -> Work<'a, Prepared> + Send + Sync;

/// Tells what will happen to arguments of one type, by what the database has.
pub(super) type Look<A> =
    dyn for<'a> Fn(A, &'a ToolContext, &'a mut (dyn Any + Send)) -> Work<'a, String> + Send + Sync;

/// Runs a handler without a connection.
pub(super) async fn run<A, F>(
    run: Arc<F>,
    arguments: A,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome>
where
    F: for<'a> AsyncFn1<'a, A>,
{
    outcome_of(run.run(arguments, ctx).await?)
}

/// Runs a handler with a connection.
pub(super) async fn run_storing<A, C, F>(
    run: Arc<F>,
    arguments: A,
    ctx: &ToolContext,
    access: Access<'_>,
    need: Need,
) -> ToolResult<ToolOutcome>
where
    C: Any,
    F: for<'a> AsyncFn2<'a, A, &'a mut C>,
{
    let db = connection::<C>(access, need)?;
    outcome_of(run.run(arguments, db, ctx).await?)
}

/// Does the slow work.
pub(super) async fn prepare<A, P, F>(
    prepare: Arc<F>,
    arguments: A,
    ctx: &ToolContext,
) -> ToolResult<Prepared>
where
    A: 'static,
    P: Any + Send,
    F: for<'a> PrepareFn<'a, A, P>,
{
    Ok(Prepared::new(prepare.run(&arguments, ctx).await?))
}

/// Runs a handler with a transaction after slow work.
pub(super) async fn run_prepared<A, P, C, F>(
    run: Arc<F>,
    arguments: A,
    prepared: Prepared,
    ctx: &ToolContext,
    access: Access<'_>,
) -> ToolResult<ToolOutcome>
where
    P: Any,
    C: Any,
    F: for<'a> AsyncFn3<'a, A, P, &'a mut C>,
{
    let db = connection::<C>(access, Need::Transaction(ConnectionType::of::<C>()))?;
    let prepared = prepared.take::<P>().ok_or_else(|| misuse(type_name::<P>()))?;
    outcome_of(run.run(arguments, prepared, db, ctx).await?)
}

/// Looks with a connection that cannot write, for the question to a person.
pub(super) async fn look<A, C, F>(
    tell: Arc<F>,
    arguments: A,
    ctx: &ToolContext,
    db: &mut (dyn Any + Send),
) -> ToolResult<String>
where
    A: 'static,
    C: Any,
    F: for<'a> AsyncFn2<'a, &'a A, &'a mut C, Data = String>,
{
    let db = db.downcast_mut::<C>().ok_or_else(|| misuse(type_name::<C>()))?;
    tell.run(&arguments, db, ctx).await
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
