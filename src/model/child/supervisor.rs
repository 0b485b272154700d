//! Runs the thread that starts children, reads from them and ends them. `supervision` decides.

use std::{
    collections::HashMap,
    future::pending,
    sync::{Arc, Mutex, PoisonError, mpsc as blocking},
    thread::{self, JoinHandle},
};

use madang_actors::{
    port::{ModelError, Unconstrained},
    protocol::{Completion, CompletionDelta, Usage},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tracing::{debug, info, warn};

use super::{
    ChildModel,
    command::{Command, Responder, Seen},
    error::{ChildError, Loss, Silence, Unasked},
    frame::frame,
    open::{Fate, MOST_DEATHS},
    options::ChildOptions,
    process::Process,
    restarts::Restarts,
    stats::ChildStats,
    supervision::{Effect, Supervision},
    watch::Bounds,
    wire::{Ask, Failure, Loaded, PROTOCOL, Tell},
};

/// Starts the thread, and waits until the first child has loaded its model.
pub(super) fn start(
    options: ChildOptions,
    commands: mpsc::UnboundedReceiver<Command>,
    seen: Arc<Mutex<Seen>>,
) -> Result<(Loaded, JoinHandle<()>), ChildError> {
    let failed = |cause| ChildError::Thread { cause: Some(cause) };
    let (loaded, outcome) = blocking::sync_channel(1);
    // The thread owns the children: on Linux they end with it.
    let thread = thread::Builder::new().name("madang-child".into());
    let thread = thread.spawn(move || {
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
        match threads {
            Ok(threads) => threads.block_on(Supervisor::new(options, commands, seen, loaded).run()),
            Err(cause) => {
                if loaded.send(Err(failed(cause))).is_err() {
                    warn!("no caller waited for the model any more");
                }
            }
        }
    });
    let thread = thread.map_err(failed)?;
    let outcome = outcome.recv().unwrap_or(Err(ChildError::Thread { cause: None }));
    outcome.map(|loaded| (loaded, thread))
}

struct Supervisor {
    options: ChildOptions,
    supervision: Supervision,
    process: Option<Process>,
    commands: mpsc::UnboundedReceiver<Command>,
    responders: HashMap<u64, Responder>,
    questions: HashMap<u64, blocking::SyncSender<Vec<Unconstrained>>>,
    /// The caller that waits for the first child.
    loading: Option<blocking::SyncSender<Result<Loaded, ChildError>>>,
    /// The reason why the latest child is gone.
    loss: Option<Loss>,
    is_over: bool,
    seen: Arc<Mutex<Seen>>,
}

impl Supervisor {
    fn new(
        options: ChildOptions,
        commands: mpsc::UnboundedReceiver<Command>,
        seen: Arc<Mutex<Seen>>,
        loading: blocking::SyncSender<Result<Loaded, ChildError>>,
    ) -> Self {
        let ChildOptions { ping_every, silent_after, still_after, load_within, .. } = options;
        let ChildOptions { first_delay, longest_delay, healthy_after, .. } = options;
        let restarts = Restarts::new(first_delay, longest_delay, healthy_after);
        let bounds = Bounds::new(ping_every, silent_after, still_after, load_within);
        Self {
            supervision: Supervision::new(restarts, bounds, ping_every, Instant::now()),
            options,
            process: None,
            commands,
            responders: HashMap::new(),
            questions: HashMap::new(),
            loading: Some(loading),
            loss: None,
            is_over: false,
            seen,
        }
    }

    /// Runs until the handle is dropped, or the first child fails to load its model.
    async fn run(mut self) {
        while !self.is_over {
            let due = self.supervision.due();
            let effects = tokio::select! {
                command = self.commands.recv() => match command {
                    Some(command) => self.on(command),
                    None => break,
                },
                heard = hear(&mut self.process) => match heard {
                    Ok(tell) => self.on_tell(tell).await,
                    Err(silence) => self.bury(silence).await,
                },
                () = wait_until(due) => self.supervision.tick(Instant::now()),
            };
            self.carry_out(effects).await;
        }
        // Dropping the reply shows a waiting caller that the model is gone.
        self.responders.clear();
        if let Some(process) = self.process.take() {
            process.end(self.options.end_within).await;
        }
    }

    fn on(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::Complete { id, request, responder } => {
                self.responders.insert(id, responder);
                self.supervision.asked(id, request)
            }
            Command::Withdraw { id } => self.supervision.withdrawn(id),
            Command::Unconstrained { id, tools, reply } => {
                // Without a child the reply is dropped, which the caller takes for no answer.
                if self.process.is_some() {
                    self.questions.insert(id, reply);
                    self.send(&Ask::Unconstrained { id, tools });
                }
                Vec::new()
            }
        }
    }

    async fn on_tell(&mut self, tell: Tell) -> Vec<Effect> {
        self.supervision.heard();
        match tell {
            Tell::Hello { protocol: PROTOCOL } => {}
            Tell::Hello { protocol } => return self.bury(Silence::Foreign(protocol)).await,
            Tell::Loading { done } => {
                if let Some(progress) = &mut self.options.progress {
                    progress(done);
                }
            }
            Tell::Loaded(loaded) => return self.loaded(loaded),
            Tell::NotLoaded { problem } => {
                if let Some(process) = self.process.take() {
                    process.end(self.options.end_within).await;
                }
                return self.not_loaded(ChildError::NotLoaded { problem });
            }
            Tell::Began { id } => self.stream(id, CompletionDelta::Began),
            Tell::Text { id, text } => self.stream(id, CompletionDelta::Text(&text)),
            Tell::Thinking { id, text } => self.stream(id, CompletionDelta::Thinking(&text)),
            Tell::Ended { result: Err(Failure::Failed { kind, .. }), .. }
                if kind == ModelError::ENGINE_DIED =>
            {
                // The child's engine is gone for good, although the pipe is still open.
                return self.bury(Silence::EngineDied).await;
            }
            Tell::Ended { id, result } => {
                let effects = self.supervision.ended(id);
                self.answer(id, result.map_err(Into::into));
                return effects;
            }
            Tell::Unconstrained { id, parts } => {
                if let Some(reply) = self.questions.remove(&id)
                    && reply.send(parts).is_err()
                {
                    debug!("no caller waits any more for what calls may break");
                }
            }
            Tell::Pong { report } => {
                self.supervision.progress(report.progress);
                self.see(|seen| seen.figures = report.figures);
            }
        }
        Vec::new()
    }

    fn loaded(&mut self, loaded: Loaded) -> Vec<Effect> {
        self.options.progress = None;
        let max_concurrent = loaded.info.max_concurrent;
        let process = self.process.as_ref().and_then(Process::id);
        info!(model = %loaded.info.name, process, "the model's process is ready");
        if let Some(loading) = self.loading.take() {
            self.is_over = loading.send(Ok(loaded)).is_err();
        }
        self.supervision.loaded(max_concurrent, Instant::now())
    }

    fn stream(&mut self, id: u64, delta: CompletionDelta<'_>) {
        self.supervision.streams(id, delta != CompletionDelta::Began);
        // The caller may have left.
        if let Some(responder) = self.responders.get(&id) {
            responder.deltas.push(delta);
        }
    }

    async fn carry_out(&mut self, mut effects: Vec<Effect>) {
        loop {
            let counts = self.supervision.counts();
            self.see(|seen| seen.stats = ChildStats { process: seen.stats.process, ..counts });
            if effects.is_empty() {
                return;
            }
            let mut more = Vec::new();
            for effect in effects {
                match effect {
                    Effect::Start => more.extend(self.start()),
                    Effect::Ask(id) => more.extend(self.send_request(id)),
                    Effect::Cancel(id) => self.send(&Ask::Cancel { id }),
                    Effect::Ping => self.send(&Ask::Ping),
                    Effect::Kill(hang) => more.extend(self.bury(Silence::Hangs(hang)).await),
                    Effect::End(id, fate) => self.answer(id, Err(self.error(fate))),
                }
            }
            effects = more;
        }
    }

    fn start(&mut self) -> Vec<Effect> {
        match Process::start(&self.options) {
            Ok(process) => {
                self.see(|seen| seen.stats.process = process.id());
                self.process = Some(process);
                Vec::new()
            }
            Err(cause) => {
                let program = self.options.program.clone();
                self.not_loaded(ChildError::Start { program, cause })
            }
        }
    }

    fn send_request(&mut self, id: u64) -> Vec<Effect> {
        let Some(request) = self.supervision.request(id).cloned() else { return Vec::new() };
        let (Some(process), frame) = (&mut self.process, frame(&Ask::Complete { id, request }))
        else {
            return Vec::new();
        };
        match frame {
            Ok(frame) => {
                process.send(&frame);
                Vec::new()
            }
            Err(error) => {
                let error =
                    ModelError::failed_by(ChildModel::PROMPT_TOO_LONG, Unasked::TooLong(error));
                self.answer(id, Err(error));
                self.supervision.ended(id)
            }
        }
    }

    fn send(&mut self, ask: &Ask) {
        if let Some(process) = &mut self.process {
            match frame(ask) {
                Ok(frame) => process.send(&frame),
                Err(error) => warn!(%error, "failed to ask the model's process something"),
            }
        }
    }

    /// Ends a child that is silent or sends nothing usable.
    async fn bury(&mut self, silence: Silence) -> Vec<Effect> {
        let Some(process) = self.process.take() else { return Vec::new() };
        let id = process.id();
        let death = process.bury(silence).await;
        warn!(process = id, %death, "the model's process ended");
        self.lose(ChildError::Died { death });
        self.supervision.died(Instant::now())
    }

    fn not_loaded(&mut self, error: ChildError) -> Vec<Effect> {
        warn!(%error, "the model's process cannot be used");
        self.lose(error);
        self.supervision.not_loaded(Instant::now())
    }

    fn lose(&mut self, error: ChildError) {
        self.questions.clear();
        self.see(|seen| seen.stats.process = None);
        let Some(loading) = self.loading.take() else {
            let loss: Loss = if let ChildError::Died { death } = error {
                Arc::new(death)
            } else {
                Arc::new(error)
            };
            self.loss = Some(loss);
            return;
        };
        self.is_over = true;
        if loading.send(Err(error)).is_err() {
            debug!("no caller waits for the model any more");
        }
    }

    /// Translates the fate of a request into the caller's error.
    fn error(&self, fate: Fate) -> ModelError {
        match (fate, self.loss.clone()) {
            (Fate::Cancelled, _) => ModelError::Cancelled { usage: Usage::default() },
            (Fate::Killer, _) => {
                let cause = Unasked::Killer { deaths: MOST_DEATHS };
                ModelError::failed_by(ChildModel::KILLED_ENGINE, cause)
            }
            (Fate::Died, Some(cause)) => ModelError::failed_by(ModelError::ENGINE_DIED, cause),
            (Fate::Unloadable, Some(cause)) => {
                ModelError::failed_by(ModelError::ENGINE_DIED, Unasked::Unloadable { cause })
            }
            (Fate::Died | Fate::Unloadable, None) => ModelError::failed(ModelError::ENGINE_DIED),
        }
    }

    fn answer(&mut self, id: u64, result: Result<Completion, ModelError>) {
        // The caller may have left.
        if let Some(responder) = self.responders.remove(&id)
            && responder.reply.send(result).is_err()
        {
            debug!("no caller waits for the completion any more");
        }
    }

    fn see(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Waits for the child's next message; waits forever without a child.
async fn hear(process: &mut Option<Process>) -> Result<Tell, Silence> {
    match process {
        Some(process) => process.hear().await,
        None => pending().await,
    }
}

async fn wait_until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}
