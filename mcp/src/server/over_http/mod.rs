//! Offers the tools of a runtime over HTTP, for many users. Another server puts this endpoint after
//! its guard.
//!
//! `endpoint` answers requests within its `limits`, each for the user that the guard has found.
//! `sessions` keeps the sessions of clients whose revision has a handshake.
//!
//! ```text
//! let endpoint = ToolEndpoint::new(runtime, key, EndpointLimits::default());
//! let answer = endpoint.answer(ToolCaller::new(user), site, request).await?;
//! ```
//!
//! **Flow.** `endpoint` counts the values of a message and looks at its method. A handshake takes a
//! permit for a session. Then the protocol's library reads the message, with a `ToolServer` for
//! this caller and with only this caller's sessions. A task ends the sessions that are idle.
//!
//! **Invariants.**
//! - The endpoint checks no credential. The guard before it does.
//! - A session belongs to one user, with or without the right to decide. For other callers it does
//!   not exist.
//! - The sessions of a user and of all users, a handshake, a body and the values of a message are
//!   bounded.
//! - A session with an open request or stream is not idle. The end of a session reaches its calls.

mod endpoint;
mod limits;
mod sessions;

pub use endpoint::{EndpointBody, EndpointSite, ToolEndpoint, begins};
pub use limits::{EndpointLimits, EndpointRefusal};
