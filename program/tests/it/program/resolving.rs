//! Tests that a person at the terminal can say whether a call with an unknown effect took effect.

use std::fs;

use madang::{
    CallId, SessionId, Timestamp, TurnId, TurnOptions, UserId,
    event::TurnEnding,
    ledger::{CallResult, Effect},
    store::{
        SqliteStore, Store,
        port::{Ended, Proposal, Transition, Write, text_digest},
    },
    tool::ToolOutcome,
};
use madang_toolkits::life;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Home,
    terminal::{PROMPT, chat},
};

/// Makes session `one` with two interrupted mails, calls 2 and 3 of the chat.
async fn cut_off(home: &Home) {
    fs::create_dir_all(home.database().parent().unwrap()).unwrap();
    let options = SqliteStore::open(home.database()).migrations("life", &life::MIGRATIONS);
    let store = options.seal_key_file(home.path("config/madang/seal.keys")).await.unwrap();
    let session = SessionId::new("one").unwrap();
    let user = UserId::new("kim").unwrap();
    let turn = TurnId::new(Uuid::now_v7());
    let at = Timestamp::from_millis(1);
    let text = text_digest("go");
    let mut writes = vec![
        Write::Session { session: session.clone(), user: user.clone(), at },
        Write::TurnStarted {
            session: session.clone(),
            turn,
            at,
            options: TurnOptions::default(),
            text,
            max_stored_bytes: u64::MAX,
        },
    ];
    for seq in [2, 3] {
        let arguments: Value = json!({ "to": format!("friend {seq}") });
        let proposal = Proposal {
            model: None,
            opaque: None,
            turn,
            seq,
            name: "mail".into(),
            arguments: arguments.to_string().into(),
            user: user.clone(),
        };
        let ended = Ended {
            arguments: None,
            outcome: ToolOutcome::error("handler_error", "cut off"),
            effect: Effect::Unknown,
            result: CallResult::Shown,
            decided_by: None,
        };
        let digest = text_digest("mail");
        let call = CallId::new(Uuid::now_v7());
        let step = |transition| Write::Call { session: session.clone(), call, at, transition };
        writes.push(step(Transition::Proposed(proposal)));
        writes.push(step(Transition::Running { arguments: arguments.into(), digest }));
        writes.push(step(Transition::Ended(ended)));
    }
    let ending = TurnEnding::Answered;
    let error = None;
    let usage = Default::default();
    writes.push(Write::TurnEnded { session, turn, at, behind: 1, ending, error, usage });
    let mut transaction = store.begin().await.unwrap();
    transaction.write(&writes).await.unwrap();
    transaction.commit().await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_list_and_resolve_calls_with_unknown_effects_and_the_ledger_shows_it() {
    let home = Home::new();
    cut_off(&home).await;
    let mut chat = chat(&home, &[json!({ "text": "Good." })], "--locale en --session one");
    chat.write(b"/unknown\r");
    let listed = chat.until_shown("/resolve NUMBER no");
    for line in [r#"2 mail {"to":"friend 2"}"#, r#"3 mail {"to":"friend 3"}"#] {
        assert!(listed.contains(line), "{line} is missing in {listed}");
    }
    chat.until_shown(PROMPT);
    // Without a listed number and a yes or no, nothing is resolved and the list comes again.
    for nothing in ["/resolve 7 yes\r", "/resolve 2 perhaps\r", "/resolve two no\r"] {
        chat.write(nothing.as_bytes());
        let listed = chat.until_shown("/resolve NUMBER no");
        assert!(listed.contains("friend 2") && listed.contains("friend 3"), "{listed}");
        chat.until_shown(PROMPT);
    }
    chat.write(b"/resolve 3 yes\r");
    chat.until_shown("mail: it is known now that it took effect.");
    chat.until_shown(PROMPT);
    chat.write(b"/resolve 2 no\r");
    chat.until_shown("mail: it is known now that it did not take effect.");
    chat.until_shown(PROMPT);
    chat.write(b"/unknown\r");
    chat.until_shown("It is known of every tool call");
    chat.until_shown(PROMPT);
    chat.write(b"/quit\r");
    assert_eq!(chat.ended().code, Some(0));

    let rows = home.run(&["ledger", "--session", "one"], "").events();
    let resolved: Vec<_> = rows.iter().map(|row| (&row["effect"], &row["resolved_by"])).collect();
    let kim = json!({ "kind": "person", "user": "kim" });
    assert_eq!(resolved, [(&json!("none"), &kim), (&json!("committed"), &kim)]);
    assert!(rows.iter().all(|row| row["resolved_at"].is_i64()), "{rows:?}");
    let verified = home.run(&["ledger", "--verify"], "");
    assert_eq!((verified.code, verified.events()[0]["transitions"].clone()), (Some(0), json!(8)));
}
