//! Serves a model in the child: answers what comes through the pipe until the pipe ends.

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    io::{self, Read, Write},
    panic,
    sync::{Arc, Mutex, OnceLock, PoisonError, mpsc as blocking},
    thread,
    time::Duration,
};

use madang_actors::{
    port::{ChatModel, Deltas, ModelError},
    protocol::{CompletionDelta, CompletionRequest},
};
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::{self, JoinSet},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use super::{
    frame::{Frames, frame},
    wire::{Ask, ErrorReport, Failure, Loaded, ModelReport, PROTOCOL, Tell},
};

/// A served model, and the report that goes with each sign of life.
pub struct Served {
    model: Arc<dyn ChatModel>,
    report: Reporting,
}

type Reporting = Box<dyn Fn() -> ModelReport + Send + Sync>;

impl Served {
    /// Makes a served model that reports only what it streams. If it can be silent for long, for
    /// example while it writes a tool call, use [`reporting`](Self::reporting). Otherwise the
    /// parent takes it for hung after
    /// [`ChildOptions::still_after`](super::ChildOptions::still_after).
    pub fn new(model: impl ChatModel) -> Self {
        Self::reporting(model, |_| ModelReport { progress: None, figures: Value::Null })
    }

    /// Makes a served model that counts its work.
    pub fn reporting<M: ChatModel>(
        model: M,
        report: impl Fn(&M) -> ModelReport + Send + Sync + 'static,
    ) -> Self {
        let model = Arc::new(model);
        // The reporter must not keep the model alive.
        let weak = Arc::downgrade(&model);
        let report = move || weak.upgrade().map(|model| report(&model)).unwrap_or_default();
        Self { model, report: Box::new(report) }
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Loads a model and lets it answer a [`ChildModel`](super::ChildModel) in the parent process,
/// until the parent closes the pipe or ends. The process must do nothing else. If something hangs,
/// the process is killed two seconds after that. On Linux it ends with the thread that started it.
/// The thread that calls this must live as long as the process.
///
/// Must be called in a Tokio runtime. `load` may block. It receives a function that reports the
/// loaded fraction, from 0 to 1.
///
/// # Errors
/// The output cannot be written, or no thread starts. If the model cannot be loaded, that is
/// reported through the pipe and is not an error here.
pub async fn serve<E: Error + Send + 'static>(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    load: impl FnOnce(Box<dyn FnMut(f32) + Send>) -> Result<Served, E> + Send + 'static,
) -> io::Result<()> {
    die_with_parent();
    let teller = Teller { output: Arc::new(Mutex::new(output)), closing: CancellationToken::new() };
    teller.tell(&Tell::Hello { protocol: PROTOCOL });
    let reporting = Arc::new(OnceLock::new());
    let (asks, mut asked) = mpsc::channel(MAX_UNREAD);
    let (serving, served) = blocking::channel();
    let reader = Reader { teller: teller.clone(), reporting: Arc::clone(&reporting), asks, served };
    thread::Builder::new().name("madang-asked".into()).spawn(move || reader.read(input))?;

    let progress = progress(teller.clone());
    let loading = task::spawn_blocking(move || load(progress)).await;
    match loading.unwrap_or_else(|panicked| panic::resume_unwind(panicked.into_panic())) {
        Ok(Served { model, report }) => {
            let _ = reporting.set(report);
            teller.tell(&Tell::Loaded(Loaded { info: model.info(), caveats: model.caveats() }));
            answer(model, &teller, &mut asked).await;
        }
        Err(problem) => teller.tell(&Tell::NotLoaded { problem: ErrorReport::of(&problem) }),
    }
    drop(serving);
    Ok(())
}

/// Requests that may wait to be begun; a parent sends far fewer at once.
const MAX_UNREAD: usize = 1_024;

/// The kind of error of a completion whose model panicked.
const PANIC: &str = "Panic";

/// The longest time that an end may take.
const END_WITHIN: Duration = Duration::from_secs(2);

/// Answers until the pipe ends. The model is dropped before this returns.
async fn answer(model: Arc<dyn ChatModel>, teller: &Teller, asked: &mut mpsc::Receiver<Ask>) {
    let mut running = JoinSet::new();
    let mut open: HashMap<task::Id, (u64, CancellationToken)> = HashMap::new();
    loop {
        tokio::select! {
            () = teller.closing.cancelled() => break,
            Some(ended) = running.join_next_with_id() => match ended {
                Ok((task, ())) => drop(open.remove(&task)),
                // A panic of the model ends only its own completion.
                Err(panicked) => {
                    if let Some((id, _)) = open.remove(&panicked.id()) {
                        let error = ModelError::failed_by(PANIC, panicked);
                        teller.tell(&Tell::Ended { id, result: Err(Failure::from(&error)) });
                    }
                }
            },
            ask = asked.recv() => match ask {
                None => break,
                Some(Ask::Complete { id, request }) => {
                    let cancel = teller.closing.child_token();
                    let work = complete(Arc::clone(&model), teller.clone(), id, request, cancel.clone());
                    open.insert(running.spawn(work).id(), (id, cancel));
                }
                Some(Ask::Cancel { id: unwanted }) => {
                    let unwanted = open.values().filter(|(id, _)| *id == unwanted);
                    unwanted.for_each(|(_, cancel)| cancel.cancel());
                }
                Some(Ask::Unconstrained { id, tools }) => {
                    let parts = model.unconstrained(&tools);
                    teller.tell(&Tell::Unconstrained { id, parts });
                }
                // The reader answers pings.
                Some(Ask::Ping) => {}
            }
        }
    }
    running.shutdown().await;
}

async fn complete(
    model: Arc<dyn ChatModel>,
    teller: Teller,
    id: u64,
    request: CompletionRequest,
    cancel: CancellationToken,
) {
    let streaming = teller.clone();
    let deltas = Deltas::new(move |delta| {
        streaming.tell(&match delta {
            CompletionDelta::Began => Tell::Began { id },
            CompletionDelta::Text(text) => Tell::Text { id, text: text.to_owned() },
            CompletionDelta::Thinking(text) => Tell::Thinking { id, text: text.to_owned() },
        });
    });
    let result = model.complete(request, deltas, cancel).await;
    teller.tell(&Tell::Ended { id, result: result.map_err(|error| Failure::from(&error)) });
}

/// Reads requests, and answers pings even while the model works.
struct Reader {
    teller: Teller,
    reporting: Arc<OnceLock<Reporting>>,
    asks: mpsc::Sender<Ask>,
    /// Disconnected when serving has ended.
    served: blocking::Receiver<()>,
}

impl Reader {
    fn read(self, mut input: impl Read) {
        let Self { teller, reporting, asks, served } = self;
        let mut frames = Frames::default();
        let mut bytes = vec![0; READ_BYTES];
        while let Ok(read @ 1..) = input.read(&mut bytes) {
            frames.push(&bytes[..read]);
            loop {
                match frames.next() {
                    Ok(None) => break,
                    Ok(Some(Ask::Ping)) => {
                        let report = reporting.get().map(|report| report()).unwrap_or_default();
                        teller.tell(&Tell::Pong { report });
                    }
                    Ok(Some(ask)) => {
                        if asks.blocking_send(ask).is_err() {
                            debug!("nothing is served any more");
                        }
                    }
                    Err(problem) => {
                        error!(%problem, "failed to read what is asked");
                        return die();
                    }
                }
            }
        }
        // The parent has closed the pipe.
        teller.closing.cancel();
        if served.recv_timeout(END_WITHIN) == Err(blocking::RecvTimeoutError::Timeout) {
            die();
        }
    }
}

/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// Writes whole frames. A writer waits for room in the pipe, which the parent always reads.
#[derive(Clone)]
struct Teller {
    output: Arc<Mutex<dyn Write + Send>>,
    /// Cancelled when the parent neither asks nor listens.
    closing: CancellationToken,
}

impl Teller {
    fn tell(&self, tell: &Tell) {
        let frame = match frame(tell) {
            Ok(frame) => frame,
            Err(problem) => return error!(%problem, "failed to say something"),
        };
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.write_all(&frame).and_then(|()| output.flush()).is_err() {
            self.closing.cancel();
        }
    }
}

/// Reports each percent once.
fn progress(teller: Teller) -> Box<dyn FnMut(f32) + Send> {
    let mut told = None;
    Box::new(move |done| {
        let percent = (done * 100.0) as u32;
        if told.replace(percent) != Some(percent) {
            teller.tell(&Tell::Loading { done });
        }
    })
}

/// Makes the kernel end this process with the thread that started it, even if it hangs or is
/// stopped.
fn die_with_parent() {
    #[cfg(target_os = "linux")]
    {
        let kill = Some(rustix::process::Signal::KILL);
        if let Err(problem) = rustix::process::set_parent_process_death_signal(kill) {
            debug!(%problem, "this process ends by the end of its input alone");
        }
    }
}

/// Ends this process at once, even if a thread hangs.
fn die() {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        if let Err(problem) = kill_process(getpid(), Signal::KILL) {
            error!(%problem, "this process cannot end itself");
        }
    }
    std::process::abort();
}
