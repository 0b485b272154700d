//! Serve: kills a server again and again while its clients submit, read and answer over HTTP, and
//! compares what each client heard with the store.
//!
//! The `driver` starts a server in a `child` on one file and one port. It kills the server at
//! random moments and at chosen points, or ends it in order, and starts it again. Its clients live
//! on through all of that. A `client` submits each text under a key one to three times, at once or
//! one after the other, and insists until it is answered. Each try comes on a `surface` as drawn.
//! `reading` reads the stream of the session, breaks off now and then, and goes on behind the last
//! cursor; `notes` has what no stream may tell. `deciding` answers approval requests, and `probing`
//! asks for what belongs to others. A planted mistake is a [proxy](crate::mistakes::ProxyMistake)
//! between the clients and the server.
//!
//! ```text
//! clients --HTTP--> (proxy) --HTTP--> server --SQLite--> file
//!    |                                  |                  |
//!    '------------- oracle <--- lines --'                  |
//!                      '------ audit after SIGKILL --------'
//! ```
//!
//! Invariants:
//! - A client records what it asks for before it sends it, and what it hears when it hears it.
//! - The server is the one that `madang serve` runs: it has no switch for a mistake.
//! - The seed decides texts and deaths; the scheduling of threads is the machine's.

mod child;
mod client;
mod deciding;
mod driver;
mod figures;
mod frames;
mod notes;
mod probing;
mod reading;
mod site;
mod surface;

pub use child::{ServerOrders, serve};
pub use driver::ServeCampaign;
pub use figures::ServeFigures;
