//! Writes the items of a turn as one run of AG-UI.

use std::collections::VecDeque;

use madang::{
    approval::ApprovalRequest,
    event::{ChatMessage, Content, EventKind, SessionEvent, StreamItem},
    ledger::CallRecord,
    model::Usage,
};
use serde_json::json;

use super::{
    event::{AgUiParts, PROTOCOL_VERSION, cost, interrupt, write_custom, write_messages},
    messages::{OpenCall, carrier_id, result_id, wanted},
    run::{AgUiRun, RunEnd, RunOpening, error_code, write_error},
};
use crate::{
    ask::Ask,
    stream::{
        frame::Frames,
        mapper::{Cut, Mapper, Then},
    },
    surface::{
        cut::words,
        history::entry_id,
        speech::{Part, Speech},
        spoken::{Lack, pieces},
    },
};

/// Writes a turn as one run.
#[derive(Debug)]
pub(crate) struct AgUiMapper {
    run: AgUiRun,
    speech: Speech<AgUiParts>,
    thoughts: u32,
    /// Whether the client's messages are those of the last snapshot.
    is_fresh: bool,
    /// Whether the client has a text that differs from the stored one.
    needs_repair: bool,
}

impl AgUiMapper {
    /// Creates a mapper that writes this run.
    pub(crate) fn new(run: AgUiRun) -> Self {
        Self {
            run,
            speech: Speech::new("ag_ui", AgUiParts),
            thoughts: 0,
            is_fresh: false,
            needs_repair: false,
        }
    }

    /// Writes the whole run, if there is nothing to stream.
    pub(crate) fn write_whole(mut self, end: RunEnd, out: &mut Frames) {
        if let RunEnd::Waits(request) = &end {
            self.run.chat = self.run.chat.waiting(request);
        }
        self.open(out);
        self.finish(end, None, out);
    }

    fn event(&mut self, event: &SessionEvent, out: &mut Frames) -> Then {
        let is_ours = Some(event.turn) == self.run.turn;
        if !is_ours && !matches!(event.kind, EventKind::ToolCallResolved { .. }) {
            return Then::Continue;
        }
        self.run.cursor = self.run.cursor.max(event.cursor);
        match &event.kind {
            EventKind::UserMessage { text, key, origin } => {
                let text = text.clone();
                let key = key.clone();
                self.store(event, Content::User { text, key, origin: *origin });
                if self.run.opening == RunOpening::Begun && self.knows_it_otherwise() {
                    self.snapshot_in_order(out);
                }
            }
            EventKind::ModelMessage { text, ending, model, origin } => {
                let ending = *ending;
                let origin = *origin;
                self.store(
                    event,
                    Content::Model { text: text.clone(), ending, model: model.clone(), origin },
                );
                self.message(event, text, out);
            }
            EventKind::ToolCallProposed { call, wanted, .. } => {
                let name = wanted.name.clone();
                let arguments = wanted.arguments.clone();
                self.show(OpenCall { call: *call, name, arguments }, out);
            }
            EventKind::ApprovalRequested { request } => {
                return self.write_question(request, event, out);
            }
            EventKind::ToolCallEnded { record } => self.end_call(record, event, out),
            EventKind::ToolCallResolved { resolved, .. } => {
                self.run.chat.resolve(resolved);
                self.is_fresh = false;
                write_custom(&event.kind, out);
            }
            EventKind::SystemNotice { notice, .. } => {
                self.store(event, Content::Notice { notice: *notice });
                write_custom(&event.kind, out);
            }
            EventKind::Cleared => {
                self.run.chat.clear();
                write_custom(&event.kind, out);
            }
            EventKind::ApprovalEnded { .. }
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | EventKind::TurnInterrupted { .. } => write_custom(&event.kind, out),
            EventKind::Error { error, text } => {
                let end = RunEnd::Failed { text: text.clone(), code: error_code(error) };
                return self.finish(end, None, out);
            }
            EventKind::TurnEnded { ending, usage } => {
                let end = RunEnd::of(*ending, || self.failed());
                return self.finish(end, Some(*usage), out);
            }
            _ => write_custom(&event.kind, out),
        }
        Then::Continue
    }

    /// Writes a piece of the model's text that begins after this many bytes.
    pub(super) fn speak(&mut self, at: usize, text: &str, out: &mut Frames) {
        if self.speech.hear(at, text, out) {
            // Only a snapshot can take something back from a client.
            self.snapshot(out);
        }
        self.text_delta(text, out);
    }

    /// Writes a piece of the model's thinking.
    fn think(&mut self, text: &str, out: &mut Frames) {
        if self.speech.id(Part::Thinking).is_none() {
            // Unlike texts, thinking is in no snapshot, and a client keeps what it has of it. So
            // ids are never used twice.
            self.thoughts += 1;
            let id = format!("{}:thinking:{}", self.run.run, self.thoughts);
            self.speech.begin(Part::Thinking, id, out);
        }
        self.speech.delta(Part::Thinking, text, out);
    }

    /// Ends the text that was streamed, with what the stored message has in addition.
    fn message(&mut self, event: &SessionEvent, text: &str, out: &mut Frames) {
        let id = entry_id(event.turn, event.cursor.entry());
        let is_foreseen = self.speech.id(Part::Text).is_none_or(|open| open == id);
        match self.speech.compare(text, out) {
            Lack::Rest(rest) if is_foreseen => {
                for piece in pieces(rest, self.run.max_text_frame_bytes) {
                    self.text_of(&id, piece, out);
                }
            }
            Lack::Rest(_) | Lack::Rewritten => self.needs_repair = true,
        }
        self.speech.end(Part::Text, out);
        if !is_foreseen {
            // After later messages, a snapshot would put the text at the end.
            self.snapshot(out);
        }
    }

    fn show(&mut self, call: OpenCall, out: &mut Frames) {
        self.speech.end_all(out);
        let max_bytes = self.run.max_text_frame_bytes;
        let Some(call) = self.run.chat.show(call) else { return };
        let id = call.call;
        out.data(&json!({
            "type": "TOOL_CALL_START",
            "toolCallId": id,
            "toolCallName": call.name,
            "parentMessageId": carrier_id(id),
        }));
        for delta in pieces(&call.arguments, max_bytes) {
            out.data(&json!({ "type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta }));
        }
        out.data(&json!({ "type": "TOOL_CALL_END", "toolCallId": id }));
        self.is_fresh = false;
    }

    fn write_question(
        &mut self,
        request: &ApprovalRequest,
        event: &SessionEvent,
        out: &mut Frames,
    ) -> Then {
        let arguments = request.arguments.to_string().into();
        self.show(OpenCall { call: request.call, name: request.tool.clone(), arguments }, out);
        match self.run.ask {
            // A server that starts asks again while the decision comes.
            Ask::Here if self.run.decided.contains(&request.call) => Then::Continue,
            Ask::Here => self.finish(RunEnd::Waits(request.clone().into()), None, out),
            Ask::Elsewhere | Ask::None => {
                write_custom(&event.kind, out);
                Then::Continue
            }
        }
    }

    fn end_call(&mut self, record: &CallRecord, event: &SessionEvent, out: &mut Frames) {
        let call = record.id;
        let name = record.name.clone();
        self.show(OpenCall { call, name, arguments: wanted(record) }, out);
        out.data(&json!({
            "type": "TOOL_CALL_RESULT",
            "messageId": result_id(record.id),
            "toolCallId": record.id,
            "content": self.run.chat.outcome(record),
        }));
        self.store(event, Content::ToolCall(record.clone().into()));
    }

    fn finish(&mut self, end: RunEnd, usage: Option<Usage>, out: &mut Frames) -> Then {
        self.speech.end_all(out);
        let outcome = match end {
            RunEnd::Success => json!({ "type": "success" }),
            RunEnd::Cancelled => json!({ "type": "cancelled" }),
            RunEnd::Waits(request) => {
                let interrupt = interrupt(&request, &self.run.tools);
                json!({ "type": "interrupt", "interrupts": [interrupt] })
            }
            RunEnd::Failed { text, code } => {
                if self.needs_repair {
                    self.snapshot(out);
                }
                write_error(&text, &code, out);
                return Then::Close;
            }
        };
        if !self.is_fresh {
            self.snapshot(out);
        }
        self.state(out);
        let mut finished = json!({
            "type": "RUN_FINISHED",
            "threadId": self.run.thread,
            "runId": self.run.run,
            "outcome": outcome,
        });
        if let Some(usage) = usage {
            finished["usage"] = json!([cost(usage)]);
        }
        out.data(&finished);
        Then::Close
    }

    /// Returns the end of a turn whose error was not sent.
    fn failed(&self) -> RunEnd {
        RunEnd::Failed { text: "The turn failed.".into(), code: "failed".into() }
    }

    fn snapshot(&mut self, out: &mut Frames) {
        write_messages(self.run.chat.snapshot(), out);
        (self.is_fresh, self.needs_repair) = (true, false);
    }

    /// Writes all messages for a client that already has later ones, or has some under other ids.
    /// Such a client keeps its messages in place and adds the others after them, so it must forget
    /// the later ones first.
    fn snapshot_in_order(&mut self, out: &mut Frames) {
        write_messages(VecDeque::new(), out);
        self.snapshot(out);
    }

    /// Returns whether the client lacks a part of the history, or may have it under other ids.
    fn knows_it_otherwise(&self) -> bool {
        let own = usize::from(self.run.turn.is_some());
        let has = self.run.client_messages;
        self.run.is_fork || has < self.run.chat.len_before(self.run.turn) + own
    }

    /// Returns the client's own state with the server's key in it. A snapshot with only that key
    /// would remove the client's state.
    fn state(&mut self, out: &mut Frames) {
        let AgUiRun { state, thread, turn, cursor, .. } = &mut self.run;
        let Some(state) = state else { return };
        let mut ours = json!({ "session": thread, "cursor": cursor });
        if let Some(turn) = turn {
            ours["turn"] = json!(turn);
        }
        state.insert("madang".into(), ours);
        out.data(&json!({ "type": "STATE_SNAPSHOT", "snapshot": state }));
    }

    fn store(&mut self, event: &SessionEvent, content: Content) {
        let seq = event.cursor.entry();
        self.run.chat.push(ChatMessage { seq, turn: event.turn, at: event.at, content });
        self.is_fresh = false;
    }

    fn text_delta(&mut self, delta: &str, out: &mut Frames) {
        let Some(turn) = self.run.turn else { return };
        let id = entry_id(turn, self.run.cursor.entry() + 1);
        self.text_of(&id, delta, out);
    }

    /// Writes a piece of the text that is open. If none is open, the text with this id begins with
    /// it.
    fn text_of(&mut self, id: &str, delta: &str, out: &mut Frames) {
        if self.speech.id(Part::Text).is_none() {
            self.speech.begin(Part::Text, id.to_owned(), out);
            self.is_fresh = false;
        }
        self.speech.delta(Part::Text, delta, out);
    }
}

impl Mapper for AgUiMapper {
    fn open(&mut self, out: &mut Frames) {
        out.data(&json!({
            "type": "RUN_STARTED",
            "threadId": self.run.thread,
            "runId": self.run.run,
            "protocolVersion": PROTOCOL_VERSION,
        }));
        if self.run.opening == RunOpening::Joined {
            if self.knows_it_otherwise() {
                self.snapshot_in_order(out);
            } else {
                self.snapshot(out);
            }
        }
        for call in std::mem::take(&mut self.run.late) {
            write_custom(json!({ "type": "decided_elsewhere", "call": call }), out);
        }
    }

    fn on(&mut self, item: &StreamItem, out: &mut Frames) -> Then {
        match item {
            StreamItem::Event(event) => return self.event(event, out),
            StreamItem::Text { at, text, .. } => self.speak(*at, text, out),
            StreamItem::Thinking { text, .. } => self.think(text, out),
            StreamItem::Progress { turn, call, progress } if Some(*turn) == self.run.turn => {
                let told = json!({ "type": "tool_progress", "call": call, "progress": progress });
                write_custom(told, out);
            }
            StreamItem::Progress { .. } | StreamItem::Lagged { .. } | StreamItem::ReplayFailed => {}
            _ => {}
        }
        Then::Continue
    }

    fn cut(&mut self, cut: Cut, out: &mut Frames) -> Then {
        let end = match words(cut) {
            Some(text) => RunEnd::Failed { text: text.into(), code: cut.name().into() },
            None => RunEnd::Cancelled,
        };
        self.finish(end, None, out)
    }
}
