//! Tests that the model of a proof asks for the same calls in every process.

use madang_proof::{
    dice::Dice,
    workload::{Act, TurnPlan},
};

#[test]
fn a_plan_is_read_as_it_was_written() {
    for seed in 0..100 {
        let plan = TurnPlan::draw(&mut Dice::new(seed), "a.b", &Act::DRAWN);
        assert_eq!(TurnPlan::read(&plan.to_string()), Some(plan));
    }
    assert_eq!(TurnPlan::read("good morning"), None);
}

#[test]
fn after_some_calls_the_rest_of_their_round_is_asked_for() {
    let plan = TurnPlan::read("save:1 mail:2\nlook:3").unwrap();
    let tokens = |ended| plan.after(ended).iter().map(|step| &*step.token).collect::<Vec<_>>();
    assert_eq!((tokens(0), tokens(1)), (vec!["1", "2"], vec!["2"]));
    assert_eq!((tokens(2), tokens(3)), (vec!["3"], vec![]));
}
