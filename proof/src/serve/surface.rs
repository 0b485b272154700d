//! The surfaces of the server: each takes a text under a key, and a decision, in its own form.

use madang::{
    OnDismiss,
    approval::{ApprovalRequest, Decision},
};
use serde_json::{Value, json};

use crate::http::HttpRequest;

/// A surface. One key and one decision mean the same on each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surface {
    Native,
    ChatCompletions,
    AgUi,
    AiSdk,
}

/// A text that is submitted under a key.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) session: String,
    pub(super) text: String,
    pub(super) key: String,
    pub(super) on_dismiss: OnDismiss,
}

impl Surface {
    pub(super) const ALL: [Self; 4] =
        [Self::Native, Self::ChatCompletions, Self::AgUi, Self::AiSdk];

    /// Makes the request that submits a text; `None` where the surface has no word for its
    /// dismissal.
    pub(super) fn submits(self, submitted: &Text) -> Option<HttpRequest> {
        let Text { session, text, key, on_dismiss } = submitted;
        let key_header = format!("\"{key}\"");
        if self == Self::Native {
            let path = format!("/v1/sessions/{session}/turns");
            let body = json!({ "text": text, "on_dismiss": on_dismiss, "time_zone": "UTC" });
            return Some(post(&path, &body).field("idempotency-key", &key_header));
        }
        if *on_dismiss != OnDismiss::Stop {
            return None;
        }
        let request = match self {
            Self::ChatCompletions => {
                let body = json!({ "messages": [{ "role": "user", "content": text }] });
                post("/v1/chat/completions", &body)
                    .field("madang-session", session)
                    .field("idempotency-key", &key_header)
            }
            // The id of the message is the key.
            Self::AgUi => {
                let message = json!({ "id": key, "role": "user", "content": text });
                post("/ag-ui", &run(session, &json!([message]), &json!([])))
            }
            Self::Native | Self::AiSdk => {
                let parts = json!([{ "type": "text", "text": text }]);
                let message = json!({ "id": key, "role": "user", "parts": parts });
                post("/api/chat", &json!({ "id": session, "messages": [message] }))
            }
        };
        Some(request.field("madang-ask", "elsewhere"))
    }

    /// Makes the request that says a decision; `None` where the surface has no word for it.
    pub(super) fn decides(
        self,
        session: &str,
        request: &ApprovalRequest,
        decision: &Decision,
    ) -> Option<HttpRequest> {
        let call = request.call;
        let digest = request.digest;
        let id = format!("{call}:{digest}");
        match self {
            Self::Native => {
                let mut body = json!(decision);
                body["digest"] = json!(digest);
                Some(post(&format!("/v1/approvals/{call}/decision"), &body))
            }
            Self::ChatCompletions => None,
            Self::AgUi => {
                let payload = match decision {
                    Decision::Approve => json!({ "approved": true }),
                    Decision::ApproveAlways => json!({ "approved": true, "always": true }),
                    Decision::Edit { arguments } => {
                        json!({ "approved": true, "editedArgs": arguments })
                    }
                    Decision::Deny => json!({ "approved": false }),
                    Decision::DenyWith { message } => {
                        json!({ "approved": false, "message": message })
                    }
                };
                let resume =
                    json!([{ "interruptId": id, "status": "resolved", "payload": payload }]);
                let request = post("/ag-ui", &run(session, &json!([]), &resume));
                Some(request.field("madang-ask", "elsewhere"))
            }
            Self::AiSdk => {
                let approval = match decision {
                    Decision::Approve => json!({ "id": id, "approved": true }),
                    Decision::Deny => json!({ "id": id, "approved": false }),
                    Decision::DenyWith { message } => {
                        json!({ "id": id, "approved": false, "reason": message })
                    }
                    Decision::ApproveAlways | Decision::Edit { .. } => return None,
                };
                let part = json!({
                    "type": format!("tool-{}", request.tool), "toolCallId": call,
                    "state": "approval-responded", "input": request.arguments, "approval": approval,
                });
                let message = json!({ "id": "m", "role": "assistant", "parts": [part] });
                let request = post("/api/chat", &json!({ "id": session, "messages": [message] }));
                Some(request.field("madang-ask", "elsewhere"))
            }
        }
    }
}

fn post(path: &str, body: &Value) -> HttpRequest {
    HttpRequest::new("POST", path).json(body)
}

/// Makes the input of a run of AG-UI.
fn run(session: &str, messages: &Value, resume: &Value) -> Value {
    json!({
        "threadId": session, "runId": "run", "messages": messages, "resume": resume, "state": {},
        "tools": [], "context": [], "forwardedProps": {},
    })
}
