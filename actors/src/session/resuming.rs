//! Going on with a turn that was left open: the same calls under the same ids, the same questions, the model anew.

use std::{collections::BTreeMap, sync::Arc};

use ractor::ActorRef;
use tokio_util::sync::CancellationToken;

use super::{
    awake::{Awake, Resumption, Running},
    msg::{Outgoing, SessionMsg},
    turn::{Progress, Turn, TurnInput},
};
use crate::{
    dispatcher::{Dismissal, DispatchRequest},
    port::{LedgerRow, TurnStep, Write},
    protocol::{EventKind, ToolCall},
    telemetry::TurnSpan,
};

impl Awake {
    /// Goes on where the store says that the turn was.
    pub(super) fn resume(&mut self, me: &ActorRef<SessionMsg>, resumption: Resumption) {
        if self.is_closing() {
            // It stays open for the next start, and this one does not count.
            let (session, at) = (self.place.door.session().clone(), self.wiring.around.clock.now());
            let (turn, step) = (resumption.open.turn, TurnStep::Suspended);
            let suspended = Write::Turn { session, turn, at, step };
            return self.store(me, [suspended], Outgoing::default());
        }
        let Resumption { open, calls, stops_loop, place, news } = resumption;
        let max_rounds = self.wiring.around.limits.max_rounds;
        let progress = Progress {
            round: open.round,
            usage: open.usage,
            is_dismissed: open.is_dismissed,
            stops_loop,
            waiting: calls.iter().map(|row| self.sharing_of(&row.name)).collect(),
        };
        let mut turn = Running {
            id: open.turn,
            span: TurnSpan::begin(
                self.place.door.session(),
                self.place.door.user(),
                open.turn,
                true,
            ),
            core: Turn::resumed(max_rounds, open.options.on_dismiss, progress),
            dismissal: Dismissal { token: CancellationToken::new(), mode: open.options.on_dismiss },
            cancelled: self.runtime_closes.child_token(),
            options: open.options,
            text: open.text,
            _place: place,
            bytes: None,
            began: None,
            ended: Vec::new(),
            proposed: Default::default(),
            completion: None,
            calls: BTreeMap::new(),
            questions: Vec::new(),
        };
        if open.is_dismissed {
            turn.dismiss();
        }
        let requests = calls.into_iter().map(|row| Arc::new(self.again(&turn, me, row)));
        turn.proposed = requests.map(Some).collect();
        self.turn = Some(turn);
        self.error = None;
        self.tell(EventKind::TurnResumed);
        news.into_iter().for_each(|event| self.place.door.feed().tell_again(event));
        self.on(me, TurnInput::Opened);
    }

    fn again(&self, turn: &Running, me: &ActorRef<SessionMsg>, row: LedgerRow) -> DispatchRequest {
        let standing = Some(Box::new(row.clone()));
        let call = ToolCall { id: row.call, name: row.name, arguments: row.raw_arguments };
        DispatchRequest { standing, ..self.request_in(turn, me, row.seq, call) }
    }
}
