//! A key makes a call without a model harmless to repeat: callers of one key get one call and its
//! one end.

use std::sync::Arc;

use madang::{
    Call, CallId, Error, SessionId, Timestamp, TurnId, TurnOptions, UserId,
    approval::{ApprovalRequest, Decision},
    ledger::{Effect, LedgerFilter},
    store::Store as _,
};
use madang_actors::{
    ledger::{Proposal, Transition, text_digest},
    port::Write,
};
use madang_testing::{MemoryStore, RuntimeHooks as _};
use serde_json::json;
use tokio::{sync::Barrier, time::timeout};

use super::{Calls, call, ended, key, keyed, request};
use crate::support::{PATIENCE, kim, kind};

/// Many callers of one key at once, on several threads, against tools of each kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_is_begun_many_times_at_once_under_one_key_runs_once_and_has_one_end() {
    for (tool, asks) in [("look", false), ("note", false), ("mail", false), ("save", true)] {
        let calls = Calls::new().await;
        calls.gate.open();
        let rounds = 40;
        for round in 0..rounds {
            let start = Arc::new(Barrier::new(8));
            let callers: Vec<_> = (0..8)
                .map(|_| {
                    let runtime = calls.runtime.clone();
                    let start = start.clone();
                    let call = call(tool).key(key(&format!("round {round}")));
                    tokio::spawn(async move {
                        start.wait().await;
                        let mut running = runtime.begin(call).await.unwrap();
                        if let Some(asked) = running.request().await {
                            let ApprovalRequest { user, call, digest, .. } = &*asked;
                            // One of the callers wins.
                            let _ = runtime
                                .user_with_id(user)
                                .decide(*call, *digest, Decision::Approve)
                                .await;
                        }
                        running.ended().await
                    })
                })
                .collect();
            let mut reports = Vec::new();
            for caller in callers {
                reports.push(timeout(PATIENCE, caller).await.unwrap().unwrap());
            }
            assert_eq!(kind(&reports[0]), "ok", "{tool}");
            assert!(reports.iter().all(|report| *report == reports[0]), "{tool}: {reports:?}");
            assert_eq!(calls.runs(tool), round + 1, "{tool}");
        }
        let rows = calls.runtime.ledger(&LedgerFilter::default()).await.unwrap();
        assert_eq!((rows.len(), asks), (rounds, rows[0].approval.is_some()), "{tool}");
        calls.shutdown().await;
    }
}

#[tokio::test]
async fn a_repeated_call_joins_the_one_that_runs_and_later_gives_its_recorded_end() {
    let calls = Calls::new().await;
    for tool in ["note", "mail"] {
        let (first, second) = (
            calls.begin(keyed(tool).key(key(tool))).await,
            calls.begin(keyed(tool).key(key(tool))).await,
        );
        assert_eq!((first.id(), first.session()), (second.id(), second.session()));
        calls.gate.release();
        let report = ended(&first).await;
        let same = ended(&second).await;
        assert_eq!(report, same);
        drop((first, second));
        // No handle is left, so this one is read from the ledger.
        let again = ended(&calls.begin(keyed(tool).key(key(tool))).await).await;
        assert_eq!(again, report);
        assert_eq!((calls.runs(tool), again.is_recorded), (1, true));
    }
    calls.shutdown().await;
}

#[tokio::test]
async fn a_caller_that_joins_is_given_the_request_that_is_open() {
    let calls = Calls::new().await;
    calls.gate.open();
    let mut first = calls.begin(keyed("save")).await;
    let asked = request(&mut first).await.unwrap();
    let mut second = calls.begin(keyed("save")).await;
    assert_eq!(request(&mut second).await.as_ref(), Some(&asked));
    drop(first);
    let no = Decision::DenyWith { message: "not now".into() };
    calls.decide(&asked, no.clone()).await;
    let report = ended(&second).await;
    assert_eq!(kind(&report), "denied");
    drop(second);
    assert_eq!(ended(&calls.begin(keyed("save")).await).await, report);
    let rows = calls.runtime.ledger(&LedgerFilter::call(asked.call)).await.unwrap();
    assert!(rows[0].has_decision(&kim(), asked.digest, &no));
    assert!(!rows[0].has_decision(&kim(), asked.digest, &Decision::Approve));
    calls.shutdown().await;
}

#[tokio::test]
async fn another_tool_session_or_other_arguments_under_a_key_are_refused() {
    let calls = Calls::new().await;
    let running = calls.begin(keyed("mail")).await;
    let id = running.id();
    timeout(PATIENCE, calls.gate.arrived(1)).await.unwrap();
    let refused = async || {
        let other = SessionId::new("other").unwrap();
        let others = [
            keyed("note"),
            Call::new(kim(), "mail", r#"{"a":2,"b":"x"}"#).key(key("k")),
            Call::new(kim(), "mail", "nonsense").key(key("k")),
            keyed("mail").session(other),
        ];
        for other in others {
            let refused = calls.runtime.begin(other).await.unwrap_err();
            assert!(matches!(refused, Error::OtherCall(of) if of == id), "{refused:?}");
            assert_eq!(refused.to_string(), format!("the key belongs to another call: {id}"));
        }
        // The same in another order and with other blanks is the same.
        let spaced = Call::new(kim(), "mail", "{ \"b\": \"x\", \"a\": 1 }").key(key("k"));
        calls.begin(spaced).await
    };
    assert_eq!(refused().await.id(), id);
    calls.gate.open();
    ended(&running).await;
    drop(running);
    // The ledger alone has the call now.
    assert_eq!(ended(&refused().await).await.record.id, id);
    assert_eq!((calls.runs("mail"), calls.runs("note")), (1, 0));
    let lee = Call::new(UserId::new("lee").unwrap(), "note", "{}").key(key("k"));
    let of_lee = calls.begin(lee).await;
    assert_ne!(of_lee.id(), id, "a key is its user's");
    assert_eq!(kind(&ended(&of_lee).await), "ok");
    drop(of_lee);
    calls.shutdown().await;
}

#[tokio::test]
async fn a_call_of_another_user_is_not_given_though_it_had_the_id_of_a_key() {
    let store = MemoryStore::new();
    let id = CallId::of_key(&kim(), &key("k"));
    let session = SessionId::new(format!("call-{id}")).unwrap();
    let at = Timestamp::from_millis(0);
    let lee = UserId::new("lee").unwrap();
    let turn = TurnId::new(id.uuid());
    let proposed = Transition::Proposed(Proposal {
        model: None,
        opaque: None,
        turn,
        seq: 1,
        name: "mail".into(),
        arguments: r#"{"a":1,"b":"x"}"#.into(),
        user: lee.clone(),
    });
    let writes = [
        Write::Session { session: session.clone(), user: lee, at },
        Write::TurnStarted {
            session: session.clone(),
            turn,
            at,
            options: TurnOptions::default(),
            text: text_digest(""),
            max_stored_bytes: u64::MAX,
        },
        Write::Call { session, call: id, at, transition: proposed },
    ];
    let mut transaction = store.begin().await.unwrap();
    transaction.write(&writes).await.unwrap();
    transaction.commit().await.unwrap();
    let calls = Calls::on(store).await;
    let refused = calls.runtime.begin(keyed("mail")).await.unwrap_err();
    assert!(matches!(refused, Error::OtherCall(of) if of == id), "{refused:?}");
    calls.shutdown().await;
}

#[tokio::test]
async fn a_key_finds_its_call_though_the_repeat_names_an_unknown_time_zone() {
    let calls = Calls::new().await;
    calls.gate.open();
    let first = ended(&calls.begin(keyed("note")).await).await;
    let again = calls.begin(keyed("note").time_zone("Nowhere/Land")).await;
    assert_eq!(ended(&again).await, first);
    calls.shutdown().await;
}

#[tokio::test]
async fn a_key_is_free_until_its_call_has_begun() {
    let calls = Calls::new().await;
    calls.gate.open();
    let nowhere = keyed("note").time_zone("Nowhere/Land");
    let refused = calls.runtime.begin(nowhere).await.unwrap_err();
    assert!(matches!(refused, Error::TimeZone(_)), "{refused:?}");
    let session = SessionId::new("s").unwrap();
    let held = calls.begin(call("burn").session(session.clone())).await;
    let busy = calls.runtime.begin(keyed("note").session(session.clone())).await.unwrap_err();
    assert!(matches!(busy, Error::Busy), "{busy:?}");
    held.dismiss();
    ended(&held).await;
    let begun = calls.begin(keyed("note").session(session.clone())).await;
    assert_eq!((kind(&ended(&begun).await).as_str(), begun.session()), ("ok", &session));
    // Recorded, it is found though its session is busy.
    let held = calls.begin(call("burn").session(session.clone())).await;
    let again = calls.begin(keyed("note").session(session)).await;
    assert_eq!(ended(&again).await, ended(&begun).await);
    held.dismiss();
    ended(&held).await;
    drop((held, begun, again));
    calls.shutdown().await;
}

#[tokio::test]
async fn a_call_without_its_dispatcher_has_an_end_that_the_ledger_tells_under_its_key() {
    let calls = Calls::new().await;
    calls.gate.open();
    let dispatcher = calls.runtime.actors().dispatcher.clone();
    let gone = dispatcher.actor();
    gone.kill();
    let lost = calls.begin(keyed("note")).await;
    let report = ended(&lost).await;
    assert_eq!((kind(&report).as_str(), report.record.effect), ("handler_error", Effect::None));
    assert!(report.is_recorded);
    timeout(PATIENCE, dispatcher.after(&gone)).await.unwrap();
    drop(lost);
    assert_eq!(ended(&calls.begin(keyed("note")).await).await, report);
    assert_eq!(calls.runs("note"), 0);
    calls.shutdown().await;
}

#[tokio::test]
async fn the_call_of_a_key_is_the_same_for_the_next_runtime() {
    let store = MemoryStore::new();
    let calls = Calls::on(store.clone()).await;
    calls.gate.open();
    let report = ended(&calls.begin(keyed("mail")).await).await;
    calls.shutdown().await;
    let calls = Calls::on(store).await;
    assert_eq!(ended(&calls.begin(keyed("mail")).await).await, report);
    assert_eq!(calls.runs("mail"), 0);
    let other = Call::new(kim(), "mail", json!({}).to_string()).key(key("k"));
    let refused = calls.runtime.begin(other).await.unwrap_err();
    assert!(matches!(refused, Error::OtherCall(_)), "{refused:?}");
    calls.shutdown().await;
}
