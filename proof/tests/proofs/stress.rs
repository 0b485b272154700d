//! Stress: many sessions at once, and what befalls one of them changes nothing for the others.

use madang_proof::{
    audit::Counter,
    mistakes::Mistake,
    stress::{Stress, StressFigures},
};

/// So many that each kind of ending comes up, however fast the machine is.
pub(crate) const MUCH: Stress = Stress {
    sessions: 60,
    turns: 3,
    tools: 2,
    chaos: 40,
    dismiss: 20,
    seed: 7,
    in_flight: 256,
    mistake: None,
};

async fn in_file(run: &Stress) -> StressFigures {
    let folder = tempfile::tempdir().unwrap();
    run.in_file(folder.path(), None, |_| ()).await.unwrap()
}

pub(crate) fn assert_all_is_well(figures: &StressFigures) {
    assert!(figures.findings.is_clean(), "{:#?}", figures.findings);
    assert_eq!(figures.turns.len(), 180);
    for ending in ["answered", "failed", "dismissed"] {
        assert!(figures.endings.contains_key(ending), "{ending}: {:?}", figures.endings);
    }
    for kind in ["ok", "denied", "dismissed", "withdrawn", "handler_error", "breach", "timeout"] {
        assert!(figures.calls.contains_key(kind), "{kind}: {:?}", figures.calls);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_promise_holds_where_much_goes_wrong() {
    let (memory, file) = tokio::join!(MUCH.in_memory(|_| ()), in_file(&MUCH));
    assert_all_is_well(&memory.unwrap());
    assert_all_is_well(&file);
}

/// What stress finds, and as what.
pub(crate) const FOUND: [(Mistake, Counter); 10] = [
    (Mistake::StoreForgetsApprovals, Counter::Unasked),
    (Mistake::StoreTurnsEffectsRound, Counter::Misreported),
    (Mistake::ToolDoesNothing, Counter::Lost),
    (Mistake::ToolActsTwice, Counter::Doubled),
    (Mistake::ToolCallsItselfHarmless, Counter::Unasked),
    (Mistake::ToolActsAfterItsEnd, Counter::Misreported),
    (Mistake::ToolWritesElsewhere, Counter::Misreported),
    (Mistake::ModelRepeatsCalls, Counter::Doubled),
    (Mistake::FrontEndSaysYes, Counter::Unasked),
    (Mistake::FrontEndLeavesOthers, Counter::Disturbed),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mistake_is_found() {
    for (mistake, counter) in FOUND {
        let run = Stress { sessions: 30, chaos: 10, mistake: Some(mistake), ..MUCH };
        let findings = run.in_memory(|_| ()).await.unwrap().findings;
        assert!(findings.of(counter).len() > 0, "{mistake:?} is not {counter:?}: {findings:#?}");
    }
}

#[test]
fn a_seed_has_its_faults_in_the_same_places_and_another_seed_has_others() {
    let all = |seed| format!("{:?}", Stress { seed, ..MUCH }.visits(None));
    assert_eq!(all(1), all(1));
    assert_ne!(all(1), all(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_goes_wrong_each_turn_is_answered() {
    for tools in [0, 24] {
        let calm = Stress { sessions: 4, tools, chaos: 0, dismiss: 0, ..MUCH };
        let figures = calm.in_memory(|_| ()).await.unwrap();
        assert!(figures.findings.is_clean(), "{:#?}", figures.findings);
        assert_eq!(figures.endings.get("answered"), Some(&12), "{figures:?}");
        assert_eq!(figures.calls.values().sum::<u64>(), 12 * tools as u64, "{figures:?}");
    }
}
