//! Calls with a key: repeated after a crash, a call gives the end that it has, and never runs
//! again.

use madang::approval::{ApprovalRequest, Decision};
use madang::{
    Asks, Call, CallReport, Error, IdempotencyKey, LanguageTag, RunningCall,
    ledger::{Effect, LedgerFilter},
};

use super::life::{Life, World};
use crate::support::{kim, kind};

fn call(tool: &str) -> Call {
    let key = IdempotencyKey::new("k").unwrap();
    Call::new(kim(), tool, "{}").language(LanguageTag::EN).asks(Asks::User).key(key)
}

async fn begin(life: &Life, tool: &str) -> RunningCall {
    life.runtime.begin(call(tool)).await.unwrap()
}

/// Repeats the call in a life that follows a crash.
fn repeated(world: &World, tool: &str) -> CallReport {
    let mut life = world.start();
    let report = life.run(async |life| {
        let report = begin(life, tool).await.ended().await;
        let same = begin(life, tool).await.ended().await;
        assert_eq!(same, report, "{tool}");
        assert_eq!(life.ledger().await.len(), 1, "{tool}");
        report
    });
    life.shut_down();
    assert!(report.is_recorded, "{tool}");
    report
}

#[test]
fn a_call_cut_off_as_its_handler_wrote_elsewhere_is_told_as_unknown_and_never_rerun() {
    let world = World::new();
    let mut life = world.start();
    let id = life.run(async |life| {
        let running = begin(life, "slow_mail").await;
        life.gate.begun(1).await;
        running.id()
    });
    world.crash(life);
    for _ in 0..2 {
        let report = repeated(&world, "slow_mail");
        assert_eq!(
            (kind(&report).as_str(), report.record.effect, report.record.id),
            ("handler_error", Effect::Unknown, id)
        );
    }
    assert_eq!(world.begun("slow_mail"), 1);
}

#[test]
fn a_call_that_was_cut_off_before_it_began_is_told_as_not_done_and_never_run() {
    // A handler that has its approval and writes in the transaction may have begun.
    for (is_approved, word) in [(false, "withdrawn"), (true, "handler_error")] {
        let world = World::new();
        let mut life = world.start();
        life.run(async |life| {
            let mut running = begin(life, "slow_save").await;
            let asked = running.request().await.unwrap();
            if is_approved {
                let ApprovalRequest { user, call, digest, .. } = &*asked;
                life.runtime
                    .user_with_id(user)
                    .decide(*call, *digest, Decision::Approve)
                    .await
                    .unwrap();
                // Its writes and its beginning share a commit that does not come.
                life.gate.begun(1).await;
            }
        });
        world.crash(life);
        let report = repeated(&world, "slow_save");
        let told = (kind(&report), report.record.effect);
        assert_eq!(told, (word.to_owned(), Effect::None), "{is_approved}");
        assert!(world.notes().is_empty());
        assert_eq!(world.begun("slow_save"), usize::from(is_approved));
    }
}

#[test]
fn a_call_of_which_a_crash_left_nothing_in_the_ledger_begins() {
    let world = World::new();
    let mut life = world.start();
    life.run(async |life| {
        begin(life, "slow_note").await;
        life.gate.begun(1).await;
    });
    world.crash(life);
    assert!(world.notes().is_empty());
    let mut life = world.start();
    life.run(async |life| {
        let running = begin(life, "slow_note").await;
        life.gate.begun(1).await;
        life.gate.open();
        let report = running.ended().await;
        assert_eq!((kind(&report).as_str(), report.record.effect), ("ok", Effect::Committed));
        assert_eq!(world.notes(), [running.id().to_string()]);
    });
    world.crash(life);
    assert_eq!(kind(&repeated(&world, "slow_note")), "ok");
    assert_eq!((world.notes().len(), world.begun("slow_note")), (1, 2));
}

#[test]
fn a_key_is_that_of_its_call_also_after_a_crash() {
    let world = World::new();
    let mut life = world.start();
    let first = life.run(async |life| begin(life, "mail").await.ended().await);
    world.crash(life);
    assert_eq!(repeated(&world, "mail"), first);
    let mut life = world.start();
    life.run(async |life| {
        let refused = life.runtime.begin(call("note")).await.unwrap_err();
        assert!(matches!(refused, Error::OtherCall(id) if id == first.record.id));
        let rows = life.runtime.ledger(&LedgerFilter::call(first.record.id)).await.unwrap();
        assert_eq!((rows.len(), &*rows[0].name), (1, "mail"));
    });
    life.shut_down();
    assert_eq!((world.begun("mail"), world.begun("note")), (1, 0));
}
