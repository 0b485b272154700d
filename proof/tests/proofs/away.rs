//! Tests that people may stay away: whatever the number of deaths, their questions wait for them.

use madang_proof::{
    mistakes::AwayMistake,
    simulation::{Away, AwayReport},
};

const AWAY: Away = Away { seed: 0, chats: 6, deaths: 20, mistake: None };

#[test]
fn over_twenty_deaths_each_question_stays_and_its_yes_counts_once() {
    for seed in 0..4 {
        let AwayReport { answered, findings, .. } = Away { seed, ..AWAY }.run();
        assert!(findings.is_clean(), "seed {seed}: {findings:#?}");
        assert_eq!(answered, AWAY.chats, "seed {seed}");
    }
}

#[test]
fn each_mistake_of_a_start_raises_its_counters() {
    for mistake in AwayMistake::ALL {
        let report = Away { mistake: Some(mistake), ..AWAY }.run();
        let raised = report.findings.raised();
        for counter in mistake.raises() {
            assert!(raised.contains(counter), "{}: {raised:?}", mistake.name());
        }
    }
}
