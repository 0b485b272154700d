//! The turn as a table: what comes in, what is to be done.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::{
    protocol::{FinishReason, OnDismiss, TurnError, Usage, WantedCall},
    session::turn::machine::{Called, Progress, Sharing, TurnEffect, TurnInput, TurnMachine},
};

fn wanted(name: &str) -> WantedCall {
    WantedCall::new(name, "{}")
}

/// Calls whose name begins with `w` write.
fn calls(text: &str, names: &[&str]) -> TurnInput {
    let sharing = |name: &str| if name.starts_with('w') { Sharing::Alone } else { Sharing::Shared };
    let calls = names.iter().map(|name| (wanted(name), sharing(name))).collect();
    TurnInput::Completed {
        text: text.to_owned(),
        calls,
        usage: Usage::default(),
        finish: FinishReason::Stop,
    }
}

fn text(text: &str) -> TurnInput {
    calls(text, &[])
}

fn ended(index: usize) -> TurnInput {
    TurnInput::CallEnded { index, stops_loop: false }
}

fn dismissed(spoken: &str) -> TurnInput {
    TurnInput::Dismissed { spoken: spoken.to_owned() }
}

fn failed(kind: &str, spoken: &str) -> TurnInput {
    TurnInput::CompletionFailed { error: TurnError::model(kind), spoken: spoken.to_owned() }
}

fn rendered(effect: TurnEffect) -> String {
    match effect {
        TurnEffect::Complete => "complete".to_owned(),
        TurnEffect::CancelCompletion => "cancel".to_owned(),
        TurnEffect::Say { text, ending } => format!("say {text:?} {ending:?}"),
        TurnEffect::Propose(Called { round, text, calls, .. }) => {
            let names: Vec<_> = calls.iter().map(|call| &*call.name).collect();
            let said = text.map(|text| format!(" saying {text:?}")).unwrap_or_default();
            format!("propose in round {round}: {}{said}", names.join(" "))
        }
        TurnEffect::Dispatch { index } => format!("dispatch {index}"),
        TurnEffect::Withdraw { index } => format!("withdraw {index}"),
        TurnEffect::End { ending, error: None, .. } => format!("end {ending:?}"),
        TurnEffect::End { ending, error: Some(error), .. } => {
            format!("end {ending:?} {error:?}")
        }
    }
}

fn check_with(on_dismiss: OnDismiss, inputs: Vec<TurnInput>, expected: &Expect) {
    check_turn(TurnMachine::new(4, on_dismiss), inputs, expected);
}

fn check_turn(mut turn: TurnMachine, inputs: Vec<TurnInput>, expected: &Expect) {
    let lines = inputs.into_iter().map(|input| {
        let effects: Vec<_> = turn.on(input).into_iter().map(rendered).collect();
        if effects.is_empty() { "-".to_owned() } else { effects.join("; ") }
    });
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[expect(clippy::needless_pass_by_value, reason = "reads best at the call")]
fn check(inputs: Vec<TurnInput>, expected: Expect) {
    check_with(OnDismiss::Stop, inputs, &expected);
}

fn cut_off(text: &str, names: &[&str]) -> TurnInput {
    let TurnInput::Completed { text, calls, usage, .. } = calls(text, names) else {
        unreachable!()
    };
    TurnInput::Completed { text, calls, usage, finish: FinishReason::Length }
}

#[test]
fn a_call_that_was_cut_off_is_dropped_and_those_before_it_run() {
    check(
        vec![TurnInput::Opened, cut_off("I look.", &["w1", "w2"]), ended(0)],
        expect![[r#"
            complete
            propose in round 1: w1 saying "I look."; dispatch 0
            complete"#]],
    );
    check(
        vec![TurnInput::Opened, cut_off("I look.", &["w1"])],
        expect![[r#"
            complete
            say "I look." Interrupted; end Failed Model { kind: "AnswerTooLong", retry_after_ms: None, said: None, prompt: None }"#]],
    );
}

#[test]
fn a_text_without_a_call_ends_the_turn() {
    check(
        vec![TurnInput::Opened, text("안녕!")],
        expect![[r#"
            complete
            say "안녕!" Complete; end Answered"#]],
    );
}

#[test]
fn a_blank_answer_is_bad_output() {
    check(
        vec![TurnInput::Opened, text(" \n")],
        expect![[r#"
            complete
            end Failed Model { kind: "BadOutput", retry_after_ms: None, said: None, prompt: None }"#]],
    );
}

#[test]
fn text_before_a_call_is_kept_when_it_is_not_blank() {
    check(
        vec![TurnInput::Opened, calls("Let me see.", &["read"]), ended(0), text("Done.")],
        expect![[r#"
            complete
            propose in round 1: read saying "Let me see."; dispatch 0
            complete
            say "Done." Complete; end Answered"#]],
    );
}

#[test]
fn the_same_call_in_each_round_ends_after_the_last_round() {
    let mut inputs = vec![TurnInput::Opened];
    for _ in 0..4 {
        inputs.extend([calls("", &["read"]), ended(0)]);
    }
    check(
        inputs,
        expect![[r#"
            complete
            propose in round 1: read; dispatch 0
            complete
            propose in round 2: read; dispatch 0
            complete
            propose in round 3: read; dispatch 0
            complete
            propose in round 4: read; dispatch 0
            end Failed TooManyRounds"#]],
    );
}

#[test]
fn readers_run_side_by_side_and_a_writer_alone() {
    check(
        vec![
            TurnInput::Opened,
            calls("", &["r0", "r1", "w2", "w3", "r4"]),
            ended(1),
            ended(0),
            ended(2),
            ended(3),
            ended(4),
        ],
        expect![[r#"
            complete
            propose in round 1: r0 r1 w2 w3 r4; dispatch 0; dispatch 1
            -
            dispatch 2
            dispatch 3
            dispatch 4
            complete"#]],
    );
}

#[test]
fn a_tool_may_end_the_turn_after_its_round() {
    check(
        vec![
            TurnInput::Opened,
            calls("", &["r0", "w1"]),
            TurnInput::CallEnded { index: 0, stops_loop: true },
            ended(1),
        ],
        expect![[r#"
            complete
            propose in round 1: r0 w1; dispatch 0
            dispatch 1
            end Stopped"#]],
    );
}

#[test]
fn a_failing_model_leaves_what_it_had_said() {
    check(
        vec![TurnInput::Opened, failed("Timeout", "The capital of")],
        expect![[r#"
            complete
            say "The capital of" Interrupted; end Failed Model { kind: "Timeout", retry_after_ms: None, said: None, prompt: None }"#]],
    );
}

#[test]
fn dismissed_while_the_model_streams_the_turn_ends_at_once() {
    check(
        vec![TurnInput::Opened, dismissed("Hel"), text("Hello")],
        expect![[r#"
            complete
            cancel; say "Hel" Interrupted; end Dismissed
            -"#]],
    );
}

#[test]
fn dismissed_while_calls_run_it_waits_for_them_and_starts_no_other() {
    check(
        vec![
            TurnInput::Opened,
            calls("", &["r0", "r1", "w2"]),
            dismissed(""),
            ended(0),
            ended(2),
            ended(1),
        ],
        expect![[r#"
            complete
            propose in round 1: r0 r1 w2; dispatch 0; dispatch 1
            withdraw 2
            -
            -
            end Dismissed"#]],
    );
}

#[test]
fn dismissed_before_it_is_stored_it_asks_no_model() {
    check(
        vec![dismissed(""), TurnInput::Opened],
        expect![[r#"
            -
            end Dismissed"#]],
    );
}

#[test]
fn with_finish_the_loop_goes_on() {
    check_with(
        OnDismiss::Finish,
        vec![TurnInput::Opened, calls("", &["w0"]), dismissed(""), ended(0), text("Done.")],
        &expect![[r#"
            complete
            propose in round 1: w0; dispatch 0
            -
            complete
            say "Done." Complete; end Answered"#]],
    );
}

fn resumed(progress: Progress, inputs: Vec<TurnInput>, expected: &Expect) {
    check_turn(TurnMachine::resumed(4, OnDismiss::Stop, progress), inputs, expected);
}

#[test]
fn a_turn_that_goes_on_before_its_first_calls_asks_the_model_again() {
    resumed(
        Progress::default(),
        vec![TurnInput::Opened, text("Here.")],
        &expect![[r#"
            complete
            say "Here." Complete; end Answered"#]],
    );
}

#[test]
fn a_turn_that_goes_on_in_mid_round_brings_the_calls_to_their_end_and_counts_on() {
    let progress = Progress {
        round: 3,
        waiting: vec![Sharing::Shared, Sharing::Alone],
        ..Progress::default()
    };
    resumed(
        progress,
        vec![TurnInput::Opened, ended(0), ended(1), calls("", &["read"]), ended(0)],
        &expect![[r#"
            dispatch 0
            dispatch 1
            complete
            propose in round 4: read; dispatch 0
            end Failed TooManyRounds"#]],
    );
}

#[test]
fn a_turn_that_goes_on_after_a_round_asks_the_model_or_ends_as_its_calls_say() {
    let after = |round, stops_loop| Progress { round, stops_loop, ..Progress::default() };
    resumed(after(1, false), vec![TurnInput::Opened], &expect!["complete"]);
    resumed(after(1, true), vec![TurnInput::Opened], &expect!["end Stopped"]);
    resumed(after(4, false), vec![TurnInput::Opened], &expect!["end Failed TooManyRounds"]);
}

#[test]
fn a_turn_that_was_dismissed_before_it_goes_on_begins_nothing() {
    let dismissed =
        |round, waiting| Progress { round, waiting, is_dismissed: true, ..Progress::default() };
    let waiting = vec![Sharing::Alone, Sharing::Alone];
    resumed(
        dismissed(1, waiting.clone()),
        vec![TurnInput::Opened, ended(1), ended(0)],
        &expect![[r#"
            withdraw 0; withdraw 1
            -
            end Dismissed"#]],
    );
    resumed(dismissed(0, Vec::new()), vec![TurnInput::Opened], &expect!["end Dismissed"]);
    check_turn(
        TurnMachine::resumed(4, OnDismiss::Finish, dismissed(1, waiting)),
        vec![TurnInput::Opened, ended(0), ended(1)],
        &expect![[r#"
            dispatch 0
            dispatch 1
            complete"#]],
    );
}

#[test]
fn a_turn_that_is_suspended_stops_the_model_and_hears_nothing_more() {
    check(
        vec![TurnInput::Opened, TurnInput::Suspended, text("late"), dismissed("")],
        expect![[r#"
            complete
            cancel
            -
            -"#]],
    );
    check(
        vec![TurnInput::Opened, calls("", &["r0", "w1"]), TurnInput::Suspended, ended(0)],
        expect![[r#"
            complete
            propose in round 1: r0 w1; dispatch 0
            -
            -"#]],
    );
}

fn any_input() -> impl Strategy<Value = TurnInput> {
    prop_oneof![
        Just(TurnInput::Opened),
        Just(text("hi")),
        Just(text("")),
        prop::collection::vec(prop_oneof![Just("read"), Just("write")], 1..5)
            .prop_map(|names| calls("", &names)),
        Just(failed("Timeout", "")),
        (0..5_usize, any::<bool>())
            .prop_map(|(index, stops_loop)| TurnInput::CallEnded { index, stops_loop }),
        Just(dismissed("x")),
        Just(TurnInput::Suspended),
    ]
}

proptest! {
    /// Any inputs in any order give one end, nothing after it, and no more completions than rounds.
    /// Each call of a round is dispatched or withdrawn at most once, and no writer runs beside
    /// another call.
    #[test]
    fn no_order_of_inputs_breaks_a_turn(
        inputs in prop::collection::vec(any_input(), 0..60),
        finish in any::<bool>(),
    ) {
        let mut turn = TurnMachine::new(4, if finish { OnDismiss::Finish } else { OnDismiss::Stop });
        let mut ends = 0;
        let mut completions = 0;
        let mut running: Vec<(usize, bool)> = Vec::new();
        let mut proposed = Vec::new();
        for input in inputs {
            if let TurnInput::CallEnded { index, .. } = &input {
                running.retain(|(running, _)| running != index);
            }
            for effect in turn.on(input) {
                prop_assert_eq!(ends, 0, "nothing follows the end");
                match effect {
                    TurnEffect::Complete => {
                        prop_assert!(running.is_empty());
                        completions += 1;
                    }
                    TurnEffect::Propose(Called { calls, .. }) => {
                        proposed = calls.into_iter().map(Some).collect();
                    }
                    TurnEffect::Withdraw { index } => {
                        prop_assert!(proposed[index].take().is_some());
                        running.push((index, false));
                    }
                    TurnEffect::Dispatch { index } => {
                        let wanted: WantedCall = proposed[index].take().expect("dispatched once");
                        let writes = wanted.name.starts_with('w');
                        prop_assert!(running.iter().all(|(other, w)| *other != index && !w && !writes));
                        running.push((index, writes));
                    }
                    TurnEffect::End { .. } => ends += 1,
                    TurnEffect::Say { .. } | TurnEffect::CancelCompletion => {}
                }
            }
        }
        prop_assert!(completions <= 4);
        prop_assert_eq!(turn.is_over(), ends == 1);
    }
}
