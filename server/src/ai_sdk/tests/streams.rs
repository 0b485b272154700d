//! The messages of all scenes, and what holds for each of them.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect;
use madang::{
    Timestamp, TurnId,
    approval::Decision,
    event::{ChatMessage, Content, Ending, EventCursor, EventKind, Notice, TurnEnding},
    ledger::Effect,
    tool::{CancelReason, ToolOutcome},
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::ai_sdk::{
    mapper::AiMapper,
    message::{AiMessage, write_nothing},
    messages::messages,
};
use crate::{
    ask::Ask,
    stream::{frame::Frames, mapper::Then},
    surface::{
        scene::{Scene, assert_frames, call, data, large, record, request, tools, turn},
        scenes::all,
    },
};

fn message() -> AiMessage {
    AiMessage {
        turn: turn(),
        shown: Vec::new(),
        waits: None,
        asked_before: None,
        superseded: None,
        ask: Ask::Here,
        tools: tools(),
        max_text_frame_bytes: 32,
    }
}

/// All messages by name, with the calls that the client shows before, and how the stream goes on.
fn messages_told() -> Vec<(String, BTreeSet<String>, (String, Then))> {
    let scenes = all().into_iter();
    let told = scenes.map(|(name, scene)| {
        (name.to_owned(), BTreeSet::new(), scene.play(AiMapper::new(message())))
    });
    let mut told: Vec<_> = told.collect();
    let mut add = |name: &str, scene: Scene, message: AiMessage| {
        let shown = message.shown.iter().map(ToString::to_string).collect();
        told.push((name.to_owned(), shown, scene.play(AiMapper::new(message))));
    };
    let goes_on = || AiMessage { shown: vec![call(1)], ..message() };
    let approved = || {
        let ok = ToolOutcome::ok(json!({ "left": 2 }));
        Scene::behind(2).decided(1, Decision::Approve).ends(record(
            1,
            "drop_habit",
            ok,
            Effect::Committed,
        ))
    };
    add(
        "resumed",
        approved().speaks("했어요.").message("했어요.").over(TurnEnding::Answered),
        goes_on(),
    );
    add(
        "resumed_denied",
        Scene::behind(2)
            .ends(record(1, "drop_habit", ToolOutcome::denied(Some("나중에".into())), Effect::None))
            .over(TurnEnding::Answered),
        goes_on(),
    );
    add("resumed_to_the_next", approved().asks(2), goes_on());
    add(
        "decided_too_late",
        Scene::behind(2)
            .ends(record(
                1,
                "drop_habit",
                ToolOutcome::cancelled(CancelReason::Expired),
                Effect::None,
            ))
            .message("답이 없었어요.")
            .over(TurnEnding::Answered),
        goes_on(),
    );
    add(
        "read_still_runs",
        Scene::said().proposes(1, "get_habits").proposes(2, "drop_habit").asks(2).ends(large(1, 1)),
        message(),
    );
    add(
        "told_from_its_beginning",
        Scene::said().message("지울게요."),
        AiMessage { waits: Some((EventCursor::of_entry(2), request(1))), ..message() },
    );
    add(
        "asked_elsewhere",
        Scene::said()
            .proposes(1, "drop_habit")
            .proposes(2, "drop_habit")
            .asks(1)
            .decided(1, Decision::Deny)
            .ends(record(1, "drop_habit", ToolOutcome::denied(None), Effect::None))
            .ends(record(2, "drop_habit", ToolOutcome::ok(json!(1)), Effect::Committed))
            .over(TurnEnding::Answered),
        AiMessage { ask: Ask::Elsewhere, ..message() },
    );
    add(
        "superseding",
        Scene::said().message("안녕").over(TurnEnding::Answered),
        AiMessage { superseded: Some(TurnId::new(Uuid::from_u128(0x6f))), ..message() },
    );
    let mut out = Frames::default();
    write_nothing(turn(), &mut out);
    let nothing = String::from_utf8(out.take().into()).unwrap();
    told.push(("nothing".into(), BTreeSet::new(), (nothing, Then::Close)));
    told
}

/// Checks the rules by which a client fails, never sends a decision, or sends a turn again.
fn verify(name: &str, mut shown: BTreeSet<String>, parts: &[Value]) {
    let mut open = BTreeSet::new();
    let mut step = BTreeMap::new();
    assert_eq!(parts[0]["type"], "start", "{name}");
    for part in parts.iter().filter(|part| !part.is_null()) {
        let text = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
        assert!(part.as_object().unwrap().values().all(|value| !value.is_null()), "{name} {part}");
        let id = text("toolCallId");
        let kind = text("type");
        match &*kind {
            "start-step" => step.clear(),
            "text-start" | "reasoning-start" => assert!(open.insert(text("id")), "{name} {part}"),
            "text-delta" | "reasoning-delta" => {
                assert!(open.contains(&text("id")), "{name} {part}")
            }
            "text-end" | "reasoning-end" => assert!(open.remove(&text("id")), "{name} {part}"),
            "tool-input-available" => {
                assert_eq!(part["providerExecuted"], true, "{name}");
                assert!(shown.insert(id.clone()), "{name} {part}");
                step.insert(id, "open");
            }
            "tool-approval-request" => {
                assert!(shown.contains(&id), "{name} {part}");
                step.insert(id, "asked");
                assert!(step.values().all(|state| *state != "open"), "{name}: {step:?}");
            }
            "tool-output-available" | "tool-output-error" | "tool-output-denied" => {
                assert!(shown.contains(&id), "{name} {part}");
                if let Some(state) = step.get_mut(&id) {
                    *state = "ended";
                }
            }
            "finish" | "abort" => assert!(open.is_empty(), "{name}: {open:?}"),
            _ => {}
        }
    }
}

#[test]
fn each_turn_is_told_as_a_message() {
    let told = messages_told().into_iter();
    assert_frames!(told.map(|(name, _, (frames, _))| (name, frames)).collect());
}

#[test]
fn each_message_keeps_the_order_that_clients_need() {
    for (name, shown, (frames, _)) in messages_told() {
        verify(&name, shown, &data(&frames));
    }
}

#[test]
fn a_stream_is_done_or_breaks_but_never_ends_cleanly_in_mid_turn() {
    for (name, _, (frames, then)) in messages_told() {
        let cut = ["draining", "unread", "too_long", "token_expired"].contains(&&*name);
        assert_eq!(then, if cut { Then::Break } else { Then::Close }, "{name}");
        assert_eq!(frames.ends_with("data: [DONE]\n\n"), !cut, "{name}");
    }
}

#[test]
fn a_completion_that_begins_anew_begins_another_part() {
    let mut mapper = AiMapper::new(message());
    let mut out = Frames::default();
    mapper.speak(0, "하나", &mut out);
    mapper.speak(0, "둘", &mut out);
    let parts = data(&String::from_utf8(out.take().into()).unwrap());
    let said: Vec<_> =
        parts.iter().map(|part| (part["type"].as_str().unwrap(), part["id"].as_str())).collect();
    assert_eq!(
        said,
        [
            ("start-step", None),
            ("text-start", Some("text-1")),
            ("text-delta", Some("text-1")),
            ("text-end", Some("text-1")),
            ("text-start", Some("text-2")),
            ("text-delta", Some("text-2")),
        ]
    );
}

#[test]
fn a_request_that_ended_while_a_read_ran_is_not_asked() {
    let expired = ToolOutcome::cancelled(CancelReason::Expired);
    let scene = Scene::said()
        .proposes(1, "get_habits")
        .proposes(2, "drop_habit")
        .asks(2)
        .ends(record(2, "drop_habit", expired, Effect::None))
        .ends(large(1, 1))
        .over(TurnEnding::Answered);
    let (frames, then) = scene.play(AiMapper::new(message()));
    assert!(!frames.contains("tool-approval-request"), "{frames}");
    assert_eq!(then, Then::Close);
}

#[test]
fn a_shown_call_whose_end_was_told_before_holds_nothing_back() {
    let scene = Scene::behind(4).message("또").proposes(2, "drop_habit").asks(2);
    let told = AiMessage { shown: vec![call(1)], ..message() };
    let (frames, then) = scene.play(AiMapper::new(told));
    assert_eq!(then, Then::Close, "{frames}");
}

#[test]
fn a_chat_is_one_message_of_each_side_for_each_turn() {
    let entry =
        |seq, content| ChatMessage { seq, turn: turn(), at: Timestamp::from_millis(0), content };
    let said = |text: &str| Content::model(text, Ending::Complete);
    let denied =
        record(2, "drop_habit", ToolOutcome::denied(Some("다음 주에".into())), Effect::None);
    let lost = ToolOutcome::error("timeout", "시간이 지났습니다.");
    let entries = [
        entry(1, Content::user("지워줘")),
        entry(2, said("볼게요.")),
        entry(3, Content::ToolCall(large(1, 300_000).into())),
        entry(4, Content::ToolCall(denied.into())),
        entry(5, said("")),
        entry(6, Content::ToolCall(record(3, "log_habit", lost, Effect::Unknown).into())),
        entry(7, Content::Notice { notice: Notice::SuggestClear }),
        entry(8, said("끝.")),
    ];
    let waits = request(4);
    let messages = json!(messages(&entries, Some((turn(), &waits)), 262_144));
    expect![[r#"
        [
          {
            "id": "00000000-0000-0000-0000-000000000070:1",
            "role": "user",
            "parts": [
              {
                "type": "text",
                "text": "지워줘",
                "state": "done"
              }
            ]
          },
          {
            "id": "00000000-0000-0000-0000-000000000070",
            "role": "assistant",
            "parts": [
              {
                "type": "step-start"
              },
              {
                "type": "text",
                "text": "볼게요.",
                "state": "done"
              },
              {
                "type": "dynamic-tool",
                "toolName": "get_habits",
                "toolCallId": "00000000-0000-0000-0000-000000000001",
                "providerExecuted": true,
                "input": {
                  "id": "sleep"
                },
                "state": "output-available",
                "output": {
                  "too_large": 300002,
                  "href": "/v1/calls/00000000-0000-0000-0000-000000000001"
                }
              },
              {
                "type": "dynamic-tool",
                "toolName": "drop_habit",
                "toolCallId": "00000000-0000-0000-0000-000000000002",
                "providerExecuted": true,
                "input": {
                  "id": "sleep"
                },
                "state": "output-denied",
                "approval": {
                  "id": "00000000-0000-0000-0000-000000000002",
                  "approved": false,
                  "reason": "다음 주에"
                }
              },
              {
                "type": "dynamic-tool",
                "toolName": "log_habit",
                "toolCallId": "00000000-0000-0000-0000-000000000003",
                "providerExecuted": true,
                "input": {
                  "id": "sleep"
                },
                "state": "output-error",
                "errorText": "timeout: 시간이 지났습니다."
              },
              {
                "type": "data-madang-call",
                "id": "00000000-0000-0000-0000-000000000003",
                "data": {
                  "call": "00000000-0000-0000-0000-000000000003",
                  "name": "log_habit",
                  "effect": "unknown",
                  "result": "shown"
                }
              },
              {
                "type": "step-start"
              },
              {
                "type": "text",
                "text": "끝.",
                "state": "done"
              },
              {
                "type": "dynamic-tool",
                "toolName": "drop_habit",
                "toolCallId": "00000000-0000-0000-0000-000000000004",
                "providerExecuted": true,
                "input": {
                  "id": "sleep"
                },
                "state": "approval-requested",
                "approval": {
                  "id": "00000000-0000-0000-0000-000000000004:9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b",
                  "requestReason": "수면 습관을 지웁니다.",
                  "descriptor": {
                    "text": "수면 습관을 지웁니다.\n계속할까요?",
                    "expires_at": 1763876400000
                  }
                }
              }
            ]
          }
        ]"#]].assert_eq(&serde_json::to_string_pretty(&messages).unwrap());
}

#[test]
fn events_of_a_chat_that_was_cleared_are_notices() {
    let scene = Scene::said().event(EventKind::Cleared);
    let (frames, _) = scene.play(AiMapper::new(message()));
    let expected =
        json!({ "type": "data-madang-notice", "transient": true, "data": { "type": "cleared" } });
    assert_eq!(data(&frames).last(), Some(&expected));
}
