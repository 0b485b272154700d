//! Reads what a client of the AI SDK wants from the body of its request.

use madang::{SessionId, TurnId, approval::Decision};
use uuid::Uuid;

use crate::{
    ServerLimits,
    ask::Ask,
    auth::caller::session_id,
    problem::Problem,
    surface::{
        approval_id::ApprovalId,
        body::{Said, read, read_ask, required, text_of, too_many_at, wrong_at},
        decision::DecisionForm,
        forks::Sent,
        raw::Raw,
    },
};

/// The input of a request.
#[derive(Debug, PartialEq)]
pub(crate) struct AiInput {
    /// The session that the request is about.
    pub(crate) session: SessionId,
    /// What the request should do.
    pub(crate) intent: AiIntent,
    /// Which person is asked, if the client says so.
    pub(crate) ask: Option<Ask>,
}

/// What a request should do.
#[derive(Debug, PartialEq)]
pub(crate) enum AiIntent {
    /// Begin a turn with this text, stream the turn that it began before, or begin a fork with it.
    Say(Said, Sent),
    /// Decide about approval requests, then continue the message that shows them.
    Decide {
        /// The turn of the message, if the server made its id.
        turn: Option<TurnId>,
        /// The decisions, in the order of the message.
        decisions: Vec<(ApprovalId, Decision)>,
        /// How many approvals name no request. They change nothing.
        unrecognised: usize,
    },
    /// Continue the running turn.
    Attach,
}

impl AiInput {
    /// Reads a body.
    ///
    /// # Errors
    /// Returns a problem if the body is too long, is not such JSON, or asks for something that
    /// cannot be done.
    pub(crate) fn read(body: &[u8], limits: &ServerLimits) -> Result<Self, Problem> {
        let body = read(body, limits)?;
        let (message, pointer) = last_message(body)
            .ok_or_else(|| wrong_at("/messages", "A list of messages or one message is needed."))?;
        let intent = match message.read_member::<String>("role").as_deref() {
            Some("user") => say(body, message, &pointer)?,
            Some("assistant") => decide(message, &pointer, limits)?,
            Some(_) | None => {
                let detail = "The last message is user's or assistant's.";
                return Err(wrong_at(format!("{pointer}/role"), detail));
            }
        };
        Ok(Self {
            session: session_id(&required::<String>(body, "id")?)?,
            intent,
            ask: read_ask(body.member("ask"), "/ask")?,
        })
    }
}

fn last_message(body: Raw<'_>) -> Option<(Raw<'_>, String)> {
    if let Some(message) = body.member("message") {
        return Some((message, "/message".into()));
    }
    let (at, message) = body.member("messages")?.elements()?.enumerate().last()?;
    Some((message, format!("/messages/{at}")))
}

fn say(body: Raw<'_>, message: Raw<'_>, pointer: &str) -> Result<AiIntent, Problem> {
    let parts = message.member("parts");
    let text = text_of(parts, &format!("{pointer}/parts"), |kind| kind == "file")?;
    let said = Said::new(message, pointer, text)?;
    let names_it =
        body.read_member::<String>("messageId").is_some_and(|id| id == said.key.as_str());
    let sent = match body.read_member::<String>("trigger").as_deref() {
        Some("regenerate-message") => Sent::Again,
        Some(_) | None if names_it => Sent::Named,
        Some(_) | None => Sent::Plain,
    };
    Ok(AiIntent::Say(said, sent))
}

/// Reads the approvals to which the person has responded. Those of calls that have ended are in
/// another state.
fn decide(message: Raw<'_>, pointer: &str, limits: &ServerLimits) -> Result<AiIntent, Problem> {
    let pointer = format!("{pointer}/parts");
    let parts = message
        .member("parts")
        .and_then(Raw::elements)
        .ok_or_else(|| wrong_at(pointer.as_str(), "This must be a list of parts."))?;
    let mut decisions = Vec::new();
    let mut unrecognised = 0;
    for (at, part) in parts.enumerate() {
        if part.read_member::<String>("state").as_deref() != Some("approval-responded") {
            continue;
        }
        if decisions.len() + unrecognised == limits.max_page {
            return Err(too_many_at(&pointer, limits.max_page));
        }
        let approval = part.member("approval");
        let id = approval.and_then(|approval| approval.read_member::<String>("id"));
        match (approval, id.as_deref().and_then(ApprovalId::read)) {
            (Some(approval), Some(id)) => {
                decisions.push((id, decision(approval, &format!("{pointer}/{at}/approval"))?));
            }
            (Some(_) | None, _) => unrecognised += 1,
        }
    }
    if decisions.is_empty() && unrecognised == 0 {
        return Ok(AiIntent::Attach);
    }
    let id = message.read_member::<String>("id");
    let turn = id.and_then(|id| Uuid::try_parse(&id).ok()).map(TurnId::new);
    Ok(AiIntent::Decide { turn, decisions, unrecognised })
}

/// Reads a decision. Only `approved: true` approves, and an approval without it is not a decision.
fn decision(approval: Raw<'_>, pointer: &str) -> Result<Decision, Problem> {
    let Some(is_approved) = approval.read_member::<bool>("approved") else {
        return Err(wrong_at(format!("{pointer}/approved"), "This must be true or false."));
    };
    let message = approval.read_member("reason");
    Ok(DecisionForm { is_approved, message, ..DecisionForm::default() }.decision())
}
