//! Chooses the cases, runs one after another, and prints how many were right.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use madang::tool::{EffectPolicy, ToolRegistry};
use madang_testing::ScriptedModel;
use serde_json::Value;

use crate::{
    args::Args,
    case::Turn,
    cases::{self, Part, Placed},
    failure::Failure,
    model::Model,
    output,
    report::{Report, Verdict},
    run::{self, Cast, Stage},
    score::{self, Tools},
    toolkit::{self, Toolkit},
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
pub(crate) async fn run(wanted: Args) -> Result<(), Failure> {
    let toolkits = wanted.toolkits();
    let (cases, left_out) = chosen(&wanted, &toolkits)?;
    if wanted.is_to_check {
        return checked(&cases, left_out, &toolkits).await;
    }
    let Model { model, system } = Model::load(wanted.which.clone()).await?;
    let name = model.info().name.to_string();
    for caveat in model.caveats() {
        output::notice(&caveat.to_string());
    }
    let stage = Stage { model, system, toolkits: &toolkits, cast: Cast::Model };
    let verdicts = tokio::select! {
        verdicts = judge(&cases, &stage) => verdicts?,
        _ = tokio::signal::ctrl_c() => return Err(Failure::new("interrupted: nothing was scored")),
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
fn chosen(wanted: &Args, toolkits: &[Toolkit]) -> Result<(Vec<Placed>, usize), Failure> {
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
    let has_tools = |name: &str| toolkits.iter().any(|toolkit| toolkit.name() == name);
    cases.retain(|placed| has_tools(&placed.case.toolkit));
    if cases.is_empty() {
        return Err(Failure::new("the cases need other toolkits: name them with --toolkit"));
    }
    let left_out = all - cases.len();
    Ok((cases, left_out))
}

/// Describes the cases, if each is right in everything when it is played perfectly.
async fn checked(cases: &[Placed], left_out: usize, toolkits: &[Toolkit]) -> Result<(), Failure> {
    let registry = toolkit::registry(toolkits)?;
    for Placed { case, .. } in cases {
        let mut calls = case.setup.iter().chain(case.turns.iter().flat_map(Turn::calls));
        if let Some(call) = calls.find(|call| !registry.has(&call.name)) {
            let id = &case.id;
            let name = &call.name;
            return Err(Failure::new(format!(
                "the case {id} has a call of {name}, which is not a tool"
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

/// Runs cases one after another, so that a script or a model meets them in the same order each
/// time.
async fn judge(cases: &[Placed], stage: &Stage<'_>) -> Result<Vec<Verdict>, Failure> {
    judge_all(cases, stage, &bar(cases.len())).await
}

/// Plays cases perfectly, some at a time, because they mostly wait for a disk.
async fn as_meant(cases: &[Placed], toolkits: &[Toolkit]) -> Result<Vec<Verdict>, Failure> {
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
    let registry = toolkit::registry(stage.toolkits)?;
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

/// Makes a bar on standard error, visible only on a terminal.
fn bar(cases: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30.dim} {pos} of {len} cases, {eta} to go");
    let style = style.expect("the template is a constant that every run shows");
    ProgressBar::new(cases as u64).with_style(style)
}

fn print(report: &Report, cases: &[Placed], wanted: &Args) -> Result<(), Failure> {
    output::rows_or_json(report, wanted.is_json)?;
    if wanted.is_json || !wanted.shows_details {
        return Ok(());
    }
    let wrong = report.cases.iter().zip(cases);
    for (verdict, placed) in wrong.filter(|(verdict, _)| !verdict.marks.are_all_right()) {
        if placed.part == Part::Sealed && !wanted.shows_sealed {
            output::line(&format!("\n{} (sealed)", verdict.id))?;
            continue;
        }
        output::line(&format!("\n{}", verdict.id))?;
        for turn in &placed.case.turns {
            output::line(&format!("    > {}", turn.user))?;
        }
        for complaint in &verdict.complaints {
            output::line(&format!("    {complaint}"))?;
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
