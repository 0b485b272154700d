//! A person in one session: asks, reads, answers in time, late, twice or not at all, leaves, and comes back.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use madang::{
    Clock as _, Dismissed, IdempotencyKey, OnDismiss, Session, Timestamp, Turn, TurnId,
    TurnOptions, UserId,
    approval::{ApprovalRequest, Decision, Digest},
    error::{ClearError, DismissError, ResolveError, SessionError},
    event::{EventCursor, EventKind, StreamItem, Subscription},
    ledger::EffectResolution,
};
use madang_testing::SessionHooks as _;
use serde_json::json;
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Act, Life, Point,
    visits::{Answers, Before, Mishap, Visit},
};
use crate::{
    audit::Counter,
    mistakes::Mistake,
    oracle::{Answered, Asked, Began, Line, Verdict, token_of},
};

/// A person tries again after so long.
const AGAIN: Duration = Duration::from_millis(20);

/// No turn takes so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A person and the session of this number.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) life: Arc<Life>,
    pub(super) number: usize,
    pub(super) session: Session,
    /// What the person says when asked.
    answers: Arc<Mutex<Answers>>,
}

impl Person {
    /// Opens the session, however often it takes. `None` where the runtime is closed.
    pub(super) async fn open(life: &Arc<Life>, number: usize) -> Option<Self> {
        let plan = &life.scene.sessions[number];
        loop {
            let failed = match life.runtime.session(&plan.user, &plan.name).await {
                Ok(session) => {
                    let (life, answers) = (life.clone(), Arc::default());
                    return Some(Self { life, number, session, answers });
                }
                Err(SessionError::Closed) => return None,
                Err(failed) => failed,
            };
            if let SessionError::Foreign(session) = failed {
                life.finds(Counter::Lost, format!("session {session} is another's"));
                return None;
            }
            sleep(AGAIN).await;
        }
    }

    /// Makes all visits of a life, each when there is a place, and stays until the last turn has ended.
    pub(super) async fn live(self, visits: Vec<Visit>, places: &Semaphore) {
        let (over, tasks) = (CancellationToken::new(), TaskTracker::new());
        // A person that is dropped reads no more.
        let _gone = over.clone().drop_guard();
        tasks.spawn(self.clone().read(over.clone(), tasks.clone()));
        if let Ok(state) = self.session.state().await
            && let Some(request) = state.approval_request
        {
            tasks.spawn(self.clone().answer(request));
        }
        self.comes_back().await;
        for visit in visits {
            let _place = places.acquire().await.expect("no code closes it");
            if timeout(PATIENCE, self.visit(&visit)).await.is_err() {
                let what = format!("the turn of {:?} has no end", visit.text);
                self.life.finds(Counter::Stuck, what);
            }
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
                        let (session, ending) = (self.number, end.ending);
                        self.note(Line::Ended { session, turn: id, ending });
                    }
                }
                Err(_) => {}
            }
            sleep(AGAIN).await;
        }
    }

    /// Answers what is still asked, waits until no turn runs, and hears what there is, until nothing more comes.
    pub(super) async fn read_to_the_end(&self) {
        let (over, tasks) = (CancellationToken::new(), TaskTracker::new());
        // A person that is dropped reads no more.
        let _gone = over.clone().drop_guard();
        tasks.spawn(self.clone().read(over.clone(), tasks.clone()));
        self.rest().await;
        loop {
            self.life.scene.fate.listens().await;
            let Ok(state) = self.session.state().await else { continue };
            let last = state.messages.last().map(|last| EventCursor::of_entry(last.seq));
            if last <= self.life.scene.witness.oracle().read_to.get(&self.number).copied() {
                break;
            }
        }
        over.cancel();
        tasks.close();
        tasks.wait().await;
    }

    fn note(&self, line: Line) {
        self.life.scene.witness.note(line);
    }

    fn options(&self, asked: &Asked) -> TurnOptions {
        let key = || IdempotencyKey::new(asked.text.lines().next().unwrap_or("key")).ok();
        TurnOptions {
            can_ask: true,
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
            Before::Clears => {
                let asked = fate.now();
                let cleared = self.session.clear().await;
                let is_busy = matches!(cleared, Err(ClearError::Busy));
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
            told: None,
        };
        let (text, mut options) = (asked.text.clone(), self.options(&asked));
        fate.note(format_args!("{} asks {text:?}", self.number));
        let place = self.life.scene.witness.asks(asked);
        let events = visit.mishap.map(|_| self.session.subscribe());
        let asked = self.session.send_with(text.clone(), options.clone()).await;
        fate.pass(Point::TurnBegan, format_args!("{} is told of its turn", self.number));
        let told = match &asked {
            Ok(turn) => Began::Yes(turn.id()),
            Err(refused) => Began::of(refused),
        };
        fate.note(format_args!("{} is told {told:?}", self.number));
        self.note(Line::Asked { place, told });
        if visit.is_repeated {
            drop(self.again(place).await);
        }
        let Some(turn) = self.insisted(asked.ok(), visit, place).await else { return };
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
                let (session, ending) = (self.number, end.ending);
                self.note(Line::Ended { session, turn: id, ending });
                break;
            }
            turn = self.insisted(None, visit, place).await;
        }
        if self.life.makes(Mistake::FrontEndSubmitsTwice) {
            options.key = None;
            drop(self.session.send_with(text, options).await);
        }
    }

    /// Submits what is insisted on until a turn is there.
    async fn insisted(&self, mut turn: Option<Turn>, visit: &Visit, place: usize) -> Option<Turn> {
        while turn.is_none() && visit.insists {
            sleep(AGAIN).await;
            turn = self.again(place).await;
        }
        turn
    }

    /// Lets the mishap happen once so many events of the turn were heard; not at all where it ends before.
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

    /// Submits what was submitted under a key in a life before: it begins nothing twice.
    async fn comes_back(&self) {
        let place = self.life.scene.witness.oracle().keyed.get(&self.number).copied();
        if let Some(place) = place {
            drop(self.again(place).await);
            self.rest().await;
        }
    }

    /// Submits the same again under the same key: it is the same turn.
    async fn again(&self, place: usize) -> Option<Turn> {
        let asked = self.life.scene.witness.oracle().asks[place].clone();
        let first = asked.told.unwrap_or(Began::Perhaps);
        if first == Began::No {
            // From here on this submit may begin it, also where the process dies before that says so.
            self.note(Line::Asked { place, told: Began::Perhaps });
        }
        let sent = self.session.send_with(&*asked.text, self.options(&asked)).await;
        let again = match &sent {
            Ok(turn) => Began::Yes(turn.id()),
            Err(refused) => Began::of(refused),
        };
        self.life.scene.fate.note(format_args!("{} asks again: {again:?}", self.number));
        let told = match (first, again) {
            (Began::Yes(first), Began::Yes(again)) if first != again => {
                let what = format!("turn {first} began again as {again}");
                self.life.finds(Counter::Doubled, what);
                Began::Yes(first)
            }
            (Began::Yes(turn), _) | (_, Began::Yes(turn)) => Began::Yes(turn),
            (Began::Perhaps, _) | (_, Began::Perhaps) => Began::Perhaps,
            (Began::No, Began::No) => Began::No,
        };
        self.note(Line::Asked { place, told });
        sent.ok()
    }

    /// From here on no standing approval of the session covers anything that was given before it was asked to end.
    fn revoked(&self, asked: Timestamp, is_so: bool) {
        if is_so {
            let (session, at) = (self.number, self.life.scene.fate.now());
            self.note(Line::Revoked { session, asked, at });
        }
    }

    /// Looks whether letters of unknown fate were sent, and says so; sometimes says the contrary as well, which must not
    /// count. While a handler runs there is nothing to see yet, and none may say so.
    async fn resolves(&self) {
        let fate = &self.life.scene.fate;
        for row in self.session.unresolved().await.unwrap_or_default() {
            let (call, token) = (row.call, token_of(&row.arguments).unwrap_or_default());
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
            if !Act::of_tool(&row.name).is_some_and(Act::sends) {
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
                let told = self.session.resolve(call, resolution).await;
                fate.note(format_args!("{} resolves {call}: {told:?}", self.number));
                match told {
                    Ok(()) => self.note(Line::Resolved { call, resolution }),
                    Err(ResolveError::NotUnknown { .. }) => {}
                    // The first may be stored or not: the contrary would be a lie.
                    Err(_) => break,
                }
            }
        }
    }

    /// Leaves this turn once a handler of its has begun.
    async fn leaves_handler(&self, turn: TurnId) {
        let is_running = || {
            let oracle = self.life.scene.witness.oracle();
            let mut begun = oracle.begun.values().flatten();
            begun.any(|begun| begun.is_running && begun.act == Act::SlowSave)
        };
        while matches!(self.session.turn().await, Ok(Some(runs)) if runs.id() == turn) {
            if is_running() {
                self.dismiss(Some(turn)).await;
                return;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Leaves the turn that runs, if one does. Nothing more may begin of one that stops then.
    async fn dismiss(&self, stops: Option<TurnId>) {
        let fate = &self.life.scene.fate;
        let runs = match self.session.turn().await {
            Ok(Some(turn)) => turn.id(),
            Ok(None) | Err(_) => return,
        };
        self.note(Line::Leaves { session: self.number });
        let dismissed: Result<Dismissed, DismissError> = self.session.dismiss().await;
        if self.life.makes(Mistake::FrontEndLeavesOthers) {
            self.leaves_another().await;
        }
        let at = fate.now();
        fate.note(format_args!("{} leaves: {}", self.number, dismissed.is_ok()));
        let Ok(dismissed) = dismissed else { return };
        let is_stored = dismissed.stored().await.is_ok();
        fate.note(format_args!("{} has left: {is_stored}", self.number));
        if is_stored && stops == Some(runs) {
            self.note(Line::Dismissed { turn: runs, at });
        }
    }

    /// Leaves the session of another person.
    async fn leaves_another(&self) {
        let sessions = &self.life.scene.sessions;
        let other = &sessions[(self.number + 1) % sessions.len()];
        if let Ok(session) = self.life.runtime.session(&other.user, &other.name).await {
            drop(session.dismiss().await);
        }
    }

    /// Reads what happens from where this session was read to, and goes away and comes back now and then.
    async fn read(self, over: CancellationToken, tasks: TaskTracker) {
        let (scene, number) = (&self.life.scene, self.number);
        while !over.is_cancelled() {
            let read_to = scene.witness.oracle().read_to.get(&number).copied();
            let read_to = read_to.unwrap_or(EventCursor::START);
            let Ok(mut events) = self.session.subscribe_after(read_to).await else {
                sleep(AGAIN).await;
                continue;
            };
            while !scene.fate.fails_once_in(40) {
                let item = tokio::select! {
                    biased;
                    item = events.next() => item,
                    () = over.cancelled() => return,
                };
                let Some(item) = item else { break };
                let StreamItem::Event(event) = item else {
                    scene.fate.note(format_args!("{number} hears {}", name_of(&item)));
                    continue;
                };
                let what = Kind(&event.kind);
                let what = format_args!("{number} hears {} {} {what}", event.cursor, event.turn);
                scene.fate.note(what);
                if self.life.makes(Mistake::FrontEndMissesEvents) && scene.fate.below(8) == 0 {
                    self.note(Line::Missed { session: number, cursor: event.cursor });
                    continue;
                }
                if matches!(event.kind, EventKind::ToolCallEnded { .. }) {
                    scene.fate.pass(Point::OutcomeHeard, format_args!("{number} hears an outcome"));
                }
                let at = scene.fate.now();
                self.note(Line::Heard { session: number, at, event: event.clone() });
                if let EventKind::ApprovalRequested { request } = &event.kind {
                    tasks.spawn(self.clone().answer(request.clone()));
                }
            }
        }
    }

    /// Answers as was planned; or as fate wants, and sometimes more than once.
    async fn answer(self, request: ApprovalRequest) {
        let fate = &self.life.scene.fate;
        fate.pass(Point::QuestionSeen, format_args!("{} sees a question", self.number));
        let answers = *self.answers.lock().expect("no code under this lock panics");
        let planned = match answers {
            Answers::Any => None,
            Answers::Yes => Some(Decision::Approve),
            Answers::Always => Some(Decision::ApproveAlways),
            Answers::Same => Some(Decision::Edit { arguments: request.arguments.clone() }),
            Answers::No => Some(Decision::Deny),
            Answers::Never => return,
            Answers::Leaves => return self.dismiss(None).await,
            Answers::Disputed => {
                let both = [Decision::Approve, Decision::Deny];
                let [yes, no] = both.map(|decision| self.decide(&request, decision));
                tokio::join!(yes, no);
                Some(Decision::Approve)
            }
        };
        if let Some(decision) = planned {
            return self.decide(&request, decision).await;
        }
        let wait = match fate.below(12) {
            0..6 => 0,
            6..11 => fate.below(30),
            // Longer than the question stays open.
            _ => fate.below(4_000),
        };
        fate.waits(Duration::from_millis(wait)).await;
        if fate.below(8) == 0 {
            self.strangers_answer(&request).await;
        }
        let times = match fate.below(16) {
            0 => 0,
            1..4 => 2,
            _ => 1,
        };
        for _ in 0..times {
            let decision = self.decision(&request);
            self.decide(&request, decision).await;
        }
    }

    fn decision(&self, request: &ApprovalRequest) -> Decision {
        let fate = &self.life.scene.fate;
        match fate.below(16) {
            0..8 => Decision::Approve,
            8 => Decision::ApproveAlways,
            9..13 => Decision::Deny,
            13 => Decision::DenyWith { message: "not today".into() },
            _ => {
                let token = request.arguments["token"].as_str().unwrap_or_default();
                Decision::Edit { arguments: json!({ "token": format!("{token}x") }) }
            }
        }
    }

    async fn decide(&self, request: &ApprovalRequest, decision: Decision) {
        let fate = &self.life.scene.fate;
        let call = request.call;
        fate.note(format_args!("{} decides {decision:?} on {call}", self.number));
        let answered = Answered {
            decision: decision.clone(),
            shown: request.arguments.clone(),
            at: fate.now(),
            expires_at: request.expires_at,
            told: None,
        };
        let place = self.life.scene.witness.decides(call, answered);
        let says_yes_itself = self.life.makes(Mistake::FrontEndSaysYes);
        let sent = if says_yes_itself { Decision::Approve } else { decision };
        let told = self.session.decide(request, sent).await;
        let what = format_args!("{} is told {told:?} on {call}", self.number);
        fate.pass(Point::QuestionAnswered, what);
        self.note(Line::Decided { call, place, told: Verdict::of(&told) });
    }

    /// Others may not answer, and nobody may answer another question.
    async fn strangers_answer(&self, request: &ApprovalRequest) {
        let stranger = UserId::new("mallory").expect("it is short");
        let other = Digest::new([7; 32]);
        for (user, digest) in [(stranger, request.digest), (self.session.user().clone(), other)] {
            let (runtime, yes) = (&self.life.runtime, Decision::Approve);
            let told = runtime.decide(&user, request.call, digest, yes).await;
            self.life.scene.fate.note(format_args!("a stranger is told {told:?}"));
            if told.is_ok() {
                let what = format!("a stranger answered for {}", request.call);
                self.life.finds(Counter::Unasked, what);
            }
        }
    }
}

const fn name_of(item: &StreamItem) -> &'static str {
    match item {
        StreamItem::Event(_) => "an event",
        StreamItem::Text { .. } => "text",
        StreamItem::Thinking { .. } => "thoughts",
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
            EventKind::ApprovalRequested { request } => {
                write!(f, "asked {} {}", request.call, request.arguments)
            }
            EventKind::ToolCallEnded { record } => write!(
                f,
                "ended {} {:?} {:?} {:?}",
                record.id, record.outcome, record.effect, record.result
            ),
            kind @ (EventKind::UserMessage { .. }
            | EventKind::ModelMessage { .. }
            | EventKind::ToolCallProposed { .. }
            | EventKind::ApprovalEnded { .. }
            | EventKind::ToolCallResolved { .. }
            | EventKind::SystemNotice { .. }
            | EventKind::Error { .. }
            | EventKind::Cleared
            | EventKind::MessagesLeftOut { .. }
            | EventKind::TurnResumed
            | EventKind::TurnInterrupted { .. }
            | EventKind::TurnEnded { .. }
            | _) => write!(f, "{kind:?}"),
        }
    }
}
