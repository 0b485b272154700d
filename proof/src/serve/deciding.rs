//! Lets a client answer approval requests: at once, late, twice, from two devices, or not at all.

use std::{sync::Arc, time::Duration};

use madang::approval::{ApprovalRequest, Decision};
use serde_json::Value;
use tokio::{task::JoinSet, time::sleep};

use super::{client::Client, site::now, surface::Surface};
use crate::{
    audit::Counter,
    oracle::{Answered, Line, Verdict},
    workload::drawn,
};

impl Client {
    /// Answers as drawn.
    pub(super) async fn decides(self: Arc<Self>, request: ApprovalRequest) {
        let wait = match self.below(16) {
            0 => return,
            1..12 => 0,
            _ => self.below(40),
        };
        sleep(Duration::from_millis(wait)).await;
        let times = if self.below(6) == 0 { 2 } else { 1 };
        for _ in 0..times {
            let decision = drawn(self.below(16), &request);
            self.clone().decide(&request, decision).await;
        }
    }

    /// Says one decision until it is answered, at times from two devices at once, or on other
    /// surfaces as well. Said twice, it counts once.
    async fn decide(self: Arc<Self>, request: &ApprovalRequest, decision: Decision) {
        let call = request.call;
        let session = &self.site.sessions[self.number].0.name;
        let says = |surface: Surface| surface.decides(session, request, &decision);
        let native = says(Surface::Native);
        let abroad: Vec<_> = [Surface::AgUi, Surface::AiSdk]
            .into_iter()
            .filter(|_| self.below(4) == 0)
            .filter_map(says)
            .collect();
        let answered = Answered {
            decision,
            shown: Value::clone(&request.arguments),
            at: now(),
            expires_at: request.expires_at,
            verdict: None,
        };
        let index = self.site.witness.decides(call, answered);
        self.site.figures().decisions += 1;
        let mut devices = JoinSet::new();
        let mut others = JoinSet::new();
        self.site.figures().decisions_abroad += abroad.len() as u64;
        for sent in abroad {
            let client = self.clone();
            others.spawn(async move { client.insists_on_head(&sent).await });
        }
        for sent in native.iter().cycle().take(1 + self.below(4) as usize / 3) {
            let client = self.clone();
            let sent = sent.clone();
            devices.spawn(async move { client.insists(&sent).await });
        }
        let answers: Vec<(u16, Value)> = devices.join_all().await;
        let statuses = others.join_all().await.into_iter().map(|status| (status, Value::Null));
        let counting = answers.iter().filter(|(status, _)| *status == 200);
        let first = |(_, body): &&(u16, Value)| body["already"] != true;
        let times = counting.clone().count();
        let firsts = counting.filter(first).count();
        if firsts > 1 {
            let what = format!("a decision about {call} counts twice: {answers:?}");
            self.site.finds(Counter::Doubled, what);
        }
        let is_strange = |(status, _): &(u16, Value)| !matches!(status, 200 | 404 | 409);
        if let Some(other) = answers.iter().cloned().chain(statuses).find(is_strange) {
            let what = format!("a decision about {call} is answered {other:?}");
            self.site.finds(Counter::Misreported, what);
        }
        let verdict = match (firsts, times) {
            (0, 0) => Verdict::Refused,
            // It was said before: by this one, and a kill swallowed the answer, or by another.
            (0, _) => Verdict::Repeats,
            _ => Verdict::Counts,
        };
        self.site.note(Line::Decided { call, index, verdict });
    }
}
