//! Lets a client ask for what belongs to another user: no route may know of it.

use serde_json::json;

use super::client::Client;
use crate::{audit::Counter, http::HttpRequest};

/// The routes of a session, with `ID` for it.
const ROUTES: [&str; 9] = [
    "GET /v1/sessions/ID",
    "GET /v1/sessions/ID/events",
    "POST /v1/sessions/ID/turns",
    "GET /v1/sessions/ID/turns/00000000-0000-0000-0000-000000000000",
    "POST /v1/sessions/ID/turns/00000000-0000-0000-0000-000000000000/dismiss",
    "POST /v1/sessions/ID/clear",
    "GET /v1/sessions/ID/standing-approvals",
    "DELETE /v1/sessions/ID/standing-approvals/erase",
    "GET /v1/sessions/ID/unresolved",
];

impl Client {
    /// Tries a route of another's session, each in its turn, and the call of another.
    pub(super) async fn probes(&self, turn: usize) {
        let others = self.site.sessions.len() as u64 - 1;
        if others == 0 {
            return;
        }
        let other = (self.number as u64 + 1 + self.below(others)) % (others + 1);
        let other = usize::try_from(other).expect("below a length");
        let name = &self.site.sessions[other].0.name;
        let route = ROUTES[(self.number + turn) % ROUTES.len()];
        let (method, path) = route.split_once(' ').expect("a method, and a path");
        let request = HttpRequest::new(method, &path.replace("ID", name));
        let request = match (method, path.ends_with("/turns")) {
            ("POST", true) => request.json(&json!({ "text": "look:foreign" })),
            ("POST", false) => request.json(&json!({})),
            _ => request,
        };
        self.probe(&request).await;
        let user = &self.site.sessions[self.number].0.user;
        let foreign = {
            let oracle = self.site.witness.oracle();
            let mut begun = oracle.begun.iter().rev();
            let is_foreign = |user: &str, begun: &[crate::oracle::Begun]| {
                begun.iter().all(|begun| begun.user.as_str() != user)
            };
            begun.find(|(_, begun)| is_foreign(user, begun)).map(|(call, _)| *call)
        };
        if let Some(call) = foreign {
            self.probe(&HttpRequest::new("GET", &format!("/v1/calls/{call}"))).await;
        }
    }

    async fn probe(&self, request: &HttpRequest) {
        let Ok(answer) = self.site.send(self.number, request.clone()).await else { return };
        if !matches!(answer.status, 404 | 429 | 503) {
            let what = format!("{} was answered {} to another user", request.target, answer.status);
            self.site.finds(Counter::Exposed, what);
        }
        self.site.figures().probes += 1;
    }
}
