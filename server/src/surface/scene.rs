//! A turn as the items that a reader of it gets, for tests of what a mapper makes of them.

use std::sync::Arc;

use madang::{
    CallId, IdempotencyKey, SessionId, Timestamp, TurnId, UserId,
    approval::{ApprovalEnd, ApprovalRequest, Decision, Digest},
    event::{
        CompletionId, Ending, EntryOrigin, EventCursor, EventKind, SessionEvent, StreamItem,
        TurnEnding,
    },
    ledger::{CallRecord, CallResult, Effect, EffectResolution, ResolvedBy, ResolvedCall},
    model::Usage,
    tool::{
        EffectPolicy, ToolOutcome, ToolProgress, ToolRegistry, ToolSpec, WantedCall, from_schema,
    },
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::stream::{
    frame::Frames,
    mapper::{Cut, Mapper, Then},
};

/// Returns the turn of all scenes.
pub(crate) fn turn() -> TurnId {
    TurnId::new(Uuid::from_u128(0x70))
}

/// Returns the completion of all texts.
fn completion() -> CompletionId {
    CompletionId::new(Uuid::from_u128(0xc0))
}

/// Returns the call with this number.
pub(crate) fn call(number: u8) -> CallId {
    CallId::new(Uuid::from_u128(u128::from(number)))
}

/// Makes a tool that reads, one that writes and one that asks.
pub(crate) fn tools() -> Arc<ToolRegistry> {
    let schema = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
    let mut tools = ToolRegistry::new();
    for (name, effect) in [
        ("get_habits", EffectPolicy::Read),
        ("log_habit", EffectPolicy::Write),
        ("drop_habit", EffectPolicy::Destructive),
    ] {
        let spec = ToolSpec::new(name, "A tool.", schema.clone()).effect(effect);
        let tool = from_schema(spec, async |_, _| unreachable!("no scene calls a tool"));
        tools.register(tool).unwrap();
    }
    tools.into()
}

/// Makes the request about a call of `drop_habit`.
pub(crate) fn request(number: u8) -> ApprovalRequest {
    ApprovalRequest {
        call: call(number),
        session: SessionId::new("chat-1").unwrap(),
        user: UserId::new("kim").unwrap(),
        tool: "drop_habit".into(),
        arguments: json!({ "id": "sleep" }).into(),
        consequence: "수면 습관을 지웁니다.".into(),
        text: "수면 습관을 지웁니다.\n계속할까요?".into(),
        digest: Digest::new([0x9b; 32]),
        expires_at: Timestamp::from_millis(1_763_876_400_000),
    }
}

/// Makes the record of a call that ended like this.
pub(crate) fn record(number: u8, name: &str, outcome: ToolOutcome, effect: Effect) -> CallRecord {
    CallRecord {
        model: None,
        opaque: None,
        id: call(number),
        name: name.into(),
        arguments: json!({ "id": "sleep" }).into(),
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

/// The items of a turn, and the cut after them if there is one.
#[derive(Debug)]
pub(crate) struct Scene {
    entry: u64,
    turn: TurnId,
    pub(crate) items: Vec<StreamItem>,
    pub(crate) cut: Option<Cut>,
    /// The bytes of the message that streams.
    spoken: usize,
}

impl Scene {
    /// Begins after this entry of the chat.
    pub(crate) fn behind(entry: u64) -> Self {
        Self { entry, turn: turn(), items: Vec::new(), cut: None, spoken: 0 }
    }

    /// Begins with a text of the user.
    pub(crate) fn said() -> Self {
        Self::behind(0).says("m1", "수면 습관 지워줘")
    }

    /// Adds a text of the user, under the key that the client gave it.
    pub(crate) fn says(self, key: &str, text: &str) -> Self {
        let key = Some(IdempotencyKey::new(key).expect("it is a short text"));
        let origin = EntryOrigin::Chat;
        self.stored(EventKind::UserMessage { text: text.into(), key, origin })
    }

    /// Adds an event that only reports progress.
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

    pub(crate) fn speaks(mut self, text: &str) -> Self {
        let at = self.spoken;
        let completion = completion();
        self.spoken += text.len();
        self.item(StreamItem::Text { completion, at, text: text.into() })
    }

    pub(crate) fn thinks(self, text: &str) -> Self {
        self.item(StreamItem::Thinking { completion: completion(), at: 0, text: text.into() })
    }

    pub(crate) fn progresses(self, number: u8) -> Self {
        let progress = ToolProgress::new(1.0).out_of(4.0).saying("읽는 중");
        let turn = self.turn;
        self.item(StreamItem::Progress { turn, call: call(number), progress })
    }

    pub(crate) fn message(mut self, text: &str) -> Self {
        self.spoken = 0;
        let ending = Ending::Complete;
        let origin = EntryOrigin::Chat;
        self.stored(EventKind::ModelMessage { text: text.into(), ending, model: None, origin })
    }

    pub(crate) fn proposes(self, number: u8, name: &str) -> Self {
        let wanted = WantedCall::new(name, r#"{"id": "sleep"}"#);
        self.event(EventKind::ToolCallProposed { call: call(number), model: None, wanted })
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

    /// Plays the scene. Returns what was written, and how the stream goes on.
    pub(crate) fn play(&self, mut mapper: impl Mapper) -> (String, Then) {
        let mut out = Frames::default();
        let mut then = Then::Continue;
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

/// Reads the data of each frame.
pub(crate) fn data(frames: &str) -> Vec<Value> {
    let frames = frames.split_terminator("\n\n").map(|frame| frame.strip_prefix("data: ").unwrap());
    frames.map(|data| serde_json::from_str(data).unwrap_or(Value::Null)).collect()
}

/// Makes a call's outcome with this many bytes of data.
pub(crate) fn large(number: u8, bytes: usize) -> CallRecord {
    record(number, "get_habits", ToolOutcome::ok(json!("a".repeat(bytes))), Effect::None)
}

/// Compares what the scenes of a surface wrote with the files next to its code, one for each.
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
