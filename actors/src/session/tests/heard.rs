//! What each reader and each person received is what is stored, whatever happens at the same time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::oneshot, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::scene::{Scene, Step, Steps, seeds};
use crate::{
    ledger::CallState,
    port::{LedgerRow, PartSize, Store, StoredSession},
    protocol::{
        ApprovalEnd, CallId, CallRecord, CancelReason, ChatMessage, Content, Decision,
        DecisionError, Effect, EventCursor, EventKind, Languages, SessionEvent, ToolOutcome,
        TurnEnding, TurnId,
    },
    session::{
        Error, SessionRequest, SessionSlot, StreamItem, Subscription, ViewPage,
        events::replay::kinds_of_end,
    },
    test_runtime::in_time,
};

/// People ask, leave and wait, and this happens too.
fn with(more: &Steps) -> Vec<Step> {
    let people = [Step::Ask, Step::Ask, Step::Ask, Step::Ask, Step::Dismiss, Step::Wait];
    [&people, more].concat()
}

/// What one reader of a session heard.
type Heard = Arc<Mutex<Vec<Arc<SessionEvent>>>>;

/// Reads all that comes, and the rest without a wait once nothing more will happen.
async fn read(mut reads: Subscription, heard: Heard, at_rest: CancellationToken) {
    loop {
        let item = tokio::select! {
            biased;
            item = reads.next() => item,
            // An event is there a moment before its waiters are woken, and the store has the missed
            // events.
            () = at_rest.cancelled() => match reads.try_next() {
                None if reads.behind.is_some() => reads.next().await,
                there => there,
            },
        };
        let Some(item) = item else { return };
        if let StreamItem::Event(event) = item {
            heard.lock().unwrap().push(event);
        }
    }
}

/// Reads all as a reader that goes now and then, and comes back behind what it has read.
async fn come_and_go(
    scene: Arc<Scene>,
    slot: Arc<SessionSlot>,
    heard: Heard,
    at_rest: CancellationToken,
) {
    let calls = &scene.runtime.handles.calls;
    let mut cursor = EventCursor::START;
    while !at_rest.is_cancelled() {
        scene.wake(&slot).await;
        let mut reads = slot.subscribe_after(cursor, calls);
        for _ in 0..scene.dice.below(8) + 1 {
            let item = tokio::select! {
                biased;
                item = reads.next() => item,
                () = sleep(Duration::from_millis(1)) => break,
            };
            if let Some(StreamItem::Event(event)) = item {
                cursor = event.cursor;
                heard.lock().unwrap().push(event);
            }
        }
        drop(reads);
        sleep(Duration::from_micros(scene.dice.below(3_000))).await;
    }
    scene.wake(&slot).await;
    read(slot.subscribe_after(cursor, calls), heard, at_rest).await;
}

impl Scene {
    /// Waits until the session is awake and has handled all that was sent to it.
    async fn wake(&self, slot: &Arc<SessionSlot>) {
        loop {
            let (reply, state) = oneshot::channel();
            self.runtime.send(slot, SessionRequest::State { page: ViewPage::ALL, reply });
            // It was lost with its actor; the next one answers.
            if let Ok(Ok(_)) = in_time(state).await {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until nothing happens any more.
    async fn rest(&self) {
        while self.runtime.handles.store.write(Vec::new()).await.is_err() {
            tokio::task::yield_now().await; // a fault that has not yet struck
        }
        loop {
            self.runtime.context.tasks.close();
            self.runtime.context.tasks.wait().await;
            let mut is_at_rest = true;
            for slot in &self.slots {
                self.wake(slot).await;
                is_at_rest &= self.stored(slot).await.open_turn.is_none();
            }
            if is_at_rest && self.runtime.context.tasks.is_empty() {
                break;
            }
        }
        // What was committed is told a moment later, without a further message that wakes the
        // session.
        for slot in &self.slots {
            while slot.feed().published_up_to() < self.last(slot).await {
                tokio::task::yield_now().await;
            }
        }
    }

    /// The last cursor of the story that is stored.
    async fn last(&self, slot: &SessionSlot) -> Option<EventCursor> {
        let story = self.runtime.store.transcript(slot.session(), 0, PartSize::ALL).await.unwrap();
        let last = story.entries.last()?;
        let cursor = EventCursor::of_entry(last.message.seq);
        Some(if last.end.is_some() { cursor.end() } else { cursor })
    }

    async fn stored(&self, slot: &SessionSlot) -> StoredSession {
        self.runtime.store.session(slot.session()).await.unwrap().unwrap()
    }

    /// What one reader of a session heard is what is stored: each entry and each end once and in
    /// order, as it stands.
    async fn compare_heard(
        &self,
        slot: &Arc<SessionSlot>,
        heard: &[Arc<SessionEvent>],
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        if !heard.is_sorted_by_key(|event| event.cursor) {
            let cursors: Vec<_> = heard.iter().map(|event| event.cursor.to_string()).collect();
            wrong.push(format!("not in order: {cursors:?}"));
        }
        let stored = self.stored(slot).await;
        for message in &stored.messages {
            let cursor = EventCursor::of_entry(message.seq);
            let entries: Vec<_> = heard
                .iter()
                .filter(|event| event.cursor == cursor && tells(&event.kind, &message.content))
                .collect();
            if entries.len() != 1 {
                let content = &message.content;
                wrong.push(format!("told {} times: {} {content:?}", entries.len(), message.seq));
            }
            for event in entries {
                wrong.extend(differs(event, message));
            }
        }
        let part = self.runtime.store.transcript(slot.session(), 0, PartSize::ALL).await.unwrap();
        for entry in &part.entries {
            let Some((at, end)) = &entry.end else { continue };
            let cursor = EventCursor::of_entry(entry.message.seq);
            let told =
                heard.iter().filter(|event| event.cursor > cursor && event.cursor <= cursor.end());
            let told: Vec<_> =
                told.map(|event| (event.cursor, event.turn, event.at, &event.kind)).collect();
            let (failed, ended) = kinds_of_end(
                end.ending,
                end.error.as_ref(),
                end.usage,
                Languages::default().locale(entry.language),
            );
            let turn = entry.message.turn;
            let failed = failed.as_ref().map(|kind| (cursor.error(), turn, *at, kind));
            let stored: Vec<_> =
                failed.into_iter().chain([(cursor.end(), turn, *at, &ended)]).collect();
            let told: Vec<_> = told
                .into_iter()
                .filter(|(.., kind)| {
                    matches!(kind, EventKind::Error { .. } | EventKind::TurnEnded { .. })
                })
                .collect();
            if told != stored {
                wrong.push(format!("told {told:?}\nstored {stored:?}"));
            }
        }
        let ends = ends(heard);
        let of = |message: &ChatMessage| message.turn;
        for turn in stored.messages.iter().map(of).collect::<BTreeSet<_>>() {
            match ends.get(&turn).map(Vec::as_slice) {
                Some([_]) => {}
                other => wrong.push(format!("the ends of turn {turn}: {other:?}")),
            }
        }
        let known: BTreeSet<_> = stored.messages.iter().map(of).collect();
        for turn in ends.keys().filter(|turn| !known.contains(turn)) {
            wrong.push(format!("the end of turn {turn} was told, of which nothing is stored"));
        }
        wrong
    }

    /// Compares each yes or no that a caller was told with the store.
    fn compare_told(&self, rows: &[LedgerRow], messages: &[ChatMessage]) -> Vec<String> {
        let told = self.told.lock().unwrap();
        let mut wrong = Vec::new();
        for (text, began) in &told.asks {
            let is_it = |message: &&ChatMessage| matches!(&message.content, Content::User { text: said, .. } if **said == **text);
            let times = messages.iter().filter(is_it).count();
            let is_so = match began {
                Ok(()) => times == 1,
                Err(Error::Closed) => times <= 1,
                Err(Error::Store(cause)) if cause.may_have_happened() => times <= 1,
                Err(_) => times == 0,
            };
            if !is_so {
                wrong.push(format!("{text:?} was told {began:?}, and is there {times} times"));
            }
        }
        let mut answers: BTreeMap<CallId, Vec<_>> = BTreeMap::new();
        for (call, decision, told) in &told.answers {
            answers.entry(*call).or_default().push((decision, told));
        }
        for (call, answers) in answers {
            let row = rows.iter().find(|row| row.call == call);
            let counted = row.and_then(counts);
            let yes = |told: &Result<(), DecisionError>| told.is_ok();
            let may = |told: &Result<(), DecisionError>| {
                matches!(told, Ok(()) | Err(DecisionError::NotKnown))
            };
            let is_so = match &counted {
                Some(counted) => answers.iter().any(|(it, told)| *it == counted && may(told)),
                None => true,
            } && answers
                .iter()
                .filter(|(_, told)| yes(told))
                .all(|(it, _)| Some(*it) == counted.as_ref());
            if !is_so {
                wrong.push(format!("answers {answers:?}, in the ledger {counted:?}"));
            }
        }
        wrong
    }
}

fn tells(kind: &EventKind, content: &Content) -> bool {
    matches!(
        (kind, content),
        (EventKind::UserMessage { .. }, Content::User { .. })
            | (EventKind::ModelMessage { .. }, Content::Model { .. })
            | (EventKind::ToolCallEnded { .. }, Content::ToolCall(_))
            | (EventKind::SystemNotice { .. }, Content::Notice { .. })
            | (EventKind::Cleared, Content::Cleared)
    )
}

/// Where an entry was told otherwise than it is stored.
fn differs(event: &SessionEvent, message: &ChatMessage) -> Option<String> {
    let is_same = (event.turn, event.at) == (message.turn, message.at)
        && match (&event.kind, &message.content) {
            (
                EventKind::UserMessage { text: told, key: told_key, origin: from },
                Content::User { text, key, origin },
            ) => (told, told_key, from) == (text, key, origin),
            (
                EventKind::ModelMessage { text: told, ending: how, model: by, origin: from },
                Content::Model { text, ending, model, origin },
            ) => (told, how, by, from) == (text, ending, model, origin),
            (EventKind::ToolCallEnded { record: told }, Content::ToolCall(record)) => {
                same(told, record)
            }
            _ => true,
        };
    (!is_same).then(|| format!("told {event:?}\nstored {message:?}"))
}

/// A call that was resolved since was told so later.
fn same(told: &CallRecord, stored: &CallRecord) -> bool {
    if told.resolved_by.is_some() || stored.resolved_by.is_none() {
        return told == stored;
    }
    let effect = told.effect;
    let resolved_by = None;
    effect == Effect::Unknown && *told == CallRecord { effect, resolved_by, ..stored.clone() }
}

fn ends(heard: &[Arc<SessionEvent>]) -> BTreeMap<TurnId, Vec<TurnEnding>> {
    let mut ends: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in heard {
        if let EventKind::TurnEnded { ending, .. } = &event.kind {
            ends.entry(event.turn).or_default().push(*ending);
        }
    }
    ends
}

/// Gives the answer that the ledger has.
fn counts(row: &LedgerRow) -> Option<Decision> {
    let is_denied = matches!(&row.outcome, Some(ToolOutcome::Cancelled(cancelled)) if cancelled.reason == CancelReason::Denied);
    match (row.approval.is_some(), is_denied) {
        (true, _) => Some(Decision::Approve),
        (false, true) => Some(Decision::Deny),
        (false, false) => None,
    }
}

/// What was told of a question's end stands in the ledger.
fn compare_questions(rows: &[LedgerRow], heard: &[Arc<SessionEvent>]) -> Vec<String> {
    let mut wrong = Vec::new();
    for event in heard {
        let EventKind::ApprovalEnded { call, end: ApprovalEnd::Decided { decision } } = &event.kind
        else {
            continue;
        };
        let row = rows.iter().find(|row| row.call == *call);
        if row.and_then(counts).as_ref() != Some(decision) {
            wrong.push(format!("told {decision:?}, in the ledger {row:?}"));
        }
    }
    wrong
}

async fn run(seed: u64, steps: &Steps) -> (usize, Vec<String>) {
    let scene = Arc::new(Scene::new(seed).await);
    let people = TaskTracker::new();
    let at_rest = CancellationToken::new();
    let mut readers = Vec::new();
    for slot in &scene.slots {
        let stays = Heard::default();
        let goes = Heard::default();
        let reads = slot.subscribe(&scene.runtime.handles.calls);
        people.spawn(read(reads, stays.clone(), at_rest.clone()));
        people.spawn(come_and_go(scene.clone(), slot.clone(), goes.clone(), at_rest.clone()));
        readers.push((slot.clone(), stays, goes));
    }
    let asking = TaskTracker::new();
    let answering = TaskTracker::new();
    scene.answers(&answering);
    for number in 0..40 {
        scene.step(steps, number, &asking).await;
    }
    asking.close();
    in_time(asking.wait()).await;
    in_time(scene.rest()).await;
    at_rest.cancel();
    people.close();
    in_time(people.wait()).await;
    scene.slots.iter().for_each(|slot| slot.feed().close_subscriptions());
    answering.close();
    in_time(answering.wait()).await;

    let rows = scene.runtime.ledger().await;
    assert!(rows.iter().all(|row| row.state == CallState::Ended), "seed {seed}: {rows:?}");
    let mut turns = 0;
    let mut wrong = Vec::new();
    let mut messages = Vec::new();
    for (slot, stays, goes) in readers {
        let heard = std::mem::take(&mut *stays.lock().unwrap());
        turns += ends(&heard).len();
        wrong.extend(scene.compare_heard(&slot, &heard).await);
        wrong.extend(compare_questions(&rows, &heard));
        let heard = std::mem::take(&mut *goes.lock().unwrap());
        let again = scene.compare_heard(&slot, &heard).await;
        wrong.extend(again.into_iter().map(|wrong| format!("come back: {wrong}")));
        messages.extend(scene.stored(&slot).await.messages);
    }
    wrong.extend(scene.compare_told(&rows, &messages));
    (turns, wrong.into_iter().map(|wrong| format!("seed {seed}: {wrong}")).collect())
}

async fn run_all(steps: &Steps) {
    let mut wrong = Vec::new();
    let mut turns = 0;
    let seeds = seeds();
    for seed in seeds.clone() {
        let (more, bad) = run(seed, steps).await;
        turns += more;
        wrong.extend(bad);
    }
    // Otherwise these worlds were too tame to prove anything.
    assert!(turns as u64 > 4 * (seeds.end - seeds.start), "{turns} turns");
    assert!(wrong.is_empty(), "{} wrong in {turns} turns\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_told_is_what_is_stored_where_nothing_fails() {
    run_all(&with(&[])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_it_differ_where_those_die_whom_the_sessions_ask() {
    run_all(&with(&[Step::KillConfirm, Step::KillDispatcher, Step::KillStoreActor])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_where_sessions_die() {
    run_all(&with(&[Step::KillSession, Step::KillSession])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_where_the_stores_replies_are_lost() {
    run_all(&with(&[Step::LoseReply])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_where_the_store_fails() {
    run_all(&with(&[Step::FailBegin])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_where_all_of_this_happens() {
    let dies = [Step::KillSession, Step::KillConfirm, Step::KillDispatcher, Step::KillStoreActor];
    let fails = [Step::FailBegin, Step::LoseReply];
    run_all(&with(&[&dies[..], &fails].concat())).await;
}
