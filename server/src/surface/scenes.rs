//! Turns that each surface must tell, as the items that a reader of them gets.

use std::sync::Arc;

use madang::{
    CallId, SessionId, Timestamp, TurnId, UserId,
    approval::{ApprovalEnd, ApprovalRequest, Decision, Digest},
    error::TurnError,
    event::{Ending, EventCursor, EventKind, Notice, SessionEvent, StreamItem, TurnEnding},
    ledger::{CallRecord, CallResult, Effect, EffectResolution, ResolvedBy, ResolvedCall},
    model::Usage,
    tool::{CancelReason, EffectPolicy, ToolOutcome, ToolSpec, WantedCall},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::tool_table::ToolTable;
use crate::stream::{
    frame::Frames,
    mapper::{Cut, Mapper, Then},
};

/// The turn of all scenes.
pub(crate) fn turn() -> TurnId {
    TurnId::new(Uuid::from_u128(0x70))
}

/// The call with this number.
pub(crate) fn call(number: u8) -> CallId {
    CallId::new(Uuid::from_u128(u128::from(number)))
}

/// A tool that reads, one that writes and one that asks.
pub(crate) fn tools() -> ToolTable {
    let schema = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
    let tool = |name, effect| ToolSpec::new(name, "A tool.", schema.clone()).effect(effect);
    ToolTable::new([
        tool("get_habits", EffectPolicy::Read),
        tool("log_habit", EffectPolicy::Write),
        tool("drop_habit", EffectPolicy::Destructive),
    ])
}

/// The request about a call of `drop_habit`.
pub(crate) fn request(number: u8) -> ApprovalRequest {
    ApprovalRequest {
        call: call(number),
        session: SessionId::new("chat-1").unwrap(),
        user: UserId::new("kim").unwrap(),
        tool: "drop_habit".into(),
        arguments: json!({ "id": "sleep" }),
        consequence: "수면 습관을 지웁니다.".into(),
        text: "수면 습관을 지웁니다.\n계속할까요?".into(),
        digest: Digest::new([0x9b; 32]),
        expires_at: Timestamp::from_millis(1_763_876_400_000),
    }
}

/// The record of a call that ended so.
pub(crate) fn record(number: u8, name: &str, outcome: ToolOutcome, effect: Effect) -> CallRecord {
    CallRecord {
        id: call(number),
        name: name.into(),
        arguments: json!({ "id": "sleep" }),
        asked: None,
        approval: None,
        outcome: Some(outcome),
        effect,
        resolved_by: None,
        result: CallResult::Shown,
        proposed_at: Timestamp::from_millis(1_763_866_000_000),
        ended_at: Timestamp::from_millis(1_763_866_000_500),
    }
}

fn cancelled(number: u8, reason: CancelReason) -> CallRecord {
    record(number, "drop_habit", ToolOutcome::cancelled(reason), Effect::None)
}

/// The items of a turn, and the cut behind them where there is one.
#[derive(Debug)]
pub(crate) struct Scene {
    entry: u64,
    turn: TurnId,
    pub(crate) items: Vec<StreamItem>,
    pub(crate) cut: Option<Cut>,
}

impl Scene {
    /// Begins behind this entry of the chat.
    pub(crate) fn behind(entry: u64) -> Self {
        Self { entry, turn: turn(), items: Vec::new(), cut: None }
    }

    /// Begins with a text of the user.
    pub(crate) fn said() -> Self {
        Self::behind(0).stored(EventKind::UserMessage { text: "수면 습관 지워줘".into() })
    }

    /// Adds an event that only tells progress.
    pub(crate) fn event(mut self, kind: EventKind) -> Self {
        let cursor = EventCursor::of_entry(self.entry);
        let at = Timestamp::from_millis(1_763_866_000_000);
        let event = SessionEvent { kind, seq: 0, cursor, turn: self.turn, at };
        self.items.push(StreamItem::Event(Arc::new(event)));
        self
    }

    /// Adds the event of an entry.
    pub(crate) fn stored(mut self, kind: EventKind) -> Self {
        self.entry += 1;
        self.event(kind)
    }

    pub(crate) fn item(mut self, item: StreamItem) -> Self {
        self.items.push(item);
        self
    }

    pub(crate) fn speaks(self, text: &str) -> Self {
        self.item(StreamItem::Text(text.into()))
    }

    pub(crate) fn thinks(self, text: &str) -> Self {
        self.item(StreamItem::Thinking(text.into()))
    }

    pub(crate) fn message(self, text: &str) -> Self {
        self.stored(EventKind::ModelMessage { text: text.into(), ending: Ending::Complete })
    }

    pub(crate) fn proposes(self, number: u8, name: &str) -> Self {
        let wanted = WantedCall { name: name.into(), arguments: r#"{"id": "sleep"}"#.into() };
        self.event(EventKind::ToolCallProposed { call: call(number), wanted })
    }

    pub(crate) fn asks(self, number: u8) -> Self {
        self.event(EventKind::ApprovalRequested { request: request(number) })
    }

    pub(crate) fn decided(self, number: u8, decision: Decision) -> Self {
        let end = ApprovalEnd::Decided { decision };
        self.event(EventKind::ApprovalEnded { call: call(number), end })
    }

    pub(crate) fn ends(self, record: CallRecord) -> Self {
        self.stored(EventKind::ToolCallEnded { record: record.into() })
    }

    pub(crate) fn resolves(self, number: u8) -> Self {
        let resolved = ResolvedCall {
            call: call(number),
            name: "log_habit".into(),
            resolution: EffectResolution::TookEffect,
            by: ResolvedBy::Handler,
        };
        self.event(EventKind::ToolCallResolved { resolved, text: "적용되었습니다.".into() })
    }

    pub(crate) fn over(self, ending: TurnEnding) -> Self {
        let usage = Usage { prompt_tokens: 5, cached_tokens: 3, completion_tokens: 2 };
        self.event(EventKind::TurnEnded { ending, usage })
    }

    pub(crate) fn of_turn(mut self, turn: TurnId) -> Self {
        self.turn = turn;
        self
    }

    pub(crate) fn cut(mut self, cut: Cut) -> Self {
        self.cut = Some(cut);
        self
    }

    /// Plays the scene, and gives what was written with how the stream goes on.
    pub(crate) fn play(&self, mut mapper: impl Mapper) -> (String, Then) {
        let (mut out, mut then) = (Frames::default(), Then::Continue);
        mapper.open(&mut out);
        for item in &self.items {
            assert_eq!(then, Then::Continue, "an item comes behind the end: {item:?}");
            then = mapper.on(item, &mut out);
        }
        if let Some(cut) = self.cut {
            assert_eq!(then, Then::Continue);
            then = mapper.cut(cut, &mut out);
        }
        (String::from_utf8(out.take().into()).unwrap(), then)
    }
}

/// The data of each frame.
pub(crate) fn data(frames: &str) -> Vec<Value> {
    let frames = frames.split_terminator("\n\n").map(|frame| frame.strip_prefix("data: ").unwrap());
    frames.map(|data| serde_json::from_str(data).unwrap_or(Value::Null)).collect()
}

/// A call's outcome with so much data.
pub(crate) fn large(number: u8, bytes: usize) -> CallRecord {
    record(number, "get_habits", ToolOutcome::ok(json!("a".repeat(bytes))), Effect::None)
}

/// All scenes by name.
pub(crate) fn all() -> Vec<(&'static str, Scene)> {
    use TurnEnding::{Answered, Dismissed, Failed, Stopped};
    let ok = |number, name| {
        record(number, name, ToolOutcome::ok(json!({ "left": 2 })), Effect::Committed)
    };
    let read =
        |number| record(number, "get_habits", ToolOutcome::ok(json!(["sleep"])), Effect::None);
    let timeout = || {
        let outcome = ToolOutcome::error("timeout", "시간이 지났습니다.");
        record(1, "log_habit", outcome, Effect::Unknown)
    };
    let discarded = || {
        let outcome = ToolOutcome::ok(Value::Null);
        let shown = record(1, "log_habit", outcome, Effect::Committed);
        CallRecord { outcome: None, result: CallResult::Discarded, ..shown }
    };
    let edited = || CallRecord {
        asked: Some(json!({ "id": "sleep" })),
        arguments: json!({ "id": "run" }),
        ..ok(1, "drop_habit")
    };
    let no = || Decision::DenyWith { message: "다음 주에".into() };
    let denied =
        || record(1, "drop_habit", ToolOutcome::denied(Some("다음 주에".into())), Effect::None);
    let failed =
        |error| EventKind::Error { error, text: "모델이 응답하지 않습니다.".into() };
    let retry_ms = 2_137;
    vec![
        (
            "answer",
            Scene::said()
                .thinks("음")
                .thinks("…")
                .speaks("안")
                .speaks("녕")
                .message("안녕\n")
                .over(Answered),
        ),
        ("rest", Scene::said().speaks("안녕 ").message("안녕").over(Stopped)),
        ("rewritten", Scene::said().speaks("안녕").message("그래").over(Answered)),
        ("from_the_store", Scene::said().message("안녕").over(Answered)),
        (
            "two_rounds",
            Scene::said()
                .message("볼게요.")
                .proposes(1, "get_habits")
                .ends(read(1))
                .thinks("또")
                .proposes(2, "log_habit")
                .ends(ok(2, "log_habit"))
                .speaks("했어요.")
                .message("했어요.")
                .over(Answered),
        ),
        (
            "calls_of_a_round",
            Scene::said()
                .proposes(1, "get_habits")
                .proposes(2, "log_habit")
                .proposes(3, "get_habits")
                .proposes(4, "unheard_of")
                .ends(read(1))
                .ends(ok(2, "log_habit"))
                .ends(read(3))
                .ends(record(
                    4,
                    "unheard_of",
                    ToolOutcome::error("unknown_tool", "없는 도구"),
                    Effect::None,
                ))
                .message("했어요.")
                .over(Answered),
        ),
        (
            "question",
            Scene::said()
                .message("지울게요.")
                .proposes(1, "drop_habit")
                .proposes(2, "drop_habit")
                .asks(1),
        ),
        (
            "question_behind_a_read",
            Scene::said()
                .proposes(1, "get_habits")
                .proposes(2, "drop_habit")
                .item(StreamItem::Lagged { from: 1, to: 2 })
                .ends(read(1))
                .asks(2),
        ),
        ("question_never_proposed", Scene::said().speaks("지").asks(1)),
        (
            "expired",
            Scene::said()
                .proposes(1, "drop_habit")
                .ends(cancelled(1, CancelReason::Expired))
                .message("답이 없네요.")
                .over(Answered),
        ),
        (
            "unreachable",
            Scene::said()
                .proposes(1, "drop_habit")
                .ends(cancelled(1, CancelReason::Unreachable))
                .over(Answered),
        ),
        (
            "denied",
            Scene::said()
                .proposes(1, "drop_habit")
                .decided(1, no())
                .ends(denied())
                .message("다음 주에 할게요.")
                .over(Answered),
        ),
        (
            "edited",
            Scene::said()
                .proposes(1, "drop_habit")
                .decided(1, Decision::Edit { arguments: json!({ "id": "run" }) })
                .ends(edited())
                .over(Answered),
        ),
        (
            "dismissed",
            Scene::said()
                .proposes(1, "drop_habit")
                .proposes(2, "log_habit")
                .ends(cancelled(1, CancelReason::Dismissed))
                .ends(record(
                    2,
                    "log_habit",
                    ToolOutcome::cancelled(CancelReason::Withdrawn),
                    Effect::None,
                ))
                .over(Dismissed),
        ),
        ("discarded", Scene::said().proposes(1, "log_habit").ends(discarded()).over(Dismissed)),
        (
            "unknown_effect",
            Scene::said()
                .proposes(1, "log_habit")
                .ends(timeout())
                .message("모르겠어요.")
                .resolves(1)
                .over(Answered),
        ),
        (
            "error_in_mid_text",
            Scene::said().thinks("음").speaks("안").event(failed(TurnError::model("Timeout"))),
        ),
        ("error_elsewhere", Scene::said().event(failed(TurnError::CutOff))),
        ("failed_behind_its_error", Scene::behind(2).over(Failed)),
        (
            "notices",
            Scene::said()
                .event(EventKind::TurnResumed)
                .event(EventKind::MessagesLeftOut {
                    messages: 3, text: "3개를 뺐습니다.".into()
                })
                .stored(EventKind::SystemNotice {
                    notice: Notice::SuggestClear,
                    text: "대화가 깁니다.".into(),
                })
                .item(StreamItem::ReplayFailed)
                .event(EventKind::TurnInterrupted {
                    text: "저장소가 실패했습니다.".into()
                })
                .over(Answered),
        ),
        (
            "other_turns",
            Scene::said()
                .of_turn(TurnId::new(Uuid::from_u128(0x71)))
                .message("다른 턴")
                .proposes(7, "log_habit")
                .resolves(7)
                .over(Answered)
                .of_turn(turn())
                .message("안녕")
                .over(Answered),
        ),
        ("draining", Scene::said().speaks("안").cut(Cut::Draining { retry_ms })),
        ("too_long", Scene::said().thinks("음").cut(Cut::TooLong { retry_ms })),
        ("token_expired", Scene::said().proposes(1, "log_habit").cut(Cut::TokenExpired)),
        ("reader_dismissed", Scene::said().speaks("안").cut(Cut::Dismissed)),
    ]
}

/// Compares what the scenes of a surface wrote with the files beside its code, one for each.
macro_rules! assert_frames {
    ($played:expr) => {{
        let played: Vec<(String, String)> = $played;
        for (name, frames) in &played {
            expect_test::expect_file![format!("frames/{name}.sse")].assert_eq(frames);
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file!());
        let files = std::fs::read_dir(folder.with_file_name("frames")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut left: Vec<_> = names
            .filter(|file| played.iter().all(|(name, _)| *file != format!("{name}.sse")))
            .collect();
        left.sort_unstable();
        assert!(left.is_empty(), "no scene writes these: {left:?}");
    }};
}
pub(crate) use assert_frames;
