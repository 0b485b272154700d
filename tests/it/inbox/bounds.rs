//! Inboxes cost a bounded amount, however slowly and by however many they are read.

use madang::{
    Error,
    error::{Bound, LimitExceeded, Scope},
};

use super::*;

#[tokio::test]
async fn a_reader_that_does_not_read_holds_nothing_up_and_then_reads_what_is_open() {
    let (test, _) = with_limits(|limits| limits.max_inbox_changes = 3).await;
    let mut idle = inbox_of(&test.runtime, &kim()).await;
    let mut reads = inbox_of(&test.runtime, &kim()).await;
    for number in 0..20 {
        let call = save(&test.runtime, kim(), &format!("row {number}")).await;
        let request = requested(&mut reads).await;
        decide(&test.runtime, &request, Decision::Approve).await.unwrap();
        ended(&mut reads, &request).await;
        call.ended().await;
    }
    let mut last = save(&test.runtime, kim(), "last").await;
    let request = open(&mut last).await;
    assert_eq!(snapshot(&mut idle).await, std::slice::from_ref(&request), "it fell behind");
    last.dismiss();
    assert_eq!(ended(&mut idle, &request).await, cancelled(CancelReason::Dismissed));
    last.ended().await;
    drop((idle, reads));
    test.shutdown().await;
}

#[tokio::test]
async fn no_more_inboxes_are_open_than_are_allowed_and_a_dropped_one_leaves_at_once() {
    let (test, _) = with_limits(|limits| {
        (limits.max_inboxes, limits.max_inboxes_per_user) = (3, 2);
    })
    .await;
    let users = ["kim", "kim", "lee"].map(|user| UserId::new(user).unwrap());
    let mut inboxes = Vec::new();
    for user in &users {
        inboxes.push(inbox_of(&test.runtime, user).await);
    }
    let refused = async |user: &str| {
        let user = UserId::new(user).unwrap();
        match test.runtime.user_with_id(&user).inbox().await {
            Err(Error::Overloaded(LimitExceeded { bound, scope, max, .. })) => (bound, scope, max),
            other => panic!("not refused: {other:?}"),
        }
    };
    assert_eq!(refused("kim").await, (Bound::Inboxes, Scope::User, 2));
    assert_eq!(refused("lee").await, (Bound::Inboxes, Scope::All, 3));
    let _ = inboxes.swap_remove(0);
    assert_eq!(test.runtime.held(Bound::Inboxes), 2);
    inboxes.push(inbox_of(&test.runtime, &kim()).await);
    drop(inboxes);
    assert_eq!(test.runtime.held(Bound::Inboxes), 0);
    test.shutdown().await;
}

#[tokio::test]
async fn a_thousand_users_are_watched_at_once_and_each_hears_of_its_own() {
    let (test, _) = with_limits(|_| {}).await;
    let users: Vec<_> = (0..1_000).map(|it| UserId::new(format!("user {it}")).unwrap()).collect();
    let mut inboxes = Vec::new();
    for user in &users {
        inboxes.push(inbox_of(&test.runtime, user).await);
    }
    let mut calls = Vec::new();
    for user in &users {
        calls.push(save(&test.runtime, user.clone(), "a").await);
    }
    for ((user, inbox), call) in users.iter().zip(&mut inboxes).zip(&calls) {
        let request = requested(inbox).await;
        assert_eq!((request.call, &request.user), (call.id(), user));
        decide(&test.runtime, &request, Decision::Deny).await.unwrap();
        assert_eq!(ended(inbox, &request).await, decided(Decision::Deny));
        call.ended().await;
    }
    drop((inboxes, calls));
    test.shutdown().await;
}
