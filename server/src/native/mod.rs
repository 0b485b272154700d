//! The native routes: all that a chat, an approval and a call can do, as JSON and as streams of events.

mod approvals;
mod calls;
mod events;
mod health;
mod inbox;
mod ledger;
mod login;
mod mapper;
pub(crate) mod paths;
mod problems;
mod sessions;
mod turns;

use crate::route::Route;

/// Gives the routes of this surface.
pub(crate) fn routes() -> Vec<Route> {
    let routes = [
        sessions::routes(),
        events::routes(),
        turns::routes(),
        inbox::routes(),
        approvals::routes(),
        calls::routes(),
        ledger::routes(),
        login::routes(),
        health::routes(),
        problems::routes(),
    ];
    routes.into_iter().flatten().collect()
}
