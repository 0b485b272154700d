//! The body of a stream. It reads items, keeps the pace, keeps the connection open, and watches for
//! the end of the stream.

use std::{pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderName, header},
    response::{IntoResponse as _, Response},
};
use madang::{
    Session, TurnId,
    approval::{Inbox, InboxItem},
    event::{EventCursor, FeedEpoch, StreamItem, Subscription},
    turn::{TurnEvents, When},
};
use tokio::{
    runtime::Handle,
    time::{Instant, Sleep, sleep, timeout},
};
use tracing::debug;

use super::{
    frame::Frames,
    mapper::{Cut, Mapper, Then},
    missed::MissedRequest,
    outlet::{BrokenOff, Outlet, OutletReader, WrittenBody},
    permits::StreamPermit,
    pieces::{inbox_pieces, inbox_weight, pieces, weight},
};
use crate::{
    OnDisconnect,
    auth::{
        caller::{Caller, CallerCredential},
        secret::random_bytes,
    },
    byte_budget::BytePermit,
    metrics::{self, Counted},
    problem::Problem,
    state::Shared,
};

/// What a stream reads.
#[derive(Debug)]
pub(crate) enum Items {
    /// All events of a session.
    Session(Box<Subscription>),
    /// The events of one turn, to its end.
    Turn(Box<TurnEvents>),
    /// The approval requests of a user.
    Inbox(Box<Inbox>),
}

/// What was read.
#[derive(Debug)]
enum Read {
    Stream(StreamItem),
    Inbox(InboxItem),
}

impl Items {
    fn epoch(&self) -> Option<FeedEpoch> {
        match self {
            Self::Session(items) => Some(items.epoch()),
            Self::Turn(items) => Some(items.epoch()),
            Self::Inbox(_) => None,
        }
    }

    /// Returns whether the next item comes from the store. Items in memory are the same for all
    /// readers.
    fn reads_store(&self) -> bool {
        match self {
            Self::Session(items) => items.reads_store(),
            Self::Turn(_) | Self::Inbox(_) => false,
        }
    }

    async fn next(&mut self) -> Option<Read> {
        match self {
            Self::Session(items) => items.next().await.map(Read::Stream),
            Self::Turn(items) => items.next().await.map(Read::Stream),
            Self::Inbox(items) => items.next().await.map(Read::Inbox),
        }
    }

    /// Reads the items in memory after the runtime has shut down. The store is closed by then.
    async fn rest(&mut self) -> Option<Read> {
        match self {
            Self::Session(items) => items.try_next().map(Read::Stream),
            Self::Turn(_) | Self::Inbox(_) => {
                timeout(REST_PATIENCE, self.next()).await.ok().flatten()
            }
        }
    }
}

/// How long the last items of a turn or an inbox are read when the server ends. They are in memory.
const REST_PATIENCE: Duration = Duration::from_millis(200);

/// The room for what a reader that catches up has in memory: a part of the chat, and what is
/// written of it.
const REPLAY_ROOM: usize = 64 * 1024;

/// A stream that has its permit and is about to answer.
#[derive(Debug)]
pub(crate) struct OpenStream {
    pub(crate) shared: Arc<Shared>,
    surface: &'static str,
    pub(crate) credential: CallerCredential,
    held: (StreamPermit, Counted),
    pub(crate) reader: OutletReader,
    begun: Instant,
    dismisses: FollowedTurn,
    missed: MissedRequest,
}

/// Dismisses a turn if its reader leaves before the end.
#[derive(Debug, Default)]
struct FollowedTurn(Option<(Session, TurnId)>);

impl FollowedTurn {
    fn forget(&mut self) {
        self.0 = None;
    }
}

impl Drop for FollowedTurn {
    fn drop(&mut self) {
        let (Some((session, turn)), Ok(tokio)) = (self.0.take(), Handle::try_current()) else {
            return;
        };
        // This is a task, because a value that is being dropped cannot wait.
        tokio.spawn(async move { session.dismiss_turn(turn, When::Any).await });
    }
}

impl OpenStream {
    /// Takes a permit for a stream of this caller.
    ///
    /// # Errors
    /// Returns a problem if there is none.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        caller: &Caller,
        surface: &'static str,
    ) -> Result<Self, Problem> {
        Ok(Self {
            held: (shared.streams.take(&caller.user)?, Counted::stream(surface)),
            reader: shared.reader(&caller.user),
            shared: shared.clone(),
            surface,
            credential: caller.credential,
            begun: Instant::now(),
            dismisses: FollowedTurn::default(),
            missed: MissedRequest::default(),
        })
    }

    /// Follows a turn for the client that began it. If the client leaves before the end, the turn
    /// continues, unless [`OnDisconnect`] says otherwise.
    pub(crate) fn follow(mut self, session: &Session, turn: TurnId) -> Self {
        self.dismisses.0 = match self.shared.on_disconnect {
            OnDisconnect::Continue => None,
            OnDisconnect::Dismiss => Some((session.clone(), turn)),
        };
        self
    }

    /// Looks for an open approval request in the chat if the reader, which is after the cursor
    /// `behind`, misses events. This is for surfaces whose clients cannot look themselves.
    pub(crate) fn look_again(mut self, session: &Session, behind: EventCursor) -> Self {
        self.missed = MissedRequest::new(session.clone(), behind);
        self
    }

    /// Answers with the stream of these items.
    pub(crate) fn write(self, items: Items, mapper: impl Mapper) -> Response {
        self.write_later(async { Ok(items) }, mapper)
    }

    /// Answers at once, and streams the items when they are there. If they are refused, the reader
    /// receives the time after which to reconnect.
    pub(crate) fn write_later<F>(self, items: F, mapper: impl Mapper) -> Response
    where
        F: Future<Output = Result<Items, Problem>> + Send + 'static,
    {
        let reader = self.reader.clone();
        // An idle stream keeps the size of all that its future has by value. So what it needs only
        // at times is boxed, here and below.
        let items = Box::pin(items);
        respond(WrittenBody::new(reader, |outlet| {
            let out = Frames::default();
            let mut writer = Writer { stream: self, outlet, mapper, out, room: None };
            async move {
                let ended = writer.run(items).await;
                writer.stream.dismisses.forget(); // the stream came to its end
                ended
            }
        }))
    }

    /// Answers with these frames and nothing else.
    pub(crate) fn whole(self, mut frames: Frames) -> Response {
        let reader = self.reader.clone();
        respond(WrittenBody::new(reader, |outlet| async move {
            let sent = outlet.send(frames.take()).await;
            drop(self.held);
            sent
        }))
    }
}

pub(crate) fn respond(body: WrittenBody) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::new(body)).into_response()
}

struct Writer<M> {
    stream: OpenStream,
    outlet: Outlet,
    mapper: M,
    out: Frames,
    /// The room that was taken before an item was read, for all that is written of it.
    room: Option<Arc<BytePermit>>,
}

impl<M: Mapper> Writer<M> {
    async fn run(
        &mut self,
        mut items: Pin<Box<impl Future<Output = Result<Items, Problem>>>>,
    ) -> Result<(), BrokenOff> {
        let shared = self.stream.shared.clone();
        let credential = self.stream.credential;
        let mut ends = std::pin::pin!(first_cut(&shared, credential));
        self.out.comment("madang");
        if self.mapper.says_when_to_retry() {
            self.out.retry(random_between(shared.limits.min_retry, shared.limits.max_retry));
        }
        self.mapper.open(&mut self.out);
        self.flush().await?;
        let pace = shared.limits.text_pace;
        let silence = shared.limits.keep_alive;
        let mut keep_alive = std::pin::pin!(sleep(silence));
        let opened = loop {
            tokio::select! {
                biased;
                opened = items.as_mut() => break opened,
                cut = ends.as_mut() => return self.say(cut).await,
                () = keep_alive.as_mut() => self.is_alive(keep_alive.as_mut()).await?,
            }
        };
        drop(items);
        let mut items = match opened {
            Ok(items) => items,
            Err(problem) => {
                debug!(name = problem.name().name(), "a stream has no items");
                return self.say(unread(&shared)).await;
            }
        };
        if let Some(epoch) = items.epoch() {
            self.mapper.begin(epoch);
        }
        let mut is_first = true;
        loop {
            if !items.reads_store() {
                self.room = None;
            } else if self.room.is_none() {
                self.room = Box::pin(self.room(REPLAY_ROOM)).await?;
            }
            let item = tokio::select! {
                biased;
                cut = ends.as_mut() => {
                    if let Cut::Draining { .. } = cut {
                        while let Some(item) = items.rest().await {
                            if let Some(ended) = Box::pin(self.tell(item)).await {
                                return ended;
                            }
                        }
                    }
                    return self.say(cut).await;
                }
                item = items.next() => item,
                () = keep_alive.as_mut() => {
                    self.is_alive(keep_alive.as_mut()).await?;
                    continue;
                }
            };
            let Some(item) = item else { return self.closed().await };
            if std::mem::take(&mut is_first) {
                metrics::first_byte(self.stream.surface, self.stream.begun.elapsed());
            }
            let is_text =
                matches!(item, Read::Stream(StreamItem::Text { .. } | StreamItem::Thinking { .. }));
            if let Some(ended) = Box::pin(self.tell(item)).await {
                return ended;
            }
            keep_alive.as_mut().reset(Instant::now() + silence);
            if is_text {
                // This comes before the next item is taken, because an item that was taken could
                // not be given back.
                tokio::select! {
                    biased;
                    cut = ends.as_mut() => return self.say(cut).await,
                    () = sleep(pace) => {}
                }
            }
        }
    }

    /// Writes a sign that the stream is alive, so that no proxy takes its silence for its end.
    async fn is_alive(&mut self, keep_alive: Pin<&mut Sleep>) -> Result<(), BrokenOff> {
        self.out.comment("");
        self.flush().await?;
        keep_alive.reset(Instant::now() + self.stream.shared.limits.keep_alive);
        Ok(())
    }

    /// Waits for room for what is written of an item. Meanwhile writes signs that the stream is
    /// alive.
    async fn room(&mut self, bytes: usize) -> Result<Option<Arc<BytePermit>>, BrokenOff> {
        let outlet = self.outlet.clone();
        let mut room = std::pin::pin!(outlet.room(bytes));
        let mut keep_alive = std::pin::pin!(sleep(self.stream.shared.limits.keep_alive));
        loop {
            tokio::select! {
                biased;
                room = room.as_mut() => return room,
                () = keep_alive.as_mut() => self.is_alive(keep_alive.as_mut()).await?,
            }
        }
    }

    /// Writes and sends an item. Returns the end of the stream if this is the last one.
    async fn tell(&mut self, item: Read) -> Option<Result<(), BrokenOff>> {
        let item = match item {
            Read::Stream(item) => item,
            Read::Inbox(item) => {
                for piece in inbox_pieces(item, self.stream.shared.limits.max_page_bytes) {
                    if let Err(broken) = self.make_room(inbox_weight(&piece)).await {
                        return Some(Err(broken));
                    }
                    let then = self.mapper.on_inbox(&piece, &mut self.out);
                    if let Some(ended) = self.told(then).await {
                        return Some(ended);
                    }
                }
                return None;
            }
        };
        let OpenStream { shared, missed, .. } = &mut self.stream;
        if let StreamItem::Lagged { from, to } = item {
            metrics::lagged(to - from);
            missed.look(shared.now()).await;
        }
        let pieces = pieces(item, &shared.limits);
        for piece in pieces {
            if let Some(ended) = self.write_piece(&piece).await {
                return Some(ended);
            }
        }
        let missed = self.stream.missed.due()?;
        self.write_piece(&missed).await
    }

    async fn write_piece(&mut self, piece: &StreamItem) -> Option<Result<(), BrokenOff>> {
        if let Err(broken) = self.make_room(weight(piece)).await {
            return Some(Err(broken));
        }
        let then = self.mapper.on(piece, &mut self.out);
        self.stream.missed.told(piece);
        self.told(then).await
    }

    /// Takes room for what is written of a piece, if what was taken before the item is not enough.
    async fn make_room(&mut self, weight: usize) -> Result<(), BrokenOff> {
        if self.room.is_none() || weight > REPLAY_ROOM {
            self.room = None; // who waits for room holds none
            self.room = Box::pin(self.room(weight)).await?;
        }
        Ok(())
    }

    /// Sends what was written. Returns the end of the stream if this was the last of it.
    async fn told(&mut self, then: Then) -> Option<Result<(), BrokenOff>> {
        match self.flush().await {
            Ok(()) => last_item(then),
            Err(broken) => Some(Err(broken)),
        }
    }

    /// Ends a stream whose items ended, by a dismissal or because the runtime has ended.
    async fn closed(&mut self) -> Result<(), BrokenOff> {
        let shared = &self.stream.shared;
        let is_draining = shared.drain.is_draining();
        let cut = if is_draining { leaving(shared) } else { Cut::Dismissed };
        self.say(cut).await
    }

    async fn say(&mut self, cut: Cut) -> Result<(), BrokenOff> {
        let then = self.mapper.cut(cut, &mut self.out);
        self.told(then).await.unwrap_or(Ok(()))
    }

    async fn flush(&mut self) -> Result<(), BrokenOff> {
        if self.out.is_empty() {
            return Ok(());
        }
        let piece = self.out.take();
        match &self.room {
            Some(room) => self.outlet.send_in(Some(room.clone()), piece).await,
            None => self.outlet.send(piece).await?,
        }
        Ok(())
    }
}

fn last_item(then: Then) -> Option<Result<(), BrokenOff>> {
    match then {
        Then::Continue => None,
        Then::Close => Some(Ok(())),
        Then::Break => Some(Err(BrokenOff)),
    }
}

/// Waits for what ends a stream from outside.
pub(crate) async fn first_cut(shared: &Shared, credential: CallerCredential) -> Cut {
    let still_counts = || shared.auth.counts(credential, shared.now());
    // No stream lives longer than its login.
    let rest = credential.until.map(|until| shared.now().until(until));
    let life = shared.limits.stream_life.min(rest.unwrap_or(Duration::MAX));
    tokio::select! {
        biased;
        () = shared.drain.leaving.cancelled() => leaving(shared),
        () = revoked(shared, credential) => Cut::TokenExpired,
        () = sleep(life) => match still_counts() {
            true => Cut::TooLong { retry_ms: retry_ms(shared) },
            false => Cut::TokenExpired,
        },
    }
}

/// Waits until tokens, keys or logins have changed so that this credential no longer counts.
async fn revoked(shared: &Shared, credential: CallerCredential) {
    let auth = &shared.auth;
    if credential.rests_on.is_none() {
        return std::future::pending().await;
    }
    let mut changes = auth.changes.subscribe();
    while auth.counts(credential, shared.now()) {
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Returns the end of a stream whose items cannot be read.
fn unread(shared: &Shared) -> Cut {
    match shared.drain.is_draining() {
        true => leaving(shared),
        false => Cut::Unread { retry_ms: retry_ms(shared) },
    }
}

/// Returns the end of a stream that ends with the server.
fn leaving(shared: &Shared) -> Cut {
    Cut::Draining { retry_ms: retry_ms(shared) }
}

fn retry_ms(shared: &Shared) -> u64 {
    let retry = random_between(shared.limits.min_retry, shared.limits.max_retry);
    u64::try_from(retry.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a random time between the two, so that readers do not all come back at once.
fn random_between(from: Duration, to: Duration) -> Duration {
    let span = u64::try_from(to.saturating_sub(from).as_millis()).unwrap_or(u64::MAX);
    let random = random_bytes().map_or(0, u64::from_ne_bytes);
    from + Duration::from_millis(if span == 0 { 0 } else { random % (span + 1) })
}
