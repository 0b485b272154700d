//! The next model is asked where one is overloaded or unreachable and has said nothing, and else
//! none.

use madang::{
    Limits,
    error::{ReplyError, TurnError},
    event::{EventKind, TurnEnding},
    model::ModelError,
};
use madang_testing::{HandCompletion, Probe};

use super::{Three, asking, by, said};
use crate::support::PATIENCE;

#[tokio::test]
async fn the_next_model_answers_where_one_is_overloaded_or_unreachable() {
    for kind in [ModelError::OVERLOADED, ModelError::CONNECTION_LOST] {
        let mut three = Three::new().await;
        let mut probe = Probe::new(three.session.subscribe());
        let turn = three.session.send("hi").await.unwrap();
        let completion = three.next(0).await;
        let first = completion.request().id;
        completion.fail(kind);
        let completion = three.next(1).await;
        assert_ne!(completion.request().id, first);
        assert_eq!(completion.request().last_user_text(), "hi");
        completion.say("Hello.");
        assert_eq!(turn.text().await.unwrap(), "Hello.", "{kind}");
        assert_eq!(said(&three.session).await, [by("second", "Hello.")]);
        probe.until_turns_ended(1).await;
        assert!(!probe.lines().to_lowercase().contains("error"), "{}", probe.lines());
        // The next completion begins with the turn's own model.
        let turn = three.session.send("again").await.unwrap();
        three.next(0).await.say("I am back.");
        assert_eq!(turn.text().await.unwrap(), "I am back.");
        three.shutdown().await;
    }
}

#[tokio::test]
async fn the_order_leads_on_and_never_back() {
    let mut three = Three::new().await;
    let turn = three.session.send_with("private", asking("second")).await.unwrap();
    three.next(1).await.fail(ModelError::OVERLOADED);
    three.next(2).await.fail(ModelError::CONNECTION_LOST);
    let end = turn.ended().await.unwrap();
    assert_eq!(end.error, Some(TurnError::model("ConnectionLost")), "that of the last one");
    let turn = three.session.send_with("private", asking("third")).await.unwrap();
    three.next(2).await.fail(ModelError::OVERLOADED);
    assert_eq!(turn.ended().await.unwrap().error, Some(TurnError::model("Overloaded")));
    three.shutdown().await;
}

#[tokio::test]
async fn where_all_fail_the_error_of_the_last_is_told_and_no_model_is_asked_twice() {
    let mut three = Three::new().await;
    let mut probe = Probe::new(three.session.subscribe());
    let turn = three.session.send("hi").await.unwrap();
    three.next(0).await.fail(ModelError::CONNECTION_LOST);
    three.next(1).await.fail(ModelError::OVERLOADED);
    three.next(2).await.fail(ModelError::REFUSED);
    let failed = turn.text().await.unwrap_err();
    let ReplyError::Failed { error, .. } = failed else { panic!("{failed:?}") };
    assert_eq!(error, TurnError::model("Refused"));
    probe.until_turns_ended(1).await;
    let is_error = |kind: &EventKind| matches!(kind, EventKind::Error { .. });
    assert_eq!(probe.events().iter().filter(|event| is_error(&event.kind)).count(), 1);
    three.shutdown().await;
}

#[tokio::test]
async fn no_other_model_is_asked_behind_words_or_thoughts_or_a_first_token() {
    type Speaks = fn(&HandCompletion);
    let ways: [(Speaks, &str); 3] = [
        (|completion| completion.delta("Hel"), "Hel"),
        (|completion| completion.think("Hm."), ""),
        // A call is on its way: nothing of it can be shown yet.
        (|completion| completion.deltas().push(madang::model::CompletionDelta::Began), ""),
    ];
    for (speaks, words) in ways {
        let mut three = Three::new().await;
        let turn = three.session.send("hi").await.unwrap();
        let completion = three.next(0).await;
        speaks(&completion);
        completion.fail(ModelError::CONNECTION_LOST);
        let error = turn.ended().await.unwrap().error;
        assert_eq!(error, Some(TurnError::model("ConnectionLost")), "{words:?}");
        let kept: Vec<_> = (!words.is_empty()).then(|| by("default", words)).into_iter().collect();
        assert_eq!(said(&three.session).await, kept);
        three.shutdown().await;
    }
}

#[tokio::test]
async fn no_other_model_is_asked_for_any_other_failure() {
    let mut three = Three::new().await;
    for kind in [
        ModelError::TIMEOUT,
        ModelError::ENGINE_DIED,
        ModelError::BAD_OUTPUT,
        ModelError::UNAUTHORIZED,
        ModelError::PROMPT_TOO_LONG,
    ] {
        let turn = three.session.send("hi").await.unwrap();
        three.next(0).await.fail(kind);
        let error = turn.ended().await.unwrap().error;
        assert!(matches!(&error, Some(TurnError::Model { kind: told, .. }) if told == kind));
    }
    three.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_models_of_one_completion_share_its_time() {
    let mut three = Three::new().await;
    let limits = Limits::default();
    let begun = tokio::time::Instant::now();
    let turn = three.session.send("hi").await.unwrap();
    let completion = three.next(0).await;
    tokio::time::sleep(limits.first_token_timeout * 3 / 4).await;
    completion.fail(ModelError::CONNECTION_LOST);
    let silent = three.next(1).await;
    assert_eq!(turn.ended().await.unwrap().error, Some(TurnError::model("Timeout")));
    assert!(begun.elapsed() < limits.first_token_timeout * 5 / 4, "{:?}", begun.elapsed());
    drop(silent);
    three.shutdown().await;
}

#[tokio::test]
async fn a_dismissal_stops_the_model_that_was_fallen_back_to() {
    let mut three = Three::new().await;
    let turn = three.session.send("hi").await.unwrap();
    three.next(0).await.fail(ModelError::OVERLOADED);
    let completion = three.next(1).await;
    three.session.dismiss().await.unwrap().stored().await.unwrap();
    tokio::time::timeout(PATIENCE, completion.cancelled()).await.unwrap();
    completion.fail(ModelError::OVERLOADED);
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
    assert!(said(&three.session).await.is_empty());
    three.shutdown().await;
}

#[tokio::test]
async fn words_that_are_cut_off_are_those_of_the_model_that_spoke() {
    let mut three = Three::new().await;
    let mut probe = Probe::new(three.session.subscribe());
    let turn = three.session.send("hi").await.unwrap();
    three.next(0).await.fail(ModelError::OVERLOADED);
    let completion = three.next(1).await;
    completion.delta("Hel");
    probe.until_streamed("Hel").await;
    three.session.dismiss().await.unwrap();
    turn.ended().await.unwrap();
    assert_eq!(said(&three.session).await, [by("second", "Hel")]);
    three.shutdown().await;
}
