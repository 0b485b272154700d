//! A stand-in for a process with a large model: it says what the request says, and dies as the
//! request says.

use std::{
    env,
    fs::File,
    io::{Write, stderr, stdin},
    sync::Arc,
    thread,
    time::Duration,
};

use madang::{
    LanguageTag, SessionId, UserId,
    event::CompletionId,
    model::{
        ChatModel, Completion, CompletionDelta, CompletionRequest, Deltas, FinishReason,
        ModelError, ModelInfo, PromptMessage, Usage,
        child::{ChildOptions, ModelReport, Served, serve},
    },
    tool::{BoxFuture, WantedCall},
};
use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The variable that starts the stand-in; without it the test below does nothing.
const ROLE: &str = "MADANG_STAND_IN";
/// The variable that marks the processes of a test.
const MARK: &str = "MADANG_STAND_IN_OF";

/// Makes a name that no other test has.
pub(super) fn mark() -> String {
    Uuid::now_v7().to_string()
}

/// Starts it. The test program prints on standard output before the stand-in runs, so frames take
/// another way.
pub(super) fn options(role: &str, mark: &str) -> ChildOptions {
    let this_program = env::current_exe().unwrap();
    let arguments = ["--exact", "child::stand_in::serves", "--ignored", "--nocapture"];
    let shell = ChildOptions::new("/bin/sh").argument("-c").argument("exec \"$@\" 3>&1 1>&2");
    let options =
        shell.argument("sh").argument(this_program).variable(ROLE, role).variable(MARK, mark);
    // Reading its own symbols for a stack from a cold disk would silence it for long.
    let options = options.variable("RUST_BACKTRACE", "0");
    arguments.into_iter().fold(options, ChildOptions::argument)
}

/// The completions at once.
pub(super) const MAX_CONCURRENT: usize = 4;

#[test]
#[ignore = "the other tests start it as a process of its own"]
fn serves() {
    let Ok(role) = env::var(ROLE) else { return };
    let frames = || File::options().write(true).open("/dev/fd/3").unwrap();
    let threads = tokio::runtime::Runtime::new().unwrap();
    let load = move |mut progress: Box<dyn FnMut(f32) + Send>| {
        match &*role {
            "cannot load" => return Err(ModelError::failed_by("NoModel", "the disk is elsewhere")),
            "dies while it loads" => std::process::abort(),
            "loads for ever" => freeze(),
            "speaks another language" => frames().write_all(b"Hello, who is there?").unwrap(),
            // Some of many die before they do anything.
            "frail" if getpid().as_raw_nonzero().get() % 16 == 0 => std::process::abort(),
            _ => {}
        }
        [0.25, 0.5, 1.0].into_iter().for_each(&mut progress);
        let report = |_: &StandIn| ModelReport { progress: None, figures: json!({ "decodes": 7 }) };
        Ok(Served::reporting(StandIn, report))
    };
    threads.block_on(serve(stdin(), frames(), load)).unwrap();
}

/// Follows the steps in the user's last text, separated by semicolons.
#[derive(Debug)]
pub(super) struct StandIn;

impl ChatModel for StandIn {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            name: "stand-in".into(),
            has_parallel_calls: true,
            max_concurrent: MAX_CONCURRENT,
        }
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            let usage = Usage { prompt_tokens: 3, cached_tokens: 2, completion_tokens: 1 };
            let work = act(&request, &deltas, usage);
            let ended = cancel.run_until_cancelled(work).await;
            ended.unwrap_or(Err(ModelError::Cancelled { usage }))
        })
    }

    fn caveats(&self) -> Vec<madang::model::Caveat> {
        vec![madang::model::Caveat::TemplateGivenUp { problem: "it is none".to_owned() }]
    }

    fn unconstrained(&self, tools: &[madang::tool::ToolSpec]) -> Vec<madang::model::Unconstrained> {
        let part = |tool: &madang::tool::ToolSpec| madang::model::Unconstrained {
            tool: tool.name.clone(),
            pointer: "/properties".to_owned(),
            keyword: "pattern".to_owned(),
        };
        tools.iter().map(part).collect()
    }
}

async fn act(
    request: &CompletionRequest,
    deltas: &Deltas,
    usage: Usage,
) -> Result<Completion, ModelError> {
    let Some(PromptMessage::User { text: steps }) = request.messages.last() else {
        return Err(ModelError::failed(ModelError::BAD_OUTPUT));
    };
    let mut said = Completion { usage, left_out: 5, ..Completion::default() };
    for step in steps.split(';') {
        let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
        match word {
            "" | "number" => {}
            "begin" => deltas.push(CompletionDelta::Began),
            "think" => deltas.push(CompletionDelta::Thinking(rest)),
            "say" => {
                deltas.text(rest);
                said.text += rest;
            }
            "call" => {
                said.tool_calls.push(WantedCall::new(rest, "{\"a\":1}"));
                said.finish = FinishReason::ToolCalls;
            }
            "fail" => return Err(ModelError::failed_by("Odd", format!("because of {rest}"))),
            "panic" => panic!("asked to panic"),
            "wait" => sleep(milliseconds(rest)).await,
            "never" => std::future::pending().await,
            // Dies a while later, in any state.
            "doom" => {
                let (time, how) = rest.split_once(' ').unwrap();
                let due = Instant::now() + milliseconds(time);
                let how = how.to_owned();
                thread::spawn(move || {
                    thread::park_timeout(due.saturating_duration_since(Instant::now()));
                    die(&how);
                });
            }
            "sign" => drop(File::create(rest).unwrap()),
            // Only in the first process that gets here.
            "once" => {
                let (path, how) = rest.split_once(' ').unwrap();
                if File::create_new(path).is_ok() {
                    die(how);
                }
            }
            how => die(how),
        }
    }
    Ok(said)
}

fn milliseconds(text: &str) -> Duration {
    Duration::from_millis(text.parse().unwrap())
}

/// The ways to die or to hang.
pub(super) const DEATHS: [&str; 7] =
    ["abort", "segfault", "kill", "stop", "freeze", "garbage", "leave"];

/// The ways that leave the process running.
pub(super) const HANGS: [&str; 2] = ["stop", "freeze"];

fn die(how: &str) {
    let send = |signal| kill_process(getpid(), signal).unwrap();
    match how {
        "abort" => {
            stderr().write_all(b"GGML_ASSERT(it was asked to) failed\n").unwrap();
            std::process::abort()
        }
        // The handler for overflown stacks takes the first signal.
        "segfault" => loop {
            send(Signal::SEGV);
        },
        // Another thread may take the signal while this one still writes.
        "kill" => {
            send(Signal::KILL);
            freeze()
        }
        "stop" => {
            send(Signal::STOP);
            freeze()
        }
        "freeze" => freeze(),
        "garbage" => {
            let mut frames = File::options().write(true).open("/dev/fd/3").unwrap();
            frames.write_all(b"llama_decode: failed to decode").unwrap();
        }
        "leave" => std::process::exit(0),
        how => panic!("it does not know how to {how}"),
    }
}

/// Does nothing more, but still answers pings.
fn freeze() -> ! {
    loop {
        thread::park();
    }
}

/// Makes a request with these steps; its text alone distinguishes it.
pub(super) fn request(steps: impl Into<String>) -> CompletionRequest {
    let parameters = json!({ "type": "object", "properties": { "b": {}, "a": {} } });
    CompletionRequest {
        id: CompletionId::new(Uuid::now_v7()),
        session: SessionId::new("s").unwrap(),
        user: UserId::new("kim").unwrap(),
        system: Some("Be there.".into()),
        instructions: None,
        messages: Arc::new(vec![PromptMessage::User { text: steps.into().into() }]),
        tools: Arc::new([madang::tool::ToolSpec::new("look", "Looks.", parameters)]),
        language: LanguageTag::KO,
        max_tokens: 16,
    }
}

/// Lists the running processes with this mark.
pub(super) fn left_over(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let marked = processes.filter(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    });
    marked.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}
