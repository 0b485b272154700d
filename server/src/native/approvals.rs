//! Decides about approval requests.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use madang::{
    CallId,
    approval::{Decision, Digest},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    answer::json,
    auth::{caller::Caller, scope::TokenScope},
    decisions::{self, Counts},
    extract::{Ids, Json, call_id},
    problem::{Problem, ProblemName},
    route::{Access, ForeignObject, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/v1/approvals/{call}/decision", Access::Scope(TokenScope::Decide), decide).id("decideApproval")
            .says("Decides about the approval request of a call. Sending the same decision again is safe.")
            .takes::<DecisionOfKind>(|| serde_json::json!({ "digest": "0".repeat(64), "decision": "approve" }))
            .gives::<CountingDecision>(StatusCode::OK, "The decision is recorded.")
            .refuses(&[
                ProblemName::NotOpen,
                ProblemName::DoesNotFit,
                ProblemName::DecisionNotKnown,
            ]),
    ]
}

/// A decision as it is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionBody {
    /// The digest of the request as it was shown.
    digest: Digest,
    /// The decision.
    decision: DecisionName,
    /// The person's message for `deny_with`.
    message: Option<Arc<str>>,
    /// The arguments for `edit`, which must be an object.
    arguments: Option<Value>,
}

/// A decision about the request with this digest.
#[derive(JsonSchema)]
#[schemars(
    rename = "DecisionBody",
    tag = "decision",
    rename_all = "snake_case",
    deny_unknown_fields
)]
#[expect(dead_code, reason = "only its schema is used: `DecisionBody` says what is wrong")]
enum DecisionOfKind {
    /// The call runs as it was shown.
    Approve {
        /// The digest of the request as it was shown.
        digest: Digest,
    },
    /// The call runs, and later calls of its tool run without a question.
    ApproveAlways {
        /// The digest of the request as it was shown.
        digest: Digest,
    },
    /// The call does not run.
    Deny {
        /// The digest of the request as it was shown.
        digest: Digest,
    },
    /// The call does not run, and the model reads why.
    DenyWith {
        /// The digest of the request as it was shown.
        digest: Digest,
        /// The person's message.
        message: Arc<str>,
    },
    /// The call runs with other arguments.
    Edit {
        /// The digest of the request as it was shown.
        digest: Digest,
        arguments: EditedArguments,
    },
}

/// The arguments of a call, as a person has edited them.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct EditedArguments(ForeignObject);

/// The name of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DecisionName {
    Approve,
    ApproveAlways,
    Deny,
    DenyWith,
    Edit,
}

/// A decision that counts.
#[derive(Debug, Serialize, JsonSchema)]
struct CountingDecision {
    counts: bool,
    call: CallId,
    decision: DecisionName,
    /// Whether the same decision was already recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already: bool,
}

async fn decide(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(call): Ids<String>,
    Json(body): Json<DecisionBody>,
) -> Result<Response, Problem> {
    let call = call_id(&call)?;
    let name = body.decision;
    let digest = body.digest;
    let decision = body.decision()?;
    let counts = decisions::decide(&shared, &caller, "native", call, digest, decision).await?;
    let already = counts == Counts::Already;
    Ok(json(&CountingDecision { counts: true, call, decision: name, already }))
}

impl DecisionBody {
    /// Reads the decision. Refuses members that belong to another kind of decision, because they
    /// would be lost silently.
    fn decision(self) -> Result<Decision, Problem> {
        let wrong = |pointer: &str, detail: &'static str| {
            Problem::malformed("The decision does not fit.").at(pointer, detail)
        };
        match (self.decision, self.message, self.arguments) {
            (DecisionName::Approve, None, None) => Ok(Decision::Approve),
            (DecisionName::ApproveAlways, None, None) => Ok(Decision::ApproveAlways),
            (DecisionName::Deny, None, None) => Ok(Decision::Deny),
            (DecisionName::DenyWith, Some(message), None) => Ok(Decision::DenyWith { message }),
            (DecisionName::Edit, None, Some(arguments)) => Ok(Decision::Edit { arguments }),
            (DecisionName::DenyWith, None, _) => {
                Err(wrong("/message", "The decision deny_with needs a message."))
            }
            (DecisionName::Edit, _, None) => Err(wrong("/arguments", "Arguments belong to edit.")),
            (_, Some(_), _) => Err(wrong("/message", "Only deny_with has a message.")),
            (_, None, Some(_)) => Err(wrong("/arguments", "Only edit has arguments.")),
        }
    }
}
