//! Tests that the tables refuse impossible steps of a call, whichever program writes the SQL.

use madang_actors::{
    ledger::{CallState, Ended, Proposal, Transition},
    port::Write,
    protocol::{
        Approval, CallId, CallResult, Digest, Effect, EffectResolution, ResolvedBy, Timestamp,
        ToolOutcome, UserId,
    },
    store::Keep,
};
use serde_json::json;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};
use uuid::Uuid;

use super::support::{StoreFixture, at, db, say, session, turn, user};

fn call() -> CallId {
    CallId::new(Uuid::from_u128(7))
}

fn proposed() -> Transition {
    Transition::Proposed(Proposal {
        model: None,
        opaque: None,
        turn: turn(),
        seq: 1,
        name: "t".into(),
        arguments: "{}".into(),
        user: user(),
    })
}

fn awaiting() -> Transition {
    let digest = Digest::new([1; 32]);
    let expires_at = Timestamp::from_millis(1_000);
    Transition::Awaiting {
        arguments: json!({}).into(),
        schema: digest,
        shown: None,
        digest,
        expires_at,
    }
}

fn approved() -> Transition {
    Transition::Approved {
        digest: Digest::new([1; 32]),
        by: user(),
        approval: Approval::Once,
        arguments: None,
        expires_at: Timestamp::from_millis(1_000),
        seal: None,
    }
}

fn running() -> Transition {
    Transition::Running { arguments: json!({}).into(), digest: Digest::new([1; 32]) }
}

fn ended(effect: Effect) -> Transition {
    let outcome = ToolOutcome::ok(json!({ "text": "수면", "number": 0.1 }));
    Transition::Ended(Ended {
        arguments: None,
        outcome,
        effect,
        result: CallResult::Shown,
        decided_by: None,
    })
}

fn resolved(by: ResolvedBy) -> Transition {
    Transition::Resolved { resolution: EffectResolution::TookEffect, by }
}

fn by(name: &str) -> ResolvedBy {
    ResolvedBy::Person { user: UserId::new(name).unwrap() }
}

/// Lists every step with its name.
fn steps() -> Vec<(&'static str, Transition)> {
    vec![
        ("proposed", proposed()),
        ("awaiting", awaiting()),
        ("approved", approved()),
        ("running", running()),
        ("ended: none", ended(Effect::None)),
        ("ended: committed", ended(Effect::Committed)),
        ("ended: unknown", ended(Effect::Unknown)),
        ("resolved: handler", resolved(ResolvedBy::Handler)),
        ("resolved: its user", resolved(by("kim"))),
        ("resolved: another", resolved(by("lee"))),
    ]
}

/// Lists every state of a call with the steps that lead there and the steps that may follow.
fn states() -> Vec<(&'static str, Vec<Transition>, &'static [&'static str])> {
    let unknown = || vec![proposed(), running(), ended(Effect::Unknown)];
    let after = |by| [unknown(), vec![resolved(by)]].concat();
    vec![
        ("none", vec![], &["proposed"]),
        ("proposed", vec![proposed()], &["awaiting", "running", "ended: none"]),
        ("awaiting", vec![proposed(), awaiting()], &["approved", "ended: none"]),
        ("approved", vec![proposed(), awaiting(), approved()], &["running", "ended: none"]),
        (
            "running",
            vec![proposed(), running()],
            &["ended: none", "ended: committed", "ended: unknown"],
        ),
        ("ended", vec![proposed(), ended(Effect::None)], &[]),
        ("committed", vec![proposed(), running(), ended(Effect::Committed)], &[]),
        ("unknown", unknown(), &["resolved: handler", "resolved: its user"]),
        ("resolved by its handler", after(ResolvedBy::Handler), &[]),
        ("resolved by its user", after(by("kim")), &[]),
    ]
}

/// Makes a store with a call in this state.
async fn fixture(steps: &[Transition]) -> StoreFixture {
    let fixture = StoreFixture::new().await;
    fixture.chat("s").await;
    let step = |transition: &Transition| Write::Call {
        session: session("s"),
        call: call(),
        at: at(),
        transition: transition.clone(),
    };
    fixture.handle.write(fixture.sealed(steps.iter().map(step).collect())).await.unwrap();
    fixture
}

/// Tells whether SQLite takes this SQL; rolls it back.
async fn takes(db: &mut SqliteConnection, sql: &str) -> bool {
    let begin = "SAVEPOINT probe";
    sqlx::query(begin).execute(&mut *db).await.unwrap();
    let taken = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut *db).await;
    if let Err(error) = &taken {
        let words = error.to_string();
        assert!(error.as_database_error().is_some() && !words.contains("syntax"), "{sql}: {words}");
    }
    sqlx::query("ROLLBACK TO probe; RELEASE probe").execute(db).await.unwrap();
    taken.is_ok()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Gives the SQL that appends a step to the chain.
fn insert(verb: &str, transition: &Transition) -> String {
    format!(
        "{verb} INTO madang_transitions SELECT 's', chain_length + 1, '{}', 2, '{}', {}, zeroblob(16), randomblob(32) \
         FROM madang_sessions WHERE session = 's'",
        call(),
        <&str>::from(transition),
        quoted(&serde_json::to_string(transition).unwrap()),
    )
}

async fn fresh(fixture: &StoreFixture) -> SqliteConnection {
    let path = fixture.folder.path().join("store.db");
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_takes_the_steps_of_each_state_and_no_others() {
    for (state, path, legal) in states() {
        let fixture = fixture(&path).await;
        let mut own = fresh(&fixture).await;
        for (name, step) in steps() {
            let is_legal = legal.contains(&name);
            for verb in ["INSERT", "INSERT OR REPLACE"] {
                let sql = insert(verb, &step);
                assert_eq!(takes(&mut own, &sql).await, is_legal, "{state} -> {name}: {verb}");
                let mut lease = fixture.lease("handler").await;
                assert!(!takes(db(&mut lease), &sql).await, "{state} -> {name}, lent");
            }
        }
        fixture.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_one_session_is_proposed_in_no_other_whichever_program_writes_it() {
    let fixture = fixture(&[proposed()]).await;
    fixture.chat("t").await;
    let mut own = fresh(&fixture).await;
    let in_t = insert("INSERT", &proposed()).replace("'s'", "'t'");
    let another = in_t.replace(&call().to_string(), &CallId::new(Uuid::from_u128(8)).to_string());
    assert!(takes(&mut own, &another).await);
    assert!(!takes(&mut own, &in_t).await);
    drop(own);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calls_row_cannot_be_changed_beside_its_ledger() {
    let names = [
        CallState::Proposed,
        CallState::Awaiting,
        CallState::Approved,
        CallState::Running,
        CallState::Ended,
    ]
    .map(CallState::name);
    for (state, path, _) in states() {
        let fixture = fixture(&path).await;
        let mut own = fresh(&fixture).await;
        let mut changes: Vec<String> = Vec::new();
        for to in names {
            // Columns that the constraints require to agree.
            let open = "outcome = NULL, effect = NULL, result = NULL, ended_at = NULL";
            let over = "outcome = '{}', effect = 'none', result = 'shown', ended_at = 1";
            let rest = if to == "ended" { over } else { open };
            changes.push(format!("UPDATE madang_calls SET state = '{to}', {rest}"));
            changes.push(format!("UPDATE OR REPLACE madang_calls SET state = '{to}', {rest}"));
            let (outcome, effect, result, at) = if to == "ended" {
                ("'{}'", "'none'", "'shown'", "1")
            } else {
                ("NULL", "NULL", "NULL", "NULL")
            };
            changes.push(format!(
                "INSERT OR REPLACE INTO madang_calls (call, session, turn, seq, user, name, raw_arguments, state, \
                 outcome, effect, result, ended_at, proposed_at) \
                 SELECT '{}', 's', turn, 1, 'kim', 't', '{{}}', '{to}', {outcome}, {effect}, {result}, {at}, 1 \
                 FROM madang_turns",
                call(),
            ));
        }
        if state != "none" {
            for change in [
                "arguments = '{\"a\":1}'",
                "decided_by = 'lee'",
                "effect = 'none'",
                "effect = 'committed'",
                "resolved_by = '{\"kind\":\"handler\"}', resolved_at = 2",
                "resolved_by = NULL, resolved_at = NULL",
                "effect = 'none', resolved_by = '{\"kind\":\"handler\"}', resolved_at = 2",
                "outcome = '{}'",
                "name = 'u'",
                "user = 'lee'",
                "seq = 2",
                "raw_arguments = ''",
                "model = 'x'",
                "opaque = 'x'",
                "call = 'x'",
                "proposed_at = 9",
            ] {
                changes.push(format!("UPDATE madang_calls SET {change}"));
            }
        }
        for sql in changes {
            let changes_a_row = state != "none" || sql.starts_with("INSERT");
            assert_eq!(takes(&mut own, &sql).await, !changes_a_row, "{state}: {sql}");
            let mut lease = fixture.lease("handler").await;
            assert!(!takes(db(&mut lease), &sql).await, "{state}, lent: {sql}");
        }
        fixture.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resolving_an_effect_records_the_effect_and_its_finder_and_the_row_follows() {
    let fixture = fixture(&[proposed(), running(), ended(Effect::Unknown)]).await;
    let mut own = fresh(&fixture).await;
    let insert = |json: &str| {
        format!(
            "INSERT INTO madang_transitions SELECT 's', chain_length + 1, '{}', 2, 'resolved', {}, zeroblob(16), randomblob(32) \
             FROM madang_sessions WHERE session = 's'",
            call(),
            quoted(json),
        )
    };
    for json in [
        r#"{"state":"resolved","effect":"unknown","by":{"kind":"handler"}}"#,
        r#"{"state":"resolved","by":{"kind":"handler"}}"#,
        r#"{"state":"resolved","effect":"none"}"#,
        r#"{"state":"resolved","effect":"none","by":{"kind":"somebody"}}"#,
        r#"{"state":"resolved","effect":"none","by":{"kind":"person"}}"#,
        r#"{"state":"resolved","effect":"none","by":{"kind":"person","user":"lee"}}"#,
    ] {
        assert!(!takes(&mut own, &insert(json)).await, "{json}");
        let mut lease = fixture.lease("handler").await;
        assert!(!takes(db(&mut lease), &insert(json)).await, "lent: {json}");
    }
    let kim = r#"{"kind":"person","user":"kim"}"#;
    let step = insert(&format!(r#"{{"state":"resolved","effect":"none","by":{kim}}}"#));
    for (row, is_true) in [
        (format!("effect = 'none', resolved_by = '{kim}', resolved_at = 2"), true),
        (format!("effect = 'committed', resolved_by = '{kim}', resolved_at = 2"), false),
        (format!("effect = 'none', resolved_by = '{kim}', resolved_at = 3"), false),
        ("effect = 'none', resolved_by = '{\"kind\":\"handler\"}', resolved_at = 2".into(), false),
        ("effect = 'none'".into(), false),
    ] {
        let sql = format!("{step}; UPDATE madang_calls SET {row}");
        assert_eq!(takes(&mut own, &sql).await, is_true, "{row}");
    }
    drop(own);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_and_the_transcript_cannot_be_changed_by_sql() {
    let fixture = fixture(&[proposed(), running(), ended(Effect::Committed)]).await;
    fixture.handle.write(say("s", 2)).await.unwrap();
    let mut own = fresh(&fixture).await;
    let mut refused: Vec<String> = [
        "UPDATE madang_transitions SET at = 0",
        "UPDATE madang_messages SET seq = seq + 10",
        "UPDATE madang_sessions SET user = 'lee'",
        "UPDATE madang_sessions SET chain_length = 0",
        "UPDATE madang_sessions SET chain_length = chain_length + 1",
        "UPDATE madang_sessions SET chain_head = zeroblob(32)",
        "INSERT OR REPLACE INTO madang_sessions (session, user, opened_at) VALUES ('s', 'kim', 1)",
        "INSERT OR REPLACE INTO madang_messages SELECT session, seq, turn, at, '{}', NULL FROM madang_messages",
        "INSERT OR REPLACE INTO madang_transitions SELECT * FROM madang_transitions",
        "INSERT OR REPLACE INTO madang_calls SELECT * FROM madang_calls",
        "INSERT INTO madang_transitions VALUES ('s', 4, 'x', 0, 'running', '{\"state\":\"running\"}', zeroblob(16), zeroblob(32))",
        "INSERT INTO madang_transitions VALUES ('s', 9, 'x', 0, 'proposed', '{\"state\":\"proposed\"}', zeroblob(16), zeroblob(32))",
        "INSERT INTO madang_transitions VALUES ('s', 4, 'x', 0, 'proposed', '{\"state\":\"running\"}', zeroblob(16), zeroblob(32))",
        "INSERT INTO madang_transitions VALUES ('s', 4, 'x', 0, 'proposed', 'no JSON', zeroblob(16), zeroblob(32))",
    ]
    .map(str::to_owned)
    .into();
    for table in ["sessions", "turns", "messages", "calls", "transitions"] {
        refused.push(format!("DELETE FROM madang_{table}"));
    }
    for sql in refused {
        assert!(!takes(&mut own, &sql).await, "{sql}");
        let mut lease = fixture.lease("handler").await;
        assert!(!takes(db(&mut lease), &sql).await, "lent: {sql}");
    }
    fixture.call(3, Keep::Keep, async |_| ()).await.expect("the ledger goes on");
    fixture.close().await;
}
