//! The native routes: everything that a chat, an approval and a call can do, as JSON and as streams
//! of events.
//!
//! Each file lists the routes of one area and has their handlers: `sessions`, `manage`, `export`,
//! `forks`, `search`, `events`, `turns`, `inbox`, `approvals`, `calls`, `ledger`, `login`, `health`,
//! `problems` and `suggestions`. `paths` writes the addresses of sessions and turns. `mapper` writes
//! each event of a stream as it is, with its cursor as the id of the frame.
//!
//! **Flow.** The guard has admitted a request and found its caller before a handler runs. The
//! handler reads the path, the headers and the body (`extract`), calls the runtime, and answers
//! JSON or opens a stream (`stream`):
//!
//! ```text
//! POST /v1/sessions               {"id":"chat-1"}   201, opens the session
//! POST /v1/sessions/chat-1/turns  {"text":"Hi"}     202, begins a turn; its address is in `Location`
//! GET  /v1/sessions/chat-1/events                   streams the events, from the start or after a cursor
//! ```
//!
//! **Invariants.**
//! - A route says which callers may use it and which problems it answers with.
//!   `server/openapi.json` is made from that.
//! - A request that begins a turn or a call twice under one key begins it once.
//! - The path names a session of the caller's own user. Another user's session cannot be reached.

mod approvals;
mod calls;
mod events;
mod export;
mod forks;
mod health;
mod inbox;
mod ledger;
mod login;
mod manage;
mod mapper;
pub(crate) mod paths;
mod problems;
mod search;
mod sessions;
mod suggestions;
mod turns;

pub(crate) use sessions::page;

use crate::route::Route;

/// Returns the routes of this surface.
pub(crate) fn routes() -> Vec<Route> {
    let routes = [
        sessions::routes(),
        manage::routes(),
        export::routes(),
        forks::routes(),
        search::routes(),
        events::routes(),
        turns::routes(),
        inbox::routes(),
        approvals::routes(),
        calls::routes(),
        ledger::routes(),
        login::routes(),
        health::routes(),
        problems::routes(),
        suggestions::routes(),
    ];
    routes.into_iter().flatten().collect()
}
