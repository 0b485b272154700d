//! Tests that a report that comes late, about a turn that is over, changes nothing in the turn that
//! runs.

use madang_proof::{
    mistakes::LateMistake,
    simulation::{Late, LateReport},
};

const LATE: Late = Late { seed: 0, chats: 3, turns: 12, mistake: None };

#[test]
fn where_replies_are_lost_and_looked_for_late_every_turn_is_answered() {
    for seed in 0..4 {
        let LateReport { lost, late, answered, findings } = Late { seed, ..LATE }.run();
        assert!(findings.is_clean(), "seed {seed}: {findings:#?}");
        assert_eq!(answered, LATE.chats * LATE.turns, "seed {seed}");
        assert!(lost > 20 && late > 10, "seed {seed}: {lost} lost, {late} late");
    }
}

#[test]
fn each_mistake_of_a_late_look_raises_its_counters() {
    for mistake in LateMistake::ALL {
        let report = Late { mistake: Some(mistake), ..LATE }.run();
        let raised = report.findings.raised();
        for counter in mistake.raises() {
            assert!(raised.contains(counter), "{}: {raised:?}", mistake.name());
        }
    }
}
