//! `madang stress`: drives many chats at once with many faults, and counts broken promises.
//!
//! The driver is `madang_proof::stress`; this folder gives it the arguments, shows a bar, measures
//! the heap, and prints the `report`. A scripted run is warmed up by a small one, so that memory
//! that is allocated once does not count as a leak. With a real model the driver sends fixed texts
//! to it instead of plans.
//!
//! Invariants:
//! - A seed has the same faults in the same places, and a failed run names its seed.
//! - A broken promise, a leak of memory or of tasks makes the command fail.

mod report;

use std::{path::Path, time::Duration};

use indicatif::ProgressBar;
use madang::Runtime;
use madang_proof::stress::{self, StressFigures, Talk};
use madang_toolkits::life;
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

use self::report::{Heap, Report};
use crate::{
    HEAP,
    args::{EngineHost, ModelChoice, Played, Stress, StressStore},
    failure::Failure,
    language::UiLanguage,
    model::Model,
    output, progress, setup,
    signals::Signals,
};

/// The texts for a model that is no script: a search, writes, a write that asks, and small talk.
pub(crate) const TEXTS: &[&str] = &[
    "수면에 좋은 프로토콜 찾아줘",
    "아침 햇빛 쬐기 추가해줘",
    "내 습관 보여줘",
    "아침 햇빛 쬐기 삭제해줘",
    "안녕",
    "find me something for better sleep",
];

/// Sessions of the run that comes first, so that memory that is allocated once does not count.
const WARM_UP_SESSIONS: usize = 200;

/// The time within which the last tasks of a runtime end after its shutdown.
const TASKS_END_WITHIN: Duration = Duration::from_secs(5);

/// Drives a run, audits it and prints the report.
pub(crate) async fn run(stress: Stress) -> Result<(), Failure> {
    if stress.model != Played::Scripted && stress.store == StressStore::Memory {
        return Err(Failure::new(
            "the tools that a model knows write to a database: give --store sqlite with it",
        ));
    }
    let folder = setup::temporary_folder()?;
    let mut signals = Signals::new()?;
    let report = tokio::select! {
        report = drive(&stress, folder.path()) => report?,
        _ = signals.next() => {
            leave(folder.path()).await;
            return Err(Failure::new("interrupted: nothing was compared"));
        }
    };
    output::rows_or_json(&report, stress.is_json)?;
    let Some(complaint) = report.complaint() else { return Ok(()) };
    for example in report.examples() {
        output::complain(example);
    }
    Err(Failure::new(complaint))
}

/// Removes the folder of a run that was cut off. SQLite's thread may still make files there for a
/// moment.
async fn leave(folder: &Path) {
    let began = Instant::now();
    while folder.exists() && began.elapsed() < TASKS_END_WITHIN {
        if std::fs::remove_dir_all(folder).is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn drive(stress: &Stress, folder: &Path) -> Result<Report, Failure> {
    let wanted = stress::Stress {
        sessions: stress.sessions,
        turns: stress.turns,
        tools: stress.tools,
        chaos: stress.chaos,
        dismiss: stress.dismiss,
        seed: stress.seed.unwrap_or_else(|| fastrand::u64(..)),
        in_flight: stress.in_flight,
        mistake: stress.plant,
    };
    let mut before = None;
    if stress.model == Played::Scripted {
        let sessions = wanted.sessions.min(WARM_UP_SESSIONS);
        let first = stress::Stress { sessions, mistake: None, ..wanted.clone() };
        let folder = setup::temporary_folder()?;
        let bar = ProgressBar::hidden();
        let _ = ran(&first, stress.store, None, folder.path(), bar).await?;
        tasks_end(0).await;
        before = Some(HEAP.current_usage());
    }
    let tasks_before = Handle::current().metrics().num_alive_tasks();
    HEAP.reset_peak_usage();
    let progress = bar(wanted.sessions * wanted.turns);
    let talk = match &stress.model {
        Played::Scripted => None,
        model @ (Played::Bundled | Played::File(_)) => Some(talking(model, stress.engine).await?),
    };
    let figures = ran(&wanted, stress.store, talk, folder, progress).await?;
    let peak_bytes = HEAP.peak_usage();
    let mut report = Report::new(&wanted, &figures);
    drop(figures);
    tasks_end(tasks_before).await;
    report.set_heap(Heap {
        peak_bytes,
        before_bytes: before,
        after_bytes: HEAP.current_usage(),
        tasks_before,
        tasks_after: Handle::current().metrics().num_alive_tasks(),
    });
    Ok(report)
}

async fn ran(
    wanted: &stress::Stress,
    store: StressStore,
    talk: Option<Talk>,
    folder: &Path,
    bar: ProgressBar,
) -> Result<StressFigures, Failure> {
    let tell = move |turns| bar.set_position(turns);
    let ran = match store {
        StressStore::Memory => wanted.in_memory(tell).await,
        StressStore::Sqlite => wanted.in_file(folder, talk, tell).await,
    };
    ran.map_err(|cause| Failure::because(format!("failed to start the run: {cause}"), cause))
}

/// Loads a model that answers freely, with the tools that it knows.
async fn talking(model: &Played, engine: EngineHost) -> Result<Talk, Failure> {
    let file = match model {
        Played::File(path) => Some(path.clone()),
        Played::Bundled | Played::Scripted => None,
    };
    let model = Model::load(&ModelChoice::of_file(file, engine), UiLanguage::default()).await?;
    let cast = model.put_into(Runtime::builder()).tools(life::tools());
    Ok(Talk { cast, tables: ("life", &life::MIGRATIONS), texts: TEXTS })
}

/// Waits until no more tasks than these are left.
async fn tasks_end(left: usize) {
    let metrics = Handle::current().metrics();
    let ended = async {
        while metrics.num_alive_tasks() > left {
            sleep(Duration::from_millis(10)).await;
        }
    };
    // Tasks that are left then are counted.
    let _ = tokio::time::timeout(TASKS_END_WITHIN, ended).await;
}

pub(crate) fn bar(turns: usize) -> ProgressBar {
    progress::bar(turns as u64, "{pos} of {len} turns, {eta} to go")
}
