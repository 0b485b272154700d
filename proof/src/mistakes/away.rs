//! A start that counts the deaths of the process against turns that wait for a person.

use madang::{
    Clock as _,
    event::TurnEnding,
    ledger::{CallResult, Effect, LedgerFilter},
    model::Usage,
    store::{Store, StoreError},
    tool::ToolOutcome,
};
use madang_actors::{
    ledger::{Ended, Transition},
    port::Write,
    protocol::TurnError,
};
use madang_testing::MemoryStore;

use super::AwayMistake;
use crate::workload::Fate;

/// The deaths after which it gives up.
const DEATHS: u64 = 3;

/// Ends each turn that is open before a start, perhaps by mistake.
///
/// # Errors
/// [`StoreError`] if the store refuses that.
pub(crate) async fn gives_up(
    mistake: Option<AwayMistake>,
    deaths: u64,
    store: &MemoryStore,
    fate: &Fate,
) -> Result<(), StoreError> {
    match mistake {
        Some(AwayMistake::GivesUp) if deaths > DEATHS => {}
        Some(AwayMistake::GivesUp) | None => return Ok(()),
    }
    let at = fate.now();
    let mut writes = Vec::new();
    for row in store.calls(&LedgerFilter::open_calls()).await? {
        let ended = Ended {
            arguments: None,
            outcome: ToolOutcome::error("handler_error", "the tool failed"),
            effect: Effect::None,
            result: CallResult::Shown,
            decided_by: None,
        };
        let session = row.session;
        let call = row.call;
        let transition = Transition::Ended(ended);
        writes.push(Write::Call { session, call, at, transition });
    }
    for open in store.interrupted().await? {
        let stored = store.session(&open.session).await?;
        writes.push(Write::TurnEnded {
            session: open.session,
            turn: open.turn,
            at,
            behind: stored.map_or(0, |stored| stored.row.last_seq),
            ending: TurnEnding::Failed,
            error: Some(TurnError::CutOff),
            usage: Usage::default(),
        });
    }
    let mut transaction = store.begin().await?;
    transaction.write(&writes).await?;
    transaction.commit().await
}
