//! What a step makes of a call's row: pure, and the same in every store.

use serde_json::Value;

use super::{LedgerRow, StoreError};
use crate::{
    ledger::{IllegalTransition, Transition},
    protocol::{
        CallId, CallRecord, ChatMessage, Content, Digest, Effect, SessionId, Timestamp, UserId,
    },
};

impl LedgerRow {
    /// The row of a call after a step, given its row before. The caller has ruled out that the step is the one that the
    /// call took last.
    ///
    /// # Errors
    /// [`StoreError::Illegal`] for a step that the call cannot take, [`StoreError::Refused`] for one that contradicts
    /// what was asked and approved.
    pub fn after(
        before: Option<&Self>,
        session: &SessionId,
        call: CallId,
        at: Timestamp,
        step: &Transition,
    ) -> Result<Self, StoreError> {
        let from = before.map(|row| row.state);
        if !step.may_follow(from) {
            return Err(
                IllegalTransition { call, session: session.clone(), from, to: step.to() }.into()
            );
        }
        match (before, step) {
            (None, Transition::Proposed(proposal)) => Ok(Self {
                session: session.clone(),
                call,
                turn: proposal.turn,
                seq: proposal.seq,
                user: proposal.user.clone(),
                name: proposal.name.clone(),
                arguments: Value::String(proposal.arguments.to_string()),
                raw_arguments: proposal.arguments.clone(),
                digest: None,
                expires_at: None,
                state: step.to(),
                outcome: None,
                effect: None,
                result: None,
                decided_by: None,
                proposed_at: at,
                ended_at: None,
            }),
            (Some(row), _) => row.clone().step(at, step),
            (None, _) => unreachable!("only a proposal may come first"),
        }
    }

    /// The call's entry in the transcript, once it has ended.
    #[must_use]
    pub fn entry(&self) -> Option<ChatMessage> {
        let (effect, result, ended_at) = (self.effect?, self.result?, self.ended_at?);
        let outcome = self.outcome.clone().filter(|_| result == crate::protocol::CallResult::Shown);
        let record = CallRecord {
            id: self.call,
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            outcome,
            effect,
            result,
            proposed_at: self.proposed_at,
            ended_at,
        };
        Some(ChatMessage {
            seq: self.seq,
            turn: self.turn,
            at: ended_at,
            content: Content::ToolCall(Box::new(record)),
        })
    }

    fn step(mut self, at: Timestamp, step: &Transition) -> Result<Self, StoreError> {
        self.state = step.to();
        match step {
            Transition::Proposed(_) => unreachable!("a proposal comes first"),
            Transition::Awaiting { arguments, digest, expires_at } => {
                self.arguments = arguments.clone();
                self.digest = Some(*digest);
                self.expires_at = Some(*expires_at);
            }
            Transition::Approved { digest, by } => {
                self.bound_to(digest)?;
                self.decided(by)?;
            }
            Transition::Running { arguments, digest } => {
                self.bound_to(digest)?;
                self.arguments = arguments.clone();
                self.digest = Some(*digest);
            }
            Transition::Ended(end) => {
                if let Some(by) = &end.decided_by {
                    self.decided(by)?;
                }
                self.outcome = Some(end.outcome.clone());
                self.effect = Some(end.effect);
                self.result = Some(end.result);
                self.ended_at = Some(at);
            }
            Transition::Settled { effect } => {
                if self.effect != Some(Effect::Unknown) {
                    return Err(StoreError::refused(format!(
                        "the effect of call {} is known already",
                        self.call
                    )));
                }
                self.effect = Some(*effect);
            }
        }
        Ok(self)
    }

    /// What is approved and what runs is what was shown.
    fn bound_to(&self, digest: &Digest) -> Result<(), StoreError> {
        if self.digest.is_none_or(|shown| shown == *digest) {
            return Ok(());
        }
        Err(StoreError::refused(format!("call {} is bound to another digest", self.call)))
    }

    /// Only the user whom the call is about decides on it.
    fn decided(&mut self, by: &UserId) -> Result<(), StoreError> {
        if *by != self.user {
            return Err(StoreError::refused(format!("call {} is not {by}'s to decide", self.call)));
        }
        self.decided_by = Some(by.clone());
        Ok(())
    }
}
