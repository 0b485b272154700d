//! Lets every step of a store wait for a drawn time, and fail now and then, with and without its
//! effect.

use std::{fmt, sync::Arc};

use madang::{
    CallId, SessionId,
    store::{Store, StoreError},
    tool::BoxFuture,
};
use madang_actors::{
    ledger::Transition,
    port::{Transaction, TurnStep, Write},
};
use madang_testing::{Read, StepResult, Steps};

use super::{Fate, Point};

/// The waits and faults of a store. None breaks a store's promises.
#[derive(Debug)]
pub(super) struct Weather(pub(super) Fate);

/// A fault that fate wanted.
#[derive(Debug, thiserror::Error)]
#[error("the simulation wanted it to fail")]
struct OnPurpose;

impl Weather {
    async fn step(&self, fails_once_in: u64) -> StepResult {
        self.0.pause().await;
        if self.0.fails_once_in(fails_once_in) {
            self.0.note(format_args!("store fails"));
            return Err(StoreError::unavailable(OnPurpose));
        }
        Ok(())
    }

    fn wrote(&self, written: StepResult) -> StepResult {
        if let Err(error) = &written {
            self.0.note(format_args!("store refuses: {error}"));
        }
        self.0.pass(Point::StoreWritten, format_args!("store has written"));
        written
    }
}

/// The number of reads and begins of transactions of which one fails.
const SELDOM: u64 = 80;
/// The number of steps within transactions, and of commits, of which one fails.
const RARELY: u64 = 120;

impl Steps for Weather {
    fn begin<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Transaction>>> {
        Box::pin(async move {
            self.0.pass(Point::StoreBegin, format_args!("store begins"));
            self.step(SELDOM).await?;
            of.begin().await
        })
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        what: impl FnOnce() -> String,
        read: BoxFuture<'a, Read<T>>,
    ) -> BoxFuture<'a, Read<T>> {
        let what = what();
        Box::pin(async move {
            self.0.note(format_args!("store {what}"));
            self.step(SELDOM).await?;
            read.await
        })
    }

    fn savepoint<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        call: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, StepResult> {
        Box::pin(async move {
            self.0.pass(Point::StoreSavepoint, format_args!("store begins a part"));
            self.step(RARELY).await?;
            of.savepoint(call).await
        })
    }

    fn keep<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        Box::pin(async move {
            self.0.pass(Point::StoreKeep, format_args!("store keeps a part"));
            self.step(RARELY).await?;
            of.keep().await
        })
    }

    fn undo<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        Box::pin(async move {
            self.0.pass(Point::StoreUndo, format_args!("store undoes a part"));
            self.step(RARELY).await?;
            of.undo().await
        })
    }

    fn write<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        writes: &'a [Write],
    ) -> BoxFuture<'a, StepResult> {
        Box::pin(async move {
            self.0.pass(Point::StoreWrite, format_args!("store writes {}", Names(writes)));
            self.step(RARELY).await?;
            let written = of.write(writes).await;
            self.wrote(written)
        })
    }

    fn commit(self: Arc<Self>, of: Box<dyn Transaction>) -> BoxFuture<'static, StepResult> {
        Box::pin(async move {
            let Self(fate) = &*self;
            fate.pass(Point::StoreCommit, format_args!("store commits"));
            fate.pause().await;
            if !fate.fails_once_in(RARELY) {
                let committed = of.commit().await;
                let is_ok = committed.is_ok();
                fate.pass(Point::StoreCommitted, format_args!("store committed: {is_ok}"));
                fate.pause().await;
                return committed;
            }
            match fate.below(3) {
                0 => {
                    fate.note(format_args!("store does not commit"));
                    Err(StoreError::unavailable(OnPurpose))
                }
                1 => {
                    fate.note(format_args!("store does not commit, and does not say so"));
                    Err(StoreError::unknown(OnPurpose))
                }
                _ => {
                    of.commit().await?;
                    fate.note(format_args!("store committed, and does not say so"));
                    Err(StoreError::unknown(OnPurpose))
                }
            }
        })
    }
}

/// Names the writes of a step in short.
struct Names<'a>(&'a [Write]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for write in self.0 {
            match write {
                Write::Session { session, user, .. } => write!(f, "[{session} of {user}]")?,
                Write::Titled { session, .. } => write!(f, "[{session}: titled]")?,
                Write::Temporary { session } => write!(f, "[{session}: temporary]")?,
                Write::Erased { session } => write!(f, "[{session}: erased]")?,
                Write::Deleted { session, .. } => write!(f, "[{session}: deleted]")?,
                Write::TurnStarted { session, turn, .. } => {
                    write!(f, "[{session}: turn {turn} begins]")?;
                }
                Write::Turn { turn, step, .. } => match step {
                    TurnStep::Called { round, .. } => write!(f, "[turn {turn}: round {round}]")?,
                    TurnStep::Dismissed => write!(f, "[turn {turn}: dismissed]")?,
                    TurnStep::Resumed => write!(f, "[turn {turn}: resumed]")?,
                    TurnStep::Suspended => write!(f, "[turn {turn}: suspended]")?,
                },
                Write::TurnEnded { turn, ending, error, .. } => {
                    write!(f, "[turn {turn}: {ending:?} {error:?}]")?;
                }
                Write::Message { session, message } => {
                    write!(f, "[{session}: message {}]", message.seq)?;
                }
                Write::Call { call, transition, .. } => {
                    write!(f, "[call {call}: {}]", Step(transition))?;
                }
                Write::Revoke { session, .. } => write!(f, "[{session}: revokes]")?,
            }
        }
        Ok(())
    }
}

/// A step of a call, without the digests and seals that differ each time.
struct Step<'a>(&'a Transition);

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Transition::Proposed(proposal) => write!(f, "{} {}", proposal.name, proposal.arguments),
            Transition::Awaiting { .. } => f.write_str("awaiting"),
            Transition::Approved { arguments, .. } => write!(f, "approved {arguments:?}"),
            Transition::Running { arguments, .. } => write!(f, "running {arguments}"),
            Transition::Ended(end) => {
                write!(f, "{:?} {:?} {:?}", end.outcome, end.effect, end.result)
            }
            Transition::Resolved { resolution, .. } => write!(f, "resolved {resolution:?}"),
            Transition::Revoked { .. } => f.write_str("revoked"),
        }
    }
}
