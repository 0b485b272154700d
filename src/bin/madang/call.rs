//! `madang call`: one tool call without a model.

use madang::{Call, Confirm, testing::ScriptedModel};

use crate::{
    args,
    failure::Failure,
    output, setup,
    whole::{self, Unusable},
};

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
    whole::text(std::io::stdin().lock()).map_err(|cause| {
        let sentence = match &cause {
            Unusable::Unread(_) => {
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
