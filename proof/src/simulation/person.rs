//! A person in one session: asks, reads, answers in time, late, twice or not at all, leaves, and comes back.

use std::{sync::Arc, time::Duration};

use madang::{
    IdempotencyKey, OnDismiss, Session, TurnId, TurnOptions, UserId,
    approval::{Answer, Asker, Decision, Digest, Question},
    error::{AnswerError, ClearError, DismissError, SessionError},
    event::{EventCursor, EventKind, StreamItem},
};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    plan::{Before, Visit},
    witness::{Asked, Began},
    world::Life,
};
use crate::mistakes::Mistake;

/// A person tries again after so long.
const AGAIN: Duration = Duration::from_millis(20);

/// A person and the session of this number.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) life: Arc<Life>,
    pub(super) number: usize,
    pub(super) session: Session,
}

impl Person {
    /// Opens the session, however often it takes. `None` where the runtime is closed.
    pub(super) async fn open(life: &Arc<Life>, number: usize) -> Option<Self> {
        let plan = &life.sessions[number];
        loop {
            let failed = match life.runtime.session(plan.user, &plan.name).await {
                Ok(session) => return Some(Self { life: life.clone(), number, session }),
                Err(SessionError::Closed) => return None,
                Err(failed) => failed,
            };
            if let SessionError::Foreign(session) = failed {
                life.witness
                    .finds(|found| &mut found.lost, format!("session {session} is another's"));
                return None;
            }
            sleep(AGAIN).await;
        }
    }

    /// Makes all visits of a life, and stays until the last turn has ended.
    pub(super) async fn live(self, visits: Vec<Visit>) {
        let (over, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(self.clone().read(over.clone(), tasks.clone()));
        if let Ok(state) = self.session.state().await
            && let Some(question) = state.question
        {
            tasks.spawn(self.clone().answer(question));
        }
        self.comes_back().await;
        for visit in visits {
            self.visit(&visit).await;
        }
        self.rest().await;
        over.cancel();
        tasks.close();
        tasks.wait().await;
    }

    /// Waits until no turn runs.
    pub(super) async fn rest(&self) {
        loop {
            match self.session.turn().await {
                Ok(None) | Err(SessionError::Closed) => return,
                Ok(Some(turn)) => {
                    let id = turn.id();
                    if let Ok(end) = turn.ended().await {
                        self.life.witness.told().ends.push((id, end.ending));
                    }
                }
                Err(_) => {}
            }
            sleep(AGAIN).await;
        }
    }

    /// Hears what there is, until nothing more comes.
    pub(super) async fn read_to_the_end(&self) {
        let over = CancellationToken::new();
        let reading = tokio::spawn(self.clone().read(over.clone(), TaskTracker::new()));
        sleep(Duration::from_secs(10)).await;
        over.cancel();
        drop(reading.await);
    }

    async fn visit(&self, visit: &Visit) {
        let (fate, witness) = (&self.life.fate, &self.life.witness);
        sleep(visit.pause).await;
        match visit.before {
            Before::Nothing => {}
            Before::Clears => {
                let cleared = self.session.clear().await;
                let is_busy = matches!(cleared, Err(ClearError::Busy));
                fate.note(format_args!("{} clears: {} {is_busy}", self.number, cleared.is_ok()));
                self.revoked(cleared.is_ok());
            }
            Before::Revokes => {
                let revoked = self.session.revoke("erase").await;
                fate.note(format_args!("{} revokes: {}", self.number, revoked.is_ok()));
                self.revoked(revoked.is_ok());
            }
        }
        let text = visit.plan.to_string();
        let key = || IdempotencyKey::new(text.lines().next().unwrap_or("key")).ok();
        let mut options = TurnOptions {
            asker: Asker::Person,
            on_dismiss: visit.on_dismiss,
            time_zone: Some("UTC".into()),
            key: visit.is_repeated.then(key).flatten(),
            ..TurnOptions::default()
        };
        let keyed = options.key.is_some().then(|| options.clone());
        let place = witness.asks(self.number, &text, fate.now(), keyed);
        fate.note(format_args!("{} asks {text:?}", self.number));
        let asked = self.session.send_with(text.clone(), options.clone()).await;
        let told = match &asked {
            Ok(turn) => Began::Yes(turn.id()),
            Err(refused) => Began::of(refused),
        };
        match &asked {
            Ok(turn) => {
                fate.note(format_args!("{} is told that {} begins", self.number, turn.id()))
            }
            Err(refused) => fate.note(format_args!("{} is told {refused:?}", self.number)),
        }
        witness.told().asks[place].told = Some(told);
        if visit.is_repeated {
            self.again(place).await;
        }
        let Ok(turn) = asked else { return };
        let id = turn.id();
        if let Some(patience) = visit.leaves_after {
            sleep(patience).await;
            self.dismiss((visit.on_dismiss == OnDismiss::Stop).then_some(id)).await;
        }
        if let Ok(end) = turn.ended().await {
            fate.note(format_args!("{} hears the end {:?}", self.number, end.ending));
            witness.told().ends.push((id, end.ending));
        }
        if self.life.makes(Mistake::FrontEndSubmitsTwice) {
            options.key = None;
            drop(self.session.send_with(text, options).await);
        }
    }

    /// Submits what was submitted under a key in a life before: it begins nothing twice.
    async fn comes_back(&self) {
        let is_own = |asked: &Asked| asked.session == self.number && asked.keyed.is_some();
        let place = self.life.witness.told().asks.iter().rposition(is_own);
        if let Some(place) = place {
            self.again(place).await;
            self.rest().await;
        }
    }

    /// Submits the same again under the same key: it is the same turn.
    async fn again(&self, place: usize) {
        let (text, options, first) = {
            let asked = &mut self.life.witness.told().asks[place];
            let first = asked.told.unwrap_or(Began::Perhaps);
            if first == Began::No {
                // From here on this submit may begin it, also where the process dies before that says so.
                asked.told = Some(Began::Perhaps);
            }
            (asked.text.clone(), asked.keyed.clone().unwrap_or_default(), first)
        };
        let again = match self.session.send_with(text, options).await {
            Ok(turn) => Began::Yes(turn.id()),
            Err(refused) => Began::of(&refused),
        };
        self.life.fate.note(format_args!("{} asks again: {again:?}", self.number));
        let told = match (first, again) {
            (Began::Yes(first), Began::Yes(again)) if first != again => {
                let what = format!("turn {first} began again as {again}");
                self.life.witness.finds(|found| &mut found.doubled, what);
                Began::Yes(first)
            }
            (Began::Yes(turn), _) | (_, Began::Yes(turn)) => Began::Yes(turn),
            (Began::Perhaps, _) | (_, Began::Perhaps) => Began::Perhaps,
            (Began::No, Began::No) => Began::No,
        };
        self.life.witness.told().asks[place].told = Some(told);
    }

    /// From here on no standing approval of the session covers anything that was given before.
    fn revoked(&self, is_so: bool) {
        if is_so {
            let at = self.life.fate.now();
            self.life.witness.told().revoked.push((self.number, at));
        }
    }

    /// Leaves the turn that runs, if one does. Nothing more may begin of one that stops then.
    async fn dismiss(&self, stops: Option<TurnId>) {
        let (fate, witness) = (&self.life.fate, &self.life.witness);
        let runs = match self.session.turn().await {
            Ok(Some(turn)) => turn.id(),
            Ok(None) | Err(_) => return,
        };
        let dismissed: Result<(), DismissError> = self.session.dismiss().await;
        fate.note(format_args!("{} leaves: {}", self.number, dismissed.is_ok()));
        if dismissed.is_ok() && stops == Some(runs) {
            let at = fate.now();
            witness.told().dismissed.entry(runs).or_insert(at);
        }
    }

    /// Reads what happens from where this session was read to, and goes away and comes back now and then.
    async fn read(self, over: CancellationToken, tasks: TaskTracker) {
        let (life, number) = (&self.life, self.number);
        while !over.is_cancelled() {
            let read_to =
                life.witness.told().read_to.get(&number).copied().unwrap_or(EventCursor::START);
            let Ok(mut events) = self.session.subscribe_after(read_to).await else {
                sleep(AGAIN).await;
                continue;
            };
            while !life.fate.fails_once_in(40) {
                let item = tokio::select! {
                    biased;
                    item = events.next() => item,
                    () = over.cancelled() => return,
                };
                let Some(item) = item else { break };
                let StreamItem::Event(event) = item else {
                    life.fate.note(format_args!("{number} hears {}", name_of(&item)));
                    continue;
                };
                life.fate.note(format_args!(
                    "{number} hears {} {} {}",
                    event.cursor,
                    event.turn,
                    Kind(&event.kind)
                ));
                if life.makes(Mistake::FrontEndMissesEvents) && life.fate.below(8) == 0 {
                    life.witness.told().read_to.insert(number, event.cursor);
                    continue;
                }
                let at = life.fate.now();
                let mut told = life.witness.told();
                told.heard.entry(number).or_default().push((at, event.clone()));
                told.read_to.insert(number, event.cursor);
                drop(told);
                if let EventKind::ConfirmationAsked { question } = &event.kind {
                    tasks.spawn(self.clone().answer(question.clone()));
                }
            }
        }
    }

    /// Answers as fate wants, and sometimes more than once.
    async fn answer(self, question: Question) {
        let fate = &self.life.fate;
        let wait = match fate.below(12) {
            0..6 => 0,
            6..11 => fate.below(30),
            // Longer than the question stays open.
            _ => fate.below(4_000),
        };
        sleep(Duration::from_millis(wait)).await;
        if fate.below(8) == 0 {
            self.strangers_answer(&question).await;
        }
        let times = match fate.below(16) {
            0 => 0,
            1..4 => 2,
            _ => 1,
        };
        for _ in 0..times {
            let decision = self.decision(&question);
            self.decide(&question, decision).await;
        }
    }

    fn decision(&self, question: &Question) -> Decision {
        let fate = &self.life.fate;
        match fate.below(16) {
            0..8 => Decision::Approve,
            8 => Decision::ApproveAlways,
            9..13 => Decision::Deny,
            13 => Decision::DenyWith { message: "not today".into() },
            _ => {
                let token = question.arguments["token"].as_str().unwrap_or_default();
                Decision::Edit { arguments: json!({ "token": format!("{token}x") }) }
            }
        }
    }

    async fn decide(&self, question: &Question, decision: Decision) {
        let (fate, witness) = (&self.life.fate, &self.life.witness);
        let (call, at) = (question.call, fate.now());
        fate.note(format_args!("{} decides {decision:?} on {call}", self.number));
        let says_yes_itself = self.life.makes(Mistake::FrontEndSaysYes);
        let place = witness.decides(question, &decision, at);
        let sent = if says_yes_itself { Decision::Approve } else { decision };
        let told = self.session.answer(question, sent).await;
        fate.note(format_args!("{} is told {told:?} on {call}", self.number));
        let mut book = witness.told();
        if let Some(answered) = book.answers.get_mut(&call).and_then(|all| all.get_mut(place)) {
            answered.told = Some(told);
        }
    }

    /// Others may not answer, and nobody may answer another question.
    async fn strangers_answer(&self, question: &Question) {
        let stranger = UserId::new("mallory").expect("it is short");
        let other = Digest::new([7; 32]);
        for (user, digest) in [(stranger, question.digest), (self.session.user().clone(), other)] {
            let answer = Answer { call: question.call, digest, decision: Decision::Approve, user };
            let told = self.life.runtime.answer(answer).await;
            self.life.fate.note(format_args!("a stranger is told {told:?}"));
            if matches!(told, Ok(()) | Err(AnswerError::NotKnown)) && told.is_ok() {
                let what = format!("a stranger answered for {}", question.call);
                self.life.witness.finds(|found| &mut found.unasked, what);
            }
        }
    }
}

const fn name_of(item: &StreamItem) -> &'static str {
    match item {
        StreamItem::Event(_) => "an event",
        StreamItem::Text(_) => "text",
        StreamItem::Thinking(_) => "thoughts",
        StreamItem::Lagged { .. } => "that it lags",
        StreamItem::ReplayFailed => "that it cannot read on",
        _ => "something new",
    }
}

/// An event without what differs each time.
struct Kind<'a>(&'a EventKind);

impl std::fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            EventKind::ConfirmationAsked { question } => {
                write!(f, "asked {} {}", question.call, question.arguments)
            }
            EventKind::ToolCallEnded { record } => write!(
                f,
                "ended {} {:?} {:?} {:?}",
                record.id, record.outcome, record.effect, record.result
            ),
            kind @ (EventKind::UserMessage { .. }
            | EventKind::ModelMessage { .. }
            | EventKind::ToolCallProposed { .. }
            | EventKind::ConfirmationEnded { .. }
            | EventKind::ToolCallResolved { .. }
            | EventKind::SystemNotice { .. }
            | EventKind::Error { .. }
            | EventKind::Cleared
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | EventKind::TurnEnded { .. }
            | _) => write!(f, "{kind:?}"),
        }
    }
}
