//! Room among the running turns. A turn that goes on after a crash waits for it in an awake
//! session, which can be viewed and dismissed.

use tokio_util::sync::CancellationToken;

use crate::session::{msg::Purpose, state::SessionState, turn::machine::TurnInput};
use crate::{admission::Permit, port::TurnStep, protocol::TurnId};

impl SessionState {
    /// Goes on with a turn from where it is, at once if it has its permit. Without a permit, it
    /// asks its person again if it only waits for that, or ends if it was dismissed. Everything
    /// else of it waits for room.
    pub(in crate::session) fn go_on(&mut self, waits: bool) {
        let Some(turn) = self.turn.as_mut() else { return };
        if turn.permit.is_none() {
            let turn_is_gone = CancellationToken::new();
            turn.waits_for_room = Some(turn_is_gone.clone().drop_guard());
            let id = turn.id;
            let is_stopped = turn.core.is_stopped();
            self.outbox.wait_for_room(id, turn_is_gone);
            if !waits && !is_stopped {
                return;
            }
        }
        self.on(TurnInput::Opened);
    }

    /// Takes the permit for which a turn waited. A resumption is counted before it begins.
    pub(in crate::session) fn has_room(&mut self, of: TurnId, permit: Permit) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == of) else { return };
        turn.waits_for_room = None;
        if turn.core.is_over() || turn.core.is_suspended() {
            return;
        }
        turn.permit = Some(permit);
        if turn.core.is_opening() {
            self.step(TurnStep::Resumed, |turn| Purpose::Resume(turn.id));
        } else if turn.core.is_completing() && turn.completion.is_none() {
            // A person has decided. A process that ends from here on finds another turn than
            // before.
            self.complete();
        }
    }
}
