//! Promises about approvals, which a store itself enforces.

use serde_json::{Value, json};

use super::facts::{
    approved, approved_as, at, awaiting, began, call, chat, digest, ok, opened, proposed,
    proposed_by, proposed_in, refused, row, running, session, step, user, verified, write, written,
};
use madang_actors::{
    ledger::{CallState, Transition},
    port::{LedgerFilter, Store, Write},
    protocol::{Approval, StandingApproval},
};

/// Proposes a call of session `s` and asks about it until 600.
async fn asked(store: &dyn Store, number: u128, seq: u64) {
    written(store, &[step("s", number, 2, proposed(seq)), step("s", number, 3, awaiting(7))]).await;
}

fn always(byte: u8) -> Approval {
    Approval::Always { schema: digest(byte), until: at(550), uses: 3, resource: None }
}

/// Makes the first use of the standing approval that was given with this call.
fn standing(number: u128, byte: u8) -> Transition {
    approved_as(7, "kim", standing_use(number, byte, 1), None)
}

fn standing_use(number: u128, byte: u8, nth: u32) -> Approval {
    let by_call = call(number);
    let schema = digest(byte);
    Approval::Standing { by_call, schema, resource: None, number: nth }
}

fn revoke(name: &str, tool: Option<&str>, by: &str) -> Write {
    let session = session(name);
    let tool = tool.map(Into::into);
    let by = user(by);
    Write::Revoke { session, tool, by, at: at(50) }
}

async fn standing_approvals(store: &dyn Store, name: &str) -> Vec<StandingApproval> {
    let filter = LedgerFilter::standing_approvals().in_session(&session(name));
    let rows = store.calls(&filter).await.expect("the store can be read");
    rows.iter().map(|row| row.standing_approval().expect("only such rows were selected")).collect()
}

/// Lets kim give a standing approval with call 1 of session `s`, whose tool has schema 9.
async fn given(store: &dyn Store) {
    chat(store, "s").await;
    asked(store, 1, 1).await;
    written(store, &[step("s", 1, 4, approved_as(7, "kim", always(9), None))]).await;
}

/// A question is answered before it expires, to the millisecond.
pub async fn an_approval_comes_before_its_question_expires(store: &dyn Store) {
    chat(store, "s").await;
    asked(store, 1, 1).await;
    refused(store, &[step("s", 1, 600, approved(7, "kim"))]).await;
    refused(store, &[step("s", 1, i64::MAX, approved(7, "kim"))]).await;
    written(store, &[step("s", 1, 599, approved(7, "kim"))]).await;
    assert_eq!(row(store, 1).await.approved_at, Some(at(599)));
}

/// An approval that is not used in time expires.
pub async fn an_approval_is_used_before_it_expires(store: &dyn Store) {
    chat(store, "s").await;
    asked(store, 1, 1).await;
    written(store, &[step("s", 1, 4, approved(7, "kim"))]).await;
    refused(store, &[step("s", 1, 500, running(7))]).await;
    assert_eq!(row(store, 1).await.state, CallState::Approved);
    written(store, &[step("s", 1, 499, running(7))]).await;
}

/// An approval begins one handler, even if it is used again with the same time and content, in one
/// transaction or in two.
pub async fn an_approval_is_used_once(store: &dyn Store) {
    chat(store, "s").await;
    asked(store, 1, 1).await;
    written(store, &[step("s", 1, 4, approved(7, "kim"))]).await;
    refused(store, &[step("s", 1, 5, running(7)), step("s", 1, 5, running(7))]).await;
    written(store, &[step("s", 1, 5, running(7))]).await;
    refused(store, &[step("s", 1, 5, running(7))]).await;
    written(store, &[step("s", 1, 6, Transition::Ended(ok("done")))]).await;
    for again in [running(7), approved(7, "kim"), awaiting(7)] {
        refused(store, &[step("s", 1, 7, again)]).await;
    }
    assert_eq!(verified(store, "s").await.len(), 5);
}

/// One of two different approvals of a question is recorded.
pub async fn one_answer_to_a_question_is_recorded(store: &dyn Store) {
    chat(store, "s").await;
    asked(store, 1, 1).await;
    let edited = approved_as(8, "kim", Approval::Edited, Some(json!({ "id": "other" })));
    written(store, &[step("s", 1, 4, approved(7, "kim"))]).await;
    for late in [edited, approved_as(7, "kim", always(9), None)] {
        refused(store, &[step("s", 1, 4, late)]).await;
    }
    let found = row(store, 1).await;
    assert_eq!((found.approval, found.digest), (Some(Approval::Once), Some(digest(7))));
}

/// Arguments run only under the digest that was approved for them.
pub async fn only_approved_arguments_run(store: &dyn Store) {
    chat(store, "s").await;
    asked(store, 1, 1).await;
    written(store, &[step("s", 1, 4, approved(7, "kim"))]).await;
    let swapped =
        Transition::Running { arguments: json!({ "id": "swapped" }).into(), digest: digest(7) };
    refused(store, &[step("s", 1, 5, swapped)]).await;
    refused(store, &[step("s", 1, 5, running(8))]).await;
    assert_eq!(row(store, 1).await.arguments, json!({ "id": "수면" }).into());
}

/// Arguments that the user edits are approved under their own digest, and the arguments of the
/// question are kept too.
pub async fn an_edit_is_approved_under_its_own_digest_and_both_are_kept(store: &dyn Store) {
    chat(store, "s").await;
    asked(store, 1, 1).await;
    let typed = json!({ "id": "운동" });
    let edited = |arguments: Option<Value>| approved_as(8, "kim", Approval::Edited, arguments);
    refused(store, &[step("s", 1, 4, edited(None))]).await;
    refused(store, &[step("s", 1, 4, approved_as(7, "kim", Approval::Once, Some(typed.clone())))])
        .await;
    refused(store, &[step("s", 1, 600, edited(Some(typed.clone())))]).await;
    written(store, &[step("s", 1, 4, edited(Some(typed.clone())))]).await;
    refused(store, &[step("s", 1, 5, running(7))]).await;
    refused(store, &[step("s", 1, 5, running(8))]).await;
    let typed_runs = Transition::Running { arguments: typed.clone().into(), digest: digest(8) };
    written(store, &[step("s", 1, 5, typed_runs)]).await;
    written(store, &[step("s", 1, 6, Transition::Ended(ok("done")))]).await;

    let found = row(store, 1).await;
    assert_eq!(
        (&found.arguments, &found.asked),
        (&typed.into(), &Some(json!({ "id": "수면" }).into()))
    );
    assert_eq!((found.digest, found.approval), (Some(digest(8)), Some(Approval::Edited)));
    assert_eq!(found.record(), {
        let messages = super::facts::stored(store, "s").await.messages;
        let madang_actors::protocol::Content::ToolCall(record) = messages[0].content.clone() else {
            panic!("one call in the transcript: {messages:?}");
        };
        Some(*record)
    });
}

/// A standing approval counts until it is revoked, and each call that uses it records its own
/// approval.
pub async fn a_standing_approval_covers_later_calls_of_its_tool(store: &dyn Store) {
    given(store).await;
    let expected = StandingApproval {
        session: session("s"),
        tool: "add_habit".into(),
        schema: digest(9),
        user: user("kim"),
        call: call(1),
        at: at(4),
        resource: None,
        until: at(550),
        uses: 3,
    };
    assert_eq!(standing_approvals(store, "s").await, [expected]);
    asked(store, 2, 2).await;
    written(store, &[step("s", 2, 5, standing(1, 9)), step("s", 2, 6, running(7))]).await;
    let found = row(store, 2).await;
    assert_eq!((found.decided_by, found.approved_at), (Some(user("kim")), Some(at(5))));
    assert_eq!(found.approval, Some(standing_use(1, 9, 1)));
    assert_eq!(standing_approvals(store, "s").await.len(), 1, "what rests on it is none itself");

    // Given and used in one transaction, before anything is committed.
    written(
        store,
        &[
            step("s", 3, 7, proposed(3)),
            step("s", 3, 7, awaiting(7)),
            step("s", 3, 7, approved_as(7, "kim", always(8), None)),
            step("s", 4, 8, proposed(4)),
            step("s", 4, 8, awaiting(7)),
            step("s", 4, 8, standing(3, 8)),
            step("s", 4, 8, running(7)),
        ],
    )
    .await;
}

/// A standing approval covers no other tool, schema, user or session. An approval of one call
/// covers no other call.
pub async fn a_standing_approval_covers_nothing_else(store: &dyn Store) {
    given(store).await;
    asked(store, 2, 2).await;
    written(store, &[step("s", 2, 4, approved(7, "kim"))]).await;

    asked(store, 3, 3).await;
    for foreign in [standing(1, 8), standing(2, 9), standing(3, 9), standing(77, 9)] {
        refused(store, &[step("s", 3, 5, foreign)]).await;
    }
    let other_digest = approved_as(6, "kim", standing_use(1, 9, 1), None);
    refused(store, &[step("s", 3, 5, other_digest)]).await;
    refused(store, &[step("s", 3, 600, standing(1, 9))]).await;

    let of_another_tool = proposed_by("kim", "delete_habit", 4);
    written(store, &[step("s", 4, 5, of_another_tool), step("s", 4, 5, awaiting(7))]).await;
    refused(store, &[step("s", 4, 6, standing(1, 9))]).await;

    let of_another_user = proposed_by("lee", "add_habit", 5);
    written(store, &[step("s", 5, 5, of_another_user), step("s", 5, 5, awaiting(7))]).await;
    refused(store, &[step("s", 5, 6, standing(1, 9))]).await;

    written(store, &[opened("t", "kim"), began("t", 2), step("t", 6, 5, proposed_in(2, 1))]).await;
    written(store, &[step("t", 6, 5, awaiting(7))]).await;
    refused(store, &[step("t", 6, 6, standing(1, 9))]).await;
    assert_eq!(standing_approvals(store, "t").await, []);
}

/// A revoked standing approval covers nothing and stays revoked. The chain records the revocation
/// with user and time.
pub async fn a_revoked_approval_covers_nothing_more(store: &dyn Store) {
    given(store).await;
    asked(store, 2, 2).await;
    written(store, &[step("s", 2, 4, approved_as(7, "kim", always(9), None))]).await;
    let other = proposed_by("kim", "delete_habit", 3);
    written(store, &[step("s", 3, 4, other), step("s", 3, 4, awaiting(7))]).await;
    written(store, &[step("s", 3, 4, approved_as(7, "kim", always(9), None))]).await;
    assert_eq!(standing_approvals(store, "s").await.len(), 3);

    refused(store, &[revoke("s", None, "lee")]).await;
    written(store, &[revoke("t", None, "kim")]).await;
    assert_eq!(standing_approvals(store, "s").await.len(), 3);
    written(store, &[revoke("s", Some("add_habit"), "kim")]).await;
    let left: Vec<_> =
        standing_approvals(store, "s").await.into_iter().map(|approval| approval.tool).collect();
    assert_eq!(left, ["delete_habit".into()]);
    written(store, &[revoke("s", None, "kim"), revoke("s", None, "kim")]).await;
    assert_eq!(standing_approvals(store, "s").await, []);
    assert_eq!(row(store, 1).await.state, CallState::Approved, "the call itself stays where it is");

    asked(store, 4, 4).await;
    refused(store, &[step("s", 4, 60, standing(1, 9))]).await;
    refused(store, &[step("s", 4, 60, Transition::Revoked { by: user("kim") })]).await;
    let again = [step("s", 1, 60, Transition::Revoked { by: user("kim") })];
    written(store, &again).await; // its last step, once more
    written(store, &[step("s", 1, 61, running(7))]).await;
    refused(store, &again).await;
    assert_eq!(row(store, 1).await.revoked_at, Some(at(50)));

    let links = verified(store, "s").await;
    let revoked = |link: &&madang_actors::ledger::Link| {
        link.transition == Transition::Revoked { by: user("kim") } && link.at == at(50)
    };
    assert_eq!(links.iter().filter(revoked).count(), 3);
}

/// A revocation and a use at the same moment take effect one after the other.
pub async fn a_use_and_a_revocation_come_one_after_the_other(store: &dyn Store) {
    given(store).await;
    asked(store, 2, 2).await;
    let used = [step("s", 2, 5, standing(1, 9)), step("s", 2, 5, running(7))];
    refused(store, &[[revoke("s", None, "kim")].as_slice(), &used].concat()).await;
    written(store, &[used.as_slice(), &[revoke("s", None, "kim")]].concat()).await;
    assert_eq!(row(store, 2).await.state, CallState::Running);
    asked(store, 3, 3).await;
    write(store, &[step("s", 3, 6, standing(1, 9))]).await.expect_err("revoked by now");
}
