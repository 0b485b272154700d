//! `madang bench-model`: lets many chats ask one model at once, and reports waits and speed.
//!
//! - Each chat sends its turns one after another to the real runtime, with the tools of `life` and a temporary database.
//! - `measures` is the recorder of the runtime's metrics, and keeps every value of each completion.
//! - `report` prints medians and percentiles, as rows or as JSON.
//!
//! Invariants:
//! - A chat waits only for the model: the limits have room for all chats, and no person is asked.
//! - A turn without an answer makes the command fail.

mod measures;
mod report;

use std::sync::Arc;

use indicatif::ProgressBar;
use madang::{Limits, Runtime, Session, TurnEnd, TurnOptions, store::SqliteStore};
use madang_toolkits::life;
use tokio::{task::JoinSet, time::Instant};

use self::{measures::Measures, report::Report};
use crate::{
    args::BenchModel, failure::Failure, language::UiLanguage, model::Model, output, setup,
    signals::Signals, stress,
};

/// Asks the model, and prints the measurements.
pub(crate) async fn run(wanted: BenchModel) -> Result<(), Failure> {
    // Loaded before signals are caught, so that a signal simply ends a download.
    let model = Model::load(&wanted.which, UiLanguage::default()).await?;
    let mut signals = Signals::new()?;
    let report = tokio::select! {
        report = measure(&wanted, model) => report?,
        _ = signals.next() => return Err(Failure::new("interrupted: nothing was measured")),
    };
    output::rows_or_json(&report, wanted.is_json)?;
    report.complaint().map_or(Ok(()), |complaint| Err(Failure::new(complaint)))
}

async fn measure(wanted: &BenchModel, model: Model) -> Result<Report, Failure> {
    let measures = Measures::install()?;
    let folder = setup::temporary_folder()?;
    let name = model.name();
    let path = folder.path().join("bench.db");
    let store = SqliteStore::open(&path, [&*life::MIGRATIONS]).await.map_err(Failure::of)?;
    let builder = Runtime::builder().tools(life::tools()).limits(limits(wanted)).store(store);
    let runtime = model.put_into(builder).start().await.map_err(Failure::of)?;
    let progress = stress::bar(wanted.sessions * wanted.turns);
    let mut chats = JoinSet::new();
    let began = Instant::now();
    for number in 0..wanted.sessions {
        let session = runtime.session(&format!("user {number}"), &format!("chat {number}")).await;
        let session = session.map_err(Failure::of)?;
        chats.spawn(chat(session, number, wanted.turns, progress.clone()));
    }
    let ends = chats.join_all().await.into_iter().flatten().collect::<Vec<_>>();
    let took = began.elapsed();
    runtime.shutdown().await.map_err(Failure::of)?;
    Ok(Report::new(name, wanted.sessions, &ends, &measures.take(), took))
}

/// Sets limits that let all chats run at once: a chat shall wait only for the model.
fn limits(wanted: &BenchModel) -> Limits {
    let mut limits = Limits::default();
    limits.max_completion_tokens = wanted.tokens;
    limits.max_awake_sessions = limits.max_awake_sessions.max(wanted.sessions);
    limits.max_running_turns = limits.max_running_turns.max(wanted.sessions);
    limits.max_running_calls = limits.max_running_calls.max(wanted.sessions);
    limits.max_waiting_completions = limits.max_waiting_completions.max(wanted.sessions);
    limits
}

/// Sends one text after another. No person is asked, so tools write nothing. `None` for a turn that was refused or
/// whose end is unknown.
async fn chat(
    session: Session,
    number: usize,
    turns: usize,
    progress: ProgressBar,
) -> Vec<Option<TurnEnd>> {
    let mut ends = Vec::with_capacity(turns);
    for turn in 0..turns {
        let text: Arc<str> = stress::TEXTS[(number + turn) % stress::TEXTS.len()].into();
        // The default options ask no person.
        let end = match session.send_with(text, TurnOptions::default()).await {
            Ok(turn) => turn.ended().await.ok(),
            Err(_) => None,
        };
        ends.push(end);
        progress.inc(1);
    }
    ends
}
