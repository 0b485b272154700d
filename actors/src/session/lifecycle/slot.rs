//! The slot of a session. All requests go through it, whether the session is asleep, waking or
//! awake.

use std::{
    future::pending,
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use ractor::{ActorId, ActorRef, ActorStatus, MessagingErr};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use crate::session::{
    Feed, FeedBounds, SessionMsg, SessionRequest,
    events::feed::ActorTakes,
    lifecycle::registry_state::{IdleEntry, RegistryState},
    lifecycle::turn_memory::TurnMemory,
    lifecycle::waiting::{Waiting, is_dismissal},
};
use crate::{
    admission::Permit,
    mailbox::Recipient,
    port::Clock,
    protocol::{
        Bound, LimitExceeded, Limits, Locale, ResolvedCall, Scope, SessionId, Text, Timestamp,
        TurnId, UserId,
    },
    telemetry::refused,
};

/// The slot of one session. It exists as long as it has a holder: a handle, a subscriber, its
/// actor, or a call or write that its actor began. The last holder removes it, and nothing of the
/// session stays in memory.
#[derive(Debug)]
pub struct SessionSlot {
    session: SessionId,
    user: UserId,
    feed: Arc<Feed>,
    state: Mutex<SlotState>,
    /// The calls and writes that its actors began and whose end is not known yet. They outlive the
    /// actor.
    open_writes: TaskTracker,
    turn: TurnMemory,
    /// Whether a call without a model runs while the session sleeps. The session then has no open
    /// turn.
    has_call_beside: AtomicBool,
    /// Whether the session was deleted. It does not wake any more, and has left the registry.
    is_deleted: AtomicBool,
    /// The requests that its actor has taken since it woke.
    taken: AtomicU64,
    max_waiting: usize,
    registry: Arc<RegistryState<Self>>,
}

/// A call or write that was begun and whose end is not known yet. It keeps the slot, so that the
/// next waking waits for it.
#[derive(Debug)]
pub struct Begun {
    _token: TaskTrackerToken,
    slot: Arc<SessionSlot>,
    is_beside: bool,
}

impl Begun {
    /// Returns its session.
    pub(in crate::session) fn session(&self) -> &SessionId {
        self.slot.session()
    }

    /// Marks it as a call without a model, whose session sleeps. The chat can be viewed while it
    /// runs.
    pub fn goes_on_beside(&mut self) {
        self.is_beside = true;
        self.slot.has_call_beside.store(true, Relaxed);
        // A request may wait already.
        if let SlotState::Waking(waiting) = &*self.slot.state() {
            waiting.arrived().notify_one();
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.is_beside {
            self.slot.has_call_beside.store(false, Relaxed);
        }
    }
}

#[derive(Debug)]
enum SlotState {
    Asleep,
    Waking(Waiting),
    Awake { actor: ActorRef<SessionMsg>, sent: u64, awake: Option<Permit> },
}

/// The result of sending a request.
#[derive(Debug)]
pub enum Sent {
    /// The session has it, or will have it when it wakes.
    Delivered,
    /// The session has it when it wakes: the caller must wake it.
    WakeIt,
    /// Too many requests wait already.
    Full(Box<SessionRequest>, LimitExceeded),
}

impl SessionSlot {
    /// Makes the slot of a session that sleeps.
    pub(in crate::session) fn new(
        session: &SessionId,
        user: &UserId,
        limits: &Limits,
        registry: &Arc<RegistryState<Self>>,
    ) -> Self {
        Self {
            session: session.clone(),
            user: user.clone(),
            feed: Feed::new(FeedBounds::of(limits)),
            state: Mutex::new(SlotState::Asleep),
            open_writes: TaskTracker::new(),
            turn: TurnMemory::default(),
            has_call_beside: AtomicBool::new(false),
            is_deleted: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            max_waiting: limits.max_waiting_messages,
            registry: registry.clone(),
        }
    }

    /// Returns the session of the slot.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the user of the session.
    #[must_use]
    pub const fn user(&self) -> &UserId {
        &self.user
    }

    /// Returns the feed of the session's events.
    #[must_use]
    pub const fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Marks the beginning of a call or write that will end in the store. Drop the result after the
    /// end is known.
    pub(in crate::session) fn begins(self: &Arc<Self>) -> Begun {
        Begun { _token: self.open_writes.token(), slot: self.clone(), is_beside: false }
    }

    /// Marks the beginning of work that is not the session's actor's, while the session sleeps. A
    /// later waking waits for its end, and until then no other such work begins. Returns `None` if
    /// the session is awake or deleted, or if earlier work has not ended.
    #[must_use]
    pub fn begins_asleep(self: &Arc<Self>) -> Option<Begun> {
        // Under the lock: a later waking finds what began.
        let state = self.state();
        let has_ended = self.open_writes.is_empty() && !self.turn.must_go_on();
        let may = has_ended && !self.is_deleted() && matches!(*state, SlotState::Asleep);
        may.then(|| self.begins())
    }

    /// Returns whether the session was deleted.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.is_deleted.load(Relaxed)
    }

    /// Marks the session as deleted, for good: it leaves the registry, its subscriptions end, and
    /// no request wakes it. A session that is opened under its id later has another slot.
    pub(super) fn mark_deleted(&self) {
        self.is_deleted.store(true, Relaxed);
        self.registry.remove(&self.session, self);
        self.feed.close();
    }

    /// Waits until the store has the end of all work that was begun for this slot. It takes no
    /// longer than the deadlines of tools and store.
    pub(in crate::session) async fn writes_ended(&self) {
        self.open_writes.close(); // work can still be added; only a closed tracker can be awaited
        self.open_writes.wait().await;
    }

    /// Sends a request. It happens under the lock, so the session cannot fall asleep between the
    /// check and the sending. A dismissal is never refused.
    pub fn send(&self, request: SessionRequest) -> Sent {
        let sent = self.deliver(request);
        if let Sent::Full(_, refusal) = &sent {
            refused(refusal);
        }
        sent
    }

    fn deliver(&self, request: SessionRequest) -> Sent {
        let max = if is_dismissal(&request) { usize::MAX } else { self.max_waiting };
        let full = |request| {
            let bound = Bound::WaitingMessages;
            let scope = Scope::Session;
            Sent::Full(Box::new(request), LimitExceeded { bound, scope, max, retry_after: None })
        };
        let mut state = self.state();
        let request = match &mut *state {
            SlotState::Awake { sent, .. } if *sent - self.taken.load(Relaxed) >= max as u64 => {
                return full(request);
            }
            SlotState::Awake { actor, sent, .. } => match cast(actor, request) {
                None => {
                    *sent += 1;
                    return Sent::Delivered;
                }
                // The actor is dead, and its supervisor has not handled that yet.
                Some(request) => request,
            },
            SlotState::Waking(waiting) if waiting.len() >= max => return full(request),
            SlotState::Waking(waiting) => {
                waiting.push(request);
                return Sent::Delivered;
            }
            SlotState::Asleep => request,
        };
        *state = SlotState::Waking(Waiting::with(request));
        Sent::WakeIt
    }

    /// Returns the recipient of a handler that ends late: the actor that the slot has by then, if
    /// there is one.
    pub fn late(
        self: &Arc<Self>,
        turn: TurnId,
        locale: Locale,
        clock: Arc<dyn Clock>,
    ) -> Recipient<ResolvedCall> {
        let slot = self.clone();
        Recipient::function(move |resolved| {
            slot.found_out(turn, clock.now(), locale, resolved);
            true
        })
    }

    /// Reports the resolution of an unknown effect, which the store has. An awake or waking session
    /// takes it; a sleeping one reads it when it wakes. It is published to subscribers in any case.
    pub(in crate::session) fn found_out(
        &self,
        turn: TurnId,
        at: Timestamp,
        locale: Locale,
        resolved: ResolvedCall,
    ) {
        let tool = &*resolved.name;
        let resolution = resolved.resolution;
        let text = Text::Resolved { tool, resolution }.in_locale(locale);
        let mut state = self.state();
        let actor = match &*state {
            SlotState::Asleep => ActorTakes::No,
            SlotState::Waking(_) | SlotState::Awake { .. } => ActorTakes::Yes,
        };
        // Before the request: an actor that has it takes what was published.
        self.feed.publish_resolved(turn, at, resolved, text, actor);
        match &mut *state {
            SlotState::Awake { actor, sent, .. } => {
                *sent += u64::from(cast(actor, SessionRequest::TakeResolved).is_none());
            }
            // These are never more than the calls that ran, so they keep no other request out.
            SlotState::Waking(waiting) => waiting.push(SessionRequest::TakeResolved),
            SlotState::Asleep => {}
        }
    }

    /// Marks a sleeping session as waking. Returns true if the caller must open it.
    #[must_use]
    pub(in crate::session) fn begins_waking(&self) -> bool {
        let mut state = self.state();
        let is_asleep = matches!(*state, SlotState::Asleep);
        if is_asleep {
            *state = SlotState::Waking(Waiting::default());
        }
        is_asleep
    }

    /// Returns what outlives an actor of the open turn.
    pub(in crate::session) const fn turn(&self) -> &TurnMemory {
        &self.turn
    }

    /// Marks the session as awake after its actor was started, and sends the actor the requests
    /// that wait, and then this one.
    pub(in crate::session) fn woke(
        &self,
        actor: ActorRef<SessionMsg>,
        awake: Option<Permit>,
        last: Option<SessionRequest>,
    ) {
        let mut state = self.state();
        let mut waiting = state.take_waiting();
        waiting.extend(last);
        self.taken.store(0, Relaxed);
        let sent = waiting.len() as u64;
        // Under the lock: a shutdown that comes later finds the session awake.
        for request in waiting {
            // An actor that has died drops the request with its reply, and the caller learns that
            // it is closed.
            let _ = cast(&actor, request);
        }
        // Without this an actor that died before it could be found here would go unnoticed.
        let is_dead = actor.get_status() >= ActorStatus::Stopping;
        *state = if is_dead { SlotState::Asleep } else { SlotState::Awake { actor, sent, awake } };
    }

    /// Takes the requests that wait for the session to wake, and of which this is true.
    pub(super) fn take_waiting(
        &self,
        is_taken: impl Fn(&SessionRequest) -> bool,
    ) -> Vec<SessionRequest> {
        match &mut *self.state() {
            SlotState::Waking(waiting) => waiting.take(is_taken),
            SlotState::Asleep | SlotState::Awake { .. } => Vec::new(),
        }
    }

    /// Returns whether a dismissal waits for the session to wake.
    pub(super) fn is_dismissed(&self) -> bool {
        matches!(&*self.state(), SlotState::Waking(waiting) if waiting.has_dismissal())
    }

    /// Waits for a further request to the session, which wakes. One that came since the last call
    /// counts.
    pub(super) async fn request_arrives(&self) {
        let arrived = match &*self.state() {
            SlotState::Waking(waiting) => Some(waiting.arrived()),
            SlotState::Asleep | SlotState::Awake { .. } => None,
        };
        match arrived {
            Some(arrived) => arrived.notified().await,
            None => pending().await,
        }
    }

    /// Returns whether a call without a model runs while the session sleeps. The session then has
    /// no open turn.
    pub(super) fn has_call_beside(&self) -> bool {
        self.has_call_beside.load(Relaxed)
    }

    /// Returns whether the session is awake beyond the bound of sessions that are awake.
    pub(in crate::session) fn has_no_permit(&self) -> bool {
        matches!(&*self.state(), SlotState::Awake { awake: None, .. })
    }

    /// Marks that the session could not be loaded. Returns the requests that waited for it.
    pub fn did_not_wake(&self) -> Vec<SessionRequest> {
        let mut state = self.state();
        let waiting = state.take_waiting();
        *state = SlotState::Asleep;
        waiting
    }

    /// Lets an idle session fall asleep. Returns true if its actor has taken every request that was
    /// sent to it: the session is asleep then.
    pub fn try_sleep(&self, actor: ActorId) -> bool {
        let mut state = self.state();
        let taken = self.taken.load(Relaxed);
        let may = matches!(&*state, SlotState::Awake { actor: awake, sent, .. } if *sent == taken && awake.get_id() == actor);
        if may {
            *state = SlotState::Asleep;
        }
        may
    }

    /// Notes that its actor has taken a request.
    pub(in crate::session) fn took_one(&self) {
        self.taken.fetch_add(1, Relaxed);
    }

    /// Marks the session as idle until the entry is dropped: it may be put to sleep for others.
    pub(in crate::session) fn enter_idle(self: &Arc<Self>) -> IdleEntry<Self> {
        IdleEntry::new(&self.registry, self, &self.user)
    }

    /// Takes the session that has been idle longest, of this one's user or of all. The next call
    /// returns another.
    pub(in crate::session) fn longest_idle(&self, scope: Scope) -> Option<Arc<Self>> {
        let of = (scope == Scope::User).then_some(&self.user);
        loop {
            let longest = self.registry.idle().take_oldest(of)?;
            if let Some(slot) = longest.upgrade() {
                return Some(slot);
            }
        }
    }

    /// Asks the session to sleep, and waits until it is asleep, gone or busy again. Admission then
    /// knows whether a permit is free.
    pub async fn put_to_sleep(&self, until: Instant) {
        let Some(session) = self.awake() else { return };
        let (reply, sleeps) = oneshot::channel();
        if session.cast(SessionMsg::Sleep { reply }).is_ok() {
            let _ = timeout_at(until, sleeps).await;
        }
    }

    /// Marks the session as asleep, because its actor is gone.
    pub fn died(&self, actor: ActorId) {
        let mut state = self.state();
        if matches!(&*state, SlotState::Awake { actor: awake, .. } if awake.get_id() == actor) {
            *state = SlotState::Asleep;
        }
    }

    /// Returns the session's actor, unless it sleeps.
    #[must_use]
    pub fn awake(&self) -> Option<ActorRef<SessionMsg>> {
        match &*self.state() {
            SlotState::Awake { actor, .. } => Some(actor.clone()),
            SlotState::Asleep | SlotState::Waking(_) => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().expect("no code under this lock panics")
    }
}

impl SlotState {
    fn take_waiting(&mut self) -> Vec<SessionRequest> {
        match self {
            Self::Waking(waiting) => std::mem::take(waiting).into_requests(),
            Self::Asleep | Self::Awake { .. } => Vec::new(),
        }
    }
}

/// Sends a request to an actor, and returns it if the actor is dead.
fn cast(actor: &ActorRef<SessionMsg>, request: SessionRequest) -> Option<SessionRequest> {
    match actor.cast(SessionMsg::Request(request)) {
        Err(MessagingErr::SendErr(SessionMsg::Request(request))) => Some(request),
        // It is sent: ractor has no other error for an actor of this process, and returns the
        // message.
        _ => None,
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        self.registry.leave(&self.session);
    }
}

/// An actor's hold on its slot. Dropping it marks the actor as gone, however it ended.
#[derive(Debug)]
pub(in crate::session) struct SlotGuard {
    slot: Arc<SessionSlot>,
    actor: ActorId,
}

impl SlotGuard {
    pub(in crate::session) const fn new(slot: Arc<SessionSlot>, actor: ActorId) -> Self {
        Self { slot, actor }
    }
}

impl Deref for SlotGuard {
    type Target = Arc<SessionSlot>;

    fn deref(&self) -> &Arc<SessionSlot> {
        &self.slot
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.slot.died(self.actor);
    }
}
