//! What a call begins for, and who knows of it when.

use tokio_util::sync::CancellationToken;

use super::DispatcherEvent;
use crate::{
    dispatcher::{Dismissal, DispatchRequest},
    protocol::Effect,
    testing::{FakeTool, Gate},
    yard::{Yard, in_time, kind},
};

#[tokio::test]
async fn nothing_begins_for_a_caller_who_has_left() {
    for tool in [FakeTool::read("t"), FakeTool::write("t"), FakeTool::transactional("t")] {
        let runs = tool.runs();
        let yard = Yard::new([tool]).await;
        let leave = CancellationToken::new();
        leave.cancel();
        let mut call = yard.begin_with("t", "{}", |request| request.leave = leave).await;
        let left = call.next().await;
        assert!(matches!(left, DispatcherEvent::Left { .. }), "{left:?}");
        assert_eq!((runs.count(), yard.ledger().await), (0, Vec::new()));
    }
}

#[tokio::test]
async fn a_caller_who_leaves_ends_its_question_and_hears_no_result() {
    let gate = Gate::new();
    let tools = [FakeTool::destructive("mail"), FakeTool::write("post").gate(&gate)];
    let yard = Yard::new(tools).await;
    let leaves = CancellationToken::new();
    let of_caller = |request: &mut DispatchRequest| {
        request.dismissal = Dismissal::of_caller(leaves.clone());
    };
    let mut asked = yard.begin_with("mail", "{}", of_caller).await;
    asked.question().await;
    let mut running = yard.begin_with("post", "{}", of_caller).await;
    in_time(gate.arrived(1)).await;
    leaves.cancel();
    gate.open();
    assert_eq!(kind(&asked.end().await), "dismissed, None");
    assert_eq!(kind(&running.end().await), "discarded, Committed");
    yard.settled().await;
    let mut late = yard.begin_with("post", "{}", of_caller).await;
    assert_eq!(kind(&late.end().await), "withdrawn, None", "nothing begins any more");
}

/// Its user has not left: nobody is told so.
#[tokio::test]
async fn a_question_of_a_turn_that_is_given_up_is_withdrawn() {
    let yard = Yard::new([FakeTool::destructive("mail")]).await;
    let mut asked = yard.begin_with("mail", "{}", |_| {}).await;
    asked.question().await;
    asked.request.dismissal.give_up();
    assert_eq!(kind(&asked.end().await), "withdrawn, None");
}

/// Else a person could settle what the handler is about to do.
#[tokio::test]
async fn a_handler_is_known_to_run_before_the_ledger_says_so() {
    let yard = Yard::new([FakeTool::write("mail")]).await;
    let mut call = yard.not_begun("mail", "{}").await;
    let paused = yard.store.pause().await;
    yard.dispatch(&call);
    let request = call.request.clone();
    in_time(async {
        while !yard.tree.around.is_running(request.call.id) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(yard.ledger().await, []);
    drop(paused);
    let end = call.end().await;
    assert_eq!((kind(&end).as_str(), end.record.effect), ("ok, Committed", Effect::Committed));
    assert!(!yard.tree.around.is_running(request.call.id));
}
