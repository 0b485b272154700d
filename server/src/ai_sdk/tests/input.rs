//! What a body of the AI SDK says, row by row.
#![expect(
    clippy::needless_pass_by_value,
    reason = "a value of `json!` reads best where it is used"
)]

use madang::{IdempotencyKey, TurnId, approval::Decision};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    ServerLimits,
    ai_sdk::input::{AiInput, AiIntent},
    ask::Ask,
    problem::Problem,
    surface::{approval_id::ApprovalId, body::Said, forks::Sent},
};

const TURN: &str = "00000000-0000-0000-0000-000000000070";

fn id() -> ApprovalId {
    let call = "00000000-0000-0000-0000-000000000001";
    ApprovalId::read(&format!("{call}:{}", "9b".repeat(32))).unwrap()
}

fn read_body(body: &Value) -> Result<AiInput, Problem> {
    AiInput::read(body.to_string().as_bytes(), &ServerLimits::default())
}

fn user(parts: Value) -> Value {
    json!({ "id": "m1", "role": "user", "parts": parts })
}

fn responded(approval: Value) -> Value {
    json!({ "type": "dynamic-tool", "state": "approval-responded", "approval": approval })
}

fn assistant(id: &str, parts: Vec<Value>) -> Value {
    json!({ "id": id, "role": "assistant", "parts": parts })
}

fn decide(turn: Option<TurnId>, decisions: Vec<Decision>, unrecognised: usize) -> AiIntent {
    let decisions = decisions.into_iter().map(|decision| (id(), decision)).collect();
    AiIntent::Decide { turn, decisions, unrecognised }
}

#[test]
fn the_last_message_says_what_to_do_and_the_others_nothing() {
    let text = json!([{ "type": "step-start" }, { "type": "text", "text": "안녕" }, { "type": "data-x", "data": 1 }]);
    let said = || Said { key: IdempotencyKey::new("m1").unwrap(), text: "안녕".into() };
    let yes = || responded(json!({ "id": id().to_string(), "approved": true }));
    let turn = Some(TurnId::new(Uuid::try_parse(TURN).unwrap()));
    let no = json!({ "id": id().to_string(), "approved": false, "reason": "나중에" });
    let denied = Decision::DenyWith { message: "나중에".into() };
    for (members, intent) in [
        (json!({ "messages": [user(text.clone())] }), AiIntent::Say(said(), Sent::Plain)),
        (
            json!({ "message": user(text.clone()), "trigger": "submit-message" }),
            AiIntent::Say(said(), Sent::Plain),
        ),
        (
            json!({ "messages": [assistant(TURN, vec![yes()]), user(text.clone())] }),
            AiIntent::Say(said(), Sent::Plain),
        ),
        (
            json!({ "messages": [user(text.clone())], "trigger": "submit-message", "messageId": "m1" }),
            AiIntent::Say(said(), Sent::Named),
        ),
        (
            json!({ "messages": [user(text.clone())], "messageId": "x" }),
            AiIntent::Say(said(), Sent::Plain),
        ),
        (
            json!({ "messages": [user(text)], "trigger": "regenerate-message", "messageId": "x" }),
            AiIntent::Say(said(), Sent::Again),
        ),
        (
            json!({ "messages": [7, assistant(TURN, vec![json!(7), yes()])] }),
            decide(turn, vec![Decision::Approve], 0),
        ),
        (
            json!({ "messages": [assistant("mine", vec![responded(no)])] }),
            decide(None, vec![denied], 0),
        ),
        (
            json!({ "messages": [assistant(TURN, vec![responded(json!({ "id": "x", "approved": true })), responded(json!(null))])] }),
            decide(turn, vec![], 2),
        ),
        (
            json!({ "messages": [assistant(TURN, vec![json!({ "state": "output-available", "approval": { "id": id().to_string(), "approved": true } })])] }),
            AiIntent::Attach,
        ),
    ] {
        let mut body = json!({ "id": "chat-1", "ask": "none", "more": [] });
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let input = read_body(&body).unwrap();
        assert_eq!(input.intent, intent, "{members}");
        assert_eq!((input.session.as_str(), input.ask), ("chat-1", Some(Ask::None)));
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_its_pointer() {
    let approval = |approval: Value| json!({ "id": "c", "message": assistant(TURN, vec![responded(approval)]) });
    let yes = responded(json!({ "id": id().to_string(), "approved": true }));
    let text = json!([{ "type": "text", "text": "이거" }, { "type": "file", "url": "x" }]);
    for (body, pointer) in [
        (json!({ "id": "c" }), "/messages"),
        (json!({ "id": "c", "messages": [] }), "/messages"),
        (json!({ "id": "c", "messages": "x" }), "/messages"),
        (json!({ "messages": [user(json!([]))] }), "/id"),
        (json!({ "id": "c", "messages": [7] }), "/messages/0/role"),
        (json!({ "id": "c", "message": { "role": "system" } }), "/message/role"),
        (json!({ "id": "c", "messages": [1, user(text)] }), "/messages/1/parts/1"),
        (json!({ "id": "c", "messages": [user(json!("이거"))] }), "/messages/0/parts"),
        (json!({ "id": "c", "message": { "role": "user", "parts": [] } }), "/message/id"),
        (json!({ "id": "c", "message": { "id": "a", "role": "assistant" } }), "/message/parts"),
        (json!({ "id": "c", "message": assistant(TURN, vec![yes; 101]) }), "/message/parts"),
        (approval(json!({ "id": id().to_string() })), "/message/parts/0/approval/approved"),
        (
            approval(json!({ "id": id().to_string(), "approved": "yes" })),
            "/message/parts/0/approval/approved",
        ),
        (json!({ "id": "c", "ask": 7, "message": user(json!([])) }), "/ask"),
    ] {
        let problem = read_body(&body).unwrap_err().body();
        assert_eq!(problem["problems"][0]["pointer"], pointer, "{body}");
    }
}
