//! The writes of a session, and the publishing of what the store has.

use tokio::{sync::oneshot, time::Instant};
use tracing::{debug, error};

use crate::session::{
    error::Error,
    events::feed::Durability,
    events::replay::{kind_of, kinds_of_end},
    msg::{About, Outgoing},
    request::TurnEnd,
    state::{ActiveCall, SessionState},
    turn::machine::TurnInput,
    turn::write_report::WriteReport,
};
use crate::{
    mailbox::answer,
    port::{StoreError, Write},
    protocol::{ChatMessage, Content, EventKind, LimitExceeded, Locale, Timestamp, TurnId},
    telemetry::refused,
};

impl SessionState {
    /// Sends parts to the store. They are published after the write comes back. The order of writes
    /// is the order of these calls.
    pub(in crate::session) fn store(
        &self,
        facts: impl IntoIterator<Item = Write>,
        outgoing: Outgoing,
    ) {
        let session = self.slot.session();
        let says = |message: &ChatMessage| Write::Message {
            session: session.clone(),
            message: message.clone(),
        };
        let writes: Vec<_> = facts.into_iter().chain(outgoing.messages.iter().map(says)).collect();
        let (to, begun, store) =
            (self.me.clone(), self.slot.begins(), self.context.store.store().clone());
        let report = WriteReport::new(to, outgoing, &writes, begun, store);
        let written = self.context.store.begin_write(writes);
        // Shutdown waits for it. Boxed, because each layer of a task copies its future.
        self.context.tasks.spawn(Box::pin(report.wait(written)));
    }

    pub(in crate::session) fn stored(&mut self, written: Outgoing, result: Result<(), StoreError>) {
        let Outgoing { about, messages, end, clear, import, resumed, called, dismissed } = written;
        let opens = messages.iter().any(|message| matches!(message.content, Content::User { .. }));
        match result {
            // The store has the end of that turn, which came later than this: the chat and its next
            // turn go on.
            Err(cause) if self.is_over(about) => {
                debug!(session = %self.slot.session(), ?about, %cause, "dropped a late report of a write");
                dismissed.into_iter().for_each(|dismissed| answer(dismissed, Ok(())));
            }
            Ok(()) => {
                self.slot.turn().is_stored();
                for message in messages {
                    self.show(message);
                }
                if let Some((end, at)) = end.map(|end| *end) {
                    self.ended(&end, at);
                }
                dismissed.into_iter().for_each(|dismissed| answer(dismissed, Ok(())));
                if let Some(reply) = clear {
                    self.has_exclusive_write = false;
                    answer(reply, Ok(()));
                }
                if let Some(import) = import {
                    self.imported(*import);
                }
                if opens && !self.is_over(about) {
                    self.opened();
                }
                if resumed && !self.is_over(about) {
                    self.on(TurnInput::Opened);
                }
                if called && !self.is_over(about) {
                    self.recorded();
                }
            }
            Err(cause) => {
                if let Some(turn) = self.turn.as_mut() {
                    turn.dismissed.extend(dismissed);
                }
                let import = import.map(|import| (import, self.not_imported(&cause)));
                self.not_stored(clear, &cause, opens);
                // A caller that tries again at once wakes the next actor.
                if let Some((import, cause)) = import {
                    import.fail(cause);
                }
            }
        }
    }

    /// Returns whether a write is about a turn that no longer runs.
    fn is_over(&self, about: About) -> bool {
        match about {
            About::Turn(id) => self.turn.as_ref().is_none_or(|turn| turn.id != id),
            About::Chat => false,
        }
    }

    /// Ends the actor because the store did not take a write; `opens`: it was the beginning of the
    /// turn. The next actor goes on from what the store has, once all that this one began has
    /// ended.
    pub(super) fn not_stored(
        &mut self,
        clear: Option<oneshot::Sender<Result<(), Error>>>,
        cause: &StoreError,
        opens: bool,
    ) {
        let session = self.slot.session();
        if matches!(cause, StoreError::TooMuchStored) {
            debug!(%session, %cause, "a turn is refused");
        } else {
            error!(%session, %cause, "failed to store the chat");
        }
        if let Some(reply) = clear {
            answer(reply, Err(Error::Store(cause.clone())));
        }
        // If another write failed, the beginning is still on its way, and only the store knows what
        // becomes of it.
        let of_beginning = self.not_begun(if opens { cause } else { &StoreError::Silent });
        if let Some(turn) = &mut self.turn {
            for dismissed in turn.dismissed.drain(..) {
                answer(dismissed, Err(cause.clone()));
            }
            for began in turn.began.take().into_iter().flatten() {
                answer(began, Err(of_beginning.clone()));
            }
            // Nobody else has learned of its beginning.
            turn.began = opens.then(Vec::new);
        }
        // Later callers wake the next actor, and are not lost with this one.
        self.slot.died(self.me.get_id());
        if let Some(reply) = self.closing.take() {
            answer(reply, ());
        }
        self.me.stop(None);
    }

    /// Returns the reason why a turn that the store did not take did not begin.
    fn not_begun(&self, cause: &StoreError) -> Error {
        self.too_much_stored(cause).map_or_else(|| Error::Store(cause.clone()), Error::Overloaded)
    }

    fn not_imported(&self, cause: &StoreError) -> Error {
        self.too_much_stored(cause).map_or_else(|| Error::Store(cause.clone()), Error::Overloaded)
    }

    fn too_much_stored(&self, cause: &StoreError) -> Option<LimitExceeded> {
        if !matches!(cause, StoreError::TooMuchStored) {
            return None;
        }
        let refusal = LimitExceeded::of_stored_bytes(&self.context.calls.limits);
        refused(&refusal);
        Some(refusal)
    }

    pub(super) fn opened(&mut self) {
        let Some(turn) = self.turn.as_mut() else { return };
        turn.bytes = None;
        for began in turn.began.take().into_iter().flatten() {
            answer(began, Ok(turn.id));
        }
        self.on(TurnInput::Opened);
    }

    fn ended(&mut self, end: &TurnEnd, at: Timestamp) {
        let Some(mut turn) = self.turn.take_if(|turn| turn.id == end.turn) else { return };
        self.active_at = Instant::now();
        let locale = self.locale_of(&turn);
        // A reader that receives the end may begin the next turn at once.
        drop(turn.permit);
        self.error = self.publish_end(end, at, locale);
        turn.span.ended(end.ending, end.error.as_ref(), end.usage);
        self.slot.turn().ended(end);
        turn.dismissed.into_iter().for_each(|dismissed| answer(dismissed, Ok(())));
    }

    /// Publishes the end of a turn, with its error in words.
    pub(in crate::session) fn publish_end(
        &self,
        end: &TurnEnd,
        at: Timestamp,
        locale: Locale,
    ) -> Option<String> {
        let (failed, ended) = kinds_of_end(end.ending, end.error.as_ref(), end.usage, locale);
        let text = match &failed {
            Some(EventKind::Error { text, .. }) => Some(text.clone()),
            _ => None,
        };
        for kind in failed.into_iter().chain([ended]) {
            self.slot.feed().publish(end.turn, at, Durability::End, kind);
        }
        text
    }

    /// Publishes an entry that the store has, and entries that waited for it. The turn learns of a
    /// call's end only now, because otherwise the model would be asked again without it.
    pub(super) fn show(&mut self, message: ChatMessage) {
        let locale = self.turn.as_ref().map(|turn| self.locale_of(turn)).unwrap_or_default();
        let mut ended = Vec::new();
        let shown = self.chat.arrived(message);
        for message in &self.chat.messages()[shown] {
            if let Content::ToolCall(record) = &message.content {
                ended.push((record.id, record.stops_loop()));
            }
            let kind = kind_of(message, locale);
            let durability = Durability::Entry(message.seq);
            self.slot.feed().publish(message.turn, message.at, durability, kind);
        }
        for (call, stops_loop) in ended {
            let running = self.turn.as_mut().and_then(|turn| turn.calls.remove(&call));
            if let Some(ActiveCall { index, .. }) = running {
                self.on(TurnInput::CallEnded { index, stops_loop });
            }
        }
    }

    /// Publishes progress of the turn.
    pub(super) fn publish(&self, kind: EventKind) {
        let Some(turn) = &self.turn else { return };
        let at = self.context.calls.clock.now();
        self.slot.feed().publish(turn.id, at, Durability::Transient, kind);
    }

    pub(in crate::session) fn message(&mut self, turn: TurnId, content: Content) -> ChatMessage {
        ChatMessage { seq: self.chat.reserve(), turn, at: self.context.calls.clock.now(), content }
    }
}
