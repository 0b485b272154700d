//! Importing a history into a chat that has not begun: all of it in one write, as a turn of its own
//! that has ended.

use tokio::{sync::oneshot, time::Instant};
use uuid::Uuid;

use super::{
    error::Error,
    msg::{Outgoing, PendingImport, Purpose},
    request::TurnEnd,
    state::SessionState,
};
use crate::{
    admission::Permit,
    mailbox::answer,
    protocol::{Content, Imported, LanguageTag, Limits, Notice, TurnId},
};

/// Checks a history against the bounds, and counts its bytes.
///
/// # Errors
/// [`Error`] says which bound it passes.
pub fn check_import(messages: &[Imported], limits: &Limits) -> Result<usize, Error> {
    let count = messages.len();
    let max_messages = limits.max_imported_messages;
    if count > max_messages {
        return Err(Error::TooManyMessages { messages: count, max_messages });
    }
    if messages.is_empty() || messages.iter().any(|message| message.text.trim().is_empty()) {
        return Err(Error::Empty);
    }
    let bytes = messages.iter().map(|message| message.text.len()).sum();
    let max_bytes = limits.max_imported_bytes;
    if bytes > max_bytes { Err(Error::TooLong { bytes, max_bytes }) } else { Ok(bytes) }
}

impl SessionState {
    /// Imports a history, unless the chat has begun or the session closes.
    pub(super) fn import(
        &mut self,
        messages: Vec<Imported>,
        fork: Option<LanguageTag>,
        bytes: Permit,
        reply: oneshot::Sender<Result<TurnId, Error>>,
    ) {
        if let Err(refused) = self.may_import(&messages, fork) {
            return answer(reply, Err(refused));
        }
        self.has_exclusive_write = true;
        let turn = TurnId::new(Uuid::now_v7());
        let says_so = fork.map(|_| Content::Notice { notice: Notice::Forked });
        let contents = messages.into_iter().map(Content::from).chain(says_so);
        let messages: Vec<_> = contents.map(|content| self.message(turn, content)).collect();
        let at = self.outbox.now();
        let end = TurnEnd::without_model(turn);
        let behind = messages.last().map_or(0, |message| message.seq);
        let max_stored_bytes = self.outbox.limits().max_stored_bytes_per_user as u64;
        // After a crash the transcript has all of it or nothing.
        let facts = end.whole_turn(self.outbox.session(), at, behind, fork, max_stored_bytes);
        let import = PendingImport { end, at, language: fork, _bytes: bytes, reply };
        let purpose = Purpose::Import(Box::new(import));
        self.outbox.store(facts, Outgoing { purpose, messages });
    }

    fn may_import(&self, messages: &[Imported], fork: Option<LanguageTag>) -> Result<(), Error> {
        if fork.is_none() || !messages.is_empty() {
            check_import(messages, self.outbox.limits())?;
        }
        // Any number that was reserved counts, because its entry may still come.
        let has_begun = self.chat.last_given_out() > 0;
        if self.is_closing() {
            Err(Error::Closed)
        } else if self.turn.is_some() || self.has_exclusive_write {
            Err(Error::Busy)
        } else if has_begun {
            Err(Error::HasBegun)
        } else {
            Ok(())
        }
    }

    /// Answers the caller of an import whose messages are published.
    pub(super) fn imported(&mut self, import: PendingImport) {
        let PendingImport { end, at, language, reply, .. } = import;
        self.has_exclusive_write = false;
        self.active_at = Instant::now();
        self.error = self.outbox.publish_end(&end, at, self.outbox.languages().locale(language));
        answer(reply, Ok(end.turn));
    }
}
