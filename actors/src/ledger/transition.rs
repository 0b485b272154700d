//! The states of a tool call and the only ways from one to the next.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::IntoStaticStr;

use crate::protocol::{
    Approval, CallId, CallResult, Digest, Effect, EffectResolution, ModelName, ResolvedBy,
    SessionId, Shown, Timestamp, ToolOutcome, TurnId, UserId,
};

use super::Seal;

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CallState {
    /// The model asked for it.
    Proposed,
    /// A person is asked about it.
    Awaiting,
    /// A person approved it.
    Approved,
    /// Its handler has begun.
    Running,
    /// It has its outcome.
    Ended,
}

impl CallState {
    /// Returns its name in databases.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One step of a call, written to an append-only table. Writing a step again changes nothing, with
/// two exceptions: the writer of `Running` runs the handler, and the writer of `Resolved` resolves
/// the call, so neither may be written again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(tag = "state", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Transition {
    /// The model asked for it.
    Proposed(Proposal),
    /// A person is asked about exactly these arguments.
    Awaiting {
        /// The arguments, validated against the schema.
        arguments: Arc<Value>,
        /// The digest of the tool with its schema.
        schema: Digest,
        /// Every byte that the person sees. `None` if a standing approval makes the request
        /// unnecessary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Box<Shown>>,
        /// The digest that the answer will be bound to.
        digest: Digest,
        /// The moment at which the request expires.
        expires_at: Timestamp,
    },
    /// A person approved this digest. It is used once, by `Running`.
    Approved {
        /// The digest of what was shown. If the person typed other arguments, the digest of those.
        digest: Digest,
        /// The user that decided.
        by: UserId,
        /// How long the approval holds, and what it rests on.
        approval: Approval,
        /// The arguments that the person typed in place of those that were shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Arc<Value>>,
        /// The moment after which the approval cannot be used.
        expires_at: Timestamp,
        /// The code that proves that it was decided by a program that has the keys. Without a
        /// fitting one the approval is not valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<Seal>,
    },
    /// The handler begins with these arguments.
    Running {
        /// The arguments, validated against the schema.
        arguments: Arc<Value>,
        /// The digest of what is about to run.
        digest: Digest,
    },
    /// The call has its outcome.
    Ended(Ended),
    /// The unknown effect of an ended call is known now. Its handler ended after the call's caller
    /// had received `timeout`, or a person has looked. The first resolution is final.
    Resolved {
        /// What the call did to the world.
        #[serde(rename = "effect")]
        resolution: EffectResolution,
        /// The handler or the person that found out.
        by: ResolvedBy,
    },
    /// The standing approval that began with this call ends. The call stays in its state.
    Revoked {
        /// The user that ended it.
        by: UserId,
    },
}

/// What the model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The turn in which the model asked.
    pub turn: TurnId,
    /// The number of the call in the transcript.
    pub seq: u64,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The arguments as the model wrote them.
    pub arguments: Arc<str>,
    /// The model that asked, if it has a name. `None` without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// What the model wants back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Arc<str>>,
    /// The user whose data the call is about.
    pub user: UserId,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The validated arguments, if the call ended before a step that has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arc<Value>>,
    /// What became of the call.
    pub outcome: ToolOutcome,
    /// What the call did to the world.
    pub effect: Effect,
    /// Whether a reader receives the outcome.
    pub result: CallResult,
    /// The user that decided, if a person denied it.
    pub decided_by: Option<UserId>,
}

/// A step that no call may take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "call {call} of session {session} cannot go from {} to {}",
    .from.map_or("nothing", CallState::name),
    .to.name()
)]
pub struct IllegalTransition {
    /// The call.
    pub call: CallId,
    /// The session of the step.
    pub session: SessionId,
    /// The state of the call. `None` if it is not in the ledger.
    pub from: Option<CallState>,
    /// The state to which the step leads. For a revocation, the state of the call.
    pub to: CallState,
}

impl Transition {
    /// Returns the state to which the step leads, or `None` if the call stays in its own.
    #[must_use]
    pub const fn to(&self) -> Option<CallState> {
        match self {
            Self::Proposed(_) => Some(CallState::Proposed),
            Self::Awaiting { .. } => Some(CallState::Awaiting),
            Self::Approved { .. } => Some(CallState::Approved),
            Self::Running { .. } => Some(CallState::Running),
            Self::Ended(_) | Self::Resolved { .. } => Some(CallState::Ended),
            Self::Revoked { .. } => None,
        }
    }

    /// Returns the call whose standing approval this one rests on.
    #[must_use]
    pub const fn rests_on(&self) -> Option<CallId> {
        match self {
            Self::Approved { approval: Approval::Standing { by_call, .. }, .. } => Some(*by_call),
            Self::Approved { .. }
            | Self::Proposed(_)
            | Self::Awaiting { .. }
            | Self::Running { .. }
            | Self::Ended(_)
            | Self::Resolved { .. }
            | Self::Revoked { .. } => None,
        }
    }

    /// Returns whether a call in the state `from` may take this step.
    #[must_use]
    pub const fn may_follow(&self, from: Option<CallState>) -> bool {
        use CallState::{Approved, Awaiting, Ended, Proposed, Running};
        match self {
            Self::Proposed(_) => from.is_none(),
            Self::Awaiting { .. } => matches!(from, Some(Proposed)),
            Self::Approved { .. } => matches!(from, Some(Awaiting)),
            Self::Running { .. } => matches!(from, Some(Proposed | Approved)),
            // A handler that never ran had no effect.
            Self::Ended(end) if matches!(end.effect, Effect::None) => {
                matches!(from, Some(Proposed | Awaiting | Approved | Running))
            }
            Self::Ended(_) => matches!(from, Some(Running)),
            Self::Resolved { .. } => matches!(from, Some(Ended)),
            Self::Revoked { .. } => matches!(from, Some(Approved | Running | Ended)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CallState::{Approved, Awaiting, Ended as End, Proposed, Running};
    use super::*;
    use crate::protocol::ToolOutcome;
    use uuid::Uuid;

    fn ended(effect: Effect) -> Transition {
        Transition::Ended(Ended {
            arguments: None,
            outcome: ToolOutcome::ok(Value::Null),
            effect,
            result: CallResult::Shown,
            decided_by: None,
        })
    }

    fn step(to: CallState) -> Transition {
        let digest = Digest::new([0; 32]);
        let user = UserId::new("kim").unwrap();
        match to {
            Proposed => Transition::Proposed(Proposal {
                model: None,
                opaque: None,
                turn: TurnId::new(Uuid::nil()),
                seq: 1,
                name: "t".into(),
                arguments: "{}".into(),
                user,
            }),
            Awaiting => Transition::Awaiting {
                arguments: Value::Null.into(),
                schema: digest,
                shown: None,
                digest,
                expires_at: Timestamp::from_millis(0),
            },
            Approved => Transition::Approved {
                digest,
                by: user,
                approval: Approval::Once,
                arguments: None,
                expires_at: Timestamp::from_millis(0),
                seal: None,
            },
            Running => Transition::Running { arguments: Value::Null.into(), digest },
            End => ended(Effect::None),
        }
    }

    #[test]
    fn only_the_steps_of_the_specification_are_legal() {
        let all = [Proposed, Awaiting, Approved, Running, End];
        let legal: Vec<_> = std::iter::once(None)
            .chain(all.map(Some))
            .flat_map(|from| all.map(|to| (from, to)))
            .filter(|(from, to)| step(*to).may_follow(*from))
            .collect();
        assert_eq!(
            legal,
            [
                (None, Proposed),
                (Some(Proposed), Awaiting),
                (Some(Proposed), Running),
                (Some(Proposed), End),
                (Some(Awaiting), Approved),
                (Some(Awaiting), End),
                (Some(Approved), Running),
                (Some(Approved), End),
                (Some(Running), End),
            ]
        );
    }

    #[test]
    fn only_a_call_that_ran_can_end_with_an_effect() {
        for effect in [Effect::Committed, Effect::Unknown] {
            let legal: Vec<_> =
                [None, Some(Proposed), Some(Awaiting), Some(Approved), Some(Running), Some(End)]
                    .into_iter()
                    .filter(|from| ended(effect).may_follow(*from))
                    .collect();
            assert_eq!(legal, [Some(Running)], "{effect:?}");
        }
    }

    #[test]
    fn only_an_ended_call_can_be_resolved() {
        let resolution = EffectResolution::TookEffect;
        let by = ResolvedBy::Handler;
        let resolved = Transition::Resolved { resolution, by };
        let legal = |from| resolved.may_follow(from);
        assert!(legal(Some(End)));
        assert!(
            ![None, Some(Proposed), Some(Awaiting), Some(Approved), Some(Running)]
                .into_iter()
                .any(legal)
        );
    }

    #[test]
    fn a_standing_approval_can_be_revoked_once_it_was_given() {
        let revoked = Transition::Revoked { by: UserId::new("kim").unwrap() };
        let legal: Vec<_> =
            [None, Some(Proposed), Some(Awaiting), Some(Approved), Some(Running), Some(End)]
                .into_iter()
                .filter(|from| revoked.may_follow(*from))
                .collect();
        assert_eq!(legal, [Some(Approved), Some(Running), Some(End)]);
    }

    #[test]
    fn a_state_has_the_name_by_which_it_is_read_again() {
        let states = [Proposed, Awaiting, Approved, Running, End];
        assert_eq!(
            states.map(CallState::name),
            ["proposed", "awaiting", "approved", "running", "ended"]
        );
        for state in states {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }
}
