//! Turns that each surface must write.

use madang::{
    TurnId,
    approval::Decision,
    error::TurnError,
    event::{EventKind, Notice, StreamItem, TurnEnding},
    ledger::{CallRecord, CallResult, Effect},
    tool::{CancelReason, ToolOutcome},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::scene::{Scene, record, turn};
use crate::stream::mapper::Cut;

/// Lists all scenes by name.
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
        asked: Some(json!({ "id": "sleep" }).into()),
        arguments: json!({ "id": "run" }).into(),
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
                .progresses(1)
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
                .progresses(7)
                .resolves(7)
                .over(Answered)
                .of_turn(turn())
                .message("안녕")
                .over(Answered),
        ),
        ("draining", Scene::said().speaks("안").cut(Cut::Draining { retry_ms })),
        ("unread", Scene::said().speaks("안").cut(Cut::Unread { retry_ms })),
        ("too_long", Scene::said().thinks("음").cut(Cut::TooLong { retry_ms })),
        ("token_expired", Scene::said().proposes(1, "log_habit").cut(Cut::TokenExpired)),
        ("reader_dismissed", Scene::said().speaks("안").cut(Cut::Dismissed)),
    ]
}

fn cancelled(number: u8, reason: CancelReason) -> CallRecord {
    record(number, "drop_habit", ToolOutcome::cancelled(reason), Effect::None)
}
