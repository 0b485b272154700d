//! Consent is sealed: a program that can write the database and has no key makes no call run, and
//! takes no user's chat.

use std::{path::Path, sync::Arc};

use expect_test::expect;
use madang::{
    Error, SessionId, Timestamp, UserId,
    approval::{Decision, Digest, StandingApproval},
    ledger::{Approval, AuditError, Seal, SealError, SealKey, SealKeys},
    model::Completion,
    store::{OpenError, SqliteStore, Store as _},
    tool::{self, EffectPolicy, ToolContext, ToolResult},
};
use madang_actors::ledger::{CallState, Salt, Transition, next_hash, step_hash};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions,
};

use super::life::{Life, World, ask, tools};
use crate::support::{data, dispatched, wanted};

/// The process ends while the question about `save` is open.
fn cut_off_at_a_question(world: &World) {
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["save"]).await;
        probe.approval_request().await;
    });
    world.crash(life);
}

/// Does this to the file, as another program.
fn beside<T: Send>(path: &Path, does: impl AsyncFnOnce(&mut SqliteConnection) -> T + Send) -> T {
    let options = SqliteConnectOptions::new().filename(path);
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    threads.block_on(async {
        let mut db = options.connect().await.unwrap();
        let done = does(&mut db).await;
        db.close().await.unwrap();
        done
    })
}

/// Writes an approval of the open question beside all triggers, with hashes that fit.
fn forge(path: &Path, approval: Approval, seal: Option<Seal>) {
    beside(path, async |db| {
        let asked =
            "SELECT call, digest, user, expires_at FROM madang_calls WHERE state = 'awaiting'";
        let asked = sqlx::query(asked).fetch_one(&mut *db).await.unwrap();
        let its = "SELECT chain_length, chain_head FROM madang_sessions WHERE session = 's'";
        let its = sqlx::query(its).fetch_one(&mut *db).await.unwrap();
        let call: String = asked.get("call");
        let hash = |bytes: &[u8]| Digest::new(bytes.try_into().unwrap());
        let at: i64 = asked.get::<i64, _>("expires_at") - 1_000;
        let expires_at = at + 3_600_000;
        let step = Transition::Approved {
            digest: hash(asked.get("digest")),
            by: UserId::new(asked.get::<String, _>("user")).unwrap(),
            approval,
            arguments: None,
            expires_at: Timestamp::from_millis(expires_at),
            seal,
        };
        let session = SessionId::new("s").unwrap();
        let id = serde_json::from_value(json!(call)).unwrap();
        let head = hash(its.get("chain_head"));
        let salt = Salt::new([0; 16]);
        let moment = Timestamp::from_millis(at);
        let link = next_hash(&head, &step_hash(&salt, &session, id, moment, &step));
        let insert = "INSERT INTO madang_transitions VALUES ('s', $1, $2, $3, 'approved', $4, zeroblob(16), $5)";
        sqlx::query(insert)
            .bind(its.get::<i64, _>("chain_length") + 1)
            .bind(&call)
            .bind(at)
            .bind(serde_json::to_string(&step).unwrap())
            .bind(link.bytes().as_slice())
            .execute(&mut *db)
            .await
            .expect("the triggers let it in");
        let update = "UPDATE madang_calls SET state = 'approved', approval = $1, approved_at = $2, expires_at = $3, \
                      decided_by = user, seal = $4 WHERE call = $5";
        sqlx::query(update)
            .bind(serde_json::to_string(&approval).unwrap())
            .bind(at)
            .bind(expires_at)
            .bind(seal.map(String::from))
            .bind(&call)
            .execute(db)
            .await
            .expect("the triggers let it in");
    });
}

/// What an audit with the keys says, and one without them.
async fn audits(life: &Life) -> (Result<(), AuditError>, Result<(), AuditError>) {
    let ledger = life.store.session_ledger(&SessionId::new("s").unwrap()).await.unwrap().unwrap();
    let with = ledger.audit(None, Some(life.store.keys()));
    let without = ledger.audit(None, None);
    (with.map(drop), without.map(drop))
}

#[test]
fn an_approval_that_sql_wrote_beside_all_triggers_runs_nothing() {
    let stranger = SealKeys::new([SealKey::new([1; 32])]);
    let session = SessionId::new("s").unwrap();
    let kim = UserId::new("kim").unwrap();
    let foreign = stranger.owner(&session, &kim, Timestamp::from_millis(1));
    for seal in [None, foreign] {
        let world = World::new();
        cut_off_at_a_question(&world);
        forge(&world.path(), Approval::Once, seal);
        let mut life = world.start();
        life.run(async |life| {
            let (_, mut probe) = life.session().await;
            life.model_says("Well.", &mut probe).await;
            expect![[r#"
                turn resumed
                proposed save {}
                call save {} -> {"status":"error","code":"approval_not_sealed","reason":"Not run, because the recorded approval was not given here, or was changed."} effect None
                model: Well. (Complete)
                turn ended Answered"#]]
            .assert_eq(&probe.lines());
            let cause = match seal {
                None => SealError::Missing,
                Some(_) => SealError::UnknownKey(SealKey::new([1; 32]).id()),
            };
            let (with, without) = audits(life).await;
            let found = matches!(with, Err(AuditError::Approval { position: 3, cause: its, .. }) if its == cause);
            assert!(found && without.is_ok(), "{with:?} {without:?}");
        });
        assert_eq!((world.begun("save"), world.notes().len()), (0, 0));
        life.shut_down();
    }
}

#[test]
fn a_seal_of_this_very_database_fits_nothing_else() {
    let world = World::new();
    let mut life = world.start();
    let sealed = life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["save"]).await;
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Approve).await.unwrap();
        life.model_says("Saved.", &mut probe).await;
        let seal = life.ledger().await[0].seal;
        ask(&session, "again").await;
        life.model_calls("", &["save"]).await;
        probe.approval_request().await;
        seal
    });
    world.crash(life);
    // The answer to the first question, once more, for the second.
    forge(&world.path(), Approval::Once, sealed);
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.model_says("Well.", &mut probe).await;
        assert!(probe.lines().contains("approval_not_sealed"), "{}", probe.lines());
        let (with, _) = audits(life).await;
        let is_found = matches!(with, Err(AuditError::Approval { cause: SealError::Broken, .. }));
        assert!(is_found, "{with:?}");
    });
    assert_eq!(world.notes().len(), 1);
    life.shut_down();
}

#[test]
fn an_approval_that_was_given_runs_after_a_crash_as_ever() {
    let mut world = World::new();
    world.tools = || vec![Arc::new(super::life::slow_send())];
    let mut life = world.start();
    let mut others = life.run(async |life| {
        let call = |user: &str| {
            let call = madang::Call::new(UserId::new(user).unwrap(), "slow_send", r#"{"to":"x"}"#);
            call.approver(madang::approval::Approver::Decided(Decision::Approve))
        };
        let runtime = life.runtime.clone();
        let first = call("lee");
        tokio::spawn(async move { dispatched(&runtime, first).await });
        life.gate.begun(1).await;
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        let tool_calls = vec![wanted("slow_send", &json!({ "to": "me" }))];
        life.script.next().await.finish(Completion { tool_calls, ..Completion::default() });
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Approve).await.unwrap();
        let rows = life.ledger().await;
        rows.into_iter().filter(|row| row.state == CallState::Approved).collect::<Vec<_>>()
    });
    let row = others.pop().expect("it waits for its tool's permit");
    assert!(row.check_seal(life.store.keys()).is_ok());
    assert!(row.check_seal(&SealKeys::new([SealKey::new([1; 32])])).is_err());
    world.crash(life);
    let mut life = world.start();
    life.run(async |life| {
        let (_, mut probe) = life.session().await;
        life.gate.open();
        life.model_says("Sent.", &mut probe).await;
        assert!(probe.lines().contains("effect Committed"), "{}", probe.lines());
        assert_eq!(audits(life).await, (Ok(()), Ok(())));
    });
    life.shut_down();
}

/// Drops the triggers of the store, does this, and makes them again.
async fn without_triggers(db: &mut SqliteConnection, sql: &str) {
    let triggers = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'";
    let triggers: Vec<(String, String)> =
        sqlx::query_as(triggers).fetch_all(&mut *db).await.unwrap();
    let drops = triggers.iter().map(|(name, _)| format!("DROP TRIGGER {name}"));
    let makes = triggers.iter().map(|(_, sql)| sql.clone());
    for sql in drops.chain([sql.to_owned()]).chain(makes) {
        sqlx::query(AssertSqlSafe(sql)).execute(&mut *db).await.unwrap();
    }
}

/// Kim approves a call of `save` once, and the process ends in order.
fn saved_once(world: &World) {
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        life.model_calls("", &["save"]).await;
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Approve).await.unwrap();
        life.model_says("Saved.", &mut probe).await;
    });
    life.shut_down();
}

#[test]
fn a_standing_approval_that_was_written_into_the_tables_covers_nothing() {
    let world = World::new();
    saved_once(&world);
    let mut life = world.start();
    let schema = life.run(async |life| life.ledger().await[0].schema);
    life.shut_down();
    let always = Approval::Always {
        schema: schema.expect("it was asked about"),
        until: Timestamp::from_millis(i64::MAX),
        uses: u32::MAX,
        resource: None,
    };
    let always = serde_json::to_string(&always).unwrap();
    beside(&world.path(), async |db| {
        let sql = format!("UPDATE madang_calls SET approval = '{always}'");
        without_triggers(db, &sql).await;
    });
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        let standing: Vec<StandingApproval> = session.standing_approvals().await.unwrap();
        assert_eq!(standing.len(), 1, "the tables say so");
        ask(&session, "again").await;
        life.model_calls("", &["save"]).await;
        let request = probe.approval_request().await;
        session.decide(&request, Decision::Deny).await.unwrap();
        life.model_says("Well.", &mut probe).await;
        let ledger = life.store.session_ledger(session.id()).await.unwrap().unwrap();
        let faults: Vec<_> = ledger.seal_faults(life.store.keys()).collect();
        let [AuditError::ApprovalRow { cause: SealError::Broken, .. }] = &faults[..] else {
            panic!("one row was changed: {faults:?}");
        };
        // Nor does it stand before one that was given.
        ask(&session, "and again").await;
        life.model_calls("", &["save"]).await;
        let request = probe.approval_request().await;
        session.decide(&request, Decision::ApproveAlways).await.unwrap();
        life.script.next().await.say("Saved.");
        probe.until_turns_ended(2).await;
        ask(&session, "once more").await;
        life.model_calls("", &["save"]).await;
        let answer = tokio::select! {
            answer = life.script.next() => answer,
            request = probe.approval_request() => panic!("it was approved: {request:?}"),
        };
        answer.say("Saved.");
        probe.until_turns_ended(3).await;
    });
    assert_eq!(world.notes().len(), 3);
    life.shut_down();
}

#[test]
fn a_session_whose_owner_was_changed_opens_for_no_user() {
    let world = World::new();
    saved_once(&world);
    beside(&world.path(), async |db| {
        without_triggers(db, "UPDATE madang_sessions SET user = 'lee'").await;
    });
    let mut life = world.start();
    life.run(async |life| {
        for user in ["lee", "kim"] {
            let error = life.runtime.user(user).unwrap().session("s").await.unwrap_err();
            let Error::Store(cause) = error else { panic!("{user}: {error:?}") };
            assert!(format!("{cause:?}").contains("NotTheOwner"), "{user}: {cause:?}");
        }
        let id = SessionId::new("s").unwrap();
        assert!(life.store.session(&id).await.is_err(), "nor does its chat wake");
        let (with, without) = audits(life).await;
        let is_named =
            matches!(&with, Err(AuditError::Owner { user, .. }) if user.as_str() == "lee");
        assert!(is_named && without.is_ok(), "{with:?} {without:?}");
        life.runtime.user("kim").unwrap().session("another").await.expect("others open as ever");
    });
    life.shut_down();
}

#[derive(Deserialize, JsonSchema)]
struct Sql {
    /// Any SQL.
    sql: String,
}

async fn run_sql(given: Sql, db: &mut SqliteConnection, _: &ToolContext) -> ToolResult<Value> {
    let mut told = Vec::new();
    for sql in given.sql.lines() {
        let done = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut *db).await;
        told.push(done.map_or_else(|error| error.to_string(), |_| "done".to_owned()));
    }
    Ok(json!(told))
}

#[test]
fn a_tool_that_runs_the_models_sql_neither_approves_nor_reads_anything_of_the_store() {
    let mut world = World::new();
    world.tools = || {
        let sql = tool::transactional("run_sql", "Runs SQL.", run_sql).effect(EffectPolicy::Write);
        let mut all = tools();
        all.push(Arc::new(sql));
        all
    };
    let mut life = world.start();
    life.run(async |life| {
        let (session, mut probe) = life.session().await;
        ask(&session, "go").await;
        let sql = [
            "UPDATE madang_calls SET approval = '{}'",
            "INSERT INTO madang_transitions SELECT * FROM madang_transitions",
            "DROP TRIGGER madang_transitions_stay",
            "SELECT content FROM madang_messages",
            "CREATE TEMP TRIGGER t AFTER INSERT ON madang_transitions BEGIN SELECT 1; END",
            "ATTACH 'x' AS x",
            "PRAGMA writable_schema = 1",
            "INSERT INTO notes (call) VALUES ('mine')",
        ]
        .join("\n");
        let tool_calls = vec![wanted("run_sql", &json!({ "sql": sql }))];
        life.script.next().await.finish(Completion { tool_calls, ..Completion::default() });
        life.model_says("Well.", &mut probe).await;
        let outcome = life.ledger().await[0].outcome.clone().unwrap();
        let told = data(&outcome).as_array().unwrap();
        assert_eq!(told.len(), 8, "{told:?}");
        for refused in &told[..7] {
            let words = refused.as_str().unwrap();
            assert!(words.contains("authoriz") || words.contains("prohibited"), "{words}");
        }
        assert_eq!(told[7], "done", "its own tables are its own");
        assert_eq!(audits(life).await, (Ok(()), Ok(())));
        assert_eq!(life.store.schema_faults().await.unwrap(), []);
    });
    life.shut_down();
}

/// Opens the database with these keys.
fn opened(world: &World, keys: &SealKeys) -> Result<(), OpenError> {
    let options = SqliteStore::open(world.path());
    let options = options.migrations("notes", &super::life::NOTES).seal_keys(keys.clone());
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    threads.block_on(async {
        let store = options.await?;
        let owner = store.owner(&SessionId::new("s").unwrap()).await;
        assert_eq!(owner.unwrap().unwrap().as_str(), "kim");
        store.close().await;
        Ok(())
    })
}

#[test]
fn a_database_opens_with_its_keys_and_says_which_one_is_missing() {
    let [one, two, three] = [1, 2, 3].map(|byte| SealKey::new([byte; 32]));
    let of = |keys: &[&SealKey]| SealKeys::new(keys.iter().copied().cloned());
    let world = World::new();
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    threads.block_on(async {
        let options = SqliteStore::open(world.path());
        let options = options.migrations("notes", &super::life::NOTES).seal_keys(of(&[&one]));
        let store = options.await.unwrap();
        let runtime = madang::Runtime::builder()
            .model(madang_testing::ScriptedModel::new([]))
            .store(store)
            .start()
            .await
            .unwrap();
        runtime.user("kim").unwrap().session("s").await.unwrap();
        runtime.shutdown().await.unwrap();
    });
    opened(&world, &of(&[&one])).unwrap();
    opened(&world, &of(&[&two, &one])).expect("a rotation keeps the older key");
    for keys in [of(&[]), of(&[&three])] {
        let error = opened(&world, &keys).unwrap_err();
        let OpenError::SealKeyMissing { key, keys: None, .. } = &error else { panic!("{error:?}") };
        assert!([one.id(), two.id()].iter().any(|id| id.to_string() == *key), "{error}");
        assert!(error.to_string().contains("which is not among those that were given"), "{error}");
    }
    // In a file that is not there no fresh key is made: it would vouch for nothing.
    let missing = world.path().with_extension("keys");
    let options = SqliteStore::open(world.path()).migrations("notes", &super::life::NOTES);
    let error = threads.block_on(options.seal_key_file(&missing).into_future()).unwrap_err();
    assert!(matches!(error, OpenError::SealKeyMissing { keys: Some(_), .. }), "{error:?}");
    assert!(!missing.exists());
}
