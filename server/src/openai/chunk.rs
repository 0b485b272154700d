//! Writes the chunks of a streamed chat completion.

use std::sync::Arc;

use madang::{
    TurnId,
    error::TurnError,
    event::{EventKind, SessionEvent, StreamItem, TurnEnding},
    model::ModelError,
    model::Usage,
    turn::BETWEEN_MESSAGES,
};
use serde_json::{Value, json};

use crate::{
    ended::FailedTurn,
    metrics,
    problem::{Problem, ProblemName},
    stream::{
        frame::Frames,
        mapper::{Cut, Mapper, Then},
    },
    surface::spoken::{Lack, Spoken},
};

/// Writes one turn as chunks.
#[derive(Debug)]
pub(crate) struct Chunks {
    head: Head,
    includes_usage: bool,
    answer: Answer,
    /// The error that ends the turn. `None` if it has not failed.
    failed: Option<FailedTurn>,
}

/// What every object of an answer has.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    /// The turn, whose id is the answer's.
    pub(crate) turn: TurnId,
    /// Seconds since 1970 at which the turn began.
    pub(crate) created: u64,
    /// The model's name as the client wrote it.
    pub(crate) model: Arc<str>,
}

/// The code that says to clients of this protocol that they must send less.
pub(super) const CONTEXT_LENGTH_EXCEEDED: &str = "context_length_exceeded";

/// The messages of a turn as one text, as far as they were sent.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The message that streams.
    spoken: Spoken,
    /// Whether a message before it had text.
    has_earlier: bool,
}

impl Head {
    /// Returns the id of the answer.
    pub(crate) fn id(&self) -> String {
        format!("chatcmpl-{}", self.turn)
    }

    fn chunk(&self, choices: &[Value]) -> Value {
        json!({
            "id": self.id(),
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

/// Returns the usage as OpenAI's clients read it.
pub(crate) fn usage(usage: Usage) -> Value {
    let Usage { prompt_tokens, cached_tokens, completion_tokens, .. } = usage;
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens.saturating_add(completion_tokens),
        "prompt_tokens_details": { "cached_tokens": cached_tokens },
    })
}

impl Answer {
    /// Takes a streamed piece with its position in its completion, and returns what to send of it.
    pub(crate) fn piece(&mut self, at: usize, piece: &str) -> String {
        let is_first = self.spoken.len() == 0;
        let begins_anew = self.spoken.hear(at, piece);
        if begins_anew {
            // What the completion said before stays, because nothing can be taken back here.
            metrics::rewritten("chat_completions");
            self.has_earlier = true;
        }
        self.behind_earlier(is_first || begins_anew, piece)
    }

    /// Takes the whole message, and returns what was not streamed of it.
    pub(crate) fn message(&mut self, text: &str) -> String {
        let is_first = self.spoken.len() == 0;
        let rest = match self.spoken.end(text) {
            Lack::Rest(rest) => self.behind_earlier(is_first, rest),
            Lack::Rewritten => {
                metrics::rewritten("chat_completions");
                String::new()
            }
        };
        self.has_earlier |= !is_first || !rest.is_empty();
        rest
    }

    fn behind_earlier(&self, begins: bool, text: &str) -> String {
        let between = begins && self.has_earlier && !text.is_empty();
        format!("{}{text}", if between { BETWEEN_MESSAGES } else { "" })
    }
}

impl Chunks {
    /// Begins the answer of a turn.
    pub(crate) fn new(head: Head, includes_usage: bool) -> Self {
        Self { head, includes_usage, answer: Answer::default(), failed: None }
    }

    fn delta(&self, out: &mut Frames, delta: &Value, finish: Option<&str>) {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        out.data(&self.head.chunk(&[choice]));
    }

    fn content(&self, out: &mut Frames, text: &str) {
        if !text.is_empty() {
            self.delta(out, &json!({ "content": text }), None);
        }
    }

    /// Writes an error in the middle of a stream. Then the body breaks off, because a client that
    /// passes over the error must not take the answer for complete.
    fn error(out: &mut Frames, kind: &str, code: &str, message: &str) -> Then {
        let error = json!({ "message": message, "type": kind, "code": code, "param": null });
        out.data(&json!({ "error": error }));
        Then::Break
    }

    fn event(&mut self, event: &SessionEvent, out: &mut Frames) -> Then {
        match &event.kind {
            EventKind::ModelMessage { text, .. } => {
                let rest = self.answer.message(text);
                self.content(out, &rest);
            }
            EventKind::ApprovalRequested { .. } => out.comment("waiting for a person"),
            EventKind::Error { error, text } => {
                self.failed = Some(FailedTurn { error: error.clone(), text: text.clone() });
            }
            EventKind::TurnInterrupted { text } => {
                return Self::error(out, "server_error", ProblemName::Store.name(), text);
            }
            EventKind::TurnEnded { ending, usage: cost } => {
                return self.finish(*ending, *cost, out);
            }
            EventKind::UserMessage { .. }
            | EventKind::ToolCallProposed { .. }
            | EventKind::ApprovalEnded { .. }
            | EventKind::ToolCallEnded { .. }
            | EventKind::ToolCallResolved { .. }
            | EventKind::SystemNotice { .. }
            | EventKind::Cleared
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | _ => {}
        }
        Then::Continue
    }

    fn finish(&mut self, ending: TurnEnding, cost: Usage, out: &mut Frames) -> Then {
        match ending {
            TurnEnding::Answered | TurnEnding::Stopped => {
                self.delta(out, &json!({}), Some("stop"));
                if self.includes_usage {
                    let mut last = self.head.chunk(&[]);
                    last["usage"] = usage(cost);
                    out.data(&last);
                }
                out.raw_data("[DONE]");
                Then::Close
            }
            TurnEnding::Dismissed => Self::dismissed(out),
            TurnEnding::Failed => {
                let failed = self.failed.take();
                let text = failed.as_ref().map_or("the turn failed", |failed| &failed.text);
                let (kind, code) = match failed.as_ref().map(|failed| &failed.error) {
                    Some(TurnError::Model { kind, .. }) if kind == ModelError::PROMPT_TOO_LONG => {
                        ("invalid_request_error", CONTEXT_LENGTH_EXCEEDED)
                    }
                    Some(TurnError::Model { kind, .. }) => ("server_error", &**kind),
                    Some(_) | None => ("server_error", ProblemName::Model.name()),
                };
                Self::error(out, kind, code, text)
            }
        }
    }

    fn dismissed(out: &mut Frames) -> Then {
        Self::error(out, "server_error", "dismissed", "the turn was dismissed")
    }
}

impl Mapper for Chunks {
    fn open(&mut self, out: &mut Frames) {
        // Clients fail if the first delta has no role.
        self.delta(out, &json!({ "role": "assistant", "content": "" }), None);
    }

    fn on(&mut self, item: &StreamItem, out: &mut Frames) -> Then {
        match item {
            StreamItem::Event(event) => return self.event(event, out),
            StreamItem::Text { at, text, .. } => {
                let piece = self.answer.piece(*at, text);
                self.content(out, &piece);
            }
            StreamItem::Thinking { text, .. } => {
                self.delta(out, &json!({ "reasoning_content": text }), None);
            }
            // What is missing comes from the store.
            StreamItem::Progress { .. }
            | StreamItem::Lagged { .. }
            | StreamItem::ReplayFailed
            | _ => {}
        }
        Then::Continue
    }

    fn cut(&mut self, cut: Cut, out: &mut Frames) -> Then {
        match cut {
            Cut::Draining { .. } | Cut::Unread { .. } | Cut::TooLong { .. } => {
                let text = "the answer was cut off; the same request joins it again";
                Self::error(out, "server_error", cut.name(), text)
            }
            Cut::TokenExpired => {
                let name = Problem::unauthorized().name().name();
                Self::error(
                    out,
                    "authentication_error",
                    name,
                    "the token was removed or has expired",
                )
            }
            Cut::Dismissed => Self::dismissed(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use madang::{
        Timestamp,
        event::{CompletionId, Ending, EntryOrigin, EventCursor},
    };
    use uuid::Uuid;

    use super::*;

    fn chunks(includes_usage: bool) -> Chunks {
        let head = Head { turn: TurnId::new(Uuid::nil()), created: 7, model: "m".into() };
        Chunks::new(head, includes_usage)
    }

    fn event(kind: EventKind) -> StreamItem {
        let cursor = EventCursor::START;
        let turn = TurnId::new(Uuid::nil());
        let event = SessionEvent { kind, seq: 1, cursor, turn, at: Timestamp::from_millis(0) };
        StreamItem::Event(Arc::new(event))
    }

    fn text(at: usize, text: &str) -> StreamItem {
        StreamItem::Text { completion: CompletionId::new(Uuid::nil()), at, text: text.into() }
    }

    fn message(text: &str) -> StreamItem {
        event(EventKind::ModelMessage {
            text: text.into(),
            ending: Ending::Complete,
            model: None,
            origin: EntryOrigin::Chat,
        })
    }

    fn ended(ending: TurnEnding) -> StreamItem {
        let usage = Usage { prompt_tokens: 5, cached_tokens: 3, completion_tokens: 2 };
        event(EventKind::TurnEnded { ending, usage })
    }

    /// Writes items. Returns their contents, finish reasons, usages, errors and marks, and how the
    /// stream goes on.
    fn written(chunks: &mut Chunks, items: &[StreamItem]) -> (Vec<String>, Then) {
        let mut out = Frames::default();
        let mut then = Then::Continue;
        for item in items {
            assert_eq!(then, Then::Continue, "an item behind the end");
            then = chunks.on(item, &mut out);
        }
        let bytes = out.take();
        let frames =
            std::str::from_utf8(&bytes).unwrap().split("\n\n").filter(|frame| !frame.is_empty());
        let short = |frame: &str| {
            let Some(data) = frame.strip_prefix("data: ") else { return frame.to_owned() };
            let Ok(value) = serde_json::from_str::<Value>(data) else { return data.to_owned() };
            if let Some(error) = value.get("error") {
                return format!("error {} {}", error["code"], error["message"]);
            }
            assert_eq!(value["id"], "chatcmpl-00000000-0000-0000-0000-000000000000");
            assert_eq!(value["object"], "chat.completion.chunk");
            match value["choices"].get(0) {
                None => format!("usage {}", value["usage"]["total_tokens"]),
                Some(choice) => match choice["finish_reason"].as_str() {
                    Some(reason) => reason.to_owned(),
                    None => choice["delta"].to_string(),
                },
            }
        };
        (frames.map(short).collect(), then)
    }

    #[test]
    fn a_streamed_answer_ends_with_its_reason_its_usage_and_the_mark() {
        let mut chunks = chunks(true);
        let mut out = Frames::default();
        chunks.open(&mut out);
        assert!(
            std::str::from_utf8(&out.take())
                .unwrap()
                .contains(r#""delta":{"role":"assistant","content":""}"#)
        );
        let (said, then) = written(
            &mut chunks,
            &[text(0, "Hel"), text(3, "lo"), message("Hello!"), ended(TurnEnding::Answered)],
        );
        let content = |text: &str| json!({ "content": text }).to_string();
        assert_eq!(
            said,
            [
                content("Hel"),
                content("lo"),
                content("!"),
                "stop".into(),
                "usage 7".into(),
                "[DONE]".into()
            ]
        );
        assert_eq!(then, Then::Close);
    }

    #[test]
    fn usage_comes_only_where_it_was_asked_for() {
        let (said, _) = written(&mut chunks(false), &[message("a"), ended(TurnEnding::Stopped)]);
        assert_eq!(said, [r#"{"content":"a"}"#, "stop", "[DONE]"]);
    }

    #[test]
    fn a_blank_line_stands_between_two_messages_and_none_before_the_first() {
        let (said, _) = written(
            &mut chunks(false),
            &[message(""), text(0, "a"), message("a"), message("b"), text(0, "c"), message("c")],
        );
        assert_eq!(
            said,
            [r#"{"content":"a"}"#, r#"{"content":"\n\nb"}"#, r#"{"content":"\n\nc"}"#]
        );
    }

    #[test]
    fn what_was_streamed_is_not_taken_back() {
        let mut chunks = chunks(false);
        let (said, _) = written(
            &mut chunks,
            &[
                text(0, "abc "),
                message("abc"),
                text(0, "xyz"),
                message("other"),
                text(0, "p"),
                text(0, "q"),
                message("q"),
            ],
        );
        assert_eq!(
            said,
            [
                r#"{"content":"abc "}"#,
                r#"{"content":"\n\nxyz"}"#,
                r#"{"content":"\n\np"}"#,
                r#"{"content":"\n\nq"}"#
            ]
        );
    }

    #[test]
    fn a_turn_that_fails_breaks_the_body_off_behind_its_error() {
        let model = |kind: &str| TurnError::model(kind);
        for (error, code) in [(model("Timeout"), "Timeout"), (TurnError::TooManyRounds, "model")] {
            let failed = event(EventKind::Error { error, text: "It failed.".into() });
            let (said, then) =
                written(&mut chunks(true), &[text(0, "a"), failed, ended(TurnEnding::Failed)]);
            assert_eq!(said[1..], [format!("error \"{code}\" \"It failed.\"")]);
            assert_eq!(then, Then::Break);
        }
        let (said, then) = written(&mut chunks(true), &[ended(TurnEnding::Dismissed)]);
        assert_eq!(
            (said, then),
            (vec![r#"error "dismissed" "the turn was dismissed""#.to_owned()], Then::Break)
        );
    }

    #[test]
    fn no_cut_looks_like_the_end_of_an_answer() {
        for cut in [
            Cut::Draining { retry_ms: 9 },
            Cut::Unread { retry_ms: 9 },
            Cut::TooLong { retry_ms: 9 },
            Cut::TokenExpired,
            Cut::Dismissed,
        ] {
            let mut out = Frames::default();
            assert_eq!(chunks(true).cut(cut, &mut out), Then::Break);
            let bytes = out.take();
            let said = std::str::from_utf8(&bytes).unwrap();
            assert!(said.starts_with(r#"data: {"error":"#) && !said.contains("[DONE]"), "{said}");
        }
    }
}
