//! Clearing the chat: a mark after which the prompt of the model begins, and the end of every
//! standing approval.

use tokio::sync::oneshot;

use super::{
    error::Error,
    msg::{Outgoing, Purpose},
    state::SessionState,
};
use crate::{mailbox::answer, port::Write, protocol::Content};

impl SessionState {
    pub(super) fn clear(&mut self, reply: oneshot::Sender<Result<(), Error>>) {
        if self.turn.is_some() || self.left_turn.is_some() || self.has_exclusive_write {
            return answer(reply, Err(Error::Busy));
        }
        self.has_exclusive_write = true;
        // The mark belongs to the turn that it follows; an empty chat has nothing to mark.
        let mark = self.chat.last_turn().map(|turn| self.message(turn, Content::Cleared));
        // After a clearing the user is asked anew.
        let outbox = &self.outbox;
        let at = self.outbox.now();
        let revoke = Write::Revoke {
            session: outbox.session().clone(),
            tool: None,
            by: outbox.user().clone(),
            at,
        };
        let messages = mark.into_iter().collect();
        self.outbox.store([revoke], Outgoing { purpose: Purpose::Clear(reply), messages });
    }
}
