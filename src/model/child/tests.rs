//! Tests the decisions of supervision: each line has an input, and after it the effects.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use expect_test::{Expect, expect};
use madang_actors::protocol::{
    CompletionId, CompletionRequest, LanguageTag, PromptMessage, SessionId, UserId,
};
use tokio::time::Instant;
use uuid::Uuid;

use super::{restarts::Restarts, supervision::Supervision, watch::Bounds};

/// Makes a request with this text.
pub(super) fn request(text: &str) -> CompletionRequest {
    CompletionRequest {
        id: CompletionId::new(Uuid::now_v7()),
        session: SessionId::new(Uuid::now_v7().to_string()).unwrap(),
        user: UserId::new("kim").unwrap(),
        system: None,
        instructions: None,
        messages: Arc::new(vec![PromptMessage::User { text: text.into() }]),
        tools: Arc::new([]),
        language: LanguageTag::EN,
        max_tokens: 16,
    }
}

/// Plays a story line by line. Pings come every 10 ms; two silent ones, or four without progress,
/// are a hang.
fn check(story: &str, expected: &Expect) {
    let ms = Duration::from_millis;
    let mut now = Instant::now();
    let restarts = Restarts::new(ms(100), ms(1_000), ms(5_000));
    let bounds = Bounds::new(ms(10), ms(20), ms(40), ms(1_000));
    let mut supervision = Supervision::new(restarts, bounds, ms(10), now);
    let mut told = String::new();
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let effects = match words[0] {
            "starts" => {
                [supervision.tick(now), supervision.loaded(2, now)].into_iter().flatten().collect()
            }
            "begins" => supervision.tick(now),
            "waits" => {
                now += ms(number(1));
                supervision.tick(now)
            }
            "answers" => {
                supervision.heard();
                Vec::new()
            }
            "ask" => supervision.asked(number(1), request(words[2])),
            "shows" => {
                supervision.streams(number(1), true);
                Vec::new()
            }
            "begins-answer" => {
                supervision.streams(number(1), false);
                Vec::new()
            }
            "ends" => supervision.ended(number(1)),
            "withdraw" => supervision.withdrawn(number(1)),
            "dies" => supervision.died(now),
            "cannot-load" => supervision.not_loaded(now),
            word => panic!("no such word: {word}"),
        };
        writeln!(told, "{line} -> {effects:?}").unwrap();
    }
    expected.assert_eq(&told);
}

#[test]
fn what_is_asked_waits_for_the_child_and_for_a_permit() {
    check(
        "ask 1 a
         begins
         ask 2 b
         ask 3 c
         starts
         ends 2
         withdraw 3",
        &expect![[r#"
            ask 1 a -> []
            begins -> [Start]
            ask 2 b -> []
            ask 3 c -> []
            starts -> [Ask(1), Ask(2)]
            ends 2 -> [Ask(3)]
            withdraw 3 -> [Cancel(3)]
        "#]],
    );
}

#[test]
fn a_death_ends_what_was_shown_and_asks_the_rest_again_one_by_one_before_all_others() {
    check(
        "starts
         ask 1 a
         ask 2 b
         ask 3 c
         begins-answer 1
         shows 2
         dies
         starts
         ends 1
         ends 3",
        &expect![[r#"
            starts -> [Start]
            ask 1 a -> [Ask(1)]
            ask 2 b -> [Ask(2)]
            ask 3 c -> []
            begins-answer 1 -> []
            shows 2 -> []
            dies -> [End(2, Died)]
            starts -> [Start, Ask(1)]
            ends 1 -> [Ask(3)]
            ends 3 -> []
        "#]],
    );
    check(
        "starts
         ask 1 a
         ask 2 b
         ask 3 c
         ask 4 d
         dies
         starts
         ends 1
         ends 2
         ends 3",
        &expect![[r#"
            starts -> [Start]
            ask 1 a -> [Ask(1)]
            ask 2 b -> [Ask(2)]
            ask 3 c -> []
            ask 4 d -> []
            dies -> []
            starts -> [Start, Ask(1)]
            ends 1 -> [Ask(2)]
            ends 2 -> [Ask(3), Ask(4)]
            ends 3 -> []
        "#]],
    );
}

#[test]
fn a_request_that_runs_at_a_second_death_is_refused_and_those_beside_it_are_not() {
    check(
        "starts
         ask 1 boom
         ask 2 b
         dies
         starts
         dies
         waits 100
         starts
         ends 2
         ask 3 boom
         ask 4 b",
        &expect![[r#"
            starts -> [Start]
            ask 1 boom -> [Ask(1)]
            ask 2 b -> [Ask(2)]
            dies -> []
            starts -> [Start, Ask(1)]
            dies -> [End(1, Killer)]
            waits 100 -> [Start]
            starts -> [Ask(2)]
            ends 2 -> []
            ask 3 boom -> [End(3, Killer)]
            ask 4 b -> [Ask(4)]
        "#]],
    );
}

#[test]
fn a_request_that_ended_a_child_runs_alone_and_is_forgiven_when_it_ends_well() {
    check(
        "starts
         ask 1 boom
         shows 1
         dies
         starts
         ask 2 a
         ask 3 boom
         ask 4 b
         ends 2
         ends 3
         ask 5 boom",
        &expect![[r#"
            starts -> [Start]
            ask 1 boom -> [Ask(1)]
            shows 1 -> []
            dies -> [End(1, Died)]
            starts -> [Start]
            ask 2 a -> [Ask(2)]
            ask 3 boom -> []
            ask 4 b -> []
            ends 2 -> [Ask(3)]
            ends 3 -> [Ask(4)]
            ask 5 boom -> [Ask(5)]
        "#]],
    );
}

#[test]
fn the_same_question_of_two_people_is_one_culprit() {
    check(
        "starts
         ask 1 boom
         ask 2 boom
         ask 3 boom
         dies
         starts
         dies",
        &expect![[r#"
            starts -> [Start]
            ask 1 boom -> [Ask(1)]
            ask 2 boom -> [Ask(2)]
            ask 3 boom -> []
            dies -> []
            starts -> [Start, Ask(1)]
            dies -> [End(1, Killer), End(2, Killer), End(3, Killer)]
        "#]],
    );
}

#[test]
fn a_cancelled_request_is_not_asked_again() {
    check(
        "starts
         ask 1 a
         ask 2 b
         ask 3 c
         withdraw 1
         withdraw 1
         withdraw 3
         dies
         starts
         withdraw 9",
        &expect![[r#"
            starts -> [Start]
            ask 1 a -> [Ask(1)]
            ask 2 b -> [Ask(2)]
            ask 3 c -> []
            withdraw 1 -> [Cancel(1)]
            withdraw 1 -> []
            withdraw 3 -> [End(3, Cancelled)]
            dies -> [End(1, Cancelled)]
            starts -> [Start, Ask(2)]
            withdraw 9 -> []
        "#]],
    );
}

#[test]
fn a_child_that_hangs_is_killed() {
    check(
        "starts
         waits 10
         answers
         waits 10
         waits 10
         waits 10",
        &expect![[r#"
            starts -> [Start]
            waits 10 -> [Ping]
            answers -> []
            waits 10 -> [Ping]
            waits 10 -> [Ping]
            waits 10 -> [Kill(Silent)]
        "#]],
    );
    check(
        "starts
         ask 1 a
         waits 10
         answers
         waits 10
         answers
         shows 1
         waits 10
         answers
         waits 10
         answers
         waits 10
         answers
         waits 10
         answers
         waits 10",
        &expect![[r#"
            starts -> [Start]
            ask 1 a -> [Ask(1)]
            waits 10 -> [Ping]
            answers -> []
            waits 10 -> [Ping]
            answers -> []
            shows 1 -> []
            waits 10 -> [Ping]
            answers -> []
            waits 10 -> [Ping]
            answers -> []
            waits 10 -> [Ping]
            answers -> []
            waits 10 -> [Ping]
            answers -> []
            waits 10 -> [Kill(Still)]
        "#]],
    );
}

#[test]
fn a_long_pause_of_the_program_is_one_ping_and_no_hang() {
    check(
        "starts
         ask 1 a
         waits 3600000
         answers
         waits 10",
        &expect![[r#"
            starts -> [Start]
            ask 1 a -> [Ask(1)]
            waits 3600000 -> [Ping]
            answers -> []
            waits 10 -> [Ping]
        "#]],
    );
}

#[test]
fn children_that_cannot_load_are_given_up_until_a_request_comes() {
    check(
        "starts
         ask 1 a
         dies
         begins
         cannot-load
         waits 60000
         ask 2 b
         waits 0
         dies
         waits 1000
         dies
         waits 1000
         dies
         ask 3 c
         waits 1000",
        &expect![[r#"
            starts -> [Start]
            ask 1 a -> [Ask(1)]
            dies -> []
            begins -> [Start]
            cannot-load -> [End(1, Unloadable)]
            waits 60000 -> []
            ask 2 b -> []
            waits 0 -> [Start]
            dies -> []
            waits 1000 -> [Start]
            dies -> [End(2, Unloadable)]
            waits 1000 -> []
            dies -> []
            ask 3 c -> []
            waits 1000 -> [Start]
        "#]],
    );
}
