//! A handle to a turn: its text, its events, its end.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use futures_util::{FutureExt as _, future::Shared};
use madang_actors::{
    port::StoreError,
    protocol::{
        CallRecord, EventCursor, EventKind, FeedEpoch, TurnEnding, TurnError, TurnId, Usage,
    },
    session::{DismissalStored, SessionSlot, StreamItem, Subscription, TurnEnd},
};
use tokio::sync::oneshot;
use tokio_util::sync::ReusableBoxFuture;

use crate::{
    error::{Error, ReplyError},
    runtime::shared::SharedRuntime,
};

/// Separates what the model says before a tool call from what it says after it.
pub const BETWEEN_MESSAGES: &str = "\n\n";

/// Appends a message to a text, after a blank line if neither is empty.
pub fn append_message(text: &mut String, message: &str) {
    if !text.is_empty() && !message.is_empty() {
        text.push_str(BETWEEN_MESSAGES);
    }
    text.push_str(message);
}

/// A handle to a turn that has begun, returned by [`Session::send`](crate::Session::send). Follow
/// the turn by its [`events`](Self::events), or wait for its [`outcome`](Self::outcome) or its
/// [`text`](Self::text), in any order and as often as needed.
///
/// Dropping the handle, or any future or stream made from it, cancels nothing. The turn continues
/// to its end, and the store keeps its text. [`Session::dismiss`](crate::Session::dismiss) and
/// [`Session::dismiss_turn`](crate::Session::dismiss_turn) dismiss it.
#[derive(Debug, Clone)]
pub struct Turn {
    id: TurnId,
    slot: Arc<SessionSlot>,
    runtime: Arc<SharedRuntime>,
    end: WaitingEnd,
    /// A subscription from before the turn's beginning. `None` if the turn existed already; it is
    /// then read from the store.
    live: Option<Subscription>,
}

/// The end of a turn that one session sends to all clones of a handle.
type WaitingEnd = Shared<oneshot::Receiver<TurnEnd>>;

/// The result of a turn: its text, its calls, its end and its cost.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TurnOutcome {
    /// The text of all the model's messages, separated by blank lines. If the turn did not answer,
    /// this is the text until its end.
    pub text: String,
    /// The tool calls, in the order in which they ended.
    pub calls: Vec<CallRecord>,
    /// How the turn ended.
    pub ending: TurnEnding,
    /// Why the turn failed, and the same in the turn's language for a person. `None` if it did not
    /// fail.
    pub error: Option<(TurnError, String)>,
    /// The tokens that all its completions used.
    pub usage: Usage,
}

impl Turn {
    pub(crate) fn new(
        id: TurnId,
        slot: Arc<SessionSlot>,
        runtime: Arc<SharedRuntime>,
        end: oneshot::Receiver<TurnEnd>,
        live: Option<Subscription>,
    ) -> Self {
        Self { id, slot, runtime, end: end.shared(), live }
    }

    /// Returns the id under which events, ledger and store name this turn.
    #[must_use]
    pub const fn id(&self) -> TurnId {
        self.id
    }

    /// Returns whether the text that returned this handle began the turn. It is false if a repeated
    /// text found the turn that it began the first time, or if
    /// [`Session::turn`](crate::Session::turn) found the running one.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.live.is_some()
    }

    /// Waits for the end of the turn and returns the text of all the model's messages in it,
    /// separated by blank lines. If a tool stopped the turn, this is the text until then.
    ///
    /// A question of the turn stays open until another holder of the session answers it, or until
    /// it expires.
    ///
    /// # Errors
    /// [`ReplyError`] says how else the turn ended, or why its text could not be read.
    pub async fn text(&self) -> Result<String, ReplyError> {
        let TurnOutcome { text, ending, error, .. } = self.outcome().await?;
        match (ending, error) {
            (TurnEnding::Answered | TurnEnding::Stopped, _) => Ok(text),
            (TurnEnding::Dismissed, _) => Err(ReplyError::Dismissed),
            (TurnEnding::Failed, Some((error, text))) => Err(ReplyError::Failed { error, text }),
            (TurnEnding::Failed, None) => Err(ReplyError::NotRead),
        }
    }

    /// Waits for the end of the turn and returns its result, however it ended.
    ///
    /// # Errors
    /// [`ReplyError::NotRead`] if its events could not be read from the store.
    /// [`ReplyError::Interrupted`] if the store fails, so that the turn cannot go on for now.
    /// [`ReplyError::Closed`] if the runtime was shut down and left the turn to the next start.
    /// [`ReplyError::Dismissed`] if a dismissal closed this reader before the end of the turn was
    /// published.
    pub async fn outcome(&self) -> Result<TurnOutcome, ReplyError> {
        let mut events = self.reader();
        let mut text = String::new();
        let mut calls = Vec::new();
        let mut failed = None;
        let mut interrupted = None;
        while let Some(item) = events.next().await {
            let event = match item {
                StreamItem::Event(event) => event,
                StreamItem::ReplayFailed => return Err(ReplyError::NotRead),
                StreamItem::Text { .. }
                | StreamItem::Thinking { .. }
                | StreamItem::Lagged { .. }
                | _ => {
                    continue;
                }
            };
            match &event.kind {
                EventKind::ModelMessage { text: said, .. } => append_message(&mut text, said),
                EventKind::ToolCallEnded { record } => calls.push(CallRecord::clone(record)),
                EventKind::Error { error, text } => failed = Some((error.clone(), text.clone())),
                EventKind::TurnInterrupted { text } => {
                    interrupted = Some(ReplyError::Interrupted { text: text.clone() });
                }
                EventKind::TurnEnded { ending, usage } => {
                    let ending = *ending;
                    let usage = *usage;
                    return Ok(TurnOutcome { text, calls, ending, error: failed, usage });
                }
                _ => {}
            }
        }
        // Only a dismissal closes a subscription before the turn has ended.
        let is_closed_screen = events.end.is_none();
        match self.ended().await {
            Err(_) => Err(interrupted.unwrap_or(ReplyError::Closed)),
            Ok(_) if is_closed_screen => Err(ReplyError::Dismissed),
            Ok(_) => Err(ReplyError::NotRead),
        }
    }

    /// Follows the turn from its first event to [`EventKind::TurnEnded`], even if an idempotency
    /// key found a turn that runs or has ended. The subscription began before the text was
    /// submitted, so it misses nothing. Each call of this method reads from the beginning.
    ///
    /// The stream keeps a position, not a queue, so a slow reader blocks no other. It receives how
    /// far it fell behind ([`StreamItem::Lagged`]), and then the stored events from the store.
    ///
    /// The stream ends early if the turn is left to the next start, if a dismissal closes this
    /// reader, or if the store fails, so that the turn cannot go on for now
    /// ([`EventKind::TurnInterrupted`]).
    #[must_use]
    pub fn events(&self) -> TurnEvents {
        let reader = self.reader();
        let epoch = reader.items.epoch();
        TurnEvents { next: ReusableBoxFuture::new(read(reader)), epoch, is_over: false }
    }

    /// Waits until the turn has ended and its end is stored, and returns the end. It reads no
    /// events. As long as the handle is held, it keeps the events that the session's feed has in
    /// memory.
    ///
    /// # Errors
    /// [`Error::Closed`] if the store fails, so that the turn cannot go on for now, or if the
    /// runtime was shut down and left the turn to the next start. The ledger has the effects of its
    /// tools in either case.
    pub async fn ended(&self) -> Result<TurnEnd, Error> {
        self.end.clone().await.map_err(|_| Error::Closed)
    }

    fn reader(&self) -> TurnReader {
        let Self { id, slot, runtime, end, live } = self;
        let from_the_store = || slot.subscribe_after(EventCursor::START, &runtime.context.calls);
        // A dismissal closes the readers of its time, and not those that come later.
        let live = live.as_ref().filter(|live| !live.is_closed());
        let items = live.cloned().unwrap_or_else(from_the_store);
        let turn = *id;
        let waiting = end.clone();
        TurnReader { turn, items, waiting, end: None, has_begun: false, is_over: false }
    }
}

/// A dismissal that is in effect, returned by [`Session::dismiss`](crate::Session::dismiss).
/// Dropping it takes nothing back.
#[derive(Debug)]
pub struct Dismissed(DismissalStored);

impl Dismissed {
    pub(crate) const fn new(stored: DismissalStored) -> Self {
        Self(stored)
    }

    /// Waits until the store has the dismissal. From then on no restart continues the turn. This
    /// takes no longer than a handler that writes at this moment, or
    /// [`Limits::store_timeout`](crate::Limits::store_timeout).
    ///
    /// # Errors
    /// [`StoreError`] says why the store does not have it. The turn stays dismissed as long as this
    /// process lives.
    pub async fn stored(self) -> Result<(), StoreError> {
        self.0.await.unwrap_or(Err(StoreError::Silent))
    }
}

/// The events of one turn, in order, as a [`Stream`] that ends with the turn. [`next`](Self::next)
/// reads it without a crate for streams.
#[derive(Debug)]
pub struct TurnEvents {
    next: ReusableBoxFuture<'static, (TurnReader, Option<StreamItem>)>,
    epoch: FeedEpoch,
    is_over: bool,
}

impl TurnEvents {
    /// Waits for the next event. Returns `None` after the turn has ended. Dropping the future loses
    /// no event.
    pub async fn next(&mut self) -> Option<StreamItem> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the name of the session's feed, which a [`FeedCursor`](crate::event::FeedCursor)
    /// after one of these events contains.
    #[must_use]
    pub const fn epoch(&self) -> FeedEpoch {
        self.epoch
    }
}

impl Stream for TurnEvents {
    type Item = StreamItem;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<StreamItem>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let (reader, item) = ready!(self.next.poll(context));
        self.is_over = item.is_none();
        if !self.is_over {
            self.next.set(read(reader));
        }
        Poll::Ready(item)
    }
}

async fn read(mut reader: TurnReader) -> (TurnReader, Option<StreamItem>) {
    let item = reader.next().await;
    (reader, item)
}

/// Picks one turn's events out of a subscription to its session.
struct TurnReader {
    turn: TurnId,
    items: Subscription,
    waiting: WaitingEnd,
    /// The end of the turn, after it was received. Subscribers received it before.
    end: Option<Result<TurnEnd, Error>>,
    has_begun: bool,
    is_over: bool,
}

impl TurnReader {
    async fn next(&mut self) -> Option<StreamItem> {
        while !self.is_over {
            let item = if self.end.is_some() {
                self.items.rest().await
            } else {
                tokio::select! {
                    biased;
                    item = self.items.next() => item,
                    end = &mut self.waiting => {
                        self.end = Some(end.map_err(|_| Error::Closed));
                        continue;
                    }
                }
            };
            match &item {
                Some(StreamItem::Event(event)) if event.turn != self.turn => continue,
                Some(StreamItem::Event(event)) => {
                    self.has_begun = true;
                    self.is_over = matches!(event.kind, EventKind::TurnEnded { .. });
                }
                // Before the turn's first event the model speaks in another turn.
                Some(StreamItem::Text { .. } | StreamItem::Thinking { .. }) if !self.has_begun => {
                    continue;
                }
                Some(_) => {}
                None => self.is_over = true,
            }
            return item;
        }
        None
    }
}
