//! Beginning a turn: its checks, its permits, and the write that opens it.

use ractor::ActorRef;
use uuid::Uuid;

use crate::session::{
    msg::{Outgoing, SessionMsg, TurnRefused, TurnRequest},
    state::{ActiveTurn, SessionState},
    turn::machine::Turn,
};
use crate::{
    ledger::text_digest,
    mailbox::answer,
    port::Write,
    protocol::{Bound, Content, EntryOrigin, TurnId},
    telemetry::TurnSpan,
};

impl SessionState {
    /// Takes a submitted text, unless it is empty or too long, or the session closes.
    pub(in crate::session) fn ask(&mut self, me: &ActorRef<SessionMsg>, asked: TurnRequest) {
        let max_bytes = self.context.calls.limits.max_user_text_bytes;
        let bytes = asked.text.len();
        let refused = if asked.text.trim().is_empty() {
            Some(TurnRefused::Empty)
        } else if self.is_closing() {
            Some(TurnRefused::Closed)
        } else {
            (bytes > max_bytes).then_some(TurnRefused::TooLong { bytes, max_bytes })
        };
        match refused {
            Some(refused) => answer(asked.began, Err(refused)),
            None => self.submit(me, asked),
        }
    }

    /// Begins a turn that was not submitted before.
    pub(in crate::session) fn begin(&mut self, me: &ActorRef<SessionMsg>, asked: TurnRequest) {
        let TurnRequest { text, options, bytes, began, ended } = asked;
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
        let span = TurnSpan::begin(self.slot.session(), self.slot.user(), id, false);
        self.turn = Some(ActiveTurn {
            bytes: Some(bytes),
            began: Some(vec![began]),
            ended: vec![ended],
            ..ActiveTurn::new((id, core, span), (options, hash), self.cancellation(), permit)
        });
        self.store(me, [started], Outgoing { messages: vec![message], ..Outgoing::default() });
    }
}
