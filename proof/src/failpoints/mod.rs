//! Runs an evening with one failpoint armed: every kind of call happens once, each in its own
//! session, all at the same time.
//!
//! [`evening`] plays the visits, lets some sessions sleep and come back, and ends with an open
//! question. The driver runs it in a child process with the armed failpoint, which may end that
//! process. [`afterwards`] brings every person back on the same database, and audits twice: after
//! the death, and at rest.
//!
//! Invariants:
//! - The visits are planned, not drawn, so that each evening passes each failpoint.
//! - A step may fail in any way; only waiting for ever is wrong.
//! - Whatever the failpoint did, all sessions come to rest on the same database afterwards.

use std::{path::Path, sync::Arc, time::Duration};

use madang::{Limits, event::EventKind, store::SqliteStore};
use tokio::time::{sleep, timeout};

use crate::{
    audit::{Counter, DATABASE, Findings, Moment, audit_file},
    mistakes::Mistake,
    oracle::{Oracle, Sink, Witness},
    workload::{Answers, Before, EFFECTS, Fate, Life, Scene, SessionPlan, Visit},
};

/// The longest wait of the driver: far longer than all waits of the evening together.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The plans of the sessions, and the answers of their people.
const SCENES: [(&str, Answers); 18] = [
    ("save:quiet", Answers::Any),
    ("erase:yes", Answers::Yes),
    // The model calls the tool again, without a question.
    ("erase:always\nerase:still", Answers::Always),
    ("erase:typed", Answers::Same),
    ("erase:no", Answers::No),
    ("erase:late", Answers::Never),
    ("erase:away", Answers::Leaves),
    ("slow_save:closed", Answers::Any),
    ("breach:rule", Answers::Any),
    ("panic:boom", Answers::Any),
    ("spoiling_save:vandal", Answers::Any),
    ("mail:mail", Answers::Any),
    ("panicking_mail:torn", Answers::Any),
    ("slow_mail:slow", Answers::Any),
    ("look:read", Answers::Any),
    ("gone:nope", Answers::Any),
    (IMPORTED, Answers::Any),
    (OPEN, Answers::Never),
];

/// The plan whose chat begins with a history.
const IMPORTED: &str = "look:imported";

/// The plan whose question is open when the runtime ends.
const OPEN: &str = "erase:open";

/// Runs one evening in this folder: all scenes, a second turn in sessions that have slept, and one
/// with an open question.
///
/// # Panics
/// If it does not end.
pub async fn evening(folder: &Path, mistake: Option<Mistake>, sink: Sink) {
    let scene = scene(Oracle::default(), mistake, sink);
    let Some(life) = begin(folder, &scene).await else { return };
    let played = async {
        let is_open = |plan: &str| plan == OPEN;
        let first = |(plan, answers): &(&str, Answers)| {
            let leaves_handler = plan.starts_with("slow_save");
            let before = if *plan == IMPORTED { Before::Imports } else { Before::Nothing };
            let visit = Visit { leaves_handler, before, ..Visit::of(plan, *answers) };
            if is_open(plan) { Vec::new() } else { vec![visit] }
        };
        life.visits(SCENES.iter().map(first).collect()).await;
        // Sessions fall asleep.
        sleep(Duration::from_millis(80)).await;
        let again = |(plan, _): &(&str, Answers)| {
            let look = |word| {
                Visit::of(&format!("look:{plan}.{word}").replace('\n', " look:"), Answers::Any)
            };
            match *plan {
                "save:quiet" => vec![
                    Visit { is_repeated: true, ..look("again") },
                    Visit { before: Before::Clears, ..look("cleared") },
                ],
                plan if plan.contains("mail") => {
                    vec![Visit { before: Before::Resolves, ..look("resolved") }]
                }
                _ => Vec::new(),
            }
        };
        life.visits(SCENES.iter().map(again).collect()).await;
        let open = |(plan, answers): &(&str, Answers)| {
            if is_open(plan) { vec![Visit::of(plan, *answers)] } else { Vec::new() }
        };
        tokio::select! {
            _ = life.visits(SCENES.iter().map(open).collect()) => {}
            () = asked(&scene.witness) => {}
        }
    };
    timeout(PATIENCE, played).await.expect("the evening ends");
    timeout(PATIENCE, life.shut_down()).await.expect("the shutdown ends");
}

/// Brings all people back after an evening, and audits.
pub async fn afterwards(folder: &Path, known: Oracle) -> Findings {
    let sessions = sessions();
    let mut findings = audit_file(folder, &sessions, &known, Moment::AfterDeath).await;
    let scene = scene(known, None, Arc::new(|_| ()));
    let Some(life) = begin(folder, &scene).await else {
        findings.find(Counter::Damaged, "no runtime starts on the database".to_owned());
        return findings;
    };
    life.ends_within(PATIENCE).await;
    let known = scene.witness.oracle().clone();
    findings.add(audit_file(folder, &sessions, &known, Moment::AtRest).await);
    findings
}

async fn begin(folder: &Path, scene: &Scene) -> Option<Arc<Life>> {
    let store = SqliteStore::open(folder.join(DATABASE)).migrations("proof", &EFFECTS);
    let scene = scene.clone();
    let store = store.await.ok()?;
    // A separate task, because a panic inside of the runtime's call ends it.
    tokio::spawn(async move { scene.begin(store).await }).await.ok()?.ok()
}

/// Waits until the last question is open.
async fn asked(witness: &Witness) {
    let is_asked = || {
        let oracle = witness.oracle();
        let mut heard = oracle.heard.get(&(SCENES.len() - 1)).into_iter().flatten();
        heard.any(|(_, event)| matches!(event.kind, EventKind::ApprovalRequested { .. }))
    };
    while !is_asked() {
        sleep(Duration::from_millis(1)).await;
    }
}

fn sessions() -> Vec<SessionPlan> {
    let session = |(plan, _): &(&str, Answers)| {
        let name = plan.split([':', '\n']).nth(1).unwrap_or(plan).to_owned();
        SessionPlan { user: "kim".to_owned(), name }
    };
    SCENES.iter().map(session).collect()
}

fn scene(known: Oracle, mistake: Option<Mistake>, sink: Sink) -> Scene {
    let limits = Limits {
        decision_timeout: Duration::from_millis(200),
        session_idle: Duration::from_millis(30),
        store_timeout: Duration::from_secs(2),
        ask_timeout: Duration::from_millis(500),
        shutdown_timeout: Duration::from_secs(10),
        ..Limits::default()
    };
    let witness = Witness::new(known, sink);
    Scene { mistake, limits, ..Scene::hurried(sessions(), Fate::real(1, None), witness) }
}
