//! What a body of AG-UI says, row by row.
#![expect(
    clippy::needless_pass_by_value,
    reason = "a value of `json!` reads best where it is used"
)]

use madang::{IdempotencyKey, approval::Decision};
use serde_json::{Value, json};

use crate::{
    ServerLimits,
    ag_ui::input::{AgUiInput, AgUiIntent},
    ask::Ask,
    problem::Problem,
    surface::{approval_id::ApprovalId, body::Said},
};

const CALL: &str = "00000000-0000-0000-0000-000000000001";

fn id() -> ApprovalId {
    ApprovalId::read(&format!("{CALL}:{}", "9b".repeat(32))).unwrap()
}

/// Reads the smallest body with these members in place of its own.
fn read_with(members: Value) -> Result<AgUiInput, Problem> {
    let mut body = json!({ "threadId": "chat-1", "runId": "r1", "messages": [], "tools": [1] });
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    AgUiInput::read(body.to_string().as_bytes(), &ServerLimits::default())
}

fn pointer(refused: Result<AgUiInput, Problem>) -> String {
    let body = refused.unwrap_err().body();
    assert_eq!(body["status"], 400, "{body}");
    body["problems"][0]["pointer"].as_str().unwrap_or_default().to_owned()
}

fn said(id: &str, text: &str) -> Said {
    Said { key: IdempotencyKey::new(id).unwrap(), text: text.to_owned() }
}

#[test]
fn the_last_text_of_the_user_counts_and_no_other_message() {
    let user = |id: &str, content: Value| json!({ "id": id, "role": "user", "content": content });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let answer = json!({ "id": "a", "role": "assistant", "content": "그래" });
    for (messages, intent) in [
        (json!([]), AgUiIntent::Attach),
        (json!([answer]), AgUiIntent::Attach),
        (json!([user("m1", json!("하나"))]), AgUiIntent::Say(said("m1", "하나"))),
        (json!([user("m1", json!(7)), user("m2", json!("둘"))]), AgUiIntent::Say(said("m2", "둘"))),
        (json!([user("m1", json!("하나")), answer, 7, null]), AgUiIntent::Say(said("m1", "하나"))),
        (
            json!([user("m1", json!([text("하나"), text("둘")]))]),
            AgUiIntent::Say(said("m1", "하나\n둘")),
        ),
    ] {
        let input = read_with(json!({ "messages": messages })).unwrap();
        assert_eq!(input.intent, intent, "{messages}");
        let objects = messages.as_array().unwrap().iter().filter(|message| message.is_object());
        assert_eq!(input.messages, objects.count());
    }
}

#[test]
fn a_resume_has_decisions_and_only_true_is_a_yes() {
    let entry = |status: &str, payload: Value| json!({ "interruptId": id().to_string(), "status": status, "payload": payload });
    let edited = json!({ "id": "run" });
    for (payload, decision) in [
        (json!({ "approved": true }), Decision::Approve),
        (json!({ "approved": true, "message": "응" }), Decision::Approve),
        (json!({ "approved": true, "editedArgs": null }), Decision::Approve),
        (json!({ "approved": true, "always": true }), Decision::ApproveAlways),
        (
            json!({ "approved": true, "always": true, "editedArgs": edited }),
            Decision::Edit { arguments: edited.clone() },
        ),
        (json!({ "approved": false }), Decision::Deny),
        (json!({ "approved": false, "message": " " }), Decision::Deny),
        (json!({ "approved": false, "always": true, "editedArgs": edited }), Decision::Deny),
        (
            json!({ "approved": false, "message": "나중에" }),
            Decision::DenyWith { message: "나중에".into() },
        ),
    ] {
        let input = read_with(json!({ "resume": [entry("resolved", payload.clone())] })).unwrap();
        let expected = AgUiIntent::Resume {
            decisions: vec![(id(), decision)],
            cancelled: vec![],
            unrecognised: 0,
            said: None,
        };
        assert_eq!(input.intent, expected, "{payload}");
    }
    let resume = json!([
        { "interruptId": "another", "status": "resolved" },
        entry("cancelled", Value::Null),
        7,
    ]);
    let messages = json!([{ "id": "m2", "role": "user", "content": "다른 것" }]);
    let input = read_with(json!({ "resume": resume, "messages": messages })).unwrap();
    let expected = AgUiIntent::Resume {
        decisions: vec![],
        cancelled: vec![id()],
        unrecognised: 2,
        said: Some(said("m2", "다른 것")),
    };
    assert_eq!(input.intent, expected);
    assert_eq!(read_with(json!({ "resume": [] })).unwrap().intent, AgUiIntent::Attach);
}

#[test]
fn what_cannot_be_done_is_refused_with_its_pointer() {
    let resume = |payload: Value| json!({ "resume": [{ "interruptId": id().to_string(), "status": "resolved", "payload": payload }] });
    let user = |content: Value| json!({ "messages": [{ "id": "m1", "role": "user", "content": content }] });
    let approved = "/resume/0/payload/approved";
    for (members, expected) in [
        (json!({ "threadId": null }), "/threadId"),
        (json!({ "threadId": ".." }), ""),
        (json!({ "runId": 7 }), "/runId"),
        (json!({ "runId": "" }), "/runId"),
        (json!({ "runId": "a".repeat(257) }), "/runId"),
        (json!({ "messages": {} }), "/messages"),
        (user(json!(null)), "/messages/0/content"),
        (
            user(json!([{ "type": "text", "text": "이거" }, { "type": "image" }])),
            "/messages/0/content/1",
        ),
        (json!({ "messages": [{ "role": "user", "content": "이거" }] }), "/messages/0/id"),
        (
            json!({ "messages": [{ "id": "a".repeat(257), "role": "user", "content": "이거" }] }),
            "/messages/0/id",
        ),
        (json!({ "resume": {} }), "/resume"),
        (
            json!({ "resume": [{ "interruptId": id().to_string(), "status": "done" }] }),
            "/resume/0/status",
        ),
        (json!({ "resume": vec![7; 101] }), "/resume"),
        (resume(json!(null)), approved),
        (resume(json!({})), approved),
        (resume(json!({ "approved": "true" })), approved),
        (resume(json!({ "approved": 1 })), approved),
        (resume(json!({ "approved": true, "editedArgs": "{}" })), "/resume/0/payload/editedArgs"),
        (json!({ "forwardedProps": { "ask": "me" } }), "/forwardedProps/ask"),
    ] {
        assert_eq!(pointer(read_with(members.clone())), expected, "{members}");
    }
}

#[test]
fn the_clients_state_and_context_are_read_within_their_bounds() {
    let input = read_with(json!({
        "state": { "theme": "dark" },
        "context": [{ "description": "page", "value": "habits" }, { "value": "x" }, 7],
        "forwardedProps": { "ask": "elsewhere", "more": 1 },
    }));
    let input = input.unwrap();
    assert_eq!(Value::Object(input.state.unwrap()), json!({ "theme": "dark" }));
    assert_eq!(input.instructions.as_deref(), Some("page: habits\nx"));
    assert_eq!(input.ask, Some(Ask::Elsewhere));
    for state in [json!(null), json!("text"), json!({ "a": "b".repeat(256 * 1024) })] {
        let input =
            read_with(json!({ "state": state, "context": null, "forwardedProps": 7 })).unwrap();
        assert_eq!((input.state, input.instructions, input.ask), (None, None, None));
    }
}

#[test]
fn a_long_history_is_skipped_and_a_longer_body_refused() {
    let old =
        json!({ "id": "a", "role": "assistant", "content": "a".repeat(1024 * 1024) }).to_string();
    let body = |count: usize| {
        let messages = vec![old.as_str(); count].join(",");
        format!(
            r#"{{"threadId":"c","runId":"r","messages":[{messages},{{"role":"user","id":"m","content":"끝"}}]}}"#
        )
    };
    let limits = ServerLimits::default();
    let input = AgUiInput::read(body(7).as_bytes(), &limits).unwrap();
    assert_eq!((input.messages, input.intent), (8, AgUiIntent::Say(said("m", "끝"))));
    let refused = AgUiInput::read(body(8).as_bytes(), &limits).unwrap_err();
    assert_eq!(refused.status(), 413);
    for broken in [&b"{\"threadId\":\"c\"} {}"[..], b"\xff", b""] {
        assert_eq!(AgUiInput::read(broken, &limits).unwrap_err().status(), 400);
    }
}
