//! Runs one case through the real runtime: a fresh database, a session, and a person that answers
//! as the case says.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering::Relaxed},
};

use madang::{
    Builder, Clock, Limits, Runtime, Session, Timestamp, TurnOptions, UserId,
    approval::{Approver, Decision},
    event::{Ending, EventKind, StreamItem, TurnEnding},
    ledger::CallRecord,
    model::ChatModel,
    tool::ToolOutcome,
};
use madang_toolkits::demonstration::Demonstration;
use serde_json::Value;

use crate::{
    aliases::Aliases,
    arguments::{NamedResults, example_of},
    case::{Call, Case, Turn},
    failure::Failure,
    player::Player,
    score::{Seen, SeenCall, SeenTurn},
    tables,
    toolkit::{self, Toolkit},
};

/// The time of each case: noon of the 14th of March 2026 in Korea, and the same day in UTC.
const NOON: &str = "T03:00:00Z";
pub(crate) const TODAY: &str = "2026-03-14";

/// The user of each case.
const PERSON: &str = "person";

/// The things that a case needs to run.
#[derive(Debug, Clone)]
pub(crate) struct Stage<'a> {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) system: Option<&'static str>,
    pub(crate) toolkits: &'a [Toolkit],
    pub(crate) cast: Cast,
}

/// The part that answers where a case asks the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cast {
    /// The judged model.
    Model,
    /// A perfect player, which shows whether the case is playable, and whether the demonstration
    /// model may do what is meant.
    AsMeant,
}

/// The time of a case, which stands still.
#[derive(Debug, Clone, Default)]
struct CaseClock(Arc<AtomicI64>);

impl Clock for CaseClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Relaxed))
    }
}

impl CaseClock {
    /// Sets noon of a day.
    fn set(&self, day: &str) -> Result<(), Failure> {
        let moment = format!("{day}{NOON}").parse::<jiff::Timestamp>();
        let moment = moment.map_err(|cause| {
            Failure::because(format!("{day} is not a day of the form YYYY-MM-DD"), cause)
        })?;
        self.0.store(moment.as_millisecond(), Relaxed);
        Ok(())
    }
}

/// A running case.
struct CaseRun<'a> {
    case: &'a Case,
    runtime: Runtime,
    session: Session,
    player: Player,
    clock: CaseClock,
    known: NamedResults,
    cast: Cast,
}

/// Runs a case and returns what was seen.
///
/// # Errors
/// The case cannot be done, or the runtime failed: the model is not judged.
pub(crate) async fn run(case: &Case, stage: &Stage<'_>) -> Result<Seen, Failure> {
    let folder = tempfile::tempdir().map_err(|cause| {
        let sentence =
            "failed to create a temporary folder: set TMPDIR to a folder that you may write";
        Failure::because(sentence, cause)
    })?;
    let path = folder.path().join("case.db");
    let store = toolkit::store(&path, stage.toolkits).await?;
    let clock = CaseClock::default();
    clock.set(TODAY)?;
    let now = u64::try_from(clock.now().millis()).unwrap_or_default();
    let player = Player::new(stage.model.clone(), Aliases::new(&case.id, now));
    let builder = toolkit::builder(store, stage.toolkits).language(case.language.tag());
    let builder = match stage.cast {
        Cast::Model => builder.model(player.clone()),
        // What keeps calls of the demonstration model back must let each call through that is meant.
        Cast::AsMeant => builder.model(Demonstration::new(player.clone())),
    };
    let builder = builder.clock(clock.clone()).limits(limits());
    let builder = stage.system.into_iter().fold(builder, Builder::system);
    let runtime = builder.start().await.map_err(Failure::of)?;
    let person = runtime.user(PERSON).map_err(Failure::of)?;
    let session = person.session(&case.id).await.map_err(Failure::of)?;
    let known = NamedResults::new();
    let cast = stage.cast;
    let mut running = CaseRun { case, runtime, session, player, clock, known, cast };
    let seen = running.run().await;
    running.runtime.shutdown().await.map_err(Failure::of)?;
    let mut seen = seen?;
    let found = tables::count(&path, &case.rows, PERSON).await;
    seen.found =
        found.map_err(|cause| Failure::because("failed to read the rows of a case", cause))?;
    Ok(seen)
}

/// Sets limits that end only a hanging tool: a pause of the machine must not count against the
/// model.
fn limits() -> Limits {
    let mut limits = Limits::default();
    // Shorter than the time after which waiting callers learn that the store does not answer.
    limits.transaction_deadline = limits.store_timeout / 2;
    limits
}

impl CaseRun<'_> {
    async fn run(&mut self) -> Result<Seen, Failure> {
        for call in &self.case.setup {
            self.prepare(call).await?;
        }
        self.clock.set(TODAY)?;
        let mut seen = Seen::default();
        for turn in &self.case.turns {
            if let Some(played) = &turn.played {
                self.player.play(played, &self.known);
                let past = self.turn(turn).await?;
                if let Some(error) = past.error {
                    let user = &turn.user;
                    return Err(self.failed(&format!("\"{user}\" cannot be played: {error}")));
                }
                self.learn(turn.calls(), &past.calls);
            } else {
                if self.cast == Cast::AsMeant {
                    self.player.play(&self.case.as_meant(turn), &self.known);
                }
                seen.known.clone_from(&self.known);
                let this = self.turn(turn).await?;
                self.learn(turn.calls(), &this.calls);
                seen.turns.push(this);
            }
        }
        Ok(seen)
    }

    /// Makes a call before the chat.
    async fn prepare(&mut self, call: &Call) -> Result<(), Failure> {
        self.clock.set(call.on.as_deref().unwrap_or(TODAY))?;
        let arguments = example_of(&call.arguments, &self.known).map_err(|path| {
            self.failed(&format!("its setup refers to {path}, which is not there"))
        })?;
        let user = UserId::new(call.user.as_deref().unwrap_or(PERSON)).map_err(Failure::of)?;
        let wanted = madang::Call::new(user, &*call.name, Value::from(arguments).to_string());
        let wanted = wanted.approver(Approver::Decided(Decision::Approve));
        let running = self.runtime.begin(wanted.language(self.case.language.tag())).await;
        let report = running.map_err(Failure::of)?.ended().await;
        let Some(ToolOutcome::Ok(ok)) = report.record.outcome else {
            let name = &call.name;
            let envelope = report.envelope;
            return Err(self.failed(&format!("{name} in its setup gave {envelope}")));
        };
        if let Some(name) = &call.known_as {
            self.known.insert(name.clone(), ok.data);
        }
        Ok(())
    }

    /// Stores the results that later calls may refer to.
    fn learn(&mut self, expected: &[Call], made: &[SeenCall]) {
        for (expected, made) in expected.iter().zip(made) {
            if let (Some(name), Some(ToolOutcome::Ok(ok))) = (&expected.known_as, &made.outcome) {
                self.known.insert(name.clone(), ok.data.clone());
            }
        }
    }

    /// Runs one turn to its end, with its questions answered.
    async fn turn(&mut self, turn: &Turn) -> Result<SeenTurn, Failure> {
        let options =
            TurnOptions { language: Some(self.case.language.tag()), ..TurnOptions::default() };
        let begun = self.session.send_with(turn.user.as_str(), options).await;
        let mut events = begun.map_err(Failure::of)?.events();
        let mut answers = turn.decisions.iter();
        let mut seen = SeenTurn::default();
        while let Some(item) = events.next().await {
            let StreamItem::Event(event) = item else { continue };
            match &event.kind {
                EventKind::ApprovalRequested { request } => {
                    let decision =
                        answers.next().map_or(Decision::Deny, |answer| answer.decision());
                    self.session.decide(request, decision).await.map_err(Failure::of)?;
                }
                EventKind::ToolCallEnded { record } => {
                    seen.calls.push(seen_call(record));
                    // Only the text after the last call is the final one.
                    seen.text.clear();
                }
                EventKind::ModelMessage { text, ending, .. } => {
                    seen.text = match ending {
                        Ending::Complete => text.to_string(),
                        Ending::Interrupted => String::new(),
                    };
                }
                EventKind::Error { text, .. } => seen.error = Some(text.clone()),
                EventKind::TurnEnded { ending, .. } => {
                    match ending {
                        TurnEnding::Answered | TurnEnding::Stopped => {}
                        TurnEnding::Failed | TurnEnding::Dismissed => {
                            seen.error.get_or_insert_with(|| format!("{ending:?}"));
                        }
                    }
                    return Ok(seen);
                }
                EventKind::UserMessage { .. }
                | EventKind::ToolCallProposed { .. }
                | EventKind::ApprovalEnded { .. }
                | EventKind::ToolCallResolved { .. }
                | EventKind::SystemNotice { .. }
                | EventKind::MessagesLeftOut { .. }
                | EventKind::TurnResumed
                | EventKind::TurnInterrupted { .. }
                | EventKind::Cleared
                | _ => {}
            }
        }
        Err(self.failed("its session was closed"))
    }

    fn failed(&self, why: &str) -> Failure {
        Failure::new(format!("the case {} could not be run: {why}", self.case.id))
    }
}

fn seen_call(record: &CallRecord) -> SeenCall {
    SeenCall {
        name: record.name.to_string(),
        arguments: Value::clone(record.asked.as_ref().unwrap_or(&record.arguments)),
        outcome: record.outcome.clone(),
    }
}
