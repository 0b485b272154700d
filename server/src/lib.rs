//! Serves Madang over HTTP: chats, approvals and tools, with streams that can be resumed after a
//! restart of the server.
//!
//! A [`Server`] serves a [`Runtime`](madang::Runtime). It listens by itself ([`Server::serve`]), or
//! its [`router`](Server::router) is merged into another application. A request that a client sends
//! twice under one key is carried out once. A stream resumes after the last cursor that its reader
//! has, and a person decides about an approval request on any device.
//!
//! Invariants:
//! - A request is answered only after its host, its origin and its credential were checked, in this
//!   order.
//! - A handler that begins something passes it to the runtime before it waits, so a client that
//!   leaves cancels nothing.
//! - No log, metric or problem has a secret, and no path has a credential.
//! - Each queue, body, wait and map has a bound in [`ServerLimits`].

mod accept;
mod ag_ui;
mod ai_sdk;
mod answer;
mod ask;
mod auth;
mod byte_budget;
mod decisions;
mod ended;
mod extract;
mod fork_id;
mod forms;
mod guard;
mod heavy;
mod language;
mod limits;
#[cfg(feature = "mcp")]
mod mcp;
mod metrics;
mod native;
mod openai;
mod openapi;
mod options;
mod page;
mod problem;
mod route;
mod routes;
mod scrape;
mod server;
mod state;
mod stream;
mod surface;
mod turns;

pub use accept::listener::{InvalidAddress, ListenAddress, ListenError, Listener};
#[cfg(feature = "tls")]
pub use accept::tls::{Tls, TlsError};
pub use ask::Ask;
#[cfg(feature = "jwt")]
pub use auth::jwt::{JwtFileError, JwtIssuer};
pub use auth::{
    holder::{InvalidPrefix, ServicePrefix, TokenHolder, UserHeader},
    private_file::NotPrivate,
    scope::{InvalidScope, TokenScope, TokenScopes},
    secret::{CookieKey, SecretFileError, TokenSecret},
    token_entry::TokenEntry,
    token_file::{TokenFile, TokenFileError},
};
pub use guard::site::{InvalidOrigin, WebOrigin};
pub use limits::ServerLimits;
pub use metrics::describe_server;
pub use openai::{ClientMemory, ForgetfulMemory, MemoryError, Recalled, Tried};
#[cfg(feature = "sqlite")]
pub use openai::{FORGET, MIGRATIONS, SqliteMemory};
pub use options::{AuditResult, OnDisconnect, ServerOptions};
pub use server::{ServeError, Server, ServerError};
