//! Beginning a turn: its checks, the turn of its key, its permits, and the write that opens it. A
//! repeated submit finds the turn of the first.

use tokio::sync::oneshot;
use uuid::Uuid;

use crate::session::{
    error::Error,
    msg::{Outgoing, Purpose},
    request::{TurnEnd, TurnRequest},
    state::SessionState,
    turn::active::ActiveTurn,
    turn::machine::TurnMachine,
};
use crate::{
    ledger::text_digest,
    mailbox::answer,
    port::{StoreError, StoredEnd, SubmittedTurn, Write},
    protocol::{Bound, Content, EntryOrigin, Limits, TurnId, TurnOptions},
    telemetry::TurnSpan,
};

/// Checks the lengths of a text and of its instructions, and counts the bytes of both.
///
/// # Errors
/// [`Error`] says which of them is too long.
pub fn check_lengths(text: &str, options: &TurnOptions, limits: &Limits) -> Result<usize, Error> {
    let bytes = text.len();
    let max_bytes = limits.max_user_text_bytes;
    if bytes > max_bytes {
        return Err(Error::TooLong { bytes, max_bytes });
    }
    let instructions = options.instructions.as_ref().map_or(0, |text| text.len());
    let max_instructions = limits.max_instructions_bytes;
    if instructions > max_instructions {
        let bytes = instructions;
        let max_bytes = max_instructions;
        return Err(Error::InstructionsTooLong { bytes, max_bytes });
    }
    Ok(bytes + instructions)
}

impl SessionState {
    /// Takes a submitted text, unless it is empty, too long or has too long instructions, the
    /// session closes, or there is no model.
    pub(in crate::session) fn submit(&mut self, asked: TurnRequest) {
        let refused = if asked.text.trim().is_empty() {
            Err(Error::Empty)
        } else if self.is_closing() {
            Err(Error::Closed)
        } else if self.outbox.models().is_empty() {
            Err(Error::NoModel)
        } else {
            check_lengths(&asked.text, &asked.options, self.outbox.limits())
        };
        match refused {
            Err(refused) => answer(asked.began, Err(refused)),
            Ok(_) => self.join_or_look_up(asked),
        }
    }

    /// Joins the running turn of the same key, or asks the store whether there was one.
    fn join_or_look_up(&mut self, asked: TurnRequest) {
        let Some(key) = asked.options.key.clone() else { return self.begin(asked) };
        if self.runs(&asked) {
            return self.join(asked);
        }
        self.lookups += 1;
        self.outbox.look_up(asked, key, self.turns_begun);
    }

    /// Handles the store's answer about a key.
    pub(in crate::session) fn looked_up(
        &mut self,
        asked: TurnRequest,
        found: Result<Option<SubmittedTurn>, StoreError>,
        turns_begun: u64,
    ) {
        self.lookups -= 1;
        let found = match found {
            Ok(found) => found,
            Err(cause) => return answer(asked.began, Err(Error::Store(cause))),
        };
        match found {
            Some(SubmittedTurn { text, .. }) if text != text_digest(&asked.text) => {
                answer(asked.began, Err(Error::OtherText));
            }
            Some(SubmittedTurn { turn, end: Some(end), .. }) => {
                let StoredEnd { ending, error, usage } = end;
                answer(asked.began, Ok(turn));
                answer(asked.ended, TurnEnd { turn, ending, error, usage });
            }
            // It ended between the question and the answer; or the runtime closes, and another will
            // go on with it.
            Some(SubmittedTurn { end: None, .. }) if self.is_closing() => {
                answer(asked.began, Err(Error::Closed));
            }
            Some(SubmittedTurn { end: None, .. }) => self.join_or_look_up(asked),
            // The turn that began since may be that of this key.
            None if turns_begun != self.turns_begun => self.join_or_look_up(asked),
            None => self.begin(asked),
        }
    }

    /// Joins the running turn, if there is one.
    pub(in crate::session) fn attach(&mut self, ended: oneshot::Sender<TurnEnd>) -> Option<TurnId> {
        let turn = self.turn.as_ref().filter(|turn| !turn.core.is_suspended())?;
        self.outbox.turn_memory().wait_for_end(turn.id, ended);
        Some(turn.id)
    }

    /// Returns whether the turn of this key runs.
    fn runs(&self, asked: &TurnRequest) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| turn.options.key == asked.options.key && !turn.core.is_suspended())
    }

    fn join(&mut self, asked: TurnRequest) {
        let Some(turn) = self.turn.as_mut() else { return };
        if turn.text != text_digest(&asked.text) {
            return answer(asked.began, Err(Error::OtherText));
        }
        match &mut turn.began {
            Some(waiting) => wait_too(waiting, asked.began),
            None => answer(asked.began, Ok(turn.id)),
        }
        self.outbox.turn_memory().wait_for_end(turn.id, asked.ended);
    }

    /// Begins a turn that was not submitted before.
    fn begin(&mut self, asked: TurnRequest) {
        let TurnRequest { text, mut options, bytes, began, ended } = asked;
        // Blanks mean nothing to the model. Without them the prompt begins like those of other
        // turns.
        options.instructions = options.instructions.filter(|text| !text.trim().is_empty());
        if self.is_closing() {
            return answer(began, Err(Error::Closed));
        }
        if self.turn.is_some() || self.has_exclusive_write {
            return answer(began, Err(Error::Busy));
        }
        let outbox = &self.outbox;
        let permit = match outbox.admission().admit(Bound::RunningTurns, outbox.user(), 1) {
            Ok(permit) => permit,
            Err(refusal) => return answer(began, Err(Error::Overloaded(refusal))),
        };
        // Its language is stored with it, and does not change with later texts.
        options.language = Some(self.locale_for(options.language, &text).tag());
        let id = TurnId::new(Uuid::now_v7());
        let hash = text_digest(&text);
        let key = options.key.clone();
        let origin = EntryOrigin::Chat;
        let message = self.message(id, Content::User { text, key, origin });
        let started = Write::TurnStarted {
            session: self.outbox.session().clone(),
            turn: id,
            at: message.at,
            options: options.clone(),
            text: hash,
            max_stored_bytes: self.outbox.limits().max_stored_bytes_per_user as u64,
        };
        self.error = None;
        self.turns_begun += 1;
        let core = TurnMachine::new(self.outbox.limits().max_rounds, options.on_dismiss);
        let model = self.outbox.model_of(&options);
        let span = TurnSpan::begin(self.outbox.session(), self.outbox.user(), id, false);
        self.turn = Some(ActiveTurn {
            bytes: Some(bytes),
            began: Some(vec![began]),
            ..ActiveTurn::new(
                (id, core, span),
                (options, hash),
                model,
                self.outbox.cancellation(),
                Some(permit),
            )
        });
        self.outbox.turn_memory().wait_for_end(id, ended);
        let messages = vec![message];
        self.outbox.store([started], Outgoing { purpose: Purpose::Begin(id), messages });
    }
}

/// Adds a caller that waits. As long as the turn runs, callers may leave and others come, and those
/// that are gone take no room.
fn wait_too<T>(waiting: &mut Vec<oneshot::Sender<T>>, caller: oneshot::Sender<T>) {
    if waiting.len() == waiting.capacity() {
        waiting.retain(|caller| !caller.is_closed());
    }
    waiting.push(caller);
}
