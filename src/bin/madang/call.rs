//! `madang call`: one tool call without a model.

use std::io::Read;

use madang::{Call, Confirm, testing::ScriptedModel};

use crate::{args, failure::Failure, output, setup};

/// More than this is not even read: the runtime refuses arguments of a megabyte already, and says so as an outcome.
const MAX_INPUT_BYTES: u64 = 64 << 20;

/// Dispatches the call and prints the envelope. An Err outcome is an answer, not a failure of the program.
pub(crate) async fn run(wanted: args::Call) -> Result<(), Failure> {
    let arguments = match wanted.arguments.as_str() {
        "-" => read_arguments()?,
        given => given.to_owned(),
    };
    let (toolkits, locale) = (args::Toolkits::default(), wanted.locale());
    let store = setup::store(&wanted.database, &toolkits).await?;
    // Nobody asks the model.
    let builder = setup::builder(store, &toolkits, locale).model(ScriptedModel::new([]));
    let runtime = builder.start().await.map_err(Failure::of)?;
    let confirm = wanted.decision().map_or(Confirm::Nobody, Confirm::Always);
    let call =
        Call::new(wanted.person.user(), wanted.name, arguments).confirm(confirm).locale(locale);
    let report = runtime.dispatch(call).await;
    let ended = runtime.shutdown().await;
    output::line(&report.map_err(Failure::of)?.envelope)?;
    ended.map_err(Failure::of)
}

fn read_arguments() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|cause| {
        Failure::because("failed to read the arguments from standard input: try again", cause)
    })?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        let max = MAX_INPUT_BYTES >> 20;
        return Err(Failure::new(format!(
            "the arguments are longer than {max} MiB: give shorter ones"
        )));
    }
    String::from_utf8(bytes).map_err(|cause| {
        Failure::because("the arguments are not UTF-8: convert them and try again", cause)
    })
}
