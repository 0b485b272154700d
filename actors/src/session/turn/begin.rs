//! Beginning a turn: its checks, its permits, and the write that opens it.

use uuid::Uuid;

use crate::session::{
    msg::{Outgoing, TurnRefused, TurnRequest},
    state::{ActiveTurn, SessionState},
    turn::machine::Turn,
};
use crate::{
    ledger::text_digest,
    mailbox::answer,
    port::Write,
    protocol::{Bound, Content, EntryOrigin, Limits, TurnId, TurnOptions},
    telemetry::TurnSpan,
};

/// Checks the lengths of a text and of its instructions, and counts the bytes of both.
///
/// # Errors
/// [`TurnRefused`] says which of them is too long.
pub fn check_lengths(
    text: &str,
    options: &TurnOptions,
    limits: &Limits,
) -> Result<usize, TurnRefused> {
    let (bytes, max_bytes) = (text.len(), limits.max_user_text_bytes);
    if bytes > max_bytes {
        return Err(TurnRefused::TooLong { bytes, max_bytes });
    }
    let instructions = options.instructions.as_ref().map_or(0, |text| text.len());
    let max_instructions = limits.max_instructions_bytes;
    if instructions > max_instructions {
        let (bytes, max_bytes) = (instructions, max_instructions);
        return Err(TurnRefused::InstructionsTooLong { bytes, max_bytes });
    }
    Ok(bytes + instructions)
}

impl SessionState {
    /// Takes a submitted text, unless it is empty, too long or has too long instructions, or the session
    /// closes.
    pub(in crate::session) fn ask(&mut self, asked: TurnRequest) {
        let refused = if asked.text.trim().is_empty() {
            Err(TurnRefused::Empty)
        } else if self.is_closing() {
            Err(TurnRefused::Closed)
        } else {
            check_lengths(&asked.text, &asked.options, &self.context.calls.limits)
        };
        match refused {
            Err(refused) => answer(asked.began, Err(refused)),
            Ok(_) => self.submit(asked),
        }
    }

    /// Begins a turn that was not submitted before.
    pub(in crate::session) fn begin(&mut self, asked: TurnRequest) {
        let TurnRequest { text, mut options, bytes, began, ended } = asked;
        // Blanks tell the model nothing; without them the prompt begins like those of other turns.
        options.instructions = options.instructions.filter(|text| !text.trim().is_empty());
        if self.is_closing() {
            return answer(began, Err(TurnRefused::Closed));
        }
        if self.turn.is_some() || self.has_exclusive_write {
            return answer(began, Err(TurnRefused::Busy));
        }
        let admission = &self.context.calls.admission;
        let permit = match admission.admit(Bound::RunningTurns, self.slot.user(), 1) {
            Ok(permit) => permit,
            Err(refusal) => return answer(began, Err(TurnRefused::Overloaded(refusal))),
        };
        // What it speaks from now on is stored with it, and does not change with the texts behind it.
        options.language = Some(self.locale_for(options.language, &text).tag());
        let id = TurnId::new(Uuid::now_v7());
        let hash = text_digest(&text);
        let (key, origin) = (options.key.clone(), EntryOrigin::Chat);
        let message = self.message(id, Content::User { text, key, origin });
        let started = Write::TurnStarted {
            session: self.slot.session().clone(),
            turn: id,
            at: message.at,
            options: options.clone(),
            text: hash,
            max_stored_bytes: self.context.calls.limits.max_stored_bytes_per_user as u64,
        };
        self.error = None;
        self.turns_begun += 1;
        let core = Turn::new(self.context.calls.limits.max_rounds, options.on_dismiss);
        let model = self.model_of(&options);
        let span = TurnSpan::begin(self.slot.session(), self.slot.user(), id, false);
        self.turn = Some(ActiveTurn {
            bytes: Some(bytes),
            began: Some(vec![began]),
            ended: vec![ended],
            ..ActiveTurn::new(
                (id, core, span),
                (options, hash),
                model,
                self.cancellation(),
                Some(permit),
            )
        });
        self.store([started], Outgoing { messages: vec![message], ..Outgoing::of(id) });
    }
}
