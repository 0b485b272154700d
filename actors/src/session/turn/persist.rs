//! The writes of a session, and the publishing of what the store has.

use tokio::{sync::oneshot, time::Instant};
use tracing::{debug, error};

use crate::session::{
    error::Error,
    msg::{About, Outgoing},
    request::TurnEnd,
    state::SessionState,
    turn::{active::ActiveCall, machine::TurnInput},
};
use crate::{
    mailbox::answer,
    port::StoreError,
    protocol::{ChatMessage, Content, LimitExceeded, Timestamp, TurnId},
    telemetry::refused,
};

impl SessionState {
    pub(in crate::session) fn stored(&mut self, written: Outgoing, result: Result<(), StoreError>) {
        let Outgoing { about, messages, end, clear, import, resumed, called, dismissed } = written;
        let opens = messages.iter().any(|message| matches!(message.content, Content::User { .. }));
        match result {
            // The store has the end of that turn, which came later than this: the chat and its next
            // turn go on.
            Err(cause) if self.is_over(about) => {
                debug!(session = %self.outbox.session(), ?about, %cause, "dropped a late report of a write");
                dismissed.into_iter().for_each(|dismissed| answer(dismissed, Ok(())));
            }
            Ok(()) => {
                self.outbox.turn_memory().is_stored();
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
        let session = self.outbox.session();
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
        self.outbox.end();
        if let Some(reply) = self.closing.take() {
            answer(reply, ());
        }
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
        let refusal = LimitExceeded::of_stored_bytes(self.outbox.limits());
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
        let locale = self.outbox.locale_of(&turn.options);
        // A reader that receives the end may begin the next turn at once.
        drop(turn.permit);
        self.error = self.outbox.publish_end(end, at, locale);
        turn.span.ended(end.ending, end.error.as_ref(), end.usage);
        self.outbox.turn_memory().ended(end);
        turn.dismissed.into_iter().for_each(|dismissed| answer(dismissed, Ok(())));
    }

    /// Publishes an entry that the store has, and entries that waited for it. The turn learns of a
    /// call's end only now, because otherwise the model would be asked again without it.
    pub(super) fn show(&mut self, message: ChatMessage) {
        let locale =
            self.turn.as_ref().map(|turn| self.outbox.locale_of(&turn.options)).unwrap_or_default();
        let mut ended = Vec::new();
        let shown = self.chat.arrived(message);
        for message in &self.chat.messages()[shown] {
            if let Content::ToolCall(record) = &message.content {
                ended.push((record.id, record.stops_loop()));
            }
            self.outbox.publish_entry(message, locale);
        }
        for (call, stops_loop) in ended {
            let running = self.turn.as_mut().and_then(|turn| turn.calls.remove(&call));
            if let Some(ActiveCall { index, .. }) = running {
                self.on(TurnInput::CallEnded { index, stops_loop });
            }
        }
    }

    pub(in crate::session) fn message(&mut self, turn: TurnId, content: Content) -> ChatMessage {
        ChatMessage { seq: self.chat.reserve(), turn, at: self.outbox.now(), content }
    }
}
