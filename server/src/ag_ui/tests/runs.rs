//! The runs of all scenes, and what holds for each of them.

use std::collections::BTreeSet;

use madang::{
    IdempotencyKey, SessionId, Timestamp, TurnId,
    approval::Decision,
    event::{
        ChatMessage, Content, Ending, EntryOrigin, EventCursor, EventKind, Notice, TurnEnding,
    },
    ledger::Effect,
    tool::{CancelReason, ToolOutcome},
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::ag_ui::{
    mapper::AgUiMapper,
    messages::AgUiChat,
    run::{AgUiRun, RunEnd, RunOpening, write_error},
};
use crate::{
    ServerLimits,
    ask::Ask,
    stream::{
        frame::Frames,
        mapper::{Mapper, Then},
    },
    surface::{
        scene::{Scene, assert_frames, call, data, large, record, request, tools, turn},
        scenes::all,
    },
};

fn entry(seq: u64, content: Content) -> ChatMessage {
    ChatMessage { seq, turn: turn(), at: Timestamp::from_millis(0), content }
}

/// What the user said under the key that the client gave it.
fn said(key: &str, text: &str) -> Content {
    let key = Some(IdempotencyKey::new(key).unwrap());
    Content::User { text: text.into(), key, origin: EntryOrigin::Chat }
}

fn chat(entries: Vec<ChatMessage>) -> AgUiChat {
    AgUiChat::new(entries, &ServerLimits::default())
}

fn run(opening: RunOpening, chat: AgUiChat) -> AgUiRun {
    AgUiRun {
        thread: SessionId::new("chat-1").unwrap(),
        run: "r1".into(),
        turn: Some(turn()),
        opening,
        chat,
        client_messages: 100,
        is_fork: false,
        cursor: EventCursor::START,
        state: None,
        late: Vec::new(),
        decided: Vec::new(),
        ask: Ask::Here,
        tools: tools(),
        max_text_frame_bytes: 32,
    }
}

fn whole(run: AgUiRun, end: RunEnd) -> String {
    let mut out = Frames::default();
    AgUiMapper::new(run).write_whole(end, &mut out);
    String::from_utf8(out.take().into()).unwrap()
}

/// The user's text, and what the model said before it asked.
fn entries() -> Vec<ChatMessage> {
    let text = "지울게요.";
    vec![entry(1, said("m1", "수면 습관 지워줘")), entry(2, Content::model(text, Ending::Complete))]
}

fn asked() -> AgUiChat {
    chat(entries())
}

fn behind(entry: u64, run: AgUiRun) -> AgUiRun {
    AgUiRun { cursor: EventCursor::of_entry(entry), ..run }
}

/// All runs by name.
fn runs() -> Vec<(String, String)> {
    let mut runs: Vec<_> = all()
        .into_iter()
        .map(|(name, scene)| {
            (name.to_owned(), scene.play(AgUiMapper::new(run(RunOpening::Begun, chat(vec![])))))
        })
        .collect();
    let mut add = |name: &str, scene: Scene, run| {
        runs.push((name.to_owned(), scene.play(AgUiMapper::new(run))));
    };
    let approved = || {
        let ok = ToolOutcome::ok(json!({ "left": 2 }));
        Scene::behind(2).decided(1, Decision::Approve).ends(record(
            1,
            "drop_habit",
            ok,
            Effect::Committed,
        ))
    };
    let joined = |chat| behind(2, run(RunOpening::Joined, chat));
    add(
        "resumed",
        approved().speaks("했어요.").message("했어요.").over(TurnEnding::Answered),
        joined(asked().waiting(&request(1))),
    );
    add("resumed_to_the_next", approved().asks(2), joined(asked().waiting(&request(1))));
    add(
        "joined_in_mid_text",
        Scene::behind(2).speaks("다 했").message("다 했어요.").over(TurnEnding::Answered),
        joined(asked()),
    );
    let expired =
        record(1, "drop_habit", ToolOutcome::cancelled(CancelReason::Expired), Effect::None);
    add(
        "decided_too_late",
        Scene::behind(3).message("답이 없었어요.").over(TurnEnding::Answered),
        AgUiRun {
            late: vec![call(1)],
            cursor: EventCursor::of_entry(3),
            ..run(RunOpening::Joined, {
                let mut chat = asked();
                chat.push(entry(3, Content::ToolCall(expired.into())));
                chat.waiting(&request(1))
            })
        },
    );
    let earlier = TurnId::new(Uuid::from_u128(0x6f));
    let before = || {
        let entries = entries().into_iter();
        chat(entries.map(|entry| ChatMessage { turn: earlier, ..entry }).collect())
    };
    let again = || Scene::behind(2).says("m2", "또");
    for (name, client_messages) in [("client_without_history", 1), ("client_with_history", 3)] {
        let begun = behind(2, run(RunOpening::Begun, before()));
        add(name, again().over(TurnEnding::Answered), AgUiRun { client_messages, ..begun });
    }
    let mut joined_chat = before();
    joined_chat.push(entry(3, said("m2", "또")));
    let joined_late = behind(3, run(RunOpening::Joined, joined_chat));
    add(
        "joined_without_history",
        Scene::behind(3).speaks("안").message("안녕").over(TurnEnding::Answered),
        AgUiRun { client_messages: 2, ..joined_late },
    );
    add(
        "asked_elsewhere",
        Scene::said().proposes(1, "drop_habit").asks(1).decided(1, Decision::Deny),
        AgUiRun { ask: Ask::Elsewhere, ..run(RunOpening::Begun, chat(vec![])) },
    );
    let state = json!({ "theme": "dark", "madang": 1 });
    add(
        "state",
        Scene::said().message("안녕").over(TurnEnding::Answered),
        AgUiRun { state: state.as_object().cloned(), ..run(RunOpening::Begun, chat(vec![])) },
    );
    // The name of the foreseen text is wrong where an entry comes between.
    add(
        "unforeseen_entry",
        Scene::said()
            .speaks("안")
            .stored(EventKind::SystemNotice {
                notice: Notice::SuggestClear,
                text: "대화가 깁니다.".into(),
            })
            .message("안녕")
            .over(TurnEnding::Answered),
        run(RunOpening::Begun, chat(vec![])),
    );
    let mut runs: Vec<_> = runs.into_iter().map(|(name, (frames, _))| (name, frames)).collect();
    for (name, end) in [
        ("over", RunEnd::Success),
        ("over_dismissed", RunEnd::Cancelled),
        ("over_waits", RunEnd::Waits(request(1).into())),
        ("over_failed", RunEnd::Failed { text: "실패".into(), code: "model/Timeout".into() }),
    ] {
        let late = if name == "over" { vec![call(9)] } else { Vec::new() };
        runs.push((name.into(), whole(AgUiRun { late, ..joined(asked()) }, end)));
    }
    let mut out = Frames::default();
    write_error("A turn of this session has not ended.", "busy", &mut out);
    runs.push(("refused".into(), String::from_utf8(out.take().into()).unwrap()));
    runs
}

/// Checks the rules of the protocol by which a client refuses a run.
fn verify(name: &str, events: &[Value]) {
    let mut open = BTreeSet::new();
    let (last, before) = events.split_last().unwrap();
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let is_end = |event: &Value| ["RUN_FINISHED", "RUN_ERROR"].contains(&&*text(event, "type"));
    assert!(events[0]["type"] == "RUN_STARTED" || events.len() == 1, "{name}");
    assert!(before.iter().all(|event| !is_end(event)), "{name}");
    for event in events {
        assert!(
            event.as_object().unwrap().values().all(|value| !value.is_null()),
            "{name} {event}"
        );
        let kind = text(event, "type");
        let id = text(event, "messageId") + &text(event, "toolCallId");
        let Some((kind, step)) = kind.rsplit_once('_') else { continue };
        match step {
            "START" => assert!(open.insert((kind.to_owned(), id)), "{name} {event}"),
            "CONTENT" | "ARGS" => assert!(open.contains(&(kind.to_owned(), id)), "{name} {event}"),
            "END" => assert!(open.remove(&(kind.to_owned(), id)), "{name} {event}"),
            _ => {}
        }
    }
    assert!(open.is_empty() || !is_end(last), "{name}: {open:?}");
}

#[test]
fn each_turn_is_told_as_a_run() {
    assert_frames!(runs());
}

#[test]
fn each_run_keeps_the_order_that_clients_verify() {
    for (name, frames) in runs() {
        verify(&name, &data(&frames));
    }
}

#[test]
fn a_run_closes_cleanly_at_each_end_and_goes_on_before() {
    for (name, scene) in all() {
        let (frames, then) = scene.play(AgUiMapper::new(run(RunOpening::Begun, chat(vec![]))));
        assert_eq!(then, Then::Close, "{name}: {frames}");
    }
}

#[test]
fn a_completion_that_begins_anew_takes_back_what_was_streamed() {
    let (mut mapper, mut out) =
        (AgUiMapper::new(run(RunOpening::Begun, chat(vec![]))), Frames::default());
    for item in &Scene::said().items {
        mapper.on(item, &mut out);
    }
    mapper.speak(0, "하나", &mut out);
    mapper.speak(0, "둘", &mut out);
    let events = data(&String::from_utf8(out.take().into()).unwrap());
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let streamed = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"];
    let expected = [&streamed[..], &["TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT"], &streamed].concat();
    assert_eq!(kinds, expected);
    assert_eq!(events[0]["messageId"], events[4]["messageId"]);
    assert_eq!(events[3]["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn a_snapshot_fits_into_a_frame_and_is_no_longer_than_a_page() {
    let result = |record| {
        let chat = chat(vec![entry(1, Content::ToolCall(Box::new(record)))]);
        let frames = whole(run(RunOpening::Joined, chat), RunEnd::Success);
        serde_json::from_str::<Value>(data(&frames)[1]["messages"][1]["content"].as_str().unwrap())
            .unwrap()
    };
    assert_eq!(result(large(1, 200_000))["data"].as_str().unwrap().len(), 200_000);
    let href = format!("/v1/calls/{}", call(1));
    let left_out = json!({ "status": "ok", "data": { "too_large": 300_002, "href": href } });
    assert_eq!(result(large(1, 300_000)), left_out);
    let wordy = ToolOutcome::error("wordy", "a".repeat(300_000));
    let wordy = result(record(1, "get_habits", wordy, Effect::None));
    assert_eq!((&wordy["status"], &wordy["href"]), (&json!("error"), &json!(href)));

    let mut limits = ServerLimits::default();
    limits.max_page_bytes = 500;
    let said = |seq| entry(seq, said("m1", &format!("{seq:090}")));
    let chat = AgUiChat::new((1..=9).map(said).collect(), &limits);
    let frames = whole(run(RunOpening::Joined, chat), RunEnd::Success);
    let messages = data(&frames)[1]["messages"].clone();
    let kept: Vec<_> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["content"].as_str().unwrap().parse::<u64>().unwrap())
        .collect();
    assert_eq!(kept, [7, 8, 9]);
    assert!(messages.to_string().len() <= 500);
}

#[test]
fn a_chat_takes_no_entry_and_no_call_twice() {
    let mut chat = asked();
    chat.push(entry(3, Content::ToolCall(large(1, 1).into())));
    chat.push(entry(3, Content::ToolCall(large(1, 1).into())));
    let chat = chat.waiting(&request(1)).waiting(&request(2)).waiting(&request(2));
    assert_eq!(chat.snapshot().len(), 5);
}
