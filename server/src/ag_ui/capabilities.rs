//! What this surface can do, as a client of AG-UI asks for it.

use serde_json::{Value, json};

/// Gives the capabilities. Tools are ours alone; a run cannot be resumed in its middle, only told again.
pub(crate) fn capabilities() -> Value {
    json!({
        "transport": { "streaming": true, "resumable": false },
        "tools": { "supported": true, "clientProvided": false },
        "humanInTheLoop": {
            "supported": true, "approvals": true, "interrupts": true, "approveWithEdits": true,
        },
    })
}
