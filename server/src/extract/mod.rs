//! What handlers read of a request beside its caller: ids of the path, the query, the body.

mod body;
mod headers;
mod ids;
mod query;
mod session;

pub(crate) use body::{Bytes, Json, MaxBodyBytes, misfit};
pub(crate) use headers::{Wishes, accepts};
pub(crate) use ids::{Ids, call_id, turn_id};
pub(crate) use query::{Query, bad_value};
pub(crate) use session::OwnSession;
