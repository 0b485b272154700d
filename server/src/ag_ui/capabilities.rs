//! Describes the capabilities of this surface for AG-UI clients.

use serde_json::{Value, json};

/// Returns the capabilities. Only the server's tools run. A run cannot be resumed in the middle; it
/// can only be replayed from its beginning.
pub(crate) fn capabilities() -> Value {
    json!({
        "transport": { "streaming": true, "resumable": false },
        "tools": { "supported": true, "clientProvided": false },
        "humanInTheLoop": {
            "supported": true, "approvals": true, "interrupts": true, "approveWithEdits": true,
        },
    })
}
