//! Our own server never runs what needs an approval without a plain yes.

use madang::{
    LanguageTag,
    approval::{Decision, InboxItem},
    ledger::Effect,
};
use rmcp::model::{CallToolResponse, ProtocolVersion};
use serde_json::{Value, json};

use crate::{
    serving::{BOTH, Offered, Person, TAKEN_BACK, code, failure, keyed, of, saying, soon, yes},
    support::until,
};

const WRONG: i32 = -32_602;
const LACKS_A_CAPABILITY: i32 = -32_021;

async fn effects(offered: &Offered, user: &str) -> Vec<Option<Effect>> {
    offered.ledger(user).await.iter().map(|row| row.effect).collect()
}

#[tokio::test]
async fn a_yes_runs_once_and_the_form_shows_the_request() {
    for version in BOTH {
        let offered = Offered::new().await;
        let client = offered.client("kim", Person::answering([yes()]), &version).await;
        let result = client.call(of("remove")).await.unwrap();
        assert_eq!((&result["structuredContent"], offered.runs()), (&json!({ "run": 1 }), 1));
        let shown = client.shown();
        assert_eq!((shown.len(), &shown[0]["requestedSchema"]["required"]), (1, &json!(["ok"])));
        let stored = offered.ledger("kim").await.remove(0).shown.unwrap();
        assert_eq!(shown[0]["message"], *stored.text, "what was shown is what the ledger has");
        assert!(stored.text.contains("remove"), "{}", stored.text);
        assert_eq!(effects(&offered, "kim").await, [Some(Effect::Committed)]);
        client.leave().await;
    }
}

#[tokio::test]
async fn the_question_is_in_the_language_of_the_calls_words_unless_one_is_named() {
    for version in BOTH {
        let offered = Offered::new().await;
        let client = offered.client("kim", Person::answering([yes()]), &version).await;
        client.call(saying("remove", "오래된 목록을 지워 줘")).await.unwrap();
        let message = client.shown()[0]["message"].clone();
        assert!(message.as_str().unwrap().contains("실행합니다"), "{message}");
        client.leave().await;
        let named = offered.client_in("kim", Person::answering([yes()]), &version, LanguageTag::EN);
        let client = named.await;
        client.call(saying("remove", "오래된 목록을 지워 줘")).await.unwrap();
        let message = client.shown()[0]["message"].clone();
        assert!(message.as_str().unwrap().contains("Runs"), "{message}");
        client.leave().await;
    }
}

#[tokio::test]
async fn whatever_is_no_plain_yes_runs_nothing() {
    let denied = "user did not confirm";
    let dismissed = "the user left before answering";
    for version in BOTH {
        let offered = Offered::new().await;
        for (answer, told) in [
            (json!({ "action": "accept" }), dismissed),
            (json!({ "action": "accept", "content": {} }), dismissed),
            (json!({ "action": "accept", "content": { "ok": "yes" } }), dismissed),
            (json!({ "action": "accept", "content": { "ok": false } }), denied),
            (
                json!({ "action": "accept", "content": { "ok": false, "reason": "not today" } }),
                "not today",
            ),
            (json!({ "action": "decline", "content": { "ok": true } }), denied),
            (json!({ "action": "cancel" }), dismissed),
        ] {
            let client = offered.client("kim", Person::answering([answer.clone()]), &version).await;
            let result = client.call(of("remove")).await.unwrap();
            assert!(failure(&result).contains(told), "{answer}: {result}");
            client.leave().await;
        }
        assert_eq!(offered.runs(), 0);
        assert!(effects(&offered, "kim").await.iter().all(|effect| *effect == Some(Effect::None)));
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_told_so_and_nothing_runs() {
    let offered = Offered::new().await;
    let [older, newest] = BOTH;
    let client = offered.client("kim", Person::out_of_reach(), &older).await;
    let result = client.call(of("remove")).await.unwrap();
    assert!(failure(&result).contains("nobody could be asked"), "{result}");
    client.leave().await;
    let client = offered.client("kim", Person::out_of_reach(), &newest).await;
    assert_eq!(code(client.call(of("remove")).await), LACKS_A_CAPABILITY);
    assert!(client.shown().is_empty());
    client.leave().await;
    assert_eq!((offered.runs(), effects(&offered, "kim").await), (0, vec![Some(Effect::None); 2]));
}

#[tokio::test]
async fn a_question_without_an_answer_expires() {
    let offered = Offered::with(soon()).await;
    let client = offered.client("kim", Person::answering([]), &ProtocolVersion::V_2025_11_25).await;
    let result = client.call(of("remove")).await.unwrap();
    assert!(failure(&result).contains("expired"), "{result}");
    assert_eq!((client.shown().len(), offered.runs()), (1, 0));
    client.leave().await;
}

#[tokio::test]
async fn a_decision_elsewhere_counts_and_ends_the_question() {
    let offered = Offered::new().await;
    let kim = offered.runtime.user("kim").unwrap();
    let mut inbox = kim.inbox().await.unwrap();
    let client = offered.client("kim", Person::answering([]), &ProtocolVersion::V_2025_11_25).await;
    let deciding = async {
        loop {
            if let InboxItem::ApprovalRequested { request } = inbox.next().await.unwrap() {
                until("the form is shown", async || !client.shown().is_empty()).await;
                let decided = kim.decide(request.call, request.digest, Decision::Approve).await;
                return decided.unwrap();
            }
        }
    };
    let (result, ()) = tokio::join!(client.call(of("remove")), deciding);
    assert_eq!((&result.unwrap()["structuredContent"], offered.runs()), (&json!({ "run": 1 }), 1));
    client.leave().await;
}

#[tokio::test]
async fn a_call_whose_client_cancels_or_leaves_is_dismissed_and_cannot_be_approved() {
    let offered = Offered::new().await;
    for leaves in [false, true] {
        let person = Person::answering([]);
        let client = offered.client("kim", person, &ProtocolVersion::V_2025_11_25).await;
        let peer = client.service.peer().clone();
        // Dropping the call's future tells the server that it is cancelled.
        let calling = tokio::spawn(async move { peer.call_tool_once(of("remove")).await });
        until("the form is shown", async || !client.shown().is_empty()).await;
        if leaves {
            client.leave().await;
        } else {
            calling.abort();
            until("the question is taken back", async || client.heard() == [TAKEN_BACK]).await;
            until("the call has ended", async || {
                effects(&offered, "kim").await.iter().all(Option::is_some)
            })
            .await;
            client.leave().await;
        }
        until("the call has ended", async || {
            effects(&offered, "kim").await.last() == Some(&Some(Effect::None))
        })
        .await;
    }
    assert_eq!((offered.runs(), offered.ledger("kim").await.len()), (0, 2));
}

/// A client of the newest revision that carries the state by hand.
async fn asked(client: &crate::serving::Client, tool: &str) -> (Value, String) {
    let asked = client.service.call_tool_once(of(tool)).await.unwrap();
    let CallToolResponse::InputRequired(asked) = asked else { panic!("no question: {asked:?}") };
    let requests = serde_json::to_value(asked.input_requests).unwrap();
    (requests, asked.request_state.unwrap())
}

#[tokio::test]
async fn an_answer_counts_with_the_state_of_its_question_alone() {
    let offered = Offered::new().await;
    let person = Person::answering([]);
    let client = offered.client("kim", person, &ProtocolVersion::V_2026_07_28).await;
    let (requests, state) = asked(&client, "remove").await;
    assert_eq!(requests["question"]["method"], "elicitation/create");
    let answered = |state: Option<&str>| {
        let mut params = of("remove");
        params.input_responses = Some([("question".to_owned(), yes())].into());
        params.request_state = state.map(str::to_owned);
        params
    };

    // Without a state it is asked anew, with a forged one or that of another call refused.
    let anew = client.service.call_tool_once(answered(None)).await.unwrap();
    assert!(matches!(anew, CallToolResponse::InputRequired(_)), "{anew:?}");
    let last = if state.ends_with('A') { 'E' } else { 'A' };
    let forged = format!("{}{last}", &state[..state.len() - 1]);
    assert_eq!(code(client.call(answered(Some(&forged))).await), WRONG);
    let mut other = answered(Some(&state));
    other.arguments.as_mut().unwrap().insert("text".to_owned(), json!("other"));
    assert_eq!(code(client.call(other).await), WRONG);
    let mut nonsense = answered(Some(&state));
    nonsense.input_responses = Some([("question".to_owned(), json!({ "action": "yes" }))].into());
    assert_eq!(code(client.call(nonsense).await), WRONG);
    let theirs = offered.client("lee", Person::answering([]), &ProtocolVersion::V_2026_07_28).await;
    assert_eq!(code(theirs.call(answered(Some(&state))).await), WRONG);
    theirs.leave().await;
    assert_eq!(offered.runs(), 0);

    // With it the call runs, and a repetition gets the same end.
    let first = client.call(answered(Some(&state))).await.unwrap();
    assert_eq!(first["structuredContent"], json!({ "run": 1 }));
    assert_eq!(client.call(answered(Some(&state))).await.unwrap(), first);
    assert_eq!(offered.runs(), 1);
    client.leave().await;
}

#[tokio::test]
async fn a_lost_question_is_asked_again_under_its_key() {
    let offered = Offered::new().await;
    let client =
        offered.client("kim", Person::answering([yes()]), &ProtocolVersion::V_2026_07_28).await;
    let lost = client.service.call_tool_once(keyed("remove", json!("k"))).await.unwrap();
    assert!(matches!(lost, CallToolResponse::InputRequired(_)), "{lost:?}");
    let result = client.call(keyed("remove", json!("k"))).await.unwrap();
    assert_eq!(result["structuredContent"], json!({ "run": 1 }));
    assert_eq!((offered.runs(), offered.ledger("kim").await.len()), (1, 1));
    client.leave().await;
}

#[tokio::test]
async fn a_question_ends_at_once_when_its_client_leaves() {
    let offered = Offered::new().await;
    let client = offered.client("kim", Person::mute(), &ProtocolVersion::V_2025_11_25).await;
    let peer = client.service.peer().clone();
    let calling = tokio::spawn(async move { peer.call_tool_once(of("remove")).await });
    until("the form is shown", async || !client.shown().is_empty()).await;
    let leaves = tokio::time::Instant::now();
    client.leave().await;
    // The client takes two seconds of it; the server alone would wait for five more.
    assert!(leaves.elapsed() < std::time::Duration::from_secs(6), "{:?}", leaves.elapsed());
    calling.await.unwrap().unwrap_err();
    assert_eq!((offered.runs(), effects(&offered, "kim").await), (0, vec![Some(Effect::None)]));
}
