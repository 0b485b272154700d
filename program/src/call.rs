//! `madang call`: makes one tool call without a model.

use std::pin::pin;

use madang::{
    Call, CallReport, Error, Runtime, approval::Approver, error::ShutdownError, tool::EffectPolicy,
};

use crate::{
    args,
    beside::Beside,
    bounded_input::{self, Unusable},
    failure::Failure,
    notes::{self, Mirror},
    output, setup,
    signals::{Asked, Signals},
    texts::Text,
};

/// The error of an envelope that the ledger does not have.
const NOT_RECORDED: &str = "the ledger does not have what became of the call: \
                            read its envelope, and check the database and its disk";

/// Dispatches the call and prints the envelope. An outcome with an error is an answer; only an
/// unrecorded outcome is a failure of the program.
pub(crate) async fn run(wanted: args::Call) -> Result<(), Failure> {
    let arguments = match wanted.arguments.as_str() {
        "-" => read_arguments()?,
        given => given.to_owned(),
    };
    // From here on a signal must end the program in order.
    let mut signals = Signals::new()?;
    let locale = wanted.language.first();
    let language = wanted.language.tag();
    let (builder, mirror) = match setup::store(&wanted.tools.database, &wanted.tools.toolkits).await
    {
        Ok(store) => {
            let mirror = notes::mirror(&store, &wanted.tools, locale)?;
            (setup::builder(store, &wanted.tools.toolkits, language), mirror)
        }
        Err(failure) if failure.is_of_a_held_database() && reads(&wanted)? => {
            let held = setup::store_to_read(&wanted.tools.database).await?;
            let store = Beside::new(held).await.map_err(Failure::of)?;
            output::notice(&Text::ReadsBeside.in_locale(locale));
            (setup::builder(store, &wanted.tools.toolkits, language), None)
        }
        Err(failure) => return Err(failure),
    };
    let runtime = builder.start().await.map_err(Failure::of)?;
    let confirm = wanted.decision().map_or(Approver::None, Approver::Decided);
    let call =
        Call::new(wanted.tools.person.user.clone(), wanted.name, arguments).approver(confirm);
    let call = call.session(wanted.session);
    let call = wanted.tools.time_zone.into_iter().fold(call, Call::time_zone);
    let Ended { report, asked, is_down } = carry_out(&runtime, mirror, call, signals.next()).await;
    match report {
        Some(report) => {
            let report = report.map_err(Failure::of)?;
            output::foreign(&report.envelope)?;
            if !report.is_recorded {
                return Err(Failure::new(NOT_RECORDED));
            }
        }
        None if is_down.is_ok() => output::notice(&Text::NotBegun.in_locale(locale)),
        None => {}
    }
    is_down.map_err(Failure::of)?;
    match asked {
        Some(Asked::Interrupt) => {
            Err(Failure::new("interrupted: what was run stands in `madang ledger`"))
        }
        Some(Asked::Terminate) | None => Ok(()),
    }
}

/// Tells whether the tool only reads, so that it can run beside a program that holds the database.
fn reads(wanted: &args::Call) -> Result<bool, Failure> {
    let registry = setup::registry(&wanted.tools.toolkits)?;
    let tool = registry.get(&wanted.name);
    Ok(tool.is_ok_and(|tool| tool.spec().effect == EffectPolicy::Read))
}

/// The end of the program.
#[derive(Debug)]
struct Ended {
    /// The result of the call; `None` if it has not begun or still runs.
    report: Option<Result<CallReport, Error>>,
    /// The signal that asked for the end before the call ended.
    asked: Option<Asked>,
    is_down: Result<(), ShutdownError>,
}

/// Dispatches the call and shuts the runtime down. If a signal asks for the end first, a running
/// handler finishes, and a call that has not begun does not run.
async fn carry_out(
    runtime: &Runtime,
    mirror: Option<Mirror>,
    call: Call,
    asked: impl Future<Output = Asked>,
) -> Ended {
    let mut dispatched = pin!(async { Ok(runtime.begin(call).await?.ended().await) });
    let asked = tokio::select! {
        biased;
        asked = asked => asked,
        report = &mut dispatched => {
            // The store is still open, so the call's writes reach the files before the program
            // ends.
            if let Some(mirror) = mirror {
                mirror.stop().await;
            }
            let is_down = runtime.shutdown().await;
            return Ended { report: Some(report), asked: None, is_down };
        }
    };
    let is_down = runtime.shutdown().await;
    // The program does not wait for a handler that outlives the shutdown.
    let report = match is_down {
        Ok(()) => match dispatched.await {
            Err(Error::Closed) => None,
            report => Some(report),
        },
        Err(_) => None,
    };
    Ended { report, asked: Some(asked), is_down }
}

fn read_arguments() -> Result<String, Failure> {
    bounded_input::text(std::io::stdin().lock()).map_err(|cause| {
        let sentence = match &cause {
            Unusable::Unreadable(_) => {
                "failed to read the arguments from standard input: try again".to_owned()
            }
            Unusable::TooLong => {
                format!("the arguments cannot be used, {cause}: give shorter ones")
            }
            Unusable::NotUtf8(_) => {
                "the arguments are not UTF-8: convert them and try again".to_owned()
            }
        };
        Failure::because(sentence, cause)
    })
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        sync::Arc,
    };

    use madang::{
        UserId,
        approval::Decision,
        ledger::{CallResult, Effect, LedgerFilter},
        store::Store as _,
        tool::{self, CancelReason, ToolContext, ToolOutcome, ToolResult},
    };
    use madang_testing::MemoryStore;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::{Value, json};
    use tokio::sync::{Semaphore, oneshot};

    use super::*;

    /// Holds a handler until the test lets it go on.
    #[derive(Debug)]
    struct Gate {
        begun: Semaphore,
        open: Semaphore,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    async fn send(_: Nothing, ctx: &ToolContext) -> ToolResult<Value> {
        let gate = ctx.extension::<Arc<Gate>>().unwrap();
        gate.begun.add_permits(1);
        tokio::select! {
            open = gate.open.acquire() => open.unwrap().forget(),
            // The shutdown has begun and waits for this handler.
            _ = ctx.cancelled.cancelled() => {}
        }
        Ok(json!({ "sent": true }))
    }

    async fn fixture(effect: EffectPolicy) -> (Runtime, MemoryStore, Arc<Gate>) {
        let store = MemoryStore::new();
        let gate = Arc::new(Gate { begun: Semaphore::new(0), open: Semaphore::new(0) });
        let runtime = Runtime::builder()
            .store(store.clone())
            .tool(tool::plain("send", "Sends.", send).effect(effect))
            .extension(gate.clone())
            .start()
            .await
            .unwrap();
        (runtime, store, gate)
    }

    fn call(confirm: Approver) -> Call {
        Call::new(UserId::new("kim").unwrap(), "send", "{}").approver(confirm)
    }

    async fn effects(store: &MemoryStore) -> Vec<Option<Effect>> {
        let rows = store.calls(&LedgerFilter::default()).await.unwrap();
        rows.iter().map(|row| row.effect).collect()
    }

    #[tokio::test]
    async fn a_program_that_is_not_asked_to_end_prints_what_became_of_the_call() {
        let (runtime, store, gate) = fixture(EffectPolicy::Write).await;
        gate.open.add_permits(1);
        let ended = carry_out(&runtime, None, call(Approver::None), pending()).await;
        assert_eq!((ended.asked, ended.is_down), (None, Ok(())));
        assert_eq!(ended.report.unwrap().unwrap().record.effect, Effect::Committed);
        assert_eq!(effects(&store).await, [Some(Effect::Committed)]);
    }

    #[tokio::test]
    async fn a_tool_that_runs_when_the_program_is_asked_to_end_finishes_and_is_recorded() {
        let (runtime, store, gate) = fixture(EffectPolicy::Write).await;
        let (ask, asked) = oneshot::channel();
        let driver = async {
            gate.begun.acquire().await.unwrap().forget();
            ask.send(Asked::Terminate).unwrap();
        };
        let asked = async { asked.await.unwrap() };
        let (ended, ()) =
            tokio::join!(carry_out(&runtime, None, call(Approver::None), asked), driver);
        assert_eq!((ended.asked, ended.is_down), (Some(Asked::Terminate), Ok(())));
        let record = ended.report.unwrap().unwrap().record;
        assert_eq!((record.effect, record.result), (Effect::Committed, CallResult::Discarded));
        assert_eq!(effects(&store).await, [Some(Effect::Committed)]);
    }

    #[tokio::test]
    async fn a_question_that_is_open_when_the_program_is_asked_to_end_ends_and_nothing_runs() {
        let (runtime, store, gate) = fixture(EffectPolicy::Destructive).await;
        let (ask, asked) = oneshot::channel();
        let ask = std::sync::Mutex::new(Some(ask));
        let never = Approver::Ask(Box::new(move |_| {
            let ask = ask.lock().unwrap().take().unwrap();
            ask.send(Asked::Interrupt).unwrap();
            Box::pin(pending::<Option<Decision>>())
        }));
        let ended = carry_out(&runtime, None, call(never), async { asked.await.unwrap() }).await;
        assert_eq!((ended.asked, ended.is_down), (Some(Asked::Interrupt), Ok(())));
        let outcome = ended.report.unwrap().unwrap().record.outcome;
        assert_eq!(outcome, Some(ToolOutcome::cancelled(CancelReason::Dismissed)));
        assert_eq!(
            (effects(&store).await, gate.begun.available_permits()),
            (vec![Some(Effect::None)], 0)
        );
    }

    #[tokio::test]
    async fn a_call_does_not_begin_in_a_program_that_was_asked_to_end_before() {
        let (runtime, store, gate) = fixture(EffectPolicy::Write).await;
        let ended = carry_out(&runtime, None, call(Approver::None), ready(Asked::Terminate)).await;
        assert!(ended.report.is_none() && ended.is_down.is_ok());
        assert_eq!((effects(&store).await, gate.begun.available_permits()), (vec![], 0));
    }
}
