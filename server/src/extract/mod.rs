//! Reads the parts of a request besides its caller for handlers: the ids of the path, the headers,
//! the query and the body.
//!
//! A handler names the types that it needs as its parameters, and axum reads them in that order:
//!
//! ```text
//! async fn begin(OwnSession(session): OwnSession, wishes: Wishes, Json(body): Json<TurnBody>) -> ..
//! ```
//!
//! - `Ids` decodes the path. `OwnSession` finds the session that the path names, for the caller's
//!   user.
//! - `Wishes` has the idempotency key, the person to ask, and the kind of answer that the client
//!   prefers.
//! - `Query` reads values of the query. It ignores names that a route does not know.
//! - `Json` parses a body into a type. An empty body counts as `{}`. `Bytes` is the body for
//!   surfaces that read it themselves.
//!
//! **Invariants.**
//! - A body has at most the bytes of its route (`MaxBodyBytes`), at most `max_body_values`, and
//!   comes within `body_timeout`.
//! - A refusal is a `Problem` that names the pointer of the wrong value and repeats nothing of the
//!   body.

mod body;
mod headers;
mod ids;
mod query;
mod session;

pub(crate) use body::{Bytes, Json, MaxBodyBytes, misfit, whole_number};
pub(crate) use headers::{Wishes, accepts};
pub(crate) use ids::{Ids, call_id, turn_id};
pub(crate) use query::{Query, bad_value};
pub(crate) use session::OwnSession;
