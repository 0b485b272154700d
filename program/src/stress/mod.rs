//! `madang stress`: drives many chats at once, lets much go wrong, and counts what was promised.

mod audit;
mod chat;
mod model;
mod oracle;
mod plan;
mod report;
mod run;
mod snapshot;
mod tools;
mod world;

use std::{path::Path, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use madang::{
    Runtime,
    tool::{ConnectionType, Tool},
};
use madang_testing::MemoryConnection;
use madang_toolkits::life;
use sqlx::SqliteConnection;
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

use self::{
    model::PlanModel,
    plan::Odds,
    report::{Heap, Report},
    run::{Cast, Place, Talk, Wanted},
    world::World,
};
use crate::{
    HEAP,
    args::{EnginePlace, ModelChoice, Played, Stress, StressStore},
    failure::Failure,
    language,
    model::Model,
    output, setup,
    signals::Signals,
};

pub(crate) use world::Bug;

/// What people say to a model that is no script: something to look up, to do, to be asked about, and small talk.
pub(crate) const TEXTS: &[&str] = &[
    "수면에 좋은 프로토콜 찾아줘",
    "아침 햇빛 쬐기 추가해줘",
    "내 습관 보여줘",
    "아침 햇빛 쬐기 삭제해줘",
    "안녕",
    "find me something for better sleep",
];

/// Sessions of the run that comes first, so that what is allocated once is there before anything is counted.
const WARM_UP_SESSIONS: usize = 200;

/// What ends a moment later than its runtime is waited for.
const TASKS_END_WITHIN: Duration = Duration::from_secs(5);

/// Drives a run, audits it and prints what it has shown.
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
    if stress.is_json {
        let json = serde_json::to_string(&report);
        output::foreign(
            &json.map_err(|cause| Failure::because("failed to print the report", cause))?,
        )?;
    } else {
        output::report(&report.to_string())?;
    }
    let Some(complaint) = report.complaint() else { return Ok(()) };
    for example in report.examples() {
        output::complain(example);
    }
    Err(Failure::new(complaint))
}

/// Removes the folder of a run that was cut off: SQLite's thread may be at making files there, and a moment later it is not.
async fn leave(folder: &Path) {
    let began = Instant::now();
    while folder.exists() && began.elapsed() < TASKS_END_WITHIN {
        if std::fs::remove_dir_all(folder).is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn drive(stress: &Stress, folder: &Path) -> Result<Report, Failure> {
    let wanted = wanted(stress, folder);
    let mut before = None;
    if stress.model == Played::Scripted {
        let first = Wanted {
            sessions: wanted.sessions.min(WARM_UP_SESSIONS),
            place: place(stress, folder, "first.db"),
            bug: None,
            ..wanted.clone()
        };
        let world = Arc::default();
        drop(run::run(&first, &world, planned(stress, &world), ProgressBar::hidden()).await?);
        drop(world);
        resolve(0).await;
        before = Some(HEAP.current_usage());
    }
    let tasks_before = Handle::current().metrics().num_alive_tasks();
    HEAP.reset_peak_usage();
    let progress = bar(wanted.sessions * wanted.turns);
    let world = Arc::default();
    let cast = match &stress.model {
        Played::Scripted => planned(stress, &world),
        model @ (Played::Bundled | Played::File(_)) => talking(model, stress.engine).await?,
    };
    let ran = run::run(&wanted, &world, cast, progress.clone()).await;
    progress.finish_and_clear();
    let ran = ran?;
    let peak_bytes = HEAP.peak_usage();
    let findings = audit::audit(&ran.oracles, &ran.snapshot);
    let mut report = Report::new(wanted.seed, &ran, &findings);
    drop((ran, findings, world));
    resolve(tasks_before).await;
    report.set_heap(Heap {
        peak_bytes,
        before_bytes: before,
        after_bytes: HEAP.current_usage(),
        tasks_before,
        tasks_after: Handle::current().metrics().num_alive_tasks(),
    });
    Ok(report)
}

fn wanted(stress: &Stress, folder: &Path) -> Wanted {
    Wanted {
        sessions: stress.sessions,
        turns: stress.turns,
        odds: Odds { tools: stress.tools, chaos: stress.chaos, dismiss: stress.dismiss },
        seed: stress.seed.unwrap_or_else(|| fastrand::u64(..)),
        in_flight: stress.in_flight,
        bug: stress.plant,
        place: place(stress, folder, "stress.db"),
    }
}

fn place(stress: &Stress, folder: &Path, name: &str) -> Place {
    match stress.store {
        StressStore::Memory => Place::Memory,
        StressStore::Sqlite => Place::File(folder.join(name)),
    }
}

/// Tools and a model that follow the plan.
fn planned(stress: &Stress, world: &Arc<World>) -> Cast {
    let connection = match stress.store {
        StressStore::Memory => ConnectionType::of::<MemoryConnection>(),
        StressStore::Sqlite => ConnectionType::of::<SqliteConnection>(),
    };
    let builder = Runtime::builder().model(PlanModel);
    Cast { builder, tools: tools::tools(connection, world), talk: Talk::Planned }
}

/// A model that says what it likes, with the tools that it knows.
async fn talking(model: &Played, engine: EnginePlace) -> Result<Cast, Failure> {
    let file = match model {
        Played::File(path) => Some(path.clone()),
        Played::Bundled | Played::Scripted => None,
    };
    let model = Model::load(&ModelChoice::of_file(file, engine), language::ui_language()).await?;
    let tools: Vec<Arc<dyn Tool>> = life::tools();
    Ok(Cast { builder: model.put_into(Runtime::builder()), tools, talk: Talk::Free(TEXTS) })
}

/// Waits until no more tasks than these are left.
async fn resolve(tasks: usize) {
    let metrics = Handle::current().metrics();
    let resolved = async {
        while metrics.num_alive_tasks() > tasks {
            sleep(Duration::from_millis(10)).await;
        }
    };
    // What is left then is counted.
    drop(tokio::time::timeout(TASKS_END_WITHIN, resolved).await);
}

/// A bar on standard error, which only a terminal shows.
pub(crate) fn bar(turns: usize) -> ProgressBar {
    let bar = ProgressBar::new(turns as u64);
    let style = ProgressStyle::with_template("{bar:30.dim} {pos} of {len} turns, {eta} to go");
    bar.with_style(style.expect("the template is a constant that every run shows"))
}
