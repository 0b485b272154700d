//! Describes what this surface can do, for clients of AG-UI that ask.

use serde_json::{Value, json};

/// Returns the capabilities. Only our tools run. A run cannot be resumed in its middle, but only
/// told again.
pub(crate) fn capabilities() -> Value {
    json!({
        "transport": { "streaming": true, "resumable": false },
        "tools": { "supported": true, "clientProvided": false },
        "humanInTheLoop": {
            "supported": true, "approvals": true, "interrupts": true, "approveWithEdits": true,
        },
    })
}
