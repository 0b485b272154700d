//! Reads what a client of AG-UI wants from the body of its request.

use std::sync::Arc;

use madang::{SessionId, approval::Decision};
use serde_json::{Map, Value};

use crate::{
    ServerLimits,
    ask::Ask,
    auth::caller::session_id,
    problem::Problem,
    surface::{
        approval_id::ApprovalId,
        body::{Said, read, read_ask, required, text_of, too_many_at, wrong_at},
        decision::DecisionForm,
        raw::Raw,
    },
};

/// The input of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct AgUiInput {
    /// The session, which AG-UI calls a thread.
    pub(crate) thread: SessionId,
    /// The id of the run, which the answer repeats.
    pub(crate) run: Arc<str>,
    /// What the run should do.
    pub(crate) intent: AgUiIntent,
    /// How many messages of users, assistants and tools the client has.
    pub(crate) messages: usize,
    /// The client's state. `None` if it is not an object, or larger than a body without a history.
    pub(crate) state: Option<Map<String, Value>>,
    /// What the client wants the model to read in addition to the chat.
    pub(crate) instructions: Option<String>,
    /// Which person is asked, if the client says so in `forwardedProps.ask`.
    pub(crate) ask: Option<Ask>,
}

/// What a run should do.
#[derive(Debug, PartialEq)]
pub(crate) enum AgUiIntent {
    /// Begin a turn with this text. If its key began a turn before, stream that turn.
    Say(Said),
    /// Decide about approval requests, then continue their turn.
    Resume {
        /// The decisions, in the order of the input.
        decisions: Vec<(ApprovalId, Decision)>,
        /// The requests that the person turned away from. If one is still open, its turn is
        /// dismissed.
        cancelled: Vec<ApprovalId>,
        /// How many entries name no request. They change nothing.
        unrecognised: usize,
        /// The last text of the user, which may be new if requests were cancelled.
        said: Option<Said>,
    },
    /// Stream the running turn, or send the messages if none runs.
    Attach,
}

impl AgUiInput {
    /// Reads a body.
    ///
    /// # Errors
    /// Returns a problem if the body is too long, is not such JSON, or asks for something that
    /// cannot be done.
    pub(crate) fn read(body: &[u8], limits: &ServerLimits) -> Result<Self, Problem> {
        let body = read(body, limits)?;
        let messages = body
            .member("messages")
            .and_then(Raw::elements)
            .ok_or_else(|| wrong_at("/messages", "This must be a list of messages."))?;
        let mut len = 0;
        let mut last_of_user = None;
        for (at, message) in messages.enumerate() {
            match message.read_member::<String>("role").as_deref() {
                Some("user") => {
                    last_of_user = Some((at, message));
                    len += 1;
                }
                Some("assistant" | "tool") => len += 1,
                Some(_) | None => {}
            }
        }
        let said = last_of_user.map(|(at, message)| said(at, message)).transpose()?;
        let state = body.member("state").filter(|state| state.len() <= limits.max_body_bytes);
        let asks = body.member("forwardedProps").and_then(|props| props.member("ask"));
        Ok(Self {
            thread: session_id(&required::<String>(body, "threadId")?)?,
            run: run_id(body)?,
            intent: intent(body.member("resume"), said, limits)?,
            messages: len,
            state: state.and_then(Raw::read),
            instructions: body.member("context").and_then(instructions),
            ask: read_ask(asks, "/forwardedProps/ask")?,
        })
    }
}

fn said(at: usize, message: Raw<'_>) -> Result<Said, Problem> {
    let pointer = format!("/messages/{at}");
    let content = message.member("content");
    let text = match content.and_then(Raw::read::<String>) {
        Some(text) => text,
        None => text_of(content, &format!("{pointer}/content"), |kind| kind != "text")?,
    };
    Said::new(message, &pointer, text)
}

fn intent(
    resume: Option<Raw<'_>>,
    said: Option<Said>,
    limits: &ServerLimits,
) -> Result<AgUiIntent, Problem> {
    let Some(resume) = resume else { return Ok(without_resume(said)) };
    let entries = resume
        .elements()
        .ok_or_else(|| wrong_at("/resume", "This must be a list of decisions."))?;
    let mut decisions = Vec::new();
    let mut cancelled = Vec::new();
    let mut unrecognised = 0;
    for (at, entry) in entries.enumerate() {
        if at >= limits.max_page {
            return Err(too_many_at("/resume", limits.max_page));
        }
        let id = entry.read_member::<String>("interruptId");
        let Some(id) = id.as_deref().and_then(ApprovalId::read) else {
            unrecognised += 1;
            continue;
        };
        match entry.read_member::<String>("status").as_deref() {
            Some("resolved") => decisions.push((id, decision(at, entry)?)),
            Some("cancelled") => cancelled.push(id),
            Some(_) | None => {
                let pointer = format!("/resume/{at}/status");
                return Err(wrong_at(pointer, "This must be resolved or cancelled."));
            }
        }
    }
    if decisions.is_empty() && cancelled.is_empty() && unrecognised == 0 {
        return Ok(without_resume(said));
    }
    Ok(AgUiIntent::Resume { decisions, cancelled, unrecognised, said })
}

fn without_resume(said: Option<Said>) -> AgUiIntent {
    said.map_or(AgUiIntent::Attach, AgUiIntent::Say)
}

/// Reads a decision. Only `approved: true` approves, and a form without it is not a decision.
fn decision(at: usize, entry: Raw<'_>) -> Result<Decision, Problem> {
    let payload = entry.member("payload");
    let approved = payload.and_then(|payload| payload.read_member::<bool>("approved"));
    let (Some(payload), Some(is_approved)) = (payload, approved) else {
        let pointer = format!("/resume/{at}/payload/approved");
        return Err(wrong_at(pointer, "This must be true or false, as the response schema says."));
    };
    let form = DecisionForm {
        is_approved,
        message: payload.read_member("message"),
        edited: edited(at, payload)?,
        is_always: payload.read_member("always").unwrap_or_default(),
    };
    Ok(form.decision())
}

/// Reads the arguments that the person typed. If they cannot be read, the result is a problem and
/// never the arguments that were shown.
fn edited(at: usize, payload: Raw<'_>) -> Result<Option<Value>, Problem> {
    let Some(edited) = payload.member("editedArgs") else { return Ok(None) };
    let edited = edited.read::<Map<String, Value>>().ok_or_else(|| {
        let pointer = format!("/resume/{at}/payload/editedArgs");
        wrong_at(pointer, "This must be an object.")
    })?;
    Ok(Some(Value::Object(edited)))
}

fn run_id(body: Raw<'_>) -> Result<Arc<str>, Problem> {
    let id = required::<String>(body, "runId")?;
    if (1..=MAX_RUN_ID_BYTES).contains(&id.len()) && !id.chars().any(char::is_control) {
        return Ok(id.into());
    }
    Err(wrong_at("/runId", "A run's id has 1 to 256 bytes and no control characters."))
}

/// The most bytes of a run's id, as many as of other ids. It comes back in each run.
const MAX_RUN_ID_BYTES: usize = 256;

fn instructions(context: Raw<'_>) -> Option<String> {
    let lines = context.elements()?.filter_map(|entry| {
        let value = entry.read_member::<String>("value")?;
        let description = entry.read_member::<String>("description").unwrap_or_default();
        Some(match description.trim() {
            "" => value,
            description => format!("{description}: {value}"),
        })
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    (!text.trim().is_empty()).then_some(text)
}
