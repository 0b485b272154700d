//! The parameters of each kind of handler: typed arguments, a connection, prepared work.

use std::any::{Any, type_name};

use madang_actors::{
    port::{Access, BoxFuture, Need, Prepared, ToolContext, ToolFault, ToolResult},
    protocol::{Fault, ToolOutcome},
};
use serde::Serialize;

/// The future of a handler, or of work before it.
type Work<'a, T> = BoxFuture<'a, ToolResult<T>>;

/// A handler of any kind, for arguments of one type.
pub(super) type Handler<A> =
    dyn for<'a> Fn(A, Prepared, &'a ToolContext, Access<'a>) -> Work<'a, ToolOutcome> + Send + Sync;

/// The slow work before a handler.
pub(super) type Preparing<A> =
    dyn for<'a> Fn(A, &'a ToolContext) -> Work<'a, Prepared> + Send + Sync;

/// Describes what a call will do, from what the database has.
pub(super) type Look<A> =
    dyn for<'a> Fn(A, &'a ToolContext, &'a mut (dyn Any + Send)) -> Work<'a, String> + Send + Sync;

/// Takes the lent connection. The runtime compared its type with the store's when it was built, so
/// a misfit here is a caller's mistake.
pub(super) fn connection<C: Any>(access: Access<'_>, need: Need) -> Result<&mut C, ToolFault> {
    let lent = match (access, need) {
        (Access::Transaction(lent), Need::Transaction(_))
        | (Access::Read(lent), Need::Reader(_)) => lent.downcast_mut::<C>(),
        (Access::Transaction(_), Need::Reader(_))
        | (Access::Read(_), Need::Transaction(_))
        | (Access::None, _) => None,
    };
    lent.ok_or_else(misuse::<C>)
}

pub(super) fn misuse<T>() -> ToolFault {
    let lacking = type_name::<T>();
    let cause = format!("the handler was called without the {lacking} that it needs");
    ToolFault::unexpected(Fault::default(), cause)
}

/// Returns a [`ToolOutcome`] as it is, and any other value as the data of a success.
pub(super) fn outcome_of<T: Serialize + Any>(data: T) -> ToolResult<ToolOutcome> {
    let mut data = Some(data);
    if let Some(outcome) = (&mut data as &mut dyn Any).downcast_mut::<Option<ToolOutcome>>() {
        return Ok(outcome.take().expect("it was put in above"));
    }
    let data = serde_json::to_value(&data)
        .map_err(|error| ToolFault::unexpected(Fault::SERIALIZE, error))?;
    Ok(ToolOutcome::ok(data))
}
