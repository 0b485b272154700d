//! Computes what a step makes of a call's row. Pure, and the same in every store.

use serde_json::Value;

use super::{LedgerRow, StoreError};
use crate::{
    ledger::{CallState, Ended, IllegalTransition, SealError, SealKeys, Transition},
    protocol::{
        self, Approval, CallId, CallRecord, CallResult, ChatMessage, Content, Digest, Effect,
        MAX_BYTES, ResolvedBy, SessionId, StandingApproval, Timestamp, ToolCall, Unstorable,
        UserId, storable_text,
    },
};

/// Checks that what the step writes can be read again.
fn storable(step: &Transition) -> Result<(), Unstorable> {
    match step {
        Transition::Proposed(proposal) => {
            storable_text(&proposal.name, MAX_BYTES)?;
            storable_text(&proposal.arguments, MAX_BYTES)
        }
        Transition::Awaiting { arguments, shown, .. } => {
            protocol::storable(arguments, MAX_BYTES)?;
            shown.as_ref().map_or(Ok(()), |shown| {
                storable_text(&shown.text, MAX_BYTES)?;
                storable_text(&shown.consequence, MAX_BYTES)
            })
        }
        Transition::Running { arguments, .. } => protocol::storable(arguments, MAX_BYTES),
        Transition::Approved { arguments, .. } => {
            arguments.as_ref().map_or(Ok(()), |typed| protocol::storable(typed, MAX_BYTES))
        }
        Transition::Ended(Ended { arguments, outcome, .. }) => {
            arguments.as_ref().map_or(Ok(()), |value| protocol::storable(value, MAX_BYTES))?;
            outcome.storable(MAX_BYTES)
        }
        Transition::Resolved { .. } | Transition::Revoked { .. } => Ok(()),
    }
}

/// A use of a standing approval.
struct Use<'a> {
    schema: &'a Digest,
    resource: &'a Option<Digest>,
    number: u32,
    at: Timestamp,
}

impl LedgerRow {
    /// Computes the row of a call after a step, from its row before. The caller has ruled out that
    /// the step is the one that the call took last.
    ///
    /// An approval is valid if it is bound to what was shown, or to what the user typed instead; if
    /// the call's user gave it before its request expired; and if one of the keys sealed it. `keys`
    /// is `None` only for an audit without keys. If the approval rests on a standing approval, it
    /// names the call of that one, whose row is `standing`. An approved call begins to run before
    /// its approval expires, with exactly these arguments.
    ///
    /// # Errors
    /// [`StoreError::Illegal`] for a step that the call cannot take. [`StoreError::Refused`] for
    /// one that contradicts what was asked and approved, or has a value that could not be read
    /// again.
    pub fn after(
        before: Option<&Self>,
        standing: Option<&Self>,
        keys: Option<&SealKeys>,
        session: &SessionId,
        call: CallId,
        at: Timestamp,
        step: &Transition,
    ) -> Result<Self, StoreError> {
        let from = before.map(|row| row.state);
        if !step.may_follow(from) {
            let to = step.to().or(from).unwrap_or(CallState::Proposed);
            return Err(IllegalTransition { call, session: session.clone(), from, to }.into());
        }
        storable(step).map_err(|cause| StoreError::refused(format!("call {call}: {cause}")))?;
        match (before, step) {
            (None, Transition::Proposed(proposal)) => Ok(Self {
                session: session.clone(),
                call,
                turn: proposal.turn,
                seq: proposal.seq,
                user: proposal.user.clone(),
                name: proposal.name.clone(),
                arguments: Value::from(&*proposal.arguments).into(),
                asked: None,
                raw_arguments: proposal.arguments.clone(),
                model: proposal.model.clone(),
                opaque: proposal.opaque.clone(),
                schema: None,
                shown: None,
                digest: None,
                state: CallState::Proposed,
                outcome: None,
                effect: None,
                result: None,
                decided_by: None,
                approval: None,
                seal: None,
                approved_at: None,
                expires_at: None,
                revoked_at: None,
                resolved_by: None,
                resolved_at: None,
                proposed_at: at,
                ended_at: None,
                unreadable: Vec::new(),
            }),
            (Some(row), _) => {
                if let Some(keys) = keys {
                    row.must_be_sealed(standing, keys, at, step)?;
                }
                row.clone().step(standing, at, step)
            }
            (None, _) => unreachable!("only a proposal may come first"),
        }
    }

    /// Returns the call as the model wrote it.
    pub(crate) fn tool_call(&self) -> ToolCall {
        ToolCall {
            id: self.call,
            name: self.name.clone(),
            arguments: self.raw_arguments.clone(),
            model: self.model.clone(),
            opaque: self.opaque.clone(),
        }
    }

    /// Returns the record of the call, or `None` if it has not ended.
    #[must_use]
    pub fn record(&self) -> Option<CallRecord> {
        let effect = self.effect?;
        let result = self.result?;
        let ended_at = self.ended_at?;
        Some(CallRecord {
            id: self.call,
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            model: self.model.clone(),
            opaque: self.opaque.clone(),
            asked: self.asked.clone(),
            approval: self.approval,
            outcome: self.outcome.clone().filter(|_| result == CallResult::Shown),
            effect,
            resolved_by: self.resolved_by.clone(),
            result,
            proposed_at: self.proposed_at,
            ended_at,
        })
    }

    /// Returns the call's entry in the transcript, or `None` if it has not ended.
    #[must_use]
    pub fn entry(&self) -> Option<ChatMessage> {
        let record = self.record()?;
        Some(ChatMessage {
            seq: self.seq,
            turn: self.turn,
            at: record.ended_at,
            content: Content::ToolCall(Box::new(record)),
        })
    }

    /// Returns the standing approval that began with this call, unless it was revoked.
    #[must_use]
    pub fn standing_approval(&self) -> Option<StandingApproval> {
        let Some(Approval::Always { schema, until, uses, resource }) = self.approval else {
            return None;
        };
        if self.revoked_at.is_some() {
            return None;
        }
        Some(StandingApproval {
            session: self.session.clone(),
            tool: self.name.clone(),
            schema,
            resource,
            user: self.user.clone(),
            call: self.call,
            at: self.approved_at?,
            until,
            uses,
        })
    }

    /// Checks that the approval in the row was sealed by a program that has the keys. A row without
    /// an approval passes.
    ///
    /// # Errors
    /// [`SealError`] says why the approval is not valid.
    pub fn check_seal(&self, keys: &SealKeys) -> Result<(), SealError> {
        let (Some(approval), Some(at)) = (self.approval, self.approved_at) else {
            return if self.approval.is_none() { Ok(()) } else { Err(SealError::Broken) };
        };
        let (Some(digest), Some(expires_at)) = (self.digest, self.expires_at) else {
            return Err(SealError::Broken);
        };
        let step = Transition::Approved {
            digest,
            // Only the call's user can have decided.
            by: self.user.clone(),
            approval,
            arguments: self.asked.is_some().then(|| self.arguments.clone()),
            expires_at,
            seal: self.seal,
        };
        keys.check(&self.session, self.call, at, &step)
    }

    /// Checks the seal when an approval is written, when it is used, and when another rests on it.
    fn must_be_sealed(
        &self,
        standing: Option<&Self>,
        keys: &SealKeys,
        at: Timestamp,
        step: &Transition,
    ) -> Result<(), StoreError> {
        let unsealed = |error: SealError| self.refused(&format!("is not approved: {error}"));
        match step {
            Transition::Approved { .. } => {
                keys.check(&self.session, self.call, at, step).map_err(unsealed)?;
                let relied_on = standing.filter(|_| step.rests_on().is_some());
                relied_on.map_or(Ok(()), |row| row.check_seal(keys)).map_err(unsealed)
            }
            Transition::Running { .. } => self.check_seal(keys).map_err(unsealed),
            Transition::Proposed(_)
            | Transition::Awaiting { .. }
            | Transition::Ended(_)
            | Transition::Resolved { .. }
            | Transition::Revoked { .. } => Ok(()),
        }
    }

    /// Returns whether the step can be the one that the call took last, so that writing it again
    /// changes nothing. The beginning of a handler cannot be, because its writer runs the handler,
    /// and only one may. Nor can a resolution be, because its second writer must learn that the
    /// call was resolved before.
    #[must_use]
    pub fn may_repeat(&self, step: &Transition) -> bool {
        let happens_once = matches!(step, Transition::Running { .. } | Transition::Resolved { .. });
        step.to().is_none_or(|to| to == self.state) && !happens_once
    }

    fn step(
        mut self,
        standing: Option<&Self>,
        at: Timestamp,
        step: &Transition,
    ) -> Result<Self, StoreError> {
        match step {
            Transition::Proposed(_) => unreachable!("a proposal comes first"),
            Transition::Awaiting { arguments, schema, shown, digest, expires_at } => {
                self.arguments = arguments.clone();
                self.schema = Some(*schema);
                self.shown = shown.clone();
                self.digest = Some(*digest);
                self.expires_at = Some(*expires_at);
            }
            Transition::Approved { digest, by, approval, arguments, expires_at, seal } => {
                self.decided(by)?;
                self.in_time(at)?;
                match (approval, arguments) {
                    (Approval::Edited, Some(typed)) => {
                        self.asked = Some(std::mem::replace(&mut self.arguments, typed.clone()));
                    }
                    (Approval::Once | Approval::Always { .. }, None) => self.bound_to(digest)?,
                    (Approval::Standing { schema, resource, number, .. }, None) => {
                        self.bound_to(digest)?;
                        self.rests_on(standing, &Use { schema, resource, number: *number, at })?;
                    }
                    (Approval::Edited, None)
                    | (
                        Approval::Once | Approval::Always { .. } | Approval::Standing { .. },
                        Some(_),
                    ) => return Err(self.refused("is approved with other arguments than it says")),
                }
                self.digest = Some(*digest);
                self.approval = Some(*approval);
                self.seal = *seal;
                self.approved_at = Some(at);
                self.expires_at = Some(*expires_at);
            }
            Transition::Running { arguments, digest } => {
                self.bound_to(digest)?;
                if self.state == CallState::Approved {
                    self.in_time(at)?;
                    if *arguments != self.arguments {
                        return Err(self.refused("was approved with other arguments"));
                    }
                }
                self.arguments = arguments.clone();
                self.digest = Some(*digest);
            }
            Transition::Ended(end) => {
                if let Some(arguments) = &end.arguments {
                    if self.state != CallState::Proposed {
                        return Err(self.refused("has its arguments already"));
                    }
                    self.arguments = arguments.clone();
                }
                if let Some(by) = &end.decided_by {
                    self.decided(by)?;
                }
                self.outcome = Some(end.outcome.clone());
                self.effect = Some(end.effect);
                self.result = Some(end.result);
                self.ended_at = Some(at);
            }
            Transition::Resolved { resolution, by } => {
                if self.effect != Some(Effect::Unknown) {
                    return Err(self.refused("has an effect that is known already"));
                }
                if let ResolvedBy::Person { user } = by
                    && *user != self.user
                {
                    return Err(self.refused("is resolved by another user"));
                }
                self.effect = Some(resolution.effect());
                self.resolved_by = Some(by.clone());
                self.resolved_at = Some(at);
            }
            Transition::Revoked { by } => {
                if self.standing_approval().is_none() {
                    return Err(self.refused("has no standing approval"));
                }
                self.decided(by)?;
                self.revoked_at = Some(at);
            }
        }
        self.state = step.to().unwrap_or(self.state);
        Ok(self)
    }

    /// Checks that what is approved and run is what was shown.
    fn bound_to(&self, digest: &Digest) -> Result<(), StoreError> {
        if self.digest.is_none_or(|shown| shown == *digest) {
            return Ok(());
        }
        Err(self.refused("is bound to another digest"))
    }

    /// Checks that a request is decided, and an approval used, before it expires.
    fn in_time(&self, at: Timestamp) -> Result<(), StoreError> {
        if self.expires_at.is_some_and(|expires_at| at < expires_at) {
            return Ok(());
        }
        Err(self.refused("was approved too late, or too long ago"))
    }

    /// Checks that a standing approval covers the call. It covers this tool with this schema, for
    /// its user, in its session, on its resource. It lasts for some time and for some number of
    /// calls, until it is revoked.
    fn rests_on(&self, standing: Option<&Self>, its: &Use<'_>) -> Result<(), StoreError> {
        let covers = |standing: &StandingApproval| {
            standing.session == self.session
                && standing.user == self.user
                && standing.tool == self.name
                && standing.schema == *its.schema
                && standing.resource == *its.resource
                && its.at < standing.until
                && (1..=standing.uses).contains(&its.number)
        };
        if standing.and_then(Self::standing_approval).as_ref().is_some_and(covers) {
            return Ok(());
        }
        Err(self.refused("rests on a standing approval that does not cover it"))
    }

    /// Checks that the call's own user decides.
    fn decided(&mut self, by: &UserId) -> Result<(), StoreError> {
        if *by != self.user {
            return Err(self.refused("is decided on by another user"));
        }
        self.decided_by = Some(by.clone());
        Ok(())
    }

    fn refused(&self, why: &str) -> StoreError {
        StoreError::refused(format!("call {} {why}", self.call))
    }
}
