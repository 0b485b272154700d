//! Carries out what the turn decides, effect by effect, and stores its end.

use crate::session::{
    msg::{Outgoing, Purpose},
    request::TurnEnd,
    state::SessionState,
    turn::machine::{TurnEffect, TurnInput},
};
use crate::{
    port::ModelError,
    protocol::{ChatMessage, Content, Notice, TurnError},
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
}
