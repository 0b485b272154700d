//! What is published and stored of a turn whose actor was lost in the middle of it.

use super::{by_hand, calling, lost::killed};
use crate::{
    port::{PartSize, Store},
    protocol::{Completion, EventKind, Usage},
    test_runtime::in_time,
    testing::{FakeTool, Probe},
};

#[tokio::test]
async fn the_end_of_a_turn_that_lost_its_actor_says_what_all_its_completions_have_cost() {
    let (runtime, mut script) = by_hand([FakeTool::read("look")]).await;
    let slot = runtime.slot("s").await;
    let mut probe = Probe::new(slot.feed().subscribe());
    let end = runtime.ask(&slot, "go").await.unwrap();
    let cost = Usage { prompt_tokens: 30, cached_tokens: 20, completion_tokens: 10 };
    script.next().await.finish(Completion { usage: cost, ..calling("", &["look"]) });
    let _completion = script.next().await;
    killed(&slot).await;
    script.next().await.say("Seen.");
    assert_eq!(in_time(end).await.unwrap().usage, cost);
    probe.until_turns_ended(1).await;
    let EventKind::TurnEnded { usage, .. } = probe.events().last().unwrap().kind else {
        panic!("{}", probe.lines())
    };
    let part = runtime.store.transcript(slot.session(), 1, PartSize::ALL).await.unwrap();
    let stored = part.entries.iter().find_map(|entry| entry.end.as_ref()).unwrap().1.usage;
    assert_eq!([usage, stored], [cost, cost]);
}
