//! A person in one session: asks, submits again, resolves effects, and comes back. `reading`,
//! `answering` and `leaving` have the other acts.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use madang::{
    Clock as _, Error, IdempotencyKey, OnDismiss, Session, Timestamp, Turn, TurnId, TurnOptions,
    event::{EventCursor, EventKind, StreamItem, Subscription},
    ledger::EffectResolution,
};
use madang_testing::SessionHooks as _;
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    life::Life,
    plan::Act,
    point::Point,
    visits::{Answers, Before, Mishap, Visit},
};
use crate::{
    audit::Counter,
    mistakes::Mistake,
    oracle::{Asked, Began, Line, token_of},
};

/// The time after which a person tries again.
pub(super) const AGAIN: Duration = Duration::from_millis(20);

/// A time that no turn takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A person, and the session of one number.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) life: Arc<Life>,
    pub(super) number: usize,
    pub(super) session: Session,
    /// The person's answers to questions.
    pub(super) answers: Arc<Mutex<Answers>>,
}

impl Person {
    /// Opens the session, with as many attempts as that takes. `None` if the runtime is closed.
    pub(super) async fn open(life: &Arc<Life>, number: usize) -> Option<Self> {
        loop {
            let failed = match life.session(number).await {
                Ok(session) => {
                    let life = life.clone();
                    let answers = Arc::default();
                    return Some(Self { life, number, session, answers });
                }
                Err(Error::Closed) => return None,
                Err(failed) => failed,
            };
            if let Error::Foreign(session) = failed {
                life.finds(Counter::Lost, format!("session {session} is another's"));
                return None;
            }
            sleep(AGAIN).await;
        }
    }

    /// Makes all visits of a life, each under a permit, and stays until the last turn has ended.
    pub(super) async fn live(self, visits: Vec<Visit>, permits: &Semaphore) {
        let acts = async |tasks: &TaskTracker| {
            if let Ok(state) = self.session.state().await
                && let Some(request) = state.approval_request
            {
                tasks.spawn(self.clone().answer(request));
            }
            self.comes_back().await;
            for visit in visits {
                let _permit = permits.acquire().await.expect("no code closes it");
                if timeout(PATIENCE, self.visit(&visit)).await.is_err() {
                    let what = format!("the turn of {:?} has no end", visit.text);
                    self.life.finds(Counter::Stuck, what);
                }
            }
            self.rest().await;
        };
        self.reads_while(acts).await;
    }

    /// Reads events while the person acts, and until each answer is given.
    pub(super) async fn reads_while(&self, acts: impl AsyncFnOnce(&TaskTracker)) {
        let over = CancellationToken::new();
        let tasks = TaskTracker::new();
        // A person that is dropped reads no more.
        let _gone = over.clone().drop_guard();
        tasks.spawn(self.clone().read(over.clone(), tasks.clone()));
        acts(&tasks).await;
        over.cancel();
        tasks.close();
        tasks.wait().await;
    }

    /// Waits until no turn runs.
    pub(super) async fn rest(&self) {
        loop {
            match self.session.turn().await {
                // A session that does not wake is left as it is: the audit finds what is open.
                Ok(None) | Err(Error::Closed | Error::Store(_)) => return,
                Ok(Some(turn)) => {
                    let id = turn.id();
                    if let Ok(end) = turn.ended().await {
                        let session = self.number;
                        let ending = end.ending;
                        self.note(Line::Ended { session, turn: id, ending });
                    }
                }
                Err(_) => {}
            }
            sleep(AGAIN).await;
        }
    }

    /// Answers open questions, waits until no turn runs, and reads events until no more come.
    pub(super) async fn read_to_the_end(&self) {
        let acts = async |_: &TaskTracker| {
            self.rest().await;
            loop {
                self.life.scene.fate.listens().await;
                let Ok(state) = self.session.state().await else { continue };
                let last = state.messages.last().map(|last| EventCursor::of_entry(last.seq));
                if last <= self.life.scene.witness.oracle().read_to.get(&self.number).copied() {
                    break;
                }
            }
        };
        self.reads_while(acts).await;
    }

    pub(super) fn note(&self, line: Line) {
        self.life.scene.witness.note(line);
    }

    fn options(&self, asked: &Asked) -> TurnOptions {
        let key = || IdempotencyKey::new(asked.text.lines().next().unwrap_or("key")).ok();
        TurnOptions {
            on_dismiss: asked.on_dismiss,
            time_zone: Some("UTC".into()),
            key: asked.is_keyed.then(key).flatten(),
            ..TurnOptions::default()
        }
    }

    async fn visit(&self, visit: &Visit) {
        let fate = &self.life.scene.fate;
        fate.waits(visit.pause).await;
        match visit.before {
            Before::Nothing => {}
            #[cfg(feature = "failpoints")]
            Before::Imports => {
                let session = self.number;
                self.note(Line::Imports { session });
                let told = Began::from(self.session.import(super::history(session)).await);
                fate.note(format_args!("{session} imports: {told:?}"));
                self.note(Line::Imported { session, began: told });
            }
            Before::Clears => {
                let asked = fate.now();
                let cleared = self.session.clear().await;
                let is_busy = matches!(cleared, Err(Error::Busy));
                fate.note(format_args!("{} clears: {} {is_busy}", self.number, cleared.is_ok()));
                self.revoked(asked, cleared.is_ok());
            }
            Before::Revokes => {
                let asked = fate.now();
                let revoked = self.session.revoke("erase").await;
                fate.note(format_args!("{} revokes: {}", self.number, revoked.is_ok()));
                self.revoked(asked, revoked.is_ok());
            }
            Before::Resolves => self.resolves().await,
        }
        *self.answers.lock().expect("no code under this lock panics") = visit.answers;
        let asked = Asked {
            session: self.number,
            text: visit.text.clone(),
            at: fate.now(),
            on_dismiss: visit.on_dismiss,
            is_keyed: visit.is_repeated || visit.insists,
            began: None,
        };
        let text = asked.text.clone();
        let mut options = self.options(&asked);
        fate.note(format_args!("{} asks {text:?}", self.number));
        let index = self.life.scene.witness.asks(asked);
        let events = visit.mishap.map(|_| self.session.subscribe());
        let asked = self.session.send_with(text.clone(), options.clone()).await;
        fate.pass(Point::TurnBegan, format_args!("{} is told of its turn", self.number));
        let began = Began::of(&asked);
        fate.note(format_args!("{} is told {began:?}", self.number));
        self.note(Line::Asked { index, began });
        if visit.is_repeated {
            let _ = self.again(index).await;
        }
        let Some(turn) = self.insisted(asked.ok(), visit, index).await else { return };
        let id = turn.id();
        if let (Some((after, mishap)), Some(events)) = (visit.mishap, events) {
            self.meets(mishap, after, id, events).await;
        }
        if let Some(patience) = visit.leaves_after {
            fate.waits(patience).await;
            self.dismiss((visit.on_dismiss == OnDismiss::Stop).then_some(id)).await;
        }
        if visit.leaves_handler {
            self.leaves_handler(id).await;
        }
        let mut turn = Some(turn);
        while let Some(runs) = turn {
            if let Ok(end) = runs.ended().await {
                fate.note(format_args!("{} hears the end {:?}", self.number, end.ending));
                let session = self.number;
                let ending = end.ending;
                self.note(Line::Ended { session, turn: id, ending });
                break;
            }
            turn = self.insisted(None, visit, index).await;
        }
        if self.life.makes(Mistake::FrontEndSubmitsTwice) {
            options.key = None;
            let _ = self.session.send_with(text, options).await;
        }
    }

    /// Submits the text again until a turn began, if the visit insists.
    async fn insisted(&self, mut turn: Option<Turn>, visit: &Visit, index: usize) -> Option<Turn> {
        while turn.is_none() && visit.insists {
            sleep(AGAIN).await;
            turn = self.again(index).await;
        }
        turn
    }

    /// Lets the mishap happen after this many events of the turn; not at all if the turn ends
    /// before.
    async fn meets(&self, mishap: Mishap, after: u64, turn: TurnId, mut events: Subscription) {
        let mut heard = 0;
        while heard < after {
            match events.next().await {
                Some(StreamItem::Event(event)) if event.turn == turn => {
                    if matches!(event.kind, EventKind::TurnEnded { .. }) {
                        return;
                    }
                    heard += 1;
                }
                Some(_) => {}
                None => return,
            }
        }
        match mishap {
            Mishap::Leaves => self.dismiss(Some(turn)).await,
            Mishap::ActorDies => self.session.kill(),
        }
    }

    /// Submits again the last text under a key of an earlier life: it begins nothing twice.
    async fn comes_back(&self) {
        let index = self.life.scene.witness.oracle().keyed.get(&self.number).copied();
        if let Some(index) = index {
            let _ = self.again(index).await;
            self.rest().await;
        }
    }

    /// Submits the same again under the same key: it is the same turn.
    async fn again(&self, index: usize) -> Option<Turn> {
        let asked = self.life.scene.witness.oracle().asks[index].clone();
        let first = asked.began.unwrap_or(Began::Perhaps);
        if first == Began::No {
            // From here on this submit may begin it, even if the process dies before the answer.
            self.note(Line::Asked { index, began: Began::Perhaps });
        }
        let sent = self.session.send_with(&*asked.text, self.options(&asked)).await;
        let again = Began::of(&sent);
        self.life.scene.fate.note(format_args!("{} asks again: {again:?}", self.number));
        let began = match (first, again) {
            (Began::Yes(first), Began::Yes(again)) if first != again => {
                let what = format!("turn {first} began again as {again}");
                self.life.finds(Counter::Doubled, what);
                Began::Yes(first)
            }
            (Began::Yes(turn), _) | (_, Began::Yes(turn)) => Began::Yes(turn),
            (Began::Perhaps, _) | (_, Began::Perhaps) => Began::Perhaps,
            (Began::No, Began::No) => Began::No,
        };
        self.note(Line::Asked { index, began });
        sent.ok()
    }

    /// Records that no standing approval of the session that was given before the request covers
    /// any later call.
    fn revoked(&self, asked: Timestamp, is_so: bool) {
        if is_so {
            let session = self.number;
            let at = self.life.scene.fate.now();
            self.note(Line::Revoked { session, asked, at });
        }
    }

    /// Resolves letters with an unknown effect by whether they were sent. Sometimes says the
    /// contrary as well, which must not count. Skips a call whose handler still runs.
    async fn resolves(&self) {
        let fate = &self.life.scene.fate;
        for row in self.session.unresolved().await.unwrap_or_default() {
            let call = row.call;
            let token = token_of(&row.arguments).unwrap_or_default();
            let resolution = {
                let oracle = self.life.scene.witness.oracle();
                let begun = oracle.begun.get(&call).into_iter().flatten();
                let sent = oracle.letters.get(&token).is_some_and(|calls| calls.contains(&call));
                if sent {
                    EffectResolution::TookEffect
                } else if begun.into_iter().any(|begun| begun.is_running) {
                    continue;
                } else {
                    EffectResolution::DidNot
                }
            };
            if !Act::named(&row.name).is_some_and(Act::sends) {
                continue;
            }
            let contrary = match resolution {
                EffectResolution::TookEffect => EffectResolution::DidNot,
                EffectResolution::DidNot => EffectResolution::TookEffect,
            };
            for resolution in [resolution, contrary] {
                if resolution == contrary && fate.below(2) == 0 {
                    break;
                }
                self.note(Line::Resolves { call, resolution });
                let result = self.session.resolve(call, resolution).await;
                fate.note(format_args!("{} resolves {call}: {result:?}", self.number));
                match result {
                    Ok(()) => self.note(Line::Resolved { call, resolution }),
                    Err(Error::NotUnknown { .. }) => {}
                    // The first may be stored or not: the contrary would be a lie.
                    Err(_) => break,
                }
            }
        }
    }
}
