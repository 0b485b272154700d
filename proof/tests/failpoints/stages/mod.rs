//! Tests that every actor may end at every stage of a turn: killed, by an error, and by a panic.
//! The three ways give the same answers and the same ledger.

mod plan;
mod scene;

use plan::{Stage, Victim, Way};
use scene::Scene;

type But = &'static [(Victim, &'static str)];

/// The answer of the caller, the end in the events, and the call in the ledger, for any ending
/// actor but the named ones.
const EXPECTED: [(Stage, &str, But); 7] = [
    (Stage::Idle, "Answered | Answered", &[]),
    (
        Stage::AskStored,
        "Answered | Answered",
        &[(Victim::Session, "refused: the session is closed | Answered")],
    ),
    (Stage::ModelSpeaks, "Answered | Answered", &[(Victim::Llm, "died, Failed | died, Failed")]),
    (Stage::QuestionOpen, "Answered | Answered | erase ok Committed", &[]),
    (Stage::HandlerInTransaction, "Answered | Answered | save ok Committed", &[]),
    (Stage::HandlerOutside, "Answered | Answered | mail ok Committed", &[]),
    (Stage::AnswerStored, "Answered | Answered", &[]),
];

/// Failpoints belong to the whole process, and the other tests of this program use them in
/// processes of their own.
#[test]
fn any_actor_may_end_at_any_stage_of_a_turn_in_any_way() {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut wrong = Vec::new();
    for (stage, usually, but) in EXPECTED {
        for victim in Victim::ALL.into_iter().filter(|victim| victim.takes_part_in(stage)) {
            let own = but.iter().find(|(of, _)| *of == victim);
            let expected = own.map_or(usually, |(_, expected)| *expected);
            for way in Way::ALL.into_iter().filter(|way| victim.can_end_by(*way)) {
                let seen = threads.block_on(Scene::play(stage, victim, way));
                if seen != expected {
                    wrong.push(format!("{stage:?}, {victim:?}, {way:?}: {seen}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "seen otherwise:\n{}", wrong.join("\n"));
}
