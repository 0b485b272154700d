//! Models stand apart: what one wants back, its full queue and its failing actor are those of no
//! other.

use madang::{
    Health, Limits, error::TurnError, event::EventKind, ledger::LedgerFilter, model::ModelError,
};
use madang_testing::{Probe, RuntimeHooks as _, model_pair};

use super::{Three, asking, call, given_back, name};
use crate::support::PATIENCE;

#[tokio::test]
async fn what_one_model_wants_back_with_its_calls_reaches_no_other() {
    let mut three = Three::new().await;
    let mut probe = Probe::new(three.session.subscribe());
    let turn = three.session.send("look").await.unwrap();
    three.next(0).await.finish(call(Some("sealed by the first")));
    let completion = three.next(0).await;
    assert_eq!(given_back(completion.request()), [Some("sealed by the first")]);
    completion.fail(ModelError::OVERLOADED);
    let completion = three.next(1).await;
    assert_eq!(given_back(completion.request()), [None], "the call is told, and no more");
    completion.finish(call(Some("sealed by the second")));
    let completion = three.next(0).await;
    assert_eq!(given_back(completion.request()), [Some("sealed by the first"), None]);
    completion.fail(ModelError::OVERLOADED);
    let completion = three.next(1).await;
    assert_eq!(given_back(completion.request()), [None, Some("sealed by the second")]);
    completion.say("Seen.");
    turn.ended().await.unwrap();
    let rows = three.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    let models: Vec<_> = rows.iter().filter_map(|row| row.model.clone()).collect();
    assert_eq!(models, [name("default"), name("second")]);
    probe.until_turns_ended(1).await;
    let told = probe.events().iter().filter_map(|event| {
        if let EventKind::ToolCallProposed { model, .. } = &event.kind {
            return model.clone();
        }
        let EventKind::ToolCallEnded { record } = &event.kind else { return None };
        record.model.clone()
    });
    let twice = [name("default"), name("default"), name("second"), name("second")];
    assert_eq!(told.collect::<Vec<_>>(), twice);
    three.shutdown().await;
}

#[tokio::test]
async fn a_full_queue_of_one_model_holds_back_no_turn_of_another() {
    let first = model_pair();
    let second = model_pair();
    let limits = Limits { max_waiting_completions: 1, ..Limits::default() };
    let pairs = [
        (first.0.max_concurrent(1), first.1),
        (second.0.max_concurrent(1), second.1),
        model_pair(),
    ];
    let mut three = Three::of(pairs, limits).await;
    let kim = three.runtime.user("kim").unwrap();
    let session = |name: &'static str| kim.session(name);
    let sessions = [
        session("a").await.unwrap(),
        session("b").await.unwrap(),
        session("c").await.unwrap(),
        session("d").await.unwrap(),
    ];
    let third = || asking("third");
    let running = sessions[0].send_with("1", asking("second")).await.unwrap();
    let first_of_second = three.next(1).await;
    let waiting = sessions[1].send_with("2", asking("second")).await.unwrap();
    // The queue of the second is full: its turn goes on to the third, and one of the first is not
    // held back.
    let next = sessions[2].send_with("3", asking("second")).await.unwrap();
    three.next(2).await.say("From the third.");
    assert_eq!(next.text().await.unwrap(), "From the third.");
    let other = sessions[3].send("4").await.unwrap();
    three.next(0).await.say("From the first.");
    assert_eq!(other.text().await.unwrap(), "From the first.");
    let other = sessions[3].send_with("5", third()).await.unwrap();
    three.next(2).await.say("From the third.");
    assert_eq!(other.text().await.unwrap(), "From the third.");
    first_of_second.say("One.");
    assert_eq!(running.text().await.unwrap(), "One.");
    three.next(1).await.say("Two.");
    assert_eq!(waiting.text().await.unwrap(), "Two.");
    three.shutdown().await;
}

#[tokio::test]
async fn health_names_the_model_whose_actor_fails_and_the_others_go_on() {
    let limits = Limits { max_restarts: 0, ..Limits::default() };
    let mut three = Three::of([model_pair(), model_pair(), model_pair()], limits).await;
    let mut health = three.runtime.actors().health.clone();
    three.runtime.actors().llms[1].actor().kill();
    let broken = Health::Unhealthy { actor: "llm", model: Some(name("second")) };
    let unhealthy = health.wait_for(|health| *health == broken);
    let _ = tokio::time::timeout(PATIENCE, unhealthy).await.unwrap().unwrap();
    assert_eq!(three.runtime.health(), broken);
    let turn = three.session.send_with("hi", asking("second")).await.unwrap();
    assert_eq!(turn.ended().await.unwrap().error, Some(TurnError::model("EngineDied")));
    for (model, at) in [("default", 0), ("third", 2)] {
        let turn = three.session.send_with("hi", asking(model)).await.unwrap();
        three.next(at).await.say("Hello.");
        assert_eq!(turn.text().await.unwrap(), "Hello.");
    }
    three.shutdown().await;
}

#[tokio::test]
async fn an_actor_that_comes_back_is_that_of_its_own_model() {
    let mut three = Three::new().await;
    let llm = three.runtime.actors().llms[1].clone();
    let gone = llm.actor();
    gone.kill();
    llm.after(&gone).await;
    assert_eq!(three.runtime.health(), Health::Healthy);
    for (model, at) in [("second", 1), ("default", 0), ("third", 2)] {
        let turn = three.session.send_with("hi", asking(model)).await.unwrap();
        three.next(at).await.say("Hello.");
        assert_eq!(turn.text().await.unwrap(), "Hello.");
    }
    three.shutdown().await;
}
