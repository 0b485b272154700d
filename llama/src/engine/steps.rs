//! Does one decode after another: assigns sequences, plans, decodes, streams the answers, and ends
//! completions.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use llama_cpp_2::{DecodeError, llama_batch::LlamaBatch};
use madang_actors::{
    port::ModelError,
    protocol::{Completion, Usage},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use super::{
    cache::Cache,
    generator::Generator,
    kv_context::KvContext,
    plan::{self, DecodeRequest, Share},
    prefill_budget::PrefillBudget,
    prefill_worker::PrefillWorker,
    prefixes::Prefixes,
    prompts::{PANIC, Written},
    request::{EngineRequest, Reply},
    run::{ActiveCompletion, ContextKind, Kind, WaitReason},
    scope::{Held, Scopes},
    stats::EngineStats,
};

/// The running completions and their resources.
pub(super) struct Engine<'m> {
    generator: Arc<Generator<'m>>,
    scopes: Scopes,
    pub(super) cache: Cache<'m>,
    /// The running completions, in the order in which they began.
    pub(super) runs: Vec<ActiveCompletion>,
    /// The prompts that are being read.
    pub(super) coming: Prefixes<Held>,
    batch: LlamaBatch<'static>,
    prefill_budget: PrefillBudget,
    pub(super) bounds: Bounds,
    /// Reads long prompts. `None` if there are no threads for it.
    pub(super) prefill_worker: Option<PrefillWorker<'m>>,
    pub(super) stats: EngineStats,
    /// The copy of `stats` that callers read.
    published: Arc<Mutex<EngineStats>>,
}

/// The bounds of the engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Running completions.
    pub(super) running: usize,
    /// Tokens of prompts in a decode.
    pub(super) prompt_tokens: usize,
}

impl Bounds {
    /// Counts the most tokens of a decode: those of prompts, or one of each stream and some forced
    /// ones.
    pub(super) const fn batch(self) -> usize {
        self.running + self.prompt_tokens
    }
}

impl<'m> Engine<'m> {
    pub(super) fn new(
        generator: Arc<Generator<'m>>,
        cache: Cache<'m>,
        bounds: Bounds,
        prefill_worker: Option<PrefillWorker<'m>>,
        published: Arc<Mutex<EngineStats>>,
    ) -> Self {
        Self {
            generator,
            scopes: Scopes::default(),
            cache,
            runs: Vec::new(),
            coming: Prefixes::new(),
            batch: LlamaBatch::new(bounds.batch(), 1),
            prefill_budget: PrefillBudget::default(),
            bounds,
            prefill_worker,
            stats: EngineStats::default(),
            published,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns whether another completion may begin.
    pub(super) fn may_begin(&self) -> bool {
        self.runs.len() < self.bounds.running
    }

    /// Writes a prompt and begins its completion.
    #[cfg(test)]
    pub(super) fn begin(&mut self, job: EngineRequest) {
        let prompt = super::prompts::prompt(&self.generator, &job.request, &job.cancel);
        self.begin_written(Written { job, prompt });
    }

    /// Begins a completion.
    pub(super) fn begin_written(&mut self, Written { job, prompt }: Written) {
        let EngineRequest { request, deltas, cancel, reply, .. } = job;
        if cancel.iter().any(CancellationToken::is_cancelled) {
            return tell(reply, Err(ModelError::Cancelled { usage: Usage::default() }));
        }
        let prompt = match prompt {
            Ok(prompt) => prompt,
            Err(error) => return tell(reply, Err(error)),
        };
        self.stats.completions += 1;
        let owner = self.scopes.owner(&request.user, &request.session);
        let tokens = self.scopes.prompt(&prompt.tokens, prompt.beginning, owner.user);
        self.runs.push(ActiveCompletion {
            request,
            owner,
            deltas,
            cancel,
            reply,
            answer: prompt.answer,
            left_out: prompt.left_out,
            prompt: prompt.tokens.len(),
            tokens,
            held: 0,
            sequence: None,
            waits: WaitReason::No,
            context: ContextKind::Main,
            reads: true,
            last_decode: self.stats.decodes,
            began: self.stats.completions,
            usage: Usage::default(),
            end: None,
        });
    }

    /// Does a step: a decode of each kind, with the work around it.
    pub(super) fn step(&mut self) {
        for run in self.runs.iter_mut().filter(|run| run.is_unwanted()) {
            run.end = Some(Err(ModelError::Cancelled { usage: run.usage }));
        }
        self.reap();
        self.assign_sequences();
        self.run_prefill_worker();
        for kind in Kind::BOTH {
            if let Some(shares) = self.decode(kind) {
                self.generate(&shares);
            }
            self.reap();
        }
        self.publish();
    }

    /// Publishes the figures.
    fn publish(&mut self) {
        self.stats.running = self.runs.len();
        self.cache.tell(&mut self.stats);
        *self.published.lock().unwrap_or_else(PoisonError::into_inner) = self.stats;
    }

    /// Decodes the planned tokens, and returns the plan. Returns `None` if nothing was planned, or
    /// if all of it failed.
    pub(super) fn decode(&mut self, kind: Kind) -> Option<Vec<Share>> {
        loop {
            let is_on = self.is_split();
            let requests = self.runs.iter().enumerate().filter_map(|(at, run)| {
                let decode_request = run.decode_request(at)?;
                (run.is_decoded(is_on) == Some(kind)).then_some(decode_request)
            });
            let requests: Vec<DecodeRequest> = requests.collect();
            let tokens = match kind {
                Kind::Streams => self.bounds.batch(),
                Kind::Prompts => {
                    let generates = |run: &&ActiveCompletion| run.sequence.is_some() && !run.reads;
                    let streams = self.runs.iter().filter(generates).count();
                    self.prefill_budget.prompt_tokens(streams, self.bounds.prompt_tokens)
                }
            };
            let shares = plan::plan(&requests, tokens);
            if shares.is_empty() {
                return None;
            }
            let held: Vec<usize> = self.runs.iter().map(|run| run.held).collect();
            fill(&mut self.batch, &self.runs, &held, &shares);
            let began = Instant::now();
            match here(&mut self.cache, &mut self.prefill_worker).decode(&mut self.batch) {
                Ok(()) => {
                    self.decoded(kind, &shares, began);
                    return Some(shares);
                }
                Err(DecodeError::NoKvCacheSlot) if self.make_room() => (),
                Err(error) => {
                    self.fail_all(&error);
                    return None;
                }
            }
        }
    }

    fn decoded(&mut self, kind: Kind, shares: &[Share], began: Instant) {
        self.stats.decodes += 1;
        let mut read = 0;
        for share in shares {
            let run = &mut self.runs[share.run];
            let sequence = run.sequence.expect("it took part");
            let end = run.held + share.tokens;
            here(&mut self.cache, &mut self.prefill_worker)
                .holds(sequence, &run.tokens[run.held..end]);
            run.holds(end);
            run.last_decode = self.stats.decodes;
            read += if run.reads { share.tokens } else { 0 };
        }
        self.stats.prompt_tokens_evaluated += read as u64;
        match kind {
            // Decodes in split contexts take a different time.
            Kind::Streams if self.is_split() => (),
            Kind::Streams => self.prefill_budget.generated(shares.len(), began.elapsed()),
            Kind::Prompts => self.prefill_budget.read(read, began.elapsed()),
        }
    }

    pub(super) fn is_split(&self) -> bool {
        self.prefill_worker.as_ref().is_some_and(PrefillWorker::is_on)
    }

    /// Chooses the next token of each chat whose tokens are all decoded.
    pub(super) fn generate(&mut self, shares: &[Share]) {
        let mut last = -1;
        for share in shares {
            last += i32::try_from(share.tokens).expect("a batch is short");
            let run = &mut self.runs[share.run];
            if run.held < run.tokens.len() {
                continue;
            }
            if run.reads {
                run.reads = false;
                self.coming.forget(run.sequence.expect("it took part"));
            }
            let before = run.usage.completion_tokens;
            let (generator, logits) =
                (&self.generator, here(&mut self.cache, &mut self.prefill_worker).logits(last));
            // A panic of a grammar or a listener ends one completion, not the model.
            let end =
                std::panic::catch_unwind(AssertUnwindSafe(|| generator.generate(run, logits)));
            run.end = end.unwrap_or_else(|_| Some(Err(ModelError::failed(PANIC))));
            self.stats.tokens_generated += u64::from(run.usage.completion_tokens - before);
        }
    }

    /// Forgets the content of the context.
    fn fail_all(&mut self, error: &DecodeError) {
        error!(%error, "failed to decode");
        for run in self.runs.iter_mut().filter(|run| run.sequence.is_some()) {
            if let Some(sequence) = run.sequence.take() {
                self.coming.forget(sequence);
            }
            run.end = Some(Err(ModelError::failed_by(DECODE, error.to_string())));
        }
        self.cache.reset();
        if let Some(worker) = &mut self.prefill_worker {
            worker.clear();
        }
    }

    /// Answers the completions that ended, and lets their chats rest.
    pub(super) fn reap(&mut self) {
        if self.runs.iter().all(|run| run.end.is_none()) {
            return;
        }
        let (ended, running) = std::mem::take(&mut self.runs)
            .into_iter()
            .partition(|run: &ActiveCompletion| run.end.is_some());
        self.runs = running;
        let ended: Vec<ActiveCompletion> = ended;
        for ActiveCompletion { sequence, end, owner, context, .. } in &ended {
            let Some(sequence) = *sequence else { continue };
            self.coming.forget(sequence);
            if *context == ContextKind::Streams
                && let Some(worker) = &mut self.prefill_worker
            {
                worker.leave(sequence, &mut self.cache.kv);
            }
            match end {
                Some(Ok(_) | Err(ModelError::Cancelled { .. })) | None => {
                    self.cache.rest(sequence, owner, &mut self.stats);
                }
                // A failure may leave anything in the cache.
                Some(Err(_)) => self.cache.free(sequence),
            }
        }
        // An answered caller may read the figures at once.
        self.publish();
        for ActiveCompletion { end, answer, usage, reply, left_out, .. } in ended {
            if let Some(end) = end {
                let completion = end.and_then(|finish| answer.into_completion(finish, usage));
                tell(reply, completion.map(|said| Completion { left_out, ..said }));
            }
        }
        for run in self.runs.iter_mut().filter(|run| run.waits == WaitReason::ForRoom) {
            run.waits = WaitReason::No;
        }
    }
}

/// Returns the context in which the engine's thread decodes.
fn here<'e, 'm>(
    cache: &'e mut Cache<'m>,
    prefill_worker: &'e mut Option<PrefillWorker<'m>>,
) -> &'e mut KvContext<'m> {
    prefill_worker.as_mut().and_then(PrefillWorker::streams).unwrap_or(&mut cache.kv)
}

/// Writes the planned tokens into a batch, after the tokens that the sequences will hold by then.
pub(super) fn fill(
    batch: &mut LlamaBatch<'_>,
    runs: &[ActiveCompletion],
    held: &[usize],
    shares: &[Share],
) {
    batch.clear();
    for share in shares {
        let run = &runs[share.run];
        let sequence = run.sequence.expect("a run without a sequence asks for nothing");
        let (held, end) = (held[share.run], held[share.run] + share.tokens);
        for (at, token) in (held..end).zip(&run.tokens[held..end]) {
            let position = i32::try_from(at).expect("a context has fewer tokens than 2^31");
            let is_last = at + 1 == run.tokens.len();
            batch
                .add(token.token, position, &[sequence.id()], is_last)
                .expect("the plan keeps to the length of the batch");
        }
    }
}

fn tell(reply: Reply, result: Result<Completion, ModelError>) {
    if let Err(ModelError::Failed { kind, cause, .. }) = &result {
        let cause = cause.as_deref().map(tracing::field::display);
        error!(kind = &**kind, cause, "failed to complete");
    }
    if reply.send(result).is_err() {
        debug!("no caller waits for the completion any more");
    }
}

/// The kind of error of a failure of llama.cpp.
const DECODE: &str = "Decode";
