//! What a call begins for, and who knows of it when.

use tokio_util::sync::CancellationToken;

use super::{DispatcherEvent, DispatcherMsg};
use crate::{
    mailbox::Reply,
    protocol::Effect,
    testing::{
        FakeTool,
        yard::{Yard, in_time, kind},
    },
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

/// Else a person could settle what the handler is about to do.
#[tokio::test]
async fn a_handler_is_known_to_run_before_the_ledger_says_so() {
    let yard = Yard::new([FakeTool::write("mail")]).await;
    let mut call = yard.not_begun("mail", "{}").await;
    let paused = yard.store.pause().await;
    let request = call.request.clone();
    let lost = DispatcherEvent::Lost { call: request.call.id, seq: request.seq };
    let reply = Reply::new(request.news.clone(), lost);
    let dispatch = DispatcherMsg::Dispatch { request: request.clone(), reply };
    drop(yard.tree.dispatcher.send(dispatch));
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
