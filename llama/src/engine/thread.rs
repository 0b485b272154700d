//! Runs the thread that owns a model and its context: waits for completions, and does one step
//! after another.

use std::{
    sync::{Arc, Mutex, atomic::Ordering, mpsc as blocking},
    thread::{self, JoinHandle},
};

use madang_actors::port::Caveat;
use madang_parser::family::Family;
use tracing::{error, info, warn};

use super::{
    cache::{Cache, Tiers},
    chat_room::{self, Means},
    generator::Generator,
    load::{Keeps, Shape, context, load, name, threads},
    prefill_worker::{Make, PrefillWorker, Room, channel},
    prompts::{Asked, CloseWhenDropped, WRITERS, Written},
    sequence::Sequence,
    stats::EngineStats,
    steps::{Bounds, Engine},
};
use crate::{
    LoadError, backend::backend, dialect::Dialect, gguf::Gguf, options::LlamaOptions,
    pieces::STACK_BYTES, source::ModelFile, telling::CallStyle,
};

/// The properties of a loaded model.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) family: &'static Family,
    pub(crate) style: CallStyle,
    pub(crate) caveats: Vec<Caveat>,
}

/// Starts the thread, which publishes its figures to `published`, and blocks until the model is
/// loaded.
///
/// # Errors
/// Returns why the model could not be loaded.
pub(crate) fn start(
    options: LlamaOptions,
    asked: Arc<Asked>,
    published: Arc<Mutex<EngineStats>>,
) -> Result<(Loaded, JoinHandle<()>), LoadError> {
    let (loaded, outcome) = blocking::sync_channel(1);
    let thread = thread::Builder::new()
        .name("madang-llama".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let report = loaded.clone();
            let _close = CloseWhenDropped(Arc::clone(&asked));
            if let Err(problem) = run(options, &asked, published, &loaded)
                && report.send(Err(problem)).is_err()
            {
                error!("no caller waited for the model any more");
            }
        })
        .map_err(|cause| LoadError::Thread { cause: Some(cause) })?;
    let loaded = outcome.recv().map_err(|_| LoadError::Thread { cause: None })??;
    Ok((loaded, thread))
}

fn run(
    mut options: LlamaOptions,
    asked: &Asked,
    stats: Arc<Mutex<EngineStats>>,
    loaded: &blocking::SyncSender<Result<Loaded, LoadError>>,
) -> Result<(), LoadError> {
    let file = ModelFile::of(&options.source)?;
    let gguf = Gguf::read(file.path())?;
    let weights = load(&file, &gguf, options.progress.take(), options.gpu_layers)?;
    let path = file.path().to_owned();
    drop(file);
    let means = Means::of(&weights, &gguf, options.gpu_layers);
    let room = means.room(options.context_tokens).max(MIN_CONTEXT);
    let cells = options.cache_tokens.unwrap_or_else(|| chat_room::cells(room)).max(room);
    let bounds = Bounds { running: options.max_sequences, prompt_tokens: options.prefill_tokens };
    let tiers = Tiers {
        sequences: (2 * bounds.running + SPARE).min(Sequence::MOST - 1),
        resting_tokens: options.resting_tokens.unwrap_or(count(room)),
        swapped_bytes: options.swapped_bytes,
    };
    // llama.cpp aborts on a batch that may be shorter than the number of sequences, or longer than
    // the context.
    let batch = number(bounds.batch().max(tiers.sequences + 1));
    let cells = cells.max(batch);
    let split = options.prefill_context_tokens.unwrap_or(room).max(batch);
    // A larger number is a mistake. llama.cpp would round it beyond its type, or abort without
    // memory.
    if let Some(tokens) = [cells, split].into_iter().find(|tokens| *tokens > MOST_TOKENS) {
        return Err(LoadError::Context { tokens });
    }
    let threads = threads(&options, weights.size());
    let shape = Shape {
        cells,
        batch,
        sequences: number(tiers.sequences + 1),
        threads,
        has_flash_attention: options.has_flash_attention,
    };
    let context = weights
        .new_context(backend()?, context(shape))
        .map_err(|_| LoadError::Context { tokens: cells })?;
    let generator = Generator::new(&weights, &gguf, &options, count(room)).ok_or_else(|| {
        LoadError::Damaged { path, problem: "it has too many special tokens".into() }
    })?;
    let name = name(&options.source, &gguf);
    let generator = Arc::new(generator);
    let Dialect { family, style, caveats, .. } = generator.dialect();
    let known = Loaded { name, family, style: style.clone(), caveats: caveats.clone() };
    let model = &known.name;
    let family = family.name;
    info!(model, context_tokens = room, cells, threads, family, "loaded the model");
    let keeps = Keeps::of(&weights, &gguf);
    let cache = Cache::new(context, keeps, tiers);
    let room = Room { split: count(split), main: count(cells) };
    let make = make(Shape { cells: split, ..shape }, cache.scratch(), keeps)
        .filter(|_| may_split(&options));
    thread::scope(|scope| {
        let prefill_worker = make.and_then(|make| {
            let (handle, work) = channel();
            let weights = &weights;
            thread::Builder::new()
                .name("madang-prefill".into())
                .spawn_scoped(scope, move || work.run(weights, make))
                .inspect_err(|cause| warn!(%cause, "no thread for a prefill worker"))
                .ok()?;
            Some(PrefillWorker::new(handle, room, bounds.prompt_tokens))
        });
        let (ready, mut jobs) = blocking::channel();
        let writers = (0..WRITERS).map(|_| {
            let generator = Arc::clone(&generator);
            let ready = ready.clone();
            let thread = thread::Builder::new().name("madang-prompts".into());
            let thread = thread.stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, move || asked.write(&generator, &ready)).map(drop)
        });
        let writers: Result<(), std::io::Error> = writers.collect();
        let close = || asked.close();
        if let Err(cause) = writers {
            close();
            return Err(LoadError::Thread { cause: Some(cause) });
        }
        // From here on only the writers hold it. Nothing more comes after they end.
        drop(ready);
        let mut engine = Engine::new(generator, cache, bounds, prefill_worker, stats);
        let is_wanted = loaded.send(Ok(known)).is_ok();
        while is_wanted && begin_waiting(&mut engine, asked, &mut jobs) {
            engine.step();
        }
        // Without this the writers would wait for ever, and the scope for them.
        close();
        Ok(())
    })
}

/// Returns whether a prefill worker may read prompts. A graphics card computes one decode after
/// another anyway.
fn may_split(options: &LlamaOptions) -> bool {
    options.gpu_layers == 0 && options.prefill_context_tokens != Some(0)
}

/// Returns the parameters of the prefill worker's contexts. Returns `None` if there is one thread,
/// which cannot be halved.
fn make(whole: Shape, scratch: Sequence, keeps: Keeps) -> Option<Make> {
    // Streams wait for memory more than for threads.
    let streams = Shape { threads: whole.threads / 2, ..whole };
    let prompts = Shape { threads: whole.threads - streams.threads, ..whole };
    (streams.threads > 0).then_some(Make { shapes: [streams, prompts], scratch, keeps })
}

/// Begins waiting completions, as many as may run at once. Returns false if none waits and none can
/// come.
fn begin_waiting(
    engine: &mut Engine<'_>,
    asked: &Asked,
    written: &mut blocking::Receiver<Written>,
) -> bool {
    if engine.is_idle() {
        let Ok(job) = written.recv() else { return false };
        begin(engine, asked, job);
    }
    for _ in 1..BEGUN_AT_ONCE {
        if !engine.may_begin() {
            break;
        }
        let Ok(job) = written.try_recv() else { break };
        begin(engine, asked, job);
    }
    true
}

fn begin(engine: &mut Engine<'_>, asked: &Asked, written: Written) {
    asked.began();
    written.job.has_begun.store(true, Ordering::Release);
    engine.begin_written(written);
}

/// The completions that begin between two steps.
const BEGUN_AT_ONCE: usize = 4;
/// The smallest room for a question and an answer.
const MIN_CONTEXT: u32 = 64;
/// More tokens than any machine has memory for.
const MOST_TOKENS: u32 = 1 << 24;
/// Sequences for common beginnings, in addition to those of running completions and resting chats.
const SPARE: usize = 8;

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("bounds of an engine are small")
}

fn count(number: u32) -> usize {
    usize::try_from(number).expect("a context fits in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefill_worker_reads_prompts_where_there_are_threads_for_two() {
        let threads = |threads| {
            let shape =
                Shape { cells: 64, batch: 8, sequences: 2, threads, has_flash_attention: true };
            let scratch = Sequence::new(1).expect("there are more");
            let made = make(shape, scratch, Keeps::All);
            made.map(|made| made.shapes.map(|shape| shape.threads))
        };
        assert_eq!([1, 2, 5].map(threads), [None, Some([1, 1]), Some([2, 3])]);
        let options = || LlamaOptions::new("a.gguf").gpu_layers(0);
        assert!(may_split(&options()) && may_split(&options().prefill_context_tokens(64)));
        assert!(
            !may_split(&options().prefill_context_tokens(0))
                && !may_split(&options().gpu_layers(1))
        );
    }
}
