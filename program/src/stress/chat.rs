//! One chat of a run: a person that asks, answers, leaves, and notes what it is told.

use std::{ops::Range, pin::pin, sync::Arc, time::Duration};

use fastrand::Rng;
use madang::{
    CallId, IdempotencyKey, Session, SessionId, Turn, TurnId, TurnOptions,
    approval::{ApprovalRequest, Asker, Decision},
    error::{DecisionError, DismissError, LimitExceeded, TurnRefused},
    event::{EventKind, SessionEvent, StreamItem, Subscription, TurnEnding},
};
use madang_testing::SessionHooks as _;
use tokio::time::{Instant, sleep, timeout};

use super::{
    oracle::{ChatOracle, End, Expected, TurnNote},
    plan::{Disturbance, Reply, TurnPlan},
    run::{Run, Talk},
    world::Bug,
};

/// A turn that takes longer has lost its end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was refused is tried again after so many milliseconds.
const TRIED_AGAIN: Range<u64> = 5..50;

/// A person and their chat.
struct Chat {
    run: Arc<Run>,
    number: usize,
    session: Session,
    events: Subscription,
    oracle: ChatOracle,
    rng: Rng,
}

/// Has a chat of so many turns. Gives the oracle of it.
pub(crate) async fn chat(run: Arc<Run>, number: usize) -> ChatOracle {
    let mut rng = Rng::with_seed(number as u64);
    let name = SessionId::new(format!("chat {number}")).expect("a short name");
    let mut oracle = ChatOracle::new(name);
    let opened = timeout(PATIENCE, async {
        loop {
            match run.session(number).await {
                Ok(session) => return session,
                Err(_) => oracle.refused += 1,
            }
            sleep(Duration::from_millis(rng.u64(TRIED_AGAIN))).await;
        }
    });
    let Ok(session) = opened.await else {
        // Its turns are missing from the oracle: the audit tells.
        return oracle;
    };
    let events = session.subscribe();
    let mut chat = Chat { run: run.clone(), number, session, events, oracle, rng };
    for turn in 0..run.turns {
        let _place = run.in_flight.acquire().await.expect("it is never closed");
        run.begins_turn();
        chat.turn(turn).await;
        run.progress.inc(1);
    }
    chat.oracle
}

impl Chat {
    async fn turn(&mut self, turn: usize) {
        let plan = TurnPlan::draw(self.run.seed, self.number, turn, self.run.odds);
        let (text, expected) = match &self.run.talk {
            Talk::Planned => (plan.to_string(), Expected::of(&plan)),
            Talk::Free(texts) => {
                (texts[(self.number + turn) % texts.len()].to_owned(), Expected::Undisturbed)
            }
        };
        self.oracle.turns.push(TurnNote::new(plan.is_clean().then_some(expected)));
        let key = IdempotencyKey::new(format!("{}.{turn}", self.number)).expect("a short key");
        let stay = async {
            let begun = self.submit(&text, &key).await;
            if plan.is_doubled {
                let again = self.submit(&text, &key).await;
                self.oracle.counted_twice += u64::from(again.id() != begun.id());
            }
            let id = begun.id();
            self.note().id = Some(id);
            let (end, asked) = self.stay(begun, &plan).await;
            let ending = match end {
                Some(ending) => ending,
                None => self.ending_of(id, &text, &key).await,
            };
            self.note().ended = Some(End { at: Instant::now(), ending });
            asked
        };
        let Ok(asked) = timeout(PATIENCE, stay).await else {
            return;
        };
        for (request, reply) in asked {
            // Too late: it must not count.
            if reply == Reply::YesTwice
                && self.session.decide(&request, Decision::Approve).await.is_ok()
            {
                self.oracle.counted_twice += 1;
            }
        }
    }

    fn note(&mut self) -> &mut TurnNote {
        self.oracle.turns.last_mut().expect("a note is made before the turn")
    }

    /// Submits until it is taken: under one key that is harmless.
    async fn submit(&mut self, text: &str, key: &IdempotencyKey) -> Turn {
        loop {
            let options = TurnOptions {
                asker: Asker::Person,
                key: Some(key.clone()),
                ..TurnOptions::default()
            };
            match self.session.send_with(text, options).await {
                Ok(turn) => return turn,
                Err(TurnRefused::Overloaded(LimitExceeded {
                    retry_after: Some(later), ..
                })) => {
                    sleep(later).await;
                }
                Err(
                    TurnRefused::Busy
                    | TurnRefused::Overloaded(_)
                    | TurnRefused::Store(_)
                    | TurnRefused::Closed,
                ) => {}
                Err(error) => {
                    unreachable!("a run types short texts, each under its own key: {error}")
                }
            }
            self.oracle.refused += 1;
            sleep(Duration::from_millis(self.rng.u64(TRIED_AGAIN))).await;
        }
    }

    /// Hears a turn to its end. Gives how it ended, if that was told, and the questions that were asked.
    async fn stay(
        &mut self,
        turn: Turn,
        plan: &TurnPlan,
    ) -> (Option<TurnEnding>, Vec<(ApprovalRequest, Reply)>) {
        let id = turn.id();
        let mut ended = pin!(turn.ended());
        let mut heard = Heard::default();
        let (mut end, mut is_listening) = (None, true);
        self.disturb(plan, &heard).await;
        // A screen that was closed hears no end; an actor that died tells its end to listeners only.
        while !(heard.ending.is_some() || end.is_some() && !is_listening) {
            tokio::select! {
                item = self.events.next(), if is_listening => match item {
                    Some(StreamItem::Event(event)) if event.turn == id => {
                        self.hear(&event, plan, &mut heard).await;
                    }
                    Some(_) => {}
                    None => is_listening = false,
                },
                result = &mut ended, if end.is_none() => end = Some(result),
            }
        }
        if !is_listening {
            self.events = self.session.subscribe();
        }
        let told = end.and_then(Result::ok).map(|end| end.ending);
        (heard.ending.or(told), heard.asked)
    }

    /// Asks for the end of a turn that was not told: a repeated submit hears of it.
    async fn ending_of(&mut self, id: TurnId, text: &str, key: &IdempotencyKey) -> TurnEnding {
        loop {
            let again = self.submit(text, key).await;
            self.oracle.counted_twice += u64::from(again.id() != id);
            if let Ok(end) = again.ended().await {
                return end.ending;
            }
        }
    }

    async fn hear(&mut self, event: &SessionEvent, plan: &TurnPlan, heard: &mut Heard) {
        match &event.kind {
            EventKind::ToolCallProposed { call, .. } => heard.proposed.push(*call),
            EventKind::ApprovalRequested { request } => {
                let place = heard.proposed.iter().position(|call| *call == request.call);
                let call = plan.calls().nth(place.unwrap_or_default());
                let reply = call.map_or(Reply::Yes, |call| call.reply);
                self.reply(request, reply).await;
                heard.asked.push((request.clone(), reply));
            }
            EventKind::ToolCallEnded { record } => self.oracle.hear(record),
            EventKind::TurnEnded { ending, .. } => heard.ending = Some(*ending),
            EventKind::UserMessage { .. }
            | EventKind::ToolCallResolved { .. }
            | EventKind::ModelMessage { .. }
            | EventKind::ApprovalEnded { .. }
            | EventKind::SystemNotice { .. }
            | EventKind::Error { .. }
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | EventKind::TurnInterrupted { .. }
            | EventKind::Cleared
            | _ => {}
        }
        heard.events += 1;
        self.disturb(plan, heard).await;
    }

    async fn disturb(&mut self, plan: &TurnPlan, heard: &Heard) {
        match plan.disturbance {
            Some(Disturbance::Leaves { after }) if after == heard.events => {
                self.leave(&self.session.clone()).await;
                if self.run.bug == Some(Bug::Disturbed)
                    && let Ok(neighbour) = self.run.session(self.number + 1).await
                {
                    self.leave(&neighbour).await;
                }
            }
            Some(Disturbance::ActorDies { after }) if after == heard.events => {
                self.session.kill();
            }
            Some(Disturbance::Leaves { .. } | Disturbance::ActorDies { .. }) | None => {}
        }
    }

    /// Leaves a chat, whose turn may be over already.
    async fn leave(&mut self, session: &Session) {
        match session.dismiss().await {
            Ok(_) | Err(DismissError::NoTurn) => {}
            Err(_) => self.oracle.refused += 1,
        }
    }

    async fn reply(&mut self, request: &ApprovalRequest, reply: Reply) {
        let (yes, no) = (Decision::Approve, Decision::Deny);
        let answer = match reply {
            Reply::Yes | Reply::YesTwice => self.session.decide(request, yes).await,
            Reply::No => {
                // The person may have left meanwhile.
                drop(self.session.decide(request, no).await);
                return;
            }
            Reply::Leaves => {
                self.leave(&self.session.clone()).await;
                return;
            }
            Reply::Both => {
                let (yes, no) = tokio::join!(
                    self.session.decide(request, yes),
                    self.session.decide(request, no)
                );
                self.oracle.counted_twice += u64::from(yes.is_ok() && no.is_ok());
                yes
            }
        };
        // It counted, or may have.
        if matches!(answer, Ok(()) | Err(DecisionError::NotRecorded | DecisionError::NotKnown)) {
            self.oracle.approved.insert(request.call);
        }
    }
}

/// What was heard of a turn.
#[derive(Default)]
struct Heard {
    /// The calls, in the plan's order.
    proposed: Vec<CallId>,
    asked: Vec<(ApprovalRequest, Reply)>,
    events: u64,
    ending: Option<TurnEnding>,
}
