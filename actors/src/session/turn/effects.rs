//! Carries out what the turn decides, effect by effect, and what follows a write after the store has
//! it.

use tokio::time::Instant;
use tracing::{debug, error};

use crate::session::{
    error::Error,
    msg::{Outgoing, Purpose},
    request::TurnEnd,
    state::SessionState,
    turn::{
        active::ActiveCall,
        machine::{TurnEffect, TurnInput},
    },
};
use crate::{
    mailbox::answer,
    port::{ModelError, StoreError},
    protocol::{ChatMessage, Content, LimitExceeded, Locale, Notice, Timestamp, TurnError, TurnId},
    telemetry::refused,
};

impl SessionState {
    /// Lets the turn decide, and carries out its effects.
    pub(super) fn on(&mut self, input: TurnInput) {
        let Some(turn) = self.turn.as_mut() else { return };
        let mut messages = Vec::new();
        let mut end = None;
        for effect in turn.core.on(input) {
            match effect {
                TurnEffect::Complete => self.complete(),
                TurnEffect::CancelCompletion => self.cancel_completion(),
                TurnEffect::Say { text, ending } => {
                    let Some(turn) = &self.turn else { return };
                    let content = Content::said_by(self.outbox.model_name_of(turn), text, ending);
                    let message = self.message(turn.id, content);
                    messages.push(message);
                }
                TurnEffect::Propose(called) => self.propose(called),
                // A withdrawn call finds its turn dismissed, and so does not begin.
                TurnEffect::Dispatch { index } | TurnEffect::Withdraw { index } => {
                    self.dispatch(index);
                }
                TurnEffect::End { ending, error, usage } => {
                    let Some(turn) = &self.turn else { return };
                    end = Some(TurnEnd { turn: turn.id, ending, error, usage });
                }
            }
        }
        if let Some(end) = end {
            self.store_end(end, messages);
        }
    }

    fn store_end(&mut self, end: TurnEnd, mut messages: Vec<ChatMessage>) {
        self.outbox.feed().silence();
        let killed = TurnError::model(ModelError::KILLED_ENGINE);
        if end.error.as_ref() == Some(&killed) {
            let left_out = Content::Notice { notice: Notice::TurnLeftOut };
            messages.push(self.message(end.turn, left_out));
        }
        if self.chat.should_suggest_clear(self.outbox.limits().suggest_clear_after) {
            let suggested = Content::Notice { notice: Notice::SuggestClear };
            messages.push(self.message(end.turn, suggested));
        }
        // A turn ends after all that it began is published. Its end comes after that and after its
        // own last messages.
        let last = messages.last();
        let behind = last.map_or_else(|| self.chat.last_shown(), |message| message.seq);
        let at = self.outbox.now();
        let ended = end.write(self.outbox.session(), at, behind);
        let purpose = Purpose::End(Box::new((end, at)));
        self.outbox.store([ended], Outgoing { purpose, messages });
    }

    /// Takes the report about a write.
    pub(in crate::session) fn stored(&mut self, written: Outgoing, result: Result<(), StoreError>) {
        let Outgoing { purpose, messages } = written;
        let turn = self.turn.as_ref().map(|turn| turn.id).or(self.waits_for_model());
        let is_over = purpose.turn().is_some_and(|id| turn != Some(id));
        match result {
            Ok(()) => {
                self.outbox.turn_memory().is_stored();
                let locale = match &purpose {
                    Purpose::Import(import) => self.outbox.languages().locale(import.language),
                    _ => self.locale(),
                };
                messages.into_iter().for_each(|message| self.show(message, locale));
                self.go_on_after(purpose, is_over);
            }
            // The store has the end of that turn, which came later than this: the chat and its next
            // turn go on.
            Err(cause) if is_over => {
                debug!(session = %self.outbox.session(), turn = ?purpose.turn(), %cause, "dropped a late report of a write");
                if let Purpose::Dismiss(_, callers) = purpose {
                    callers.into_iter().for_each(|caller| answer(caller, Ok(())));
                }
            }
            Err(cause) => self.not_stored(Some(purpose), &cause),
        }
    }

    /// Does what was to follow a write, which the store has.
    fn go_on_after(&mut self, purpose: Purpose, is_over: bool) {
        match purpose {
            Purpose::Dismiss(_, callers) => {
                callers.into_iter().for_each(|caller| answer(caller, Ok(())));
            }
            Purpose::End(end) => self.finish_turn(&end.0, end.1),
            Purpose::Clear(reply) => {
                self.has_exclusive_write = false;
                answer(reply, Ok(()));
            }
            Purpose::Import(import) => self.imported(*import),
            Purpose::Begin(_) | Purpose::Resume(_) | Purpose::Round(..) if is_over => {}
            Purpose::Begin(_) => self.opened(),
            Purpose::Resume(_) => self.on(TurnInput::Opened),
            Purpose::Round(..) => self.recorded(),
            Purpose::Suspend(_) => {}
        }
    }

    /// Ends the actor because the store did not take a write, or the end of a call if there is no
    /// `purpose`. The next actor goes on from what the store has, once all that this one began has
    /// ended.
    pub(super) fn not_stored(&mut self, purpose: Option<Purpose>, cause: &StoreError) {
        let session = self.outbox.session();
        if matches!(cause, StoreError::TooMuchStored) {
            debug!(%session, %cause, "a turn is refused");
        } else {
            error!(%session, %cause, "failed to store the chat");
        }
        let refusal = self.refusal(cause);
        if let Some(turn) = &mut self.turn {
            let opens = matches!(purpose, Some(Purpose::Begin(_)));
            for dismissed in turn.dismissed.drain(..) {
                answer(dismissed, Err(cause.clone()));
            }
            // If another write failed, the beginning is still on its way, and only the store knows
            // what becomes of it.
            let silent = || Error::Store(StoreError::Silent);
            for began in turn.began.take().into_iter().flatten() {
                answer(began, Err(if opens { refusal.clone() } else { silent() }));
            }
            // Nobody else has learned of its beginning.
            turn.began = opens.then(Vec::new);
        }
        self.outbox.end();
        // A caller that tries again at once wakes the next actor.
        match purpose {
            Some(Purpose::Dismiss(_, callers)) => {
                callers.into_iter().for_each(|caller| answer(caller, Err(cause.clone())));
            }
            Some(Purpose::Clear(reply)) => answer(reply, Err(refusal)),
            Some(Purpose::Import(import)) => answer(import.reply, Err(refusal)),
            _ => {}
        }
        if let Some(reply) = self.closing.take() {
            answer(reply, ());
        }
    }

    /// Returns why the store did not take what a caller asked for.
    fn refusal(&self, cause: &StoreError) -> Error {
        if !matches!(cause, StoreError::TooMuchStored) {
            return Error::Store(cause.clone());
        }
        let refusal = LimitExceeded::of_stored_bytes(self.outbox.limits());
        refused(&refusal);
        Error::Overloaded(refusal)
    }

    pub(super) fn opened(&mut self) {
        let Some(turn) = self.turn.as_mut() else { return };
        turn.bytes = None;
        for began in turn.began.take().into_iter().flatten() {
            answer(began, Ok(turn.id));
        }
        self.on(TurnInput::Opened);
    }

    fn finish_turn(&mut self, end: &TurnEnd, at: Timestamp) {
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
    pub(super) fn show(&mut self, message: ChatMessage, locale: Locale) {
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

    /// Returns the locale of the turn.
    pub(super) fn locale(&self) -> Locale {
        self.turn.as_ref().map(|turn| self.outbox.locale_of(&turn.options)).unwrap_or_default()
    }

    pub(in crate::session) fn message(&mut self, turn: TurnId, content: Content) -> ChatMessage {
        ChatMessage { seq: self.chat.reserve(), turn, at: self.outbox.now(), content }
    }
}
