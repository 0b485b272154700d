//! The turn as a table: what comes in, what is to be done.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::{
    protocol::{OnDismiss, Usage, WantedCall},
    session::turn::{Sharing, Turn, TurnEffect, TurnInput},
};

fn wanted(name: &str) -> WantedCall {
    WantedCall { name: name.into(), arguments: "{}".into() }
}

/// Calls whose name begins with `w` write.
fn calls(text: &str, names: &[&str]) -> TurnInput {
    let sharing = |name: &str| if name.starts_with('w') { Sharing::Alone } else { Sharing::Shared };
    let calls = names.iter().map(|name| (wanted(name), sharing(name))).collect();
    TurnInput::Completed { text: text.to_owned(), calls, usage: Usage::default() }
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
    TurnInput::CompletionFailed { kind: kind.to_owned(), spoken: spoken.to_owned() }
}

fn rendered(effect: TurnEffect) -> String {
    match effect {
        TurnEffect::Complete => "complete".to_owned(),
        TurnEffect::CancelCompletion => "cancel".to_owned(),
        TurnEffect::Say { text, ending } => format!("say {text:?} {ending:?}"),
        TurnEffect::Dispatch { index, wanted } => format!("dispatch {index} {}", wanted.name),
        TurnEffect::End { ending, error: None, .. } => format!("end {ending:?}"),
        TurnEffect::End { ending, error: Some(error), .. } => {
            format!("end {ending:?} {error:?}")
        }
    }
}

fn check_with(on_dismiss: OnDismiss, inputs: Vec<TurnInput>, expected: &Expect) {
    let mut turn = Turn::new(4, on_dismiss);
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
            end Failed Model { kind: "BadOutput" }"#]],
    );
}

#[test]
fn text_before_a_call_is_kept_when_it_is_not_blank() {
    check(
        vec![TurnInput::Opened, calls("Let me see.", &["read"]), ended(0), text("Done.")],
        expect![[r#"
            complete
            say "Let me see." Complete; dispatch 0 read
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
            dispatch 0 read
            complete
            dispatch 0 read
            complete
            dispatch 0 read
            complete
            dispatch 0 read
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
            dispatch 0 r0; dispatch 1 r1
            -
            dispatch 2 w2
            dispatch 3 w3
            dispatch 4 r4
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
            dispatch 0 r0
            dispatch 1 w1
            end Stopped"#]],
    );
}

#[test]
fn a_failing_model_leaves_what_it_had_said() {
    check(
        vec![TurnInput::Opened, failed("Timeout", "The capital of")],
        expect![[r#"
            complete
            say "The capital of" Interrupted; end Failed Model { kind: "Timeout" }"#]],
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
        vec![TurnInput::Opened, calls("", &["r0", "r1", "w2"]), dismissed(""), ended(0), ended(1)],
        expect![[r#"
            complete
            dispatch 0 r0; dispatch 1 r1
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
            dispatch 0 w0
            -
            complete
            say "Done." Complete; end Answered"#]],
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
    ]
}

proptest! {
    /// Whatever comes in whatever order: one end, nothing after it, no more completions than rounds, each call of a
    /// round dispatched at most once, and no writer beside another call.
    #[test]
    fn no_order_of_inputs_breaks_a_turn(
        inputs in prop::collection::vec(any_input(), 0..60),
        finish in any::<bool>(),
    ) {
        let mut turn = Turn::new(4, if finish { OnDismiss::Finish } else { OnDismiss::Stop });
        let (mut ends, mut completions) = (0, 0);
        let mut running: Vec<(usize, bool)> = Vec::new();
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
                    TurnEffect::Dispatch { index, wanted } => {
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
