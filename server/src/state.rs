//! What all handlers of a server share.

use std::sync::Arc;

use madang::Runtime;

use crate::ServerLimits;

/// The state of the router: handlers take it as `State<Arc<Shared>>`.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The runtime that is served.
    pub(crate) runtime: Runtime,
    /// The bounds of the server.
    pub(crate) limits: ServerLimits,
    /// The name under which clients of OpenAI's protocol find the model.
    pub(crate) model: Arc<str>,
}
