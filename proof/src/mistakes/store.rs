//! A store that breaks the promises of stores.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use madang::{
    SessionId, UserId,
    event::Content,
    ledger::{Effect, EffectResolution, LedgerFilter, LedgerRow},
    store::Store,
    tool::{BoxFuture, CancelReason, ToolOutcome},
};
use madang_actors::{
    ledger::Transition,
    port::{PartSize, StoredSession, Transaction, TranscriptPart, Write},
};
use madang_testing::{MemoryConnection, Read, StepResult, Steps};

use super::Mistake;
use crate::workload::write_again;

/// Takes the steps of a store, perhaps with a mistake.
#[derive(Debug)]
pub(crate) struct MistakenSteps {
    mistake: Option<Mistake>,
    /// The opportunities so far.
    times: AtomicU64,
    /// The calls whose effects were seen.
    seen: Mutex<HashSet<String>>,
}

impl MistakenSteps {
    pub(crate) fn new(mistake: Option<Mistake>) -> Self {
        Self { mistake, times: AtomicU64::new(0), seen: Mutex::default() }
    }

    /// Tells whether this mistake is due: it is made at every `each`th opportunity.
    fn makes(&self, mistake: Mistake, each: u64) -> bool {
        self.mistake == Some(mistake) && self.times.fetch_add(1, Relaxed) % each == each - 1
    }

    /// Returns the fact that is written instead; `None` for no fact.
    fn instead(&self, write: &Write) -> Option<Write> {
        let mut write = write.clone();
        let is_left_out = match &mut write {
            Write::Call { transition: Transition::Approved { .. }, .. } => {
                self.makes(Mistake::StoreForgetsApprovals, 2)
            }
            Write::Call { transition: Transition::Ended(end), .. } => {
                if self.makes(Mistake::StoreForgetsDenials, 1)
                    && let ToolOutcome::Cancelled(cancelled) = &mut end.outcome
                    && cancelled.reason == CancelReason::Denied
                {
                    cancelled.reason = CancelReason::Expired;
                    cancelled.message = None;
                }
                match end.effect {
                    Effect::Committed if self.makes(Mistake::StoreTurnsEffectsRound, 3) => {
                        end.effect = Effect::None;
                    }
                    Effect::Unknown if self.makes(Mistake::StoreCallsUnknownNone, 1) => {
                        end.effect = Effect::None;
                    }
                    Effect::None | Effect::Committed | Effect::Unknown => {}
                }
                if end.outcome.is_ok() && self.makes(Mistake::StoreChangesOutcomes, 3) {
                    end.outcome = ToolOutcome::error("changed", "it was changed");
                }
                self.makes(Mistake::StoreForgetsCallEnds, 4)
            }
            Write::TurnStarted { options, .. } => {
                if self.makes(Mistake::StoreForgetsKeys, 1) {
                    options.key = None;
                }
                false
            }
            Write::TurnEnded { .. } => self.makes(Mistake::StoreForgetsTurnEnds, 4),
            Write::Message { message, .. } => match &mut message.content {
                Content::User { text, .. } => {
                    if self.makes(Mistake::StoreChangesTexts, 3) {
                        *text = format!("{text} ").into();
                    }
                    false
                }
                Content::Model { .. } => self.makes(Mistake::StoreForgetsAnswers, 4),
                Content::ToolCall(_) | Content::Notice { .. } | Content::Cleared => false,
            },
            Write::Call { transition: Transition::Resolved { resolution, .. }, .. } => {
                if self.makes(Mistake::StoreTurnsResolutionsRound, 1) {
                    *resolution = match resolution {
                        EffectResolution::TookEffect => EffectResolution::DidNot,
                        EffectResolution::DidNot => EffectResolution::TookEffect,
                    };
                }
                false
            }
            Write::Revoke { .. } => self.makes(Mistake::StoreForgetsRevocations, 1),
            Write::Turn { .. }
            | Write::Session { .. }
            | Write::Titled { .. }
            | Write::Temporary { .. }
            | Write::Erased { .. }
            | Write::Deleted { .. }
            | Write::Call { .. } => false,
        };
        (!is_left_out).then_some(write)
    }
}

impl Steps for MistakenSteps {
    fn owner<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<UserId>>> {
        Box::pin(async move {
            let owner = of.owner(session).await?;
            if owner.is_some() && self.makes(Mistake::StoreSwapsOwners, 3) {
                return Ok(UserId::new("mallory").ok());
            }
            Ok(owner)
        })
    }

    fn session<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<StoredSession>>> {
        Box::pin(async move {
            let mut stored = of.session(session).await?;
            if let Some(stored) = &mut stored {
                if self.makes(Mistake::StoreReadsOldTranscripts, 3) {
                    stored.messages.pop();
                    stored.row.last_seq = stored.messages.last().map_or(0, |last| last.seq);
                }
                if self.makes(Mistake::StoreForgetsOpenTurns, 1) {
                    stored.open_turn = None;
                }
            }
            Ok(stored)
        })
    }

    fn transcript<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
        from: u64,
        size: PartSize,
    ) -> BoxFuture<'a, Read<TranscriptPart>> {
        Box::pin(async move {
            let mut part = of.transcript(session, from, size).await?;
            if self.makes(Mistake::StoreBreaksOrder, 1) {
                part.entries.reverse();
            }
            if self.makes(Mistake::StoreSkipsEntries, 1) {
                part.entries.pop();
            }
            if self.makes(Mistake::StoreRepeatsEntries, 1) {
                part.entries.extend(part.entries.last().cloned());
            }
            Ok(part)
        })
    }

    fn calls<'a>(
        &'a self,
        of: &'a dyn Store,
        filter: &'a LedgerFilter,
    ) -> BoxFuture<'a, Read<Vec<LedgerRow>>> {
        Box::pin(async move {
            let mut rows = of.calls(filter).await?;
            if self.makes(Mistake::StoreForgetsOpenCalls, 1) {
                rows.retain(|row| row.ended_at.is_some());
            }
            Ok(rows)
        })
    }

    fn keep<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        if self.makes(Mistake::StoreUndoesKept, 6) { of.undo() } else { of.keep() }
    }

    fn undo<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        if self.makes(Mistake::StoreKeepsUndone, 1) { of.keep() } else { of.undo() }
    }

    fn write<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        writes: &'a [Write],
    ) -> BoxFuture<'a, StepResult> {
        Box::pin(async move {
            if self.mistake.is_none() {
                return of.write(writes).await;
            }
            let writes: Vec<_> = writes.iter().filter_map(|write| self.instead(write)).collect();
            let written = of.write(&writes).await;
            if self.makes(Mistake::StoreHidesRefusals, 1) { Ok(()) } else { written }
        })
    }

    fn commit(self: Arc<Self>, mut of: Box<dyn Transaction>) -> BoxFuture<'static, StepResult> {
        Box::pin(async move {
            if self.makes(Mistake::StoreLosesCommits, 6) {
                return Ok(());
            }
            if self.makes(Mistake::StoreAppliesTwice, 1)
                && let Some(db) = of.connection().downcast_mut::<MemoryConnection>()
            {
                let mut seen = self.seen.lock().expect("no code under this lock panics");
                write_again(db, |effect| seen.insert(effect.call.clone()));
            }
            if self.makes(Mistake::StoreCommitsLate, 1) {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    drop(of.commit().await);
                });
                return Ok(());
            }
            of.commit().await
        })
    }
}
