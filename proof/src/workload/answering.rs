//! Lets a person answer questions: in time, late, twice, not at all, or as a stranger.

use std::time::Duration;

use madang::{
    Clock as _, UserId,
    approval::{ApprovalRequest, Decision, Digest},
};
use serde_json::{Value, json};

use super::{person::Person, point::Point, visits::Answers};
use crate::{
    audit::Counter,
    mistakes::Mistake,
    oracle::{Answered, Line, Verdict},
};

/// Returns the decision that stands for a number below 16.
pub(crate) fn drawn(number: u64, request: &ApprovalRequest) -> Decision {
    match number {
        0..8 => Decision::Approve,
        8 => Decision::ApproveAlways,
        9..13 => Decision::Deny,
        13 => Decision::DenyWith { message: "not today".into() },
        _ => {
            let token = request.arguments["token"].as_str().unwrap_or_default();
            Decision::Edit { arguments: json!({ "token": format!("{token}x") }) }
        }
    }
}

impl Person {
    /// Answers as planned, or as fate draws, and sometimes more than once.
    pub(super) async fn answer(self, request: ApprovalRequest) {
        let fate = &self.life.scene.fate;
        fate.pass(Point::QuestionSeen, format_args!("{} sees a question", self.number));
        let answers = *self.answers.lock().expect("no code under this lock panics");
        let planned = match answers {
            Answers::Any => None,
            Answers::Yes => Some(Decision::Approve),
            Answers::Always => Some(Decision::ApproveAlways),
            Answers::Same => Some(Decision::Edit { arguments: Value::clone(&request.arguments) }),
            Answers::No => Some(Decision::Deny),
            Answers::Never => return,
            Answers::Leaves => return self.dismiss(None).await,
            Answers::Disputed => {
                let both = [Decision::Approve, Decision::Deny];
                let [yes, no] = both.map(|decision| self.decide(&request, decision));
                tokio::join!(yes, no);
                Some(Decision::Approve)
            }
        };
        if let Some(decision) = planned {
            return self.decide(&request, decision).await;
        }
        let wait = match fate.below(12) {
            0..6 => 0,
            6..11 => fate.below(30),
            // Longer than the question stays open.
            _ => fate.below(4_000),
        };
        fate.waits(Duration::from_millis(wait)).await;
        if fate.below(8) == 0 {
            self.strangers_answer(&request).await;
        }
        let times = match fate.below(16) {
            0 => 0,
            1..4 => 2,
            _ => 1,
        };
        for _ in 0..times {
            let decision = drawn(fate.below(16), &request);
            self.decide(&request, decision).await;
        }
    }

    async fn decide(&self, request: &ApprovalRequest, decision: Decision) {
        let fate = &self.life.scene.fate;
        let call = request.call;
        fate.note(format_args!("{} decides {decision:?} on {call}", self.number));
        let answered = Answered {
            decision: decision.clone(),
            shown: Value::clone(&request.arguments),
            at: fate.now(),
            expires_at: request.expires_at,
            verdict: None,
        };
        let index = self.life.scene.witness.decides(call, answered);
        let says_yes_itself = self.life.makes(Mistake::FrontEndSaysYes);
        let sent = if says_yes_itself { Decision::Approve } else { decision };
        let result = self.session.decide(request, sent).await;
        let what = format_args!("{} is told {result:?} on {call}", self.number);
        fate.pass(Point::QuestionAnswered, what);
        self.note(Line::Decided { call, index, verdict: Verdict::of(&result) });
    }

    /// Answers as another user, and about other arguments: neither may count.
    async fn strangers_answer(&self, request: &ApprovalRequest) {
        let stranger = UserId::new("mallory").expect("it is short");
        let other = Digest::new([7; 32]);
        for (user, digest) in [(stranger, request.digest), (self.session.user().clone(), other)] {
            let runtime = &self.life.runtime;
            let yes = Decision::Approve;
            let result = runtime.user_with_id(&user).decide(request.call, digest, yes).await;
            self.life.scene.fate.note(format_args!("a stranger is told {result:?}"));
            if result.is_ok() {
                let what = format!("a stranger answered for {}", request.call);
                self.life.finds(Counter::Unasked, what);
            }
        }
    }
}
