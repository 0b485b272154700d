//! The door of a session: whoever wants it speaks through here, whether it is asleep, waking or awake.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use ractor::{ActorId, ActorRef, MessagingErr};
use tokio::sync::oneshot;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use tracing::warn;

use super::{Feed, SessionMsg};
use crate::{
    mailbox::Recipient,
    port::Clock,
    protocol::{
        EventKind, Limits, Locale, SessionId, SettledCall, Text, Timestamp, TurnId, UserId,
    },
};

/// The door of one session.
#[derive(Debug)]
pub struct Door {
    session: SessionId,
    user: UserId,
    feed: Arc<Feed>,
    place: Mutex<Place>,
    /// Calls and writes that an actor behind it began and whose end is not known yet. They outlive the actor.
    unsettled: TaskTracker,
    /// The last turn that subscribers were told is over, though the store may not have its end.
    given_up: Mutex<Option<TurnId>>,
    max_waiting: usize,
}

#[derive(Debug)]
enum Place {
    Asleep,
    Waking(Vec<SessionMsg>),
    Awake { actor: ActorRef<SessionMsg>, sent: u64 },
}

/// What became of a message.
#[derive(Debug)]
pub enum Sent {
    /// The session has it, or will have it when it wakes.
    Delivered,
    /// The session has it when somebody wakes it: do.
    WakeIt,
    /// Too much waits already.
    Full(SessionMsg),
}

impl Door {
    /// Whose door it is.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// Whose session it is.
    #[must_use]
    pub const fn user(&self) -> &UserId {
        &self.user
    }

    /// What happens behind it.
    #[must_use]
    pub const fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Something begins that will end in the store. Dropped when its end is known.
    pub(super) fn begins(&self) -> TaskTrackerToken {
        self.unsettled.token()
    }

    /// Waits until the store has all that was ever begun behind this door. It takes no longer than the deadlines of
    /// tools and store.
    pub(super) async fn settled(&self) {
        self.unsettled.close(); // it can still be added to; only a closed tracker can be waited for
        self.unsettled.wait().await;
    }

    /// Sends a message. It happens under the lock, so nothing can slip between "is it awake" and "it sleeps now".
    pub fn send(&self, msg: SessionMsg) -> Sent {
        let mut place = self.place();
        let msg = match &mut *place {
            Place::Awake { actor, sent } => match actor.cast(msg) {
                Ok(()) => {
                    *sent += 1;
                    return Sent::Delivered;
                }
                // It died and that was not yet reported: open it again.
                Err(MessagingErr::SendErr(msg)) => msg,
                Err(MessagingErr::ChannelClosed | MessagingErr::InvalidActorType) => {
                    return Sent::Delivered;
                }
            },
            Place::Waking(waiting) if waiting.len() >= self.max_waiting => return Sent::Full(msg),
            Place::Waking(waiting) => {
                waiting.push(msg);
                return Sent::Delivered;
            }
            Place::Asleep => msg,
        };
        *place = Place::Waking(vec![msg]);
        Sent::WakeIt
    }

    /// Who hears of a handler that ended late: whatever actor is behind the door by then, if one is.
    pub(super) fn late(
        self: &Arc<Self>,
        turn: TurnId,
        locale: Locale,
        clock: Arc<dyn Clock>,
    ) -> Recipient<SettledCall> {
        let door = self.clone();
        Recipient::function(move |settled| {
            door.found_out(turn, clock.now(), locale, settled);
            true
        })
    }

    /// What an unknown effect turned out to be, which the store has. A session that is awake, or about to be, hears of
    /// it; one that sleeps reads it when it wakes. Whoever subscribed is told in any case.
    pub(super) fn found_out(
        &self,
        turn: TurnId,
        at: Timestamp,
        locale: Locale,
        settled: SettledCall,
    ) {
        let (tool, settlement) = (&*settled.name, settled.settlement);
        let text = Text::Settled { tool, settlement }.in_locale(locale);
        let msg = SessionMsg::Settled(settled.clone());
        match &mut *self.place() {
            Place::Awake { actor, sent } => *sent += u64::from(actor.cast(msg).is_ok()),
            // There are no more of these than calls that ran, so nobody else is kept out by them.
            Place::Waking(waiting) => waiting.push(msg),
            Place::Asleep => {}
        }
        self.feed.tell(turn, at, EventKind::ToolCallSettled { settled, text });
    }

    /// Its actor died in this turn.
    pub(super) fn gives_up(&self, turn: TurnId) {
        *self.given_up.lock().expect("no code under this lock panics") = Some(turn);
    }

    pub(super) fn given_up(&self) -> Option<TurnId> {
        *self.given_up.lock().expect("no code under this lock panics")
    }

    /// Wakes a session that sleeps, for nobody in particular. True: somebody must open it.
    #[must_use]
    pub fn wake(&self) -> bool {
        let mut place = self.place();
        let is_asleep = matches!(*place, Place::Asleep);
        if is_asleep {
            *place = Place::Waking(Vec::new());
        }
        is_asleep
    }

    /// The session was loaded and its actor started, which handles `first` before what waits at the door.
    pub(super) fn woke(&self, actor: ActorRef<SessionMsg>, first: Option<SessionMsg>) {
        let mut place = self.place();
        let waiting = place.take_waiting();
        let sent = waiting.len() as u64;
        // Under the lock: a shutdown that this comes before finds the session awake.
        for msg in first.into_iter().chain(waiting) {
            // An actor that died meanwhile drops it: whoever waits for an answer hears that.
            drop(actor.cast(msg));
        }
        *place = Place::Awake { actor, sent };
    }

    /// The session could not be loaded: gives what was waiting for it.
    pub fn did_not_wake(&self) -> Vec<SessionMsg> {
        let mut place = self.place();
        let waiting = place.take_waiting();
        *place = Place::Asleep;
        waiting
    }

    /// Asked by the session itself when idle. True: all that was ever sent to it is handled, and it is asleep now.
    pub fn try_sleep(&self, actor: ActorId, handled: u64) -> bool {
        let mut place = self.place();
        let may = matches!(&*place, Place::Awake { actor: awake, sent } if *sent == handled && awake.get_id() == actor);
        if may {
            *place = Place::Asleep;
        }
        may
    }

    /// The session's actor is gone.
    pub fn died(&self, actor: ActorId) {
        let mut place = self.place();
        if matches!(&*place, Place::Awake { actor: awake, .. } if awake.get_id() == actor) {
            *place = Place::Asleep;
        }
    }

    fn is_asleep(&self) -> bool {
        matches!(*self.place(), Place::Asleep)
    }

    /// The session's actor, unless it sleeps.
    #[must_use]
    pub fn awake(&self) -> Option<ActorRef<SessionMsg>> {
        match &*self.place() {
            Place::Awake { actor, .. } => Some(actor.clone()),
            Place::Asleep | Place::Waking(_) => None,
        }
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().expect("no code under this lock panics")
    }
}

impl Place {
    fn take_waiting(&mut self) -> Vec<SessionMsg> {
        match self {
            Self::Waking(waiting) => std::mem::take(waiting),
            Self::Asleep | Self::Awake { .. } => Vec::new(),
        }
    }
}

/// The doors of a runtime. A plain mutex: it is held for a map's lookup, and handles keep their door.
#[derive(Debug, Default)]
pub struct Doors {
    doors: Mutex<ByName>,
}

#[derive(Debug, Default)]
struct ByName {
    doors: HashMap<SessionId, Arc<Door>>,
    /// At this size doors that nobody holds or listens at are forgotten: a sweep looks at all of them, so it waits until the map has
    /// doubled.
    sweep_at: usize,
}

impl Doors {
    /// The door of a session, which is this user's; `None` if it is another's.
    #[must_use]
    pub fn door(&self, session: &SessionId, user: &UserId, limits: &Limits) -> Option<Arc<Door>> {
        let mut by_name = self.by_name();
        if let Some(door) = by_name.doors.get(session) {
            return (door.user == *user).then(|| door.clone());
        }
        by_name.sweep();
        let door = Arc::new(Door {
            session: session.clone(),
            user: user.clone(),
            feed: Feed::new(limits.max_feed_events, limits.max_streaming_bytes),
            place: Mutex::new(Place::Asleep),
            unsettled: TaskTracker::new(),
            given_up: Mutex::default(),
            max_waiting: limits.max_waiting_for_wake,
        });
        by_name.doors.insert(session.clone(), door.clone());
        Some(door)
    }

    /// Asks every session that is awake to stop its turn and to end, and waits until they have.
    pub async fn close(&self) {
        let awake: Vec<_> = self.by_name().doors.values().filter_map(|door| door.awake()).collect();
        let asked = awake.into_iter().filter_map(|session| {
            let (reply, closed) = oneshot::channel();
            session.cast(SessionMsg::Close { reply }).is_ok().then_some(closed)
        });
        // All are asked before the first is waited for.
        for closed in asked.collect::<Vec<_>>() {
            if closed.await.is_err() {
                warn!("a session ended before it was closed");
            }
        }
    }

    fn by_name(&self) -> MutexGuard<'_, ByName> {
        self.doors.lock().expect("no code under this lock panics")
    }
}

impl ByName {
    fn sweep(&mut self) {
        const SMALLEST: usize = 1_024;
        if self.doors.len() >= self.sweep_at.max(SMALLEST) {
            self.doors.retain(|_, door| {
                Arc::strong_count(door) > 1
                    || Arc::strong_count(&door.feed) > 1
                    || !door.is_asleep()
            });
            self.sweep_at = self.doors.len() * 2;
        }
    }
}
