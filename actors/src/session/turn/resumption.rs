//! Going on with a turn that was left open: the same calls under the same ids, the same questions,
//! a new completion.

use std::sync::Arc;

use crate::session::{
    msg::{Outgoing, Purpose, Resumption},
    state::SessionState,
    turn::active::ActiveTurn,
    turn::machine::{Progress, TurnMachine},
};
use crate::{
    dispatcher::DispatchRequest,
    port::{LedgerRow, TurnStep, Write},
    protocol::{EventKind, SessionEvent},
    telemetry::TurnSpan,
};

impl SessionState {
    /// Takes the turn as the store has it, to go on with it. Readers receive that before the news,
    /// which are the ends of calls that no pipeline will end, and what comes after them.
    pub(in crate::session) fn resume(&mut self, resumption: Resumption, news: Vec<SessionEvent>) {
        let Resumption { open, calls, stops_loop, permit, .. } = resumption;
        if self.is_closing() {
            self.left_turn = Some(open.turn);
            news.into_iter().for_each(|event| self.outbox.feed().republish(event));
            // The turn stays open for the next start, and this resumption does not count.
            let session = self.outbox.session().clone();
            let at = self.outbox.now();
            let turn = open.turn;
            let step = TurnStep::Suspended;
            let suspended = Write::Turn { session, turn, at, step };
            return self.outbox.store([suspended], Outgoing::new(Purpose::Suspend(turn)));
        }
        let max_rounds = self.outbox.limits().max_rounds;
        let model = self.outbox.model_of(&open.options);
        let progress = Progress {
            round: open.round,
            usage: open.usage,
            is_dismissed: open.is_dismissed,
            stops_loop,
            // The plan takes no call from before the round.
            waiting: calls
                .iter()
                .map(|row| {
                    self.sharing_of(row.seq - open.from, &row.name, self.model_of_call(row, model))
                })
                .collect(),
        };
        let core = TurnMachine::resumed(max_rounds, open.options.on_dismiss, progress);
        let span = TurnSpan::begin(self.outbox.session(), self.outbox.user(), open.turn, true);
        let asked = (open.options, open.text);
        let cancellation = self.outbox.cancellation();
        let mut turn = ActiveTurn::new((open.turn, core, span), asked, model, cancellation, permit);
        if open.is_dismissed {
            turn.dismiss();
        }
        let from = open.from;
        let requests = calls.into_iter().map(|row| Arc::new(self.again(&turn, from, row)));
        turn.proposed = requests.map(Some).collect();
        let id = turn.id;
        self.turn = Some(turn);
        self.error = None;
        self.outbox.publish(id, EventKind::TurnResumed);
        news.into_iter().for_each(|event| self.outbox.feed().republish(event));
    }

    /// Returns the index of the model that asked for a call, or that of its turn if the model no
    /// longer exists.
    fn model_of_call(&self, row: &LedgerRow, of_turn: usize) -> usize {
        row.model.as_ref().and_then(|name| self.outbox.models().find(name)).unwrap_or(of_turn)
    }

    fn again(&self, turn: &ActiveTurn, from: u64, row: LedgerRow) -> DispatchRequest {
        let beyond = self.beyond(row.seq - from, self.model_of_call(&row, turn.first_model));
        let request = self.outbox.request(turn, (row.seq, row.proposed_at), row.tool_call());
        DispatchRequest { ledger_row: Some(Box::new(row)), beyond, ..request }
    }
}
