//! Many users at once: no byte of one reaches another.

use madang::{
    UserId,
    model::{self, Completion},
};
use madang_server::{TokenEntry, TokenHolder, TokenScopes, TokenSecret};
use madang_testing::FakeTool;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{http::Request, support::Setup};

const USERS: usize = 100;

fn word(user: usize) -> String {
    format!("canary-{user:03}-of-{user:03}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_users_at_once_hear_only_of_themselves() {
    // It repeats what the user said, and asks for a call with it.
    let parrot = model::from_fn("parrot", async |request, deltas| {
        let text = request.last_user_text().to_owned();
        for piece in text.split_inclusive('-') {
            deltas.text(piece);
            tokio::task::yield_now().await;
        }
        if request.messages.len() > 1 {
            return Ok(Completion::text(text));
        }
        let arguments = json!({ "word": text }).to_string().into();
        let wanted = madang::tool::WantedCall { name: "keep".into(), arguments };
        Ok(Completion { text, tool_calls: vec![wanted], ..Completion::default() })
    });
    let secrets: Vec<_> = (0..USERS).map(|_| TokenSecret::random().unwrap()).collect();
    let mut setup = Setup::new(parrot).tool(FakeTool::destructive("keep"));
    for (user, secret) in secrets.iter().enumerate() {
        let holder = TokenHolder::User(UserId::new(format!("user-{user}")).unwrap());
        let token = TokenEntry::new(format!("t{user}"), holder, TokenScopes::OF_PERSON, secret);
        setup = setup.options(|options| options.token(token));
    }
    let test = setup.start().await;
    let (address, mut users) = (test.address, JoinSet::new());
    for (user, secret) in secrets.into_iter().enumerate() {
        users.spawn(async move {
            let token = secret.reveal();
            let mut heard = String::new();
            let post = async |path: &str, body| {
                Request::post(path, &body).bearer(token).send(address).await
            };
            let session = post("/v1/sessions", json!({})).await.ok(201)["session"].clone();
            let path = format!("/v1/sessions/{}", session.as_str().unwrap());
            let stream = |path: String| Request::get(&path).bearer(token).stream(address);
            let mut events = stream(format!("{path}/events")).await;
            let mut inbox = stream("/v1/inbox/events".to_owned()).await;
            inbox.until("snapshot").await;
            let turn = json!({ "text": word(user) });
            heard.push_str(post(&format!("{path}/turns"), turn).await.text());
            let request = inbox.until("approval_requested").await;
            heard.push_str(&format!("{request:?}"));
            let request = &request.last().unwrap().data;
            let decide = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
            let yes = json!({ "digest": request["digest"], "decision": "approve" });
            post(&decide, yes).await.ok(200);
            heard.push_str(&format!("{:?}", events.until("turn_ended").await));
            for path in
                [path, "/v1/sessions".to_owned(), "/v1/ledger".to_owned(), "/v1/inbox".to_owned()]
            {
                heard.push_str(Request::get(&path).bearer(token).send(address).await.text());
            }
            (user, heard)
        });
    }
    let mut done = 0;
    while let Some(heard) = users.join_next().await {
        let (user, heard) = heard.unwrap();
        done += 1;
        let own = word(user);
        assert!(heard.matches(&own).count() >= 5, "user {user} hears what it said");
        // Pieces of text may be cut behind the first hyphen.
        for rest in heard.split("canary-").skip(1) {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            assert!(number.is_empty() || number == format!("{user:03}"), "user {user}: {rest}");
        }
    }
    assert_eq!(done, USERS);
    test.shutdown().await;
}
