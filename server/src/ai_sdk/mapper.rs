//! Writes the items of a turn as one message of the assistant, in the AI SDK's stream of UI
//! messages.

use madang::{
    CallId,
    approval::ApprovalRequest,
    event::{EventCursor, EventKind, FeedEpoch, SessionEvent, StreamItem, TurnEnding},
    ledger::CallRecord,
};
use serde_json::{Value, json};

use super::{
    message::{AiMessage, DONE},
    part::{AiOutput, AiParts, call_note, descriptor, input, resolved_note, wanted, write_notice},
    round::{HiddenCall, Round},
};
use crate::{
    ask::Ask,
    metrics,
    stream::{
        frame::Frames,
        mapper::{Cut, Mapper, Then},
    },
    surface::{
        approval_id::ApprovalId,
        cut::words,
        speech::{Part, Speech},
        spoken::{Lack, pieces},
    },
};

/// Writes a turn as one message.
#[derive(Debug)]
pub(crate) struct AiMapper {
    message: AiMessage,
    speech: Speech<AiParts>,
    /// The calls about which this client has decided itself.
    decided: Vec<CallId>,
    /// How many texts and thoughts there were so far. Their ids come from this number.
    parts: u32,
    is_step_open: bool,
    /// Whether all calls of the round have ended. What follows belongs to the next step.
    is_round_over: bool,
    round: Round,
    /// The approval request that waits for the end of the other calls that are shown.
    request: Option<ApprovalRequest>,
}

impl AiMapper {
    /// Creates a mapper that writes this message.
    pub(crate) fn new(message: AiMessage) -> Self {
        Self {
            round: Round::of(message.shown.clone()),
            decided: message.shown.clone(),
            message,
            speech: Speech::new("ai_sdk", AiParts),
            parts: 0,
            is_step_open: false,
            is_round_over: false,
            request: None,
        }
    }

    fn event(&mut self, event: &SessionEvent, out: &mut Frames) -> Then {
        if event.turn != self.message.turn {
            // A client fails at the output of a call that its message does not show.
            if matches!(event.kind, EventKind::ToolCallResolved { .. }) {
                write_notice(&event.kind, out);
            }
            return Then::Continue;
        }
        match &event.kind {
            EventKind::UserMessage { .. } => {}
            EventKind::ModelMessage { text, .. } => {
                self.end_text(text, out);
                // The model speaks after all calls have ended, so no call that is shown holds back
                // another.
                self.round.end_shown();
            }
            EventKind::ToolCallProposed { call, wanted, .. } => {
                let name = wanted.name.clone();
                let arguments = wanted.arguments.clone();
                self.propose(HiddenCall { call: *call, name, arguments }, out);
            }
            EventKind::ApprovalRequested { request } => match self.message.ask {
                Ask::Here if self.was_asked_before(event) => {}
                Ask::Here => return self.write_question(request.clone(), out),
                Ask::Elsewhere | Ask::None => write_notice(&event.kind, out),
            },
            EventKind::ApprovalEnded { call, .. } => {
                self.request.take_if(|request| request.call == *call);
            }
            EventKind::ToolCallEnded { record } => {
                self.end_call(record, out);
                if let Some(request) = self.request.take() {
                    return self.write_question(request, out);
                }
            }
            EventKind::ToolCallResolved { resolved, text } => {
                write_call(resolved.call, &resolved_note(resolved, text), out);
            }
            EventKind::SystemNotice { .. }
            | EventKind::Cleared
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | EventKind::TurnInterrupted { .. } => write_notice(&event.kind, out),
            EventKind::Error { text, .. } => return self.fail(text, out),
            EventKind::TurnEnded { ending, .. } => return self.end_turn(*ending, out),
            _ => write_notice(&event.kind, out),
        }
        self.ask_behind(event.cursor, out)
    }

    /// Writes a piece of the model's text that begins after this many bytes.
    pub(super) fn speak(&mut self, at: usize, text: &str, out: &mut Frames) {
        if self.speech.hear(at, text, out) {
            // What the client has stays, because a part cannot be taken back.
            metrics::rewritten("ai_sdk");
        }
        self.piece(Part::Text, text, out);
    }

    /// Ends the text that was streamed, with what the stored message has in addition.
    fn end_text(&mut self, text: &str, out: &mut Frames) {
        if let Lack::Rest(rest) = self.speech.compare(text, out) {
            for piece in pieces(rest, self.message.max_text_frame_bytes) {
                self.piece(Part::Text, piece, out);
            }
        }
        self.speech.end(Part::Text, out);
    }

    fn propose(&mut self, call: HiddenCall, out: &mut Frames) {
        self.speech.end_all(out);
        self.round.propose(call);
        self.show_next(out);
    }

    fn show_next(&mut self, out: &mut Frames) {
        while let Some(HiddenCall { call, name, arguments }) =
            self.round.show_next(&self.message.tools)
        {
            self.show(call, &name, &input(&arguments), out);
        }
    }

    fn show(&mut self, call: CallId, name: &str, input: &Value, out: &mut Frames) {
        self.speech.end_all(out);
        self.step(out);
        out.data(&run_here(json!({
            "type": "tool-input-available",
            "toolCallId": call,
            "toolName": name,
            "input": input,
        })));
    }

    /// Asks about a call, and ends the stream, because a client sends no decision while it reads.
    /// Before that it waits for the other calls of the step, because a client waits for them as
    /// well.
    fn write_question(&mut self, request: ApprovalRequest, out: &mut Frames) -> Then {
        let call = request.call;
        if self.round.show(call) {
            self.show(call, &request.tool, &request.arguments, out);
        }
        if self.round.has_beside(call) {
            self.request = Some(request);
            return Then::Continue;
        }
        self.speech.end_all(out);
        out.data(&json!({
            "type": "tool-approval-request",
            "approvalId": ApprovalId::of(&request).to_string(),
            "toolCallId": call,
            "reason": request.consequence,
            "approvalDescriptor": descriptor(&request),
        }));
        self.finish("tool-calls", out)
    }

    /// Returns whether a request came before the view, which says what is open. A request that no
    /// feed has published is open.
    fn was_asked_before(&self, event: &SessionEvent) -> bool {
        event.seq > 0 && self.message.asked_before.is_some_and(|(_, last)| event.seq <= last)
    }

    /// Asks about the call that waited before the turn was streamed, after everything stored was
    /// sent.
    fn ask_behind(&mut self, cursor: EventCursor, out: &mut Frames) -> Then {
        match self.message.waits.take_if(|(behind, _)| *behind <= cursor) {
            Some((_, request)) => self.write_question(request, out),
            None => Then::Continue,
        }
    }

    fn end_call(&mut self, record: &CallRecord, out: &mut Frames) {
        self.message.waits.take_if(|(_, request)| request.call == record.id);
        self.request.take_if(|request| request.call == record.id);
        if self.round.show(record.id) {
            self.show(record.id, &record.name, wanted(record), out);
        }
        let call = record.id;
        out.data(&match AiOutput::of(record) {
            AiOutput::Denied(_) if self.decided.contains(&call) => {
                json!({ "type": "tool-output-denied", "toolCallId": call })
            }
            AiOutput::Available(output) => run_here(
                json!({ "type": "tool-output-available", "toolCallId": call, "output": output }),
            ),
            // Clients refuse a denied part that has no response of their own.
            AiOutput::Error(text) | AiOutput::Denied(text) => run_here(
                json!({ "type": "tool-output-error", "toolCallId": call, "errorText": text }),
            ),
        });
        if let Some(note) = call_note(record) {
            write_call(record.id, &note, out);
        }
        self.round.end(record.id);
        self.show_next(out);
        self.is_round_over = self.round.is_over();
    }

    fn end_turn(&mut self, ending: TurnEnding, out: &mut Frames) -> Then {
        match ending {
            TurnEnding::Answered | TurnEnding::Stopped => self.finish("stop", out),
            TurnEnding::Dismissed => self.abort(out),
            TurnEnding::Failed => self.fail("The turn failed.", out),
        }
    }

    fn finish(&mut self, reason: &str, out: &mut Frames) -> Then {
        self.speech.end_all(out);
        if std::mem::take(&mut self.is_step_open) {
            out.data(&json!({ "type": "finish-step" }));
        }
        out.data(&json!({ "type": "finish", "finishReason": reason }));
        out.raw_data(DONE);
        Then::Close
    }

    fn fail(&mut self, text: &str, out: &mut Frames) -> Then {
        self.speech.end_all(out);
        out.data(&json!({ "type": "error", "errorText": text }));
        self.finish("error", out)
    }

    fn abort(&mut self, out: &mut Frames) -> Then {
        self.speech.end_all(out);
        out.data(&json!({ "type": "abort", "reason": "dismissed" }));
        out.raw_data(DONE);
        Then::Close
    }

    /// Begins a step if none is open, and a new one after a round.
    fn step(&mut self, out: &mut Frames) {
        if std::mem::take(&mut self.is_round_over) && std::mem::take(&mut self.is_step_open) {
            out.data(&json!({ "type": "finish-step" }));
        }
        if !std::mem::replace(&mut self.is_step_open, true) {
            out.data(&json!({ "type": "start-step" }));
        }
    }

    /// Writes a piece of a part. If none is open, the part begins with it.
    fn piece(&mut self, part: Part, delta: &str, out: &mut Frames) {
        if self.speech.id(part).is_none() {
            self.step(out);
            self.parts += 1;
            let kind = match part {
                Part::Text => "text",
                Part::Thinking => "thinking",
            };
            self.speech.begin(part, format!("{kind}-{}", self.parts), out);
        }
        self.speech.delta(part, delta, out);
    }
}

/// Marks a part with the fact that its tool runs here. Without the mark, a client would run it, or
/// send the turn again after it has ended.
fn run_here(mut part: Value) -> Value {
    (part["dynamic"], part["providerExecuted"]) = (true.into(), true.into());
    part
}

/// Writes what a client must know of a call in addition to its output.
fn write_call(call: CallId, note: &Value, out: &mut Frames) {
    out.data(&json!({ "type": "data-madang-call", "id": call, "data": note }));
}

impl Mapper for AiMapper {
    fn open(&mut self, out: &mut Frames) {
        out.data(&json!({ "type": "start", "messageId": self.message.turn }));
        if let Some(turn) = self.message.superseded {
            write_notice(json!({ "type": "superseded", "turn": turn }), out);
        }
    }

    fn begin(&mut self, epoch: FeedEpoch) {
        // Another feed counts from its own beginning.
        self.message.asked_before.take_if(|(told, _)| *told != epoch);
    }

    fn on(&mut self, item: &StreamItem, out: &mut Frames) -> Then {
        match item {
            StreamItem::Event(event) => return self.event(event, out),
            StreamItem::Text { at, text, .. } => self.speak(*at, text, out),
            StreamItem::Thinking { text, .. } => self.piece(Part::Thinking, text, out),
            StreamItem::Progress { turn, call, progress } if *turn == self.message.turn => {
                let told = json!({ "type": "tool_progress", "call": call, "progress": progress });
                write_notice(told, out);
            }
            StreamItem::Progress { .. } | StreamItem::Lagged { .. } | StreamItem::ReplayFailed => {}
            _ => {}
        }
        Then::Continue
    }

    fn cut(&mut self, cut: Cut, out: &mut Frames) -> Then {
        let Some(text) = words(cut) else { return self.abort(out) };
        self.speech.end_all(out);
        out.data(&json!({ "type": "error", "errorText": text }));
        // A client takes a stream that just stops for complete.
        Then::Break
    }
}
