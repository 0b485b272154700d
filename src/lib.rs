//! Madang (마당) is an embeddable runtime for many concurrent chats in which a language model calls
//! tools.
//!
//! **What a tool did is never lost, never done twice, never done unasked, and never misreported.**
//! This holds whatever the model, the user, the network or the process does.
//!
//! ```
//! # #[cfg(feature = "sqlite")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use madang::{Runtime, block_on, model::{self, Completion}, store::SqliteStore};
//!
//! block_on(async {
//!     let parrot = model::from_fn("parrot", async |request, _| {
//!         Ok(Completion::text(format!("You said: {}", request.last_user_text())))
//!     });
//!     let store = SqliteStore::in_memory().await?;
//!     let runtime = Runtime::builder().model(parrot).store(store).start().await?;
//!     let session = runtime.user("kim")?.session("chat-1").await?;
//!     let text = session.send("Good day!").await?.text().await?;
//!     assert_eq!(text, "You said: Good day!");
//!     Ok(runtime.shutdown().await?)
//! })?
//! # }
//! # #[cfg(not(feature = "sqlite"))]
//! # fn main() {}
//! ```
//!
//! # The life of a turn
//!
//! 1. [`Session::send`] stores the user's text and begins a [`Turn`]. From then on, the turn ends
//!    in exactly one way.
//! 2. The model ([`model`]) streams text and asks for tools ([`tool`]). The runtime looks each call
//!    up and checks its arguments.
//! 3. A destructive call waits until a person approves it ([`approval`]). The approval is bound to
//!    the arguments that were shown.
//! 4. The handler runs. If its tool is transactional, its writes and the record of its call
//!    ([`ledger`]) are one commit of the [`store`], so either both are there or neither is.
//! 5. The model receives the outcome, and every subscriber receives it as an [`event`]. The model
//!    answers, and the turn ends.
//!
//! A turn that a crash cut off continues after the next start. The module [`error`] lists what can
//! go wrong.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod approval;
mod call;
pub mod error;
pub mod event;
pub mod language;
pub mod ledger;
pub mod model;
mod runtime;
pub mod session;
pub mod store;
pub mod telemetry;
pub mod tool;
pub mod transaction;
pub mod turn;
mod user;

pub use call::Call;
pub use madang_actors::{
    call::{CallReport, RunningCall},
    port::{Clock, SystemClock},
    protocol::{
        Asks, CallId, IdempotencyKey, LanguageTag, Limits, ModelName, OnDismiss, SessionId,
        Timestamp, TurnId, TurnOptions, UserId,
    },
    session::Error,
    supervisor::Health,
};
pub use runtime::{Runtime, block_on::block_on, builder::Builder};
pub use session::handle::Session;
pub use turn::handle::Turn;
pub use user::User;

/// Compiles the examples of the pages.
#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../docs/crate.md")]
#[doc = include_str!("../docs/embedding.md")]
#[doc = include_str!("../docs/events.md")]
#[doc = include_str!("../docs/tools.md")]
struct Pages;
