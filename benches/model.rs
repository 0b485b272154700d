//! What the engine makes of a model: a random one of half a billion parameters, against a bare loop through the same
//! binding. `cargo bench --bench model -- batch common` runs these parts only; without names all run, in some minutes.
//! With `threads=1` both sides compute in one thread: for a machine on which others are busy, too. With `flash=off` both do
//! without flash attention, which is llama.cpp's default and the engine's.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

#[path = "model/bare.rs"]
mod bare;
#[path = "../src/model/llama/tests/gguf_file.rs"]
mod gguf_file;
#[path = "model/shape.rs"]
mod shape;

use std::{
    fs,
    num::NonZeroUsize,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cpu_time::ProcessTime;
use madang::{
    ChatModel as _, Completion, CompletionRequest, Deltas,
    model::llama::{LlamaModel, LlamaOptions},
};
use madang_actors::protocol::{
    CompletionDelta, CompletionId, Locale, PromptMessage, SessionId, ToolSpec, UserId,
};
use serde_json::json;
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const PARTS: [&str; 6] = ["single", "batch", "constraint", "common", "memory", "long"];

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs benches too, to see that they compile; this one would take minutes.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let is_wanted = |part: &str| {
        let named = arguments.iter().any(|argument| PARTS.contains(&argument.as_str()));
        !named || arguments.iter().any(|argument| argument == part)
    };
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("random.gguf");
    fs::write(&model, shape::half_a_billion()).unwrap();
    println!(
        "random 0.5 B, Q4_0, vocabulary 150,000; {} cores, {} threads; flash attention {}; {}; {}",
        std::thread::available_parallelism().unwrap(),
        threads(),
        if has_flash_attention() { "on" } else { "off" },
        if cfg!(debug_assertions) { "dev profile" } else { "release" },
        features()
    );
    if is_wanted("single") {
        single(&model).await;
    }
    if is_wanted("batch") {
        batch(&model).await;
    }
    if is_wanted("constraint") {
        constraint(&model).await;
    }
    if is_wanted("common") {
        common(&model).await;
    }
    if is_wanted("memory") {
        memory(&model).await;
    }
    if is_wanted("long") {
        long(&model).await;
    }
}

/// In how many threads both sides compute.
fn threads() -> NonZeroUsize {
    let named = std::env::args().find_map(|word| word.strip_prefix("threads=")?.parse().ok());
    named.unwrap_or_else(|| std::thread::available_parallelism().unwrap())
}

/// Whether both sides use flash attention.
fn has_flash_attention() -> bool {
    !std::env::args().any(|word| word == "flash=off")
}

/// What of the processor llama.cpp was built for.
fn features() -> String {
    let flags =
        ["GGML_NATIVE", "GGML_AVX512", "GGML_AVX512_VNNI", "GGML_AVX512_VBMI", "GGML_AVX512_BF16"];
    let set = flags.iter().filter_map(|flag| Some(format!("{flag}={}", std::env::var(flag).ok()?)));
    let set: Vec<String> = set.collect();
    if set.is_empty() { "llama.cpp built with its defaults".to_owned() } else { set.join(" ") }
}

/// Alternating measurements, because others may use the machine: the best of each.
const TRIALS: usize = 3;

async fn single(path: &Path) {
    const TOKENS: usize = 48;
    let (mut ours, mut bare) = (Speed::default(), Speed::default());
    let model = load(path, |options| options).await;
    for trial in 0..TRIALS {
        bare = bare.or(Speed::of(TOKENS, bare_loop(path, 1, TOKENS).await));
        ours = ours.or(streams(&model, &format!("single {trial}"), 1, TOKENS).await);
    }
    println!("single: {ours}, bare loop {bare}: {}", ours.to(bare));
}

async fn batch(path: &Path) {
    const TOKENS: usize = 24;
    const SESSIONS: usize = 32;
    let (mut ours, mut alone, mut bare) = (Speed::default(), Speed::default(), Speed::default());
    let model = load(path, |options| options).await;
    for trial in 0..TRIALS {
        let took = bare_loop(path, SESSIONS, TOKENS).await;
        bare = bare.or(Speed::of(SESSIONS * TOKENS, took));
        ours = ours.or(streams(&model, &format!("batch {trial}"), SESSIONS, TOKENS).await);
        alone = alone.or(streams(&model, &format!("alone {trial}"), 1, TOKENS).await);
    }
    println!(
        "batch: {SESSIONS} sessions {ours} in all, bare batched loop {bare}: {}; one session {alone}: {} times",
        ours.to(bare),
        ours.to(alone)
    );
}

/// Sessions in the middle of a long string of a tool call, against sessions that write plain text.
async fn constraint(path: &Path) {
    const SESSIONS: usize = 16;
    /// In so many tokens each has come into its call.
    const BEFORE: usize = 120;
    const TOKENS: usize = 40;
    let text =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let tools: Arc<[ToolSpec]> = Arc::new([ToolSpec::new("note", "Writes a note", text)]);
    let model = load(path, |options| options).await;
    let (mut calls, mut plain) = (Speed::default(), Speed::default());
    for trial in 0..TRIALS {
        let none: Arc<[ToolSpec]> = Arc::new([]);
        // Whoever comes second has more chats resting beside it: they take turns at it.
        let mut order = [none, Arc::clone(&tools)];
        order.rotate_left(trial % 2);
        for tools in order {
            let is_call = !tools.is_empty();
            let heard = Arc::new(AtomicUsize::new(0));
            let stop = CancellationToken::new();
            let begun = model.stats().tokens_generated;
            let mut running = JoinSet::new();
            for number in 0..SESSIONS {
                let (model, heard, stop) = (Arc::clone(&model), Arc::clone(&heard), stop.clone());
                let deltas = Deltas::new(move |delta| {
                    if matches!(delta, CompletionDelta::Text(_)) {
                        heard.fetch_add(1, Ordering::Relaxed);
                    }
                });
                let name = format!("constraint {trial} {is_call} {number}");
                let chat = vec![user(&format!("{number:02} {trial}"))];
                let mut asked = request(&name, None, chat, 4_000);
                asked.tools = Arc::clone(&tools);
                running.spawn(async move { drop(model.complete(asked, deltas, stop).await) });
            }
            let before = generated(&model, begun + (SESSIONS * BEFORE) as u64).await;
            let began = Taking::begin();
            let plain_before = heard.load(Ordering::Relaxed);
            let after = generated(&model, before + (SESSIONS * TOKENS) as u64).await;
            let took = began.taken();
            let is_plain = heard.load(Ordering::Relaxed) > plain_before;
            assert_eq!(is_plain, !is_call, "what is written is not what was to be measured");
            stop.cancel();
            running.join_all().await;
            let speed = Speed::of(usize::try_from(after - before).unwrap(), took);
            let best = if is_call { &mut calls } else { &mut plain };
            *best = best.or(speed);
        }
    }
    println!(
        "constraint: {SESSIONS} sessions in tool calls {calls}, in plain text {plain}: {}",
        calls.to(plain)
    );
}

/// How many tokens the model has generated as soon as they are so many.
async fn generated(model: &LlamaModel, tokens: u64) -> u64 {
    loop {
        let generated = model.stats().tokens_generated;
        if generated >= tokens {
            return generated;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn common(path: &Path) {
    const SESSIONS: usize = 200;
    const LETTERS: usize = 90;
    let model = load(path, |options| options.cache_tokens(16_384)).await;
    let system: Arc<str> = "s".repeat(1_000).into();
    let mut running = JoinSet::new();
    let began = Instant::now();
    for number in 0..SESSIONS {
        // They differ from the first letter on, as far as there are letters.
        let letters = [33 + number % LETTERS, 33 + number / LETTERS];
        let text: String =
            letters.iter().filter_map(|at| char::from_u32(u32::try_from(*at).ok()?)).collect();
        let asked =
            request(&format!("{number}"), Some(&system), vec![user(&format!("{text} asks"))], 2);
        running.spawn(complete(Arc::clone(&model), asked));
    }
    let prompts: u64 =
        running.join_all().await.iter().map(|said| u64::from(said.usage.prompt_tokens)).sum();
    let stats = model.stats();
    // A letter is a token, and so is each of the four marks around system text and question.
    let shared = (system.len() + "system\n\nuser\n".len() + 3) as u64;
    let distinct = prompts - shared * (SESSIONS as u64 - 1) - (SESSIONS - LETTERS) as u64;
    println!(
        "common: {SESSIONS} sessions of {prompts} prompt tokens, distinct {distinct}, evaluated {}: {:.3}; {:.1} s",
        stats.prompt_tokens_evaluated,
        ratio(stats.prompt_tokens_evaluated, distinct),
        began.elapsed().as_secs_f64()
    );
}

async fn memory(path: &Path) {
    let model = load(path, |options| options.resting_tokens(0)).await;
    let (mut cold, mut again) = (Duration::MAX, Duration::MAX);
    for trial in 0..TRIALS {
        let (session, other) = (format!("long {trial}"), format!("other {trial}"));
        let asked = user(&format!("{trial}{}", "q".repeat(1_000)));
        let began = Instant::now();
        let said =
            complete(Arc::clone(&model), request(&session, None, vec![asked.clone()], 1)).await;
        cold = cold.min(began.elapsed());
        // Another one comes to rest, so that this one moves to memory.
        complete(Arc::clone(&model), request(&other, None, vec![user("and you?")], 1)).await;
        let answered = PromptMessage::Model { text: said.text.into() };
        let chat = vec![asked, answered, user("more")];
        let began = Instant::now();
        let said = complete(Arc::clone(&model), request(&session, None, chat, 1)).await;
        again = again.min(began.elapsed());
        assert!(said.usage.cached_tokens > 900, "{:?}", said.usage);
    }
    let restored = model.stats().restored;
    println!(
        "memory: first token cold {:.0} ms, from memory {:.0} ms: {:.1} times sooner; {restored} restored",
        millis(cold),
        millis(again),
        cold.as_secs_f64() / again.as_secs_f64()
    );
}

async fn long(path: &Path) {
    const STREAMS: usize = 16;
    let options = |options: LlamaOptions| options.context_tokens(8_192).cache_tokens(16_384);
    let model = load(path, options).await;
    let newcomer = || request("newcomer", None, vec![user(&"n".repeat(4_000))], 1);
    let began = Instant::now();
    complete(Arc::clone(&model), newcomer()).await;
    let alone = began.elapsed();
    drop(model);
    let model = load(path, options).await;
    let heard: Arc<Mutex<Vec<Vec<Instant>>>> = Arc::new(Mutex::new(vec![Vec::new(); STREAMS]));
    let stop = CancellationToken::new();
    let mut running = JoinSet::new();
    for number in 0..STREAMS {
        let (model, heard, stop) = (Arc::clone(&model), Arc::clone(&heard), stop.clone());
        let deltas = Deltas::new(move |_| heard.lock().unwrap()[number].push(Instant::now()));
        let asked =
            request(&format!("{number}"), None, vec![user(&format!("{number:02} talks"))], 4_000);
        running.spawn(async move { drop(model.complete(asked, deltas, stop).await) });
    }
    until(|| heard.lock().unwrap().iter().all(|heard| heard.len() >= 20)).await;
    let came = Instant::now();
    complete(Arc::clone(&model), newcomer()).await;
    let beside = came.elapsed();
    stop.cancel();
    running.join_all().await;
    let (mut before, mut during) = (Vec::new(), Vec::new());
    for pair in heard.lock().unwrap().iter().flat_map(|heard| heard.windows(2)) {
        let gap = pair[1] - pair[0];
        if pair[1] < came { before.push(gap) } else { during.push(gap) }
    }
    let (before, during) = (p99(before), p99(during));
    println!(
        "long: p99 gap of {STREAMS} streams {:.0} ms, beside a prompt of 4,000 tokens {:.0} ms: {:.2} times; its first token alone {:.1} s, beside them {:.1} s: {:.2} times",
        millis(before),
        millis(during),
        during.as_secs_f64() / before.as_secs_f64(),
        alone.as_secs_f64(),
        beside.as_secs_f64(),
        beside.as_secs_f64() / alone.as_secs_f64()
    );
}

/// Tokens a second of so many sessions together, from when all have begun until the first of them ends.
async fn streams(model: &Arc<LlamaModel>, name: &str, sessions: usize, tokens: usize) -> Speed {
    let heard: Arc<Mutex<Vec<Vec<Taking>>>> = Arc::new(Mutex::new(vec![Vec::new(); sessions]));
    let mut running = JoinSet::new();
    // Who begins early goes on until the last has as many, however late that begins.
    let most = u32::try_from(20 * tokens).unwrap();
    let stop = CancellationToken::new();
    for number in 0..sessions {
        let (model, heard, stop) = (Arc::clone(model), Arc::clone(&heard), stop.clone());
        let deltas = Deltas::new(move |_| heard.lock().unwrap()[number].push(Taking::begin()));
        let asked = request(
            &format!("{name} {number}"),
            None,
            vec![user(&format!("{number:02} {name}"))],
            most,
        );
        running.spawn(async move { drop(model.complete(asked, deltas, stop).await) });
    }
    until(|| heard.lock().unwrap().iter().all(|heard| heard.len() > tokens + 1)).await;
    stop.cancel();
    running.join_all().await;
    let heard = heard.lock().unwrap();
    let begin = heard.iter().filter_map(|heard| heard.get(1)).max_by_key(|at| at.wall).unwrap();
    let end = heard.iter().filter_map(|heard| heard.last()).min_by_key(|at| at.wall).unwrap();
    let inside = |at: &&Taking| begin.wall < at.wall && at.wall <= end.wall;
    let took = Taken {
        wall: end.wall - begin.wall,
        processor: end.processor.duration_since(begin.processor),
    };
    Speed::of(heard.iter().flatten().filter(inside).count(), took)
}

async fn bare_loop(path: &Path, sequences: usize, tokens: usize) -> Taken {
    let path = path.to_path_buf();
    let work =
        move || bare::generate(&path, threads(), has_flash_attention(), sequences, 40, tokens);
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// A moment, by the clock and by the processor.
#[derive(Debug, Clone, Copy)]
struct Taking {
    wall: Instant,
    processor: ProcessTime,
}

/// How long something took, by the clock and by the processor.
#[derive(Debug, Clone, Copy)]
struct Taken {
    wall: Duration,
    processor: Duration,
}

impl Taking {
    fn begin() -> Self {
        Self { wall: Instant::now(), processor: ProcessTime::now() }
    }

    fn taken(self) -> Taken {
        Taken { wall: self.wall.elapsed(), processor: self.processor.elapsed() }
    }
}

/// Tokens a second. That of the processor means something with `threads=1` only, since threads wait for each other by
/// spinning; then it is as good on a machine on which others are busy.
#[derive(Debug, Clone, Copy, Default)]
struct Speed {
    wall: f64,
    processor: f64,
}

impl Speed {
    fn of(tokens: usize, took: Taken) -> Self {
        Self { wall: per_second(tokens, took.wall), processor: per_second(tokens, took.processor) }
    }

    /// The better of two trials.
    fn or(self, other: Self) -> Self {
        Self { wall: self.wall.max(other.wall), processor: self.processor.max(other.processor) }
    }

    /// How many times as fast.
    fn to(self, other: Self) -> String {
        let (wall, processor) = (self.wall / other.wall, self.processor / other.processor);
        if threads().get() == 1 {
            format!("{wall:.3} ({processor:.3} by the processor)")
        } else {
            format!("{wall:.3}")
        }
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} tokens/s", self.wall)
    }
}

async fn load(path: &Path, change: impl Fn(LlamaOptions) -> LlamaOptions) -> Arc<LlamaModel> {
    let options = LlamaOptions::new(path).threads(threads());
    let options = change(options.flash_attention(has_flash_attention()));
    Arc::new(tokio::task::spawn_blocking(|| LlamaModel::load(options)).await.unwrap().unwrap())
}

async fn complete(model: Arc<LlamaModel>, request: CompletionRequest) -> Completion {
    model.complete(request, Deltas::ignored(), CancellationToken::new()).await.unwrap()
}

fn request(
    session: &str,
    system: Option<&Arc<str>>,
    messages: Vec<PromptMessage>,
    max_tokens: u32,
) -> CompletionRequest {
    CompletionRequest {
        id: CompletionId::new(Uuid::now_v7()),
        session: SessionId::new(session).unwrap(),
        user: UserId::new("kim").unwrap(),
        system: system.cloned(),
        messages: Arc::new(messages),
        tools: Arc::new([]),
        locale: Locale::En,
        max_tokens,
    }
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::User { text: text.into() }
}

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
fn per_second(tokens: usize, time: Duration) -> f64 {
    tokens as f64 / time.as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * 99 / 100]
}
