//! Writes the items of a native stream: the events unchanged, with their cursors.

use madang::{
    TurnId,
    approval::InboxItem,
    event::{EventKind, FeedCursor, FeedEpoch, SessionEvent, StreamItem},
};
use serde_json::json;

use crate::{
    metrics::Counted,
    stream::{
        frame::Frames,
        mapper::{Cut, Mapper, Then},
    },
};

/// Writes the events of a session, or those of one turn up to its end.
#[derive(Debug, Default)]
pub(crate) struct NativeMapper {
    epoch: Option<FeedEpoch>,
    /// The turn whose end is the end of the stream. `None` for a stream of the session.
    until: Option<TurnId>,
}

impl NativeMapper {
    /// Follows one turn.
    pub(crate) const fn of_turn(turn: TurnId) -> Self {
        Self { epoch: None, until: Some(turn) }
    }

    fn event(&self, event: &SessionEvent, out: &mut Frames) -> Then {
        let cursor = match self.epoch {
            Some(epoch) => FeedCursor::after(event, epoch),
            None => event.cursor.into(),
        };
        out.event(Some(&cursor.to_string()), event);
        let is_end = matches!(event.kind, EventKind::TurnEnded { .. });
        if is_end && self.until == Some(event.turn) { Then::Close } else { Then::Continue }
    }
}

impl Mapper for NativeMapper {
    fn says_when_to_retry(&self) -> bool {
        true
    }

    fn begin(&mut self, epoch: FeedEpoch) {
        self.epoch = Some(epoch);
    }

    fn on(&mut self, item: &StreamItem, out: &mut Frames) -> Then {
        if let StreamItem::Event(event) = item {
            return self.event(event, out);
        }
        out.event(None, item);
        Then::Continue
    }

    fn cut(&mut self, cut: Cut, out: &mut Frames) -> Then {
        bye(cut, out)
    }
}

/// Writes the approval requests of a user, and each change of them.
#[derive(Debug, Default)]
pub(crate) struct InboxMapper {
    /// The open requests that it shows. Each counts in the metrics for as long as it is shown.
    open: Vec<Counted>,
}

impl Mapper for InboxMapper {
    fn says_when_to_retry(&self) -> bool {
        true
    }

    fn on(&mut self, _: &StreamItem, _: &mut Frames) -> Then {
        Then::Continue
    }

    fn on_inbox(&mut self, item: &InboxItem, out: &mut Frames) -> Then {
        let (name, mut data) = match item {
            InboxItem::Snapshot { requests } => {
                self.open.resize_with(requests.len(), Counted::open_request);
                ("snapshot", json!({ "type": "snapshot", "approval_requests": requests }))
            }
            InboxItem::ApprovalRequested { request } => {
                self.open.push(Counted::open_request());
                ("approval_requested", json!(request))
            }
            InboxItem::ApprovalEnded { call, session, end } => {
                self.open.pop();
                let mut data = json!(end);
                (data["call"], data["session"]) = (json!(call), json!(session));
                ("approval_ended", data)
            }
            _ => return Then::Continue, // of a later version, which no reader knows yet
        };
        data["type"] = name.into();
        out.event(None, &data);
        Then::Continue
    }

    fn cut(&mut self, cut: Cut, out: &mut Frames) -> Then {
        bye(cut, out)
    }
}

/// Writes why the stream ends, and when to reconnect. Only native readers receive this, because
/// they know their cursor.
fn bye(cut: Cut, out: &mut Frames) -> Then {
    let data = json!({ "type": "bye", "reason": cut.name(), "retry_ms": cut.retry_ms() });
    out.event(None, &data);
    Then::Close
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use madang::{
        CallId, Timestamp,
        event::{Ending, EntryOrigin, EventCursor, TurnEnding},
        model::Usage,
        tool::ToolProgress,
    };
    use uuid::Uuid;

    use super::*;

    fn turn() -> TurnId {
        TurnId::new(Uuid::from_u128(7))
    }

    fn event(seq: u64, cursor: EventCursor, kind: EventKind) -> StreamItem {
        let at = Timestamp::from_millis(1_000);
        StreamItem::Event(SessionEvent { kind, seq, cursor, turn: turn(), at }.into())
    }

    fn written(mapper: &mut impl Mapper, items: &[StreamItem]) -> (String, Vec<Then>) {
        let mut out = Frames::default();
        let then = items.iter().map(|item| mapper.on(item, &mut out)).collect();
        (String::from_utf8(out.take().into()).unwrap(), then)
    }

    #[test]
    fn events_have_their_cursor_and_what_is_beside_them_has_none() {
        let said = EventKind::ModelMessage {
            text: "안녕".into(),
            ending: Ending::Complete,
            model: None,
            origin: EntryOrigin::Chat,
        };
        let mut mapper = NativeMapper::of_turn(turn());
        mapper.begin(FeedEpoch::new(0x5f1c));
        let at = EventCursor::of_entry(17);
        let ended = EventKind::TurnEnded { ending: TurnEnding::Answered, usage: Usage::default() };
        let items = [
            event(0, at, said),
            StreamItem::Progress {
                turn: turn(),
                call: CallId::new(Uuid::nil()),
                progress: ToolProgress::new(1.0).out_of(4.0).saying("reads"),
            },
            StreamItem::Lagged { from: 3, to: 9 },
            StreamItem::ReplayFailed,
            event(341, at.end(), ended.clone()),
        ];
        let (text, then) = written(&mut mapper, &items);
        expect![[r#"
            id: 17
            event: model_message
            data: {"type":"model_message","text":"안녕","ending":"complete","seq":0,"cursor":"17","turn":"00000000-0000-0000-0000-000000000007","at":1000}

            event: tool_progress
            data: {"type":"tool_progress","turn":"00000000-0000-0000-0000-000000000007","call":"00000000-0000-0000-0000-000000000000","done":1.0,"total":4.0,"message":"reads"}

            event: lagged
            data: {"type":"lagged","from":3,"to":9}

            event: replay_failed
            data: {"type":"replay_failed"}

            id: 17.2@5f1c.341
            event: turn_ended
            data: {"type":"turn_ended","ending":"answered","usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0},"seq":341,"cursor":"17.2","turn":"00000000-0000-0000-0000-000000000007","at":1000}

        "#]]
        .assert_eq(&text);
        assert_eq!(then[..4], [Then::Continue; 4]);
        assert_eq!(then[4..], [Then::Close]);
        let (_, then) = written(&mut NativeMapper::default(), &[event(1, at.end(), ended)]);
        assert_eq!(then, [Then::Continue], "a session's stream goes on behind a turn");
    }

    #[test]
    fn each_event_comes_under_the_type_of_its_json() {
        let kinds = [
            json!({ "type": "user_message", "text": "" }),
            json!({ "type": "model_message", "text": "", "ending": "complete" }),
            json!({ "type": "tool_call_proposed", "call": Uuid::nil(), "name": "", "arguments": "" }),
            json!({ "type": "approval_ended", "call": Uuid::nil(), "cancelled": { "reason": "expired" } }),
            json!({ "type": "system_notice", "notice": "suggest_clear", "text": "" }),
            json!({ "type": "error", "error": { "code": "cut_off" }, "text": "" }),
            json!({ "type": "cleared" }),
            json!({ "type": "messages_left_out", "messages": 1, "text": "" }),
            json!({ "type": "turn_resumed" }),
            json!({ "type": "turn_interrupted", "text": "" }),
            json!({ "type": "turn_ended", "ending": "failed", "usage": Usage::default() }),
        ];
        for json in kinds {
            let kind: EventKind = serde_json::from_value(json.clone()).unwrap();
            let item = event(1, EventCursor::START, kind);
            let (frame, _) = written(&mut NativeMapper::default(), &[item]);
            let name = json["type"].as_str().unwrap();
            assert!(frame.contains(&format!("\nevent: {name}\n")), "{frame}");
        }
    }

    #[test]
    fn a_stream_that_is_cut_says_why_and_when_to_come_back() {
        let mut out = Frames::default();
        let then = NativeMapper::default().cut(Cut::Draining { retry_ms: 1_234 }, &mut out);
        assert_eq!(then, Then::Close);
        let text = String::from_utf8(out.take().into()).unwrap();
        assert_eq!(
            text,
            "event: bye\ndata: {\"type\":\"bye\",\"reason\":\"draining\",\"retry_ms\":1234}\n\n"
        );
    }
}
