//! `madang eval`: runs cases through the real runtime with any model, and scores the results.
//!
//! - `cases` reads files of `case`s and checks the seal of a sealed file.
//! - `run` makes a fresh database, a session, and a person that answers as the case says. `tables` reads the rows.
//! - `player` plays the past turns and passes the others to the model, with the stable ids of `aliases`.
//! - `score` compares the calls (`arguments`), rows and texts (`claims`) with the expectation.
//! - `report` counts the verdicts.
//!
//! ```text
//! case --run--> Seen --score--> Marks, complaints --> Verdict --> Report
//! ```
//!
//! Invariants:
//! - Each case has its own database and runtime, and a clock that stands still.
//! - A sealed case is counted, but its content is never printed without `--show-sealed`.
//! - An error of the runtime ends the command: it never counts against the model.

mod aliases;
mod arguments;
mod case;
mod cases;
mod claims;
mod player;
mod report;
mod run;
mod score;
mod tables;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use indicatif::ProgressBar;
use madang::tool::{EffectPolicy, ToolRegistry};
use madang_testing::ScriptedModel;
use serde_json::Value;

use self::{
    case::Turn,
    cases::{Part, Placed},
    report::{Report, Verdict},
    run::{Cast, Stage},
    score::Tools,
};
use crate::{
    args::{Eval, Toolkits},
    failure::Failure,
    language::UiLanguage,
    model::Model,
    output, progress, setup,
    signals::Signals,
};

/// Tools that write only what a session shows: no text claims to have written by them.
const SHOWING: &[&str] = &[
    "open_page",
    "switch_to_index",
    "switch_to_note_view",
    "navigate_to_path",
    "go_back",
    "go_forward",
];

/// Runs the cases and prints how many were right.
pub(crate) async fn run(wanted: Eval) -> Result<(), Failure> {
    let toolkits = wanted.toolkits();
    let (cases, left_out) = chosen(&wanted, &toolkits)?;
    if wanted.is_to_check {
        return checked(&cases, left_out, &toolkits).await;
    }
    let model = Model::load(&wanted.which, UiLanguage::default()).await?;
    let name = model.name();
    let Model { model, system, .. } = model;
    let stage = Stage { model, system, toolkits: &toolkits, cast: Cast::Model };
    let mut signals = Signals::new()?;
    let verdicts = tokio::select! {
        verdicts = judge(&cases, &stage) => verdicts?,
        _ = signals.next() => return Err(Failure::new("interrupted: nothing was scored")),
    };
    let mut report = Report::new(name, left_out, verdicts);
    if !wanted.shows_sealed {
        let sealed = report.cases.iter_mut().filter(|verdict| verdict.part == Part::Sealed);
        sealed.for_each(|verdict| verdict.complaints.clear());
    }
    print(&report, &cases, &wanted)?;
    let percent = report.passed().percent();
    match wanted.at_least {
        Some(least) if percent < f64::from(least) => Err(Failure::new(format!(
            "{percent:.1} % of the cases are right in everything, {least} % are asked for"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Selects the requested cases whose tools exist, and counts those without.
fn chosen(wanted: &Eval, toolkits: &Toolkits) -> Result<(Vec<Placed>, usize), Failure> {
    let mut cases = Vec::new();
    if wanted.cases.is_empty() {
        cases.extend(cases::open()?);
    }
    for path in &wanted.cases {
        cases.extend(cases::of_file(path)?);
    }
    if wanted.with_sealed {
        cases.extend(cases::sealed()?);
    }
    cases::check_ids(&cases)?;
    if let Some(part) = &wanted.only {
        cases.retain(|placed| placed.case.id.contains(part));
        if cases.is_empty() {
            return Err(Failure::new(format!("no case has {part} in its id: see the files")));
        }
    }
    let all = cases.len();
    let has_tools = |name: &str| toolkits.names.iter().any(|toolkit| toolkit.name() == name);
    cases.retain(|placed| has_tools(&placed.case.toolkit));
    if cases.is_empty() {
        return Err(Failure::new("the cases need other toolkits: name them with --toolkit"));
    }
    let left_out = all - cases.len();
    Ok((cases, left_out))
}

/// Describes the cases, if each is right in everything when it is played perfectly.
async fn checked(cases: &[Placed], left_out: usize, toolkits: &Toolkits) -> Result<(), Failure> {
    let registry = setup::registry(toolkits)?;
    for Placed { case, .. } in cases {
        let mut calls = case.setup.iter().chain(case.turns.iter().flat_map(Turn::calls));
        if let Some(call) = calls.find(|call| !registry.has(&call.name)) {
            let (id, name) = (&case.id, &call.name);
            return Err(Failure::new(format!(
                "the case {id} has a call of {name}, which is no tool"
            )));
        }
    }
    let verdicts = as_meant(cases, toolkits).await?;
    if let Some(wrong) = verdicts.iter().find(|verdict| !verdict.marks.are_all_right()) {
        let why = match wrong.part {
            Part::Open => wrong.complaints.join("; "),
            Part::Sealed => "it is sealed".to_owned(),
        };
        let id = &wrong.id;
        return Err(Failure::new(format!(
            "the case {id} is not right when it is played as it is meant: {why}"
        )));
    }
    let sealed = cases.iter().filter(|placed| placed.part == Part::Sealed).count();
    output::line(&format!(
        "{} cases can be played as they are meant, {sealed} of them sealed; {left_out} need other toolkits",
        cases.len()
    ))
}

/// Runs cases one after another, so that a script or a model meets them in the same order each time.
async fn judge(cases: &[Placed], stage: &Stage<'_>) -> Result<Vec<Verdict>, Failure> {
    judge_all(cases, stage, &bar(cases.len())).await
}

/// Plays cases perfectly, some at a time, because they mostly wait for a disk.
async fn as_meant(cases: &[Placed], toolkits: &Toolkits) -> Result<Vec<Verdict>, Failure> {
    let silent = Arc::new(ScriptedModel::new([]));
    let stage = Stage { model: silent, system: None, toolkits, cast: Cast::AsMeant };
    let bar = bar(cases.len());
    let mut parts = cases.chunks(cases.len().div_ceil(4).max(1));
    let mut part = || judge_all(parts.next().unwrap_or_default(), &stage, &bar);
    let (first, second, third, fourth) = tokio::try_join!(part(), part(), part(), part())?;
    Ok([first, second, third, fourth].concat())
}

async fn judge_all(
    cases: &[Placed],
    stage: &Stage<'_>,
    bar: &ProgressBar,
) -> Result<Vec<Verdict>, Failure> {
    let registry = setup::registry(stage.toolkits)?;
    let mut verdicts = Vec::new();
    for placed in cases {
        let seen = Box::pin(run::run(&placed.case, stage)).await;
        let seen = seen.map_err(|failure| match placed.part {
            Part::Open => failure,
            // The error may show content of the case.
            Part::Sealed => {
                let id = &placed.case.id;
                Failure::new(format!("the case {id} could not be run: it is sealed"))
            }
        })?;
        verdicts.push(Verdict::new(placed, score::score(&placed.case, &seen, &registry)));
        bar.inc(1);
    }
    Ok(verdicts)
}

fn bar(cases: usize) -> ProgressBar {
    progress::bar(cases as u64, "{pos} of {len} cases, {eta} to go")
}

fn print(report: &Report, cases: &[Placed], wanted: &Eval) -> Result<(), Failure> {
    output::rows_or_json(report, wanted.is_json)?;
    if wanted.is_json || !wanted.shows_details {
        return Ok(());
    }
    let wrong = report.cases.iter().zip(cases);
    for (verdict, placed) in wrong.filter(|(verdict, _)| !verdict.marks.are_all_right()) {
        if placed.part == Part::Sealed && !wanted.shows_sealed {
            output::foreign(&format!("\n{} (sealed)", verdict.id))?;
            continue;
        }
        output::foreign(&format!("\n{}", verdict.id))?;
        for turn in &placed.case.turns {
            output::foreign(&format!("    > {}", turn.user))?;
        }
        for complaint in &verdict.complaints {
            output::foreign(&format!("    {complaint}"))?;
        }
    }
    Ok(())
}

impl Tools for ToolRegistry {
    fn schema(&self, tool: &str) -> &Value {
        self.get(tool).map_or(&Value::Null, |tool| &tool.spec().parameters)
    }

    fn may_write(&self, tool: &str) -> bool {
        let writes = self.get(tool).is_ok_and(|tool| tool.spec().effect != EffectPolicy::Read);
        writes && !SHOWING.contains(&tool)
    }
}
