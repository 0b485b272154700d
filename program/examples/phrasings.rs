//! Measures how often a model's first call is exactly right. Reads phrasings with their accepted calls, asks the model
//! greedily, and prints a table by tool and language.
//!
//! `cargo run --release --example phrasings -- [--model PATH] [--file PATH] [--unconstrained] [--failures] [--json]`

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::{collections::BTreeMap, error::Error, fs, path::PathBuf, sync::Arc, time::Duration};

use madang::{
    SessionId, UserId,
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, ModelError, PromptMessage,
        llama::{LlamaModel, LlamaOptions},
    },
    tool::ToolSpec,
};
use madang_actors::protocol::CompletionId;
use madang_toolkits::life;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// One line of the file.
#[derive(Debug, Deserialize)]
struct Phrasing {
    id: String,
    lang: String,
    text: String,
    /// The right first calls; `null` is an answer in words.
    accept: Vec<Option<Call>>,
}

/// A call without its id.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
struct Call {
    name: String,
    arguments: Value,
}

/// The result of a phrasing.
#[derive(Debug, Serialize)]
struct Verdict {
    id: String,
    lang: String,
    /// The expected tool, or `none`.
    tool: String,
    text: String,
    is_right: bool,
    is_right_tool: bool,
    call: Option<Call>,
    /// The model's text or error, if it made no call.
    said: String,
}

#[derive(Debug, Default)]
struct Arguments {
    model: Option<PathBuf>,
    file: Option<PathBuf>,
    is_unconstrained: bool,
    shows_failures: bool,
    is_json: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let file = arguments.file.unwrap_or_else(|| "toolkits/phrasings.jsonl".into());
    let lines = fs::read_to_string(&file)
        .map_err(|error| format!("failed to read {}: {error}", file.display()))?;
    let phrasings: Vec<Phrasing> = lines
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let model =
        LlamaModel::load(options(arguments.model).constrained_calls(!arguments.is_unconstrained))?;
    let tools: Arc<[ToolSpec]> = life::tools().iter().map(|tool| tool.spec().clone()).collect();

    let began = Instant::now();
    let mut verdicts = Vec::new();
    let mut tokens = 0;
    for phrasing in phrasings {
        let completion = model
            .complete(request(&phrasing, &tools)?, Deltas::ignored(), CancellationToken::new())
            .await;
        if let Ok(completion) = &completion {
            tokens += completion.usage.completion_tokens;
        }
        verdicts.push(judge(phrasing, completion));
    }
    if arguments.is_json {
        for verdict in &verdicts {
            println!("{}", serde_json::to_string(verdict)?);
        }
        return Ok(());
    }
    if arguments.shows_failures {
        for verdict in verdicts.iter().filter(|verdict| !verdict.is_right) {
            let got = verdict
                .call
                .as_ref()
                .map_or_else(|| verdict.said.clone(), |call| json!(call).to_string());
            println!("{} [{}] {}\n    {got}", verdict.id, verdict.tool, verdict.text);
        }
        println!();
    }
    print_table(&verdicts, tokens, began.elapsed());
    Ok(())
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value =
            || words.next().map(PathBuf::from).ok_or_else(|| format!("{word} needs a path"));
        match word.as_str() {
            "--model" => arguments.model = Some(value()?),
            "--file" => arguments.file = Some(value()?),
            "--unconstrained" => arguments.is_unconstrained = true,
            "--failures" => arguments.shows_failures = true,
            "--json" => arguments.is_json = true,
            _ => {
                return Err(format!(
                    "{word} is not known; the first lines of this example say what is"
                ));
            }
        }
    }
    Ok(arguments)
}

fn options(model: Option<PathBuf>) -> LlamaOptions {
    model.map_or_else(madang::model::bundled, LlamaOptions::new)
}

fn request(
    phrasing: &Phrasing,
    tools: &Arc<[ToolSpec]>,
) -> Result<CompletionRequest, Box<dyn Error>> {
    Ok(CompletionRequest {
        id: CompletionId::new(Uuid::now_v7()),
        session: SessionId::new("phrasings")?,
        user: UserId::new("phrasings")?,
        system: None,
        messages: Arc::new(vec![PromptMessage::User { text: phrasing.text.as_str().into() }]),
        tools: Arc::clone(tools),
        language: phrasing.lang.parse()?,
        max_tokens: 256,
    })
}

fn judge(phrasing: Phrasing, completion: Result<Completion, ModelError>) -> Verdict {
    let (call, said) = match completion {
        Ok(completion) => (completion.tool_calls.into_iter().next(), completion.text),
        Err(error) => (None, format!("failed: {error}")),
    };
    let call = call.map(|call| Call {
        name: call.name.to_string(),
        arguments: serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_| json!(&*call.arguments)),
    });
    let name = |call: &Option<Call>| call.as_ref().map_or("none", |call| &call.name).to_owned();
    // An answer in words must have words.
    let has_answer = call.is_some() || (!said.trim().is_empty() && !said.starts_with("failed: "));
    Verdict {
        tool: phrasing.accept.first().map_or_else(|| "none".into(), name),
        is_right: has_answer && phrasing.accept.contains(&call),
        is_right_tool: has_answer
            && phrasing.accept.iter().any(|accepted| name(accepted) == name(&call)),
        id: phrasing.id,
        lang: phrasing.lang,
        text: phrasing.text,
        call,
        said,
    }
}

/// Right calls, right tools, and the total of a row.
type Count = (usize, usize, usize);

fn print_table(verdicts: &[Verdict], tokens: u32, took: Duration) {
    let mut rows: BTreeMap<(&str, &str), Count> = BTreeMap::new();
    for verdict in verdicts {
        for row in [
            (verdict.tool.as_str(), verdict.lang.as_str()),
            ("total", verdict.lang.as_str()),
            ("total", "all"),
        ] {
            let count = rows.entry(row).or_default();
            count.0 += usize::from(verdict.is_right);
            count.1 += usize::from(verdict.is_right_tool);
            count.2 += 1;
        }
    }
    println!(
        "{:<20} {:<4} {:>7} {:>10} {:>4} {:>8}",
        "tool", "lang", "exact", "right tool", "of", "exact %"
    );
    for ((tool, lang), (exact, tools, of)) in rows {
        println!(
            "{tool:<20} {lang:<4} {exact:>7} {tools:>10} {of:>4} {:>7.1}%",
            percent(exact, of)
        );
    }
    let seconds = took.as_secs_f64();
    println!(
        "\n{tokens} tokens generated in {seconds:.1} s ({:.0} a second, prompts included)",
        f64::from(tokens) / seconds
    );
}

#[expect(clippy::cast_precision_loss, reason = "counts of phrasings are small")]
fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole as f64
}
