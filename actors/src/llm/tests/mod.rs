//! The LlmActor with a model driven by hand: one end for each completion, a bounded fair queue,
//! deadlines.

mod threads;

use std::{sync::Arc, time::Duration};

use ractor::{Actor, ActorRef};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{LlmActor, LlmEvent, LlmMsg, ModelQueue, NamedModel, QueuedCompletion};
use crate::{
    mailbox::{Recipient, Reply},
    port::{ChatModel, Deltas, ModelError, UserWeights},
    protocol::{CompletionId, CompletionRequest, LanguageTag, Limits, SessionId, UserId},
    testing::model_pair,
};

struct Llm {
    model_queue: ModelQueue,
    actor: ActorRef<LlmMsg>,
    heard: UnboundedReceiver<LlmEvent>,
    news: Recipient<LlmEvent>,
}

impl Llm {
    async fn new(model: impl ChatModel, limits: Limits) -> Self {
        let model_queue = ModelQueue::new(
            NamedModel { name: None, model: Arc::new(model) },
            UserWeights::default(),
            Arc::new(limits),
        );
        let (actor, _) = LlmActor::spawn(None, LlmActor, model_queue.clone()).await.unwrap();
        let (sender, heard) = mpsc::unbounded_channel();
        Self { model_queue, actor, heard, news: Recipient::channel(sender) }
    }

    fn ask(&self, number: u128, user: &str) -> CancellationToken {
        let id = CompletionId::new(Uuid::from_u128(number));
        let cancel = CancellationToken::new();
        let request = CompletionRequest {
            id,
            session: SessionId::new(number.to_string()).unwrap(),
            user: UserId::new(user).unwrap(),
            system: None,
            instructions: None,
            messages: Default::default(),
            tools: Arc::new([]),
            language: LanguageTag::KO,
            max_tokens: 8,
        };
        let lost = LlmEvent::Ended {
            completion: id,
            result: Err(ModelError::failed(ModelError::ENGINE_DIED)),
            has_begun: false,
        };
        let reply = Reply::new(self.news.clone(), lost);
        self.model_queue.complete(QueuedCompletion {
            request: Box::new(request),
            since: Instant::now(),
            deltas: Deltas::ignored(),
            cancel: cancel.clone(),
            span: tracing::Span::none(),
            reply,
        });
        cancel
    }

    async fn ended(&mut self) -> (u128, String) {
        let LlmEvent::Ended { completion, result, .. } = self.heard.recv().await.unwrap();
        let how = match result {
            Ok(completion) => completion.text,
            Err(ModelError::Cancelled { .. }) => "cancelled".to_owned(),
            Err(error @ (ModelError::Failed { .. } | ModelError::Overloaded { .. })) => {
                error.kind().to_owned()
            }
        };
        (completion.uuid().as_u128(), how)
    }
}

fn ended(number: u128, how: &str) -> (u128, String) {
    (number, how.to_owned())
}

#[tokio::test(start_paused = true)]
async fn completions_beyond_what_the_model_serves_wait_and_users_take_turns() {
    let (model, mut script) = model_pair();
    let mut llm = Llm::new(model.max_concurrent(1), Limits::default()).await;
    for (number, user) in [(1, "kim"), (2, "kim"), (3, "kim"), (4, "lee")] {
        llm.ask(number, user);
    }
    for number in [1, 4, 2, 3] {
        script.next().await.say("ok");
        assert_eq!(llm.ended().await, ended(number, "ok"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_with_many_completions_leaves_slots_to_others() {
    for (slots, of_kim) in [(1, 1), (3, 3), (4, 3), (32, 24)] {
        let (model, mut script) = model_pair();
        let mut llm = Llm::new(model.max_concurrent(slots), Limits::default()).await;
        for number in 1..=40 {
            llm.ask(number, "kim");
        }
        let mut running = Vec::new();
        for _ in 0..of_kim {
            running.push(script.next().await);
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(script.try_next().is_none(), "{slots}: the rest waits");
        if of_kim < slots {
            llm.ask(41, "lee");
            script.next().await.say("ok");
            assert_eq!(llm.ended().await, ended(41, "ok"), "{slots}");
            assert!(script.try_next().is_none(), "{slots}: what is free stays free");
        }
        running.remove(0).say("ok");
        llm.ended().await;
        let _ = script.next().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_honestly_and_abandoned_requests_make_room() {
    let (model, mut script) = model_pair();
    let limits = Limits { max_waiting_completions: 1, ..Limits::default() };
    let mut llm = Llm::new(model.max_concurrent(1), limits).await;
    llm.ask(1, "kim");
    let running = script.next().await;
    let unwanted = llm.ask(2, "kim");
    llm.ask(3, "kim");
    assert_eq!(llm.ended().await, ended(3, "Overloaded"));
    unwanted.cancel();
    llm.ask(4, "kim");
    assert_eq!(llm.ended().await, ended(2, "cancelled"));
    running.say("ok");
    assert_eq!(llm.ended().await, ended(1, "ok"));
    script.next().await.say("ok");
    assert_eq!(llm.ended().await, ended(4, "ok"));
}

#[tokio::test(start_paused = true)]
async fn a_refused_caller_is_told_when_to_come_again() {
    let (model, mut script) = model_pair();
    let limits = Limits { max_waiting_completions: 1, ..Limits::default() };
    let mut llm = Llm::new(model.max_concurrent(1), limits).await;
    llm.ask(1, "kim");
    let first = script.next().await;
    tokio::time::advance(Duration::from_secs(6)).await;
    first.say("ok");
    assert_eq!(llm.ended().await, ended(1, "ok"));
    llm.ask(2, "kim");
    let running = script.next().await;
    for number in [3, 4, 5] {
        llm.ask(number, "kim");
    }
    let mut hints = Vec::new();
    for _ in 0..2 {
        let LlmEvent::Ended { result, .. } = llm.heard.recv().await.unwrap();
        let Err(ModelError::Overloaded { retry_after }) = result else { panic!("{result:?}") };
        hints.push(retry_after.map(|after| after.as_secs()));
    }
    assert_eq!(hints, [Some(6), Some(12)]);
    running.say("ok");
    assert_eq!(llm.ended().await, ended(2, "ok"));
}

#[tokio::test(start_paused = true)]
async fn a_first_token_that_does_not_come_is_a_timeout_and_one_that_came_is_none() {
    let (model, mut script) = model_pair();
    let limits = Limits {
        first_token_timeout: Duration::from_secs(5),
        completion_timeout: Duration::from_secs(60),
        ..Limits::default()
    };
    let mut llm = Llm::new(model.max_concurrent(2), limits).await;
    llm.ask(1, "kim");
    let speaks = script.next().await;
    speaks.delta("Well");
    llm.ask(2, "kim");
    let silent = script.next().await;
    llm.ask(3, "kim");
    let mut both = [llm.ended().await, llm.ended().await];
    both.sort();
    assert_eq!(both, [ended(2, "Timeout"), ended(3, "Timeout")], "running and waiting");
    assert!(silent.is_cancelled() && !speaks.is_cancelled());
    tokio::time::advance(Duration::from_secs(20)).await;
    speaks.say("Well, yes");
    assert_eq!(llm.ended().await, ended(1, "Well, yes"));
}

#[tokio::test(start_paused = true)]
async fn a_completion_past_its_deadline_is_a_timeout_running_or_waiting() {
    let (model, mut script) = model_pair();
    let limits = Limits { completion_timeout: Duration::from_secs(5), ..Limits::default() };
    let mut llm = Llm::new(model.max_concurrent(1), limits).await;
    llm.ask(1, "kim");
    let running = script.next().await;
    llm.ask(2, "kim");
    let mut both = [llm.ended().await, llm.ended().await];
    both.sort();
    assert_eq!(both, [ended(1, "Timeout"), ended(2, "Timeout")]);
    assert!(running.is_cancelled(), "the model is told");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_completion_ends_and_a_panicking_model_frees_its_slot() {
    let (model, mut script) = model_pair();
    let mut llm = Llm::new(model.max_concurrent(1), Limits::default()).await;
    let cancel = llm.ask(1, "kim");
    let running = script.next().await;
    cancel.cancel();
    running.cancelled().await;
    assert_eq!(llm.ended().await, ended(1, "cancelled"));
    llm.ask(2, "kim");
    script.next().await.panic("inside the model");
    assert_eq!(llm.ended().await, ended(2, ModelError::ENGINE_DIED));
    llm.ask(3, "kim");
    script.next().await.say("ok");
    assert_eq!(llm.ended().await, ended(3, "ok"));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_caller_hears_when_the_actor_is_killed() {
    let (model, mut script) = model_pair();
    let mut llm = Llm::new(model.max_concurrent(1), Limits::default()).await;
    llm.ask(1, "kim");
    let _running = script.next().await;
    llm.ask(2, "kim");
    llm.actor.kill();
    let mut both = [llm.ended().await, llm.ended().await];
    both.sort();
    assert_eq!(both, [ended(1, "EngineDied"), ended(2, "EngineDied")]);
}

#[tokio::test(start_paused = true)]
async fn the_next_actor_finds_the_queue_empty_and_until_then_no_caller_waits_in_vain() {
    let (model, mut script) = model_pair();
    let mut llm = Llm::new(model.max_concurrent(1), Limits::default()).await;
    llm.ask(1, "kim");
    let _running = script.next().await;
    llm.actor.kill();
    assert_eq!(llm.ended().await, ended(1, "EngineDied"));
    llm.ask(2, "kim");
    assert_eq!(llm.ended().await, ended(2, "EngineDied"), "no actor takes it");
    let gone = llm.actor;
    (llm.actor, _) = LlmActor::spawn(None, LlmActor, llm.model_queue.clone()).await.unwrap();
    llm.model_queue.close(&gone);
    llm.ask(3, "kim");
    script.next().await.say("ok");
    assert_eq!(llm.ended().await, ended(3, "ok"), "a dead actor closes nothing");
}

#[tokio::test(start_paused = true)]
async fn completions_that_end_with_their_actor_leave_their_user_the_whole_share() {
    let (model, mut script) = model_pair();
    let mut llm = Llm::new(model.max_concurrent(4), Limits::default()).await;
    for is_first in [true, false] {
        let numbers = if is_first { 1..=3 } else { 4..=6 };
        for number in numbers.clone() {
            llm.ask(number, "kim");
        }
        let mut running = Vec::new();
        for _ in numbers.clone() {
            running.push(script.next().await);
        }
        if is_first {
            llm.actor.kill();
            for _ in numbers {
                assert_eq!(llm.ended().await.1, "EngineDied");
            }
            (llm.actor, _) =
                LlmActor::spawn(None, LlmActor, llm.model_queue.clone()).await.unwrap();
        }
    }
}
