//! Turns of the memory store: their beginnings, steps and ends.

use super::{layer::Turn, transaction::MemoryTransaction};
use madang_actors::{
    port::{StoreError, StoredEnd, TurnStep},
    protocol::{SessionId, Timestamp, TurnId},
};

impl MemoryTransaction {
    pub(super) fn start_turn(&mut self, session: &SessionId, turn: Turn) -> Result<(), StoreError> {
        self.must_be_open(session)?;
        let id = turn.open.turn;
        if self.has_turn(session, id) {
            return Err(StoreError::refused(format!("turn {id} has begun already")));
        }
        if self.find(session, |table| table.open).flatten().is_some() {
            return Err(StoreError::refused(format!("session {session} is in a turn")));
        }
        if let Some(key) = &turn.open.options.key
            && self.find(session, |table| table.turn_of(key).map(drop)).is_some()
        {
            return Err(StoreError::refused(format!("key {key} names another turn")));
        }
        let table = self.table(session);
        table.turns.insert(id, turn.into());
        table.open = Some(Some(id));
        Ok(())
    }

    pub(super) fn turn_step(
        &mut self,
        session: &SessionId,
        id: TurnId,
        step: &TurnStep,
    ) -> Result<(), StoreError> {
        let mut turn = self.open_turn(session, id)?;
        let open = &mut turn.open;
        match step {
            TurnStep::Called { round, .. } if *round != open.round + 1 => {
                return Err(StoreError::refused(format!("round {round} is not next in turn {id}")));
            }
            TurnStep::Called { round, from, usage } => {
                (open.round, open.from, open.usage, open.resumes) = (*round, *from, *usage, 0);
            }
            TurnStep::Dismissed => open.is_dismissed = true,
            TurnStep::Resumed => open.resumes += 1,
            TurnStep::Suspended => open.resumes = 0,
        }
        self.table(session).turns.insert(id, turn.into());
        Ok(())
    }

    pub(super) fn end_turn(
        &mut self,
        session: &SessionId,
        id: TurnId,
        ended: (Timestamp, u64),
        end: StoredEnd,
    ) -> Result<(), StoreError> {
        let turn = self.open_turn(session, id)?;
        let table = self.table(session);
        table.turns.insert(id, Turn { end: Some(end), ended: Some(ended), ..turn }.into());
        table.open = Some(None);
        if self.find(session, |table| table.last_at).flatten().is_some() {
            self.put_on_the_list(session, ended.0);
        }
        Ok(())
    }

    pub(super) fn has_turn(&self, session: &SessionId, id: TurnId) -> bool {
        self.find(session, |table| table.turns.contains_key(&id).then_some(())).is_some()
    }

    fn open_turn(&self, session: &SessionId, id: TurnId) -> Result<Turn, StoreError> {
        let turn = self.find(session, |table| table.turns.get(&id).map(|turn| Turn::clone(turn)));
        let open = turn.filter(|turn| turn.end.is_none());
        open.ok_or_else(|| StoreError::refused(format!("turn {id} is not open")))
    }

    /// Puts the session on the list of its user's chats, or moves it to the front. The moment never
    /// goes back.
    pub(super) fn put_on_the_list(&mut self, session: &SessionId, at: Timestamp) {
        let last_at = self.find(session, |table| table.last_at).flatten();
        if last_at.is_none_or(|last_at| last_at < at) {
            self.table(session).last_at = Some(Some(at));
        }
    }
}
