//! The tools of a runtime over HTTP, for many users: an endpoint that another server puts behind its guard.
//!
//! `endpoint` answers requests within its `limits`, each for the user that the guard has found. `sessions` keeps what clients of revisions with
//! a handshake have begun: each session belongs to one user, and there is a bound.

mod endpoint;
mod limits;
mod sessions;

pub use endpoint::{EndpointBody, EndpointSite, ToolEndpoint, begins};
pub use limits::{EndpointLimits, EndpointRefusal};
