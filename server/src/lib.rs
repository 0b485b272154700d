//! Madang over HTTP: chats, approvals and tools with streams that survive the server's end.

mod ask;
mod auth;
mod limits;
mod problem;
mod state;
mod stream;

pub use ask::Ask;
pub use auth::scope::{InvalidScope, TokenScope, TokenScopes};
pub use limits::ServerLimits;
