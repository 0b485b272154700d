//! Measures the engine with a random model of half a billion parameters, against a bare loop
//! through the same binding. `cargo bench --bench model -- batch common` runs only these parts;
//! without names all run, in some minutes. `shape=8b` takes a model of eight billion, for a
//! graphics card. `programs llama.cpp=FOLDER` measures against llama.cpp's own programs.
//! `threads=1` computes both sides in one thread, for a busy machine. `flash=off` runs both without
//! flash attention, which is on by default.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may fail loudly")]

#[path = "model/bare.rs"]
mod bare;
#[path = "model/constraint.rs"]
mod constraint;
#[path = "model/hostile.rs"]
mod hostile;
#[path = "model/long.rs"]
mod long;
#[path = "model/prefill_worker.rs"]
mod prefill_worker;
#[path = "model/programs.rs"]
mod programs;
#[path = "model/shape.rs"]
mod shape;
#[path = "model/sharing.rs"]
mod sharing;
#[path = "model/speed.rs"]
mod speed;

use std::{
    fs,
    num::NonZeroUsize,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang_actors::protocol::{CompletionId, LanguageTag, PromptMessage, SessionId, UserId};
use madang_actors::{
    port::{ChatModel as _, Deltas},
    protocol::{Completion, CompletionRequest},
};
use madang_llama::{LlamaModel, LlamaOptions};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use bare::Bare;
use shape::Shape;
use speed::{Heard, Pairs, Speed, Taken, Taking};

const PARTS: [&str; 11] = [
    "single",
    "batch",
    "constraint",
    "common",
    "memory",
    "long",
    "hostile",
    "pieces",
    "prefill_worker",
    "programs",
    "sharing",
];

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
    if is_wanted("sharing") {
        sharing::measure().await;
    }
    if PARTS.iter().all(|part| *part == "sharing" || !is_wanted(part)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("random.gguf");
    let shape = shape();
    fs::write(&model, shape::file(shape)).unwrap();
    println!(
        "random {}, Q4_0, vocabulary 150,000; {} cores, {} threads; flash attention {}; {}; {}",
        shape.name,
        std::thread::available_parallelism().unwrap(),
        threads(),
        flash_attention(),
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
        constraint::measure(&model).await;
    }
    if is_wanted("common") {
        common(&model).await;
    }
    if is_wanted("memory") {
        memory(&model).await;
    }
    if is_wanted("long") {
        long::measure(&model).await;
    }
    if is_wanted("hostile") {
        hostile::measure(&model).await;
    }
    if is_wanted("pieces") {
        pieces(&model).await;
    }
    if is_wanted("programs") {
        programs::measure(&model).await;
    }
    if is_wanted("prefill_worker") {
        let work = move || prefill_worker::measure(&model, bare());
        tokio::task::spawn_blocking(work).await.unwrap();
    }
}

/// Returns the shape of the model.
fn shape() -> Shape {
    if std::env::args().any(|word| word == "shape=8b") { shape::LARGE } else { shape::SMALL }
}

/// The tokens of a counterpart's context.
const CONTEXT_TOKENS: u32 = 8_192;

/// Returns the threads of both sides.
fn threads() -> NonZeroUsize {
    let named = std::env::args().find_map(|word| word.strip_prefix("threads=")?.parse().ok());
    named.unwrap_or_else(|| std::thread::available_parallelism().unwrap())
}

/// Tells whether both sides use flash attention.
fn has_flash_attention() -> bool {
    !std::env::args().any(|word| word == "flash=off")
}

fn flash_attention() -> &'static str {
    if has_flash_attention() { "on" } else { "off" }
}

/// Names the processor features that llama.cpp was built for.
fn features() -> String {
    let flags =
        ["GGML_NATIVE", "GGML_AVX512", "GGML_AVX512_VNNI", "GGML_AVX512_VBMI", "GGML_AVX512_BF16"];
    let set = flags.iter().filter_map(|flag| Some(format!("{flag}={}", std::env::var(flag).ok()?)));
    let set: Vec<String> = set.collect();
    if set.is_empty() { "llama.cpp built with its defaults".to_owned() } else { set.join(" ") }
}

/// Pairs of measurements, because other programs may use the machine: the median counts.
const PAIRS: usize = 5;
/// Attempts without a counterpart, of which the best counts.
const TRIALS: usize = 3;

async fn single(path: &Path) {
    const TOKENS: usize = 160;
    let mut pairs = Pairs::default();
    for pair in 0..PAIRS {
        let ours = ours(path, format!("single {pair}"), 1, TOKENS);
        pairs.measure(ours, bare_loop(path, 1, TOKENS)).await;
    }
    println!("single: one session, against a bare loop: {pairs}");
}

async fn batch(path: &Path) {
    const TOKENS: usize = 24;
    const SESSIONS: usize = 32;
    let mut with_bare = Pairs::default();
    let mut with_one = Pairs::default();
    for pair in 0..PAIRS {
        let all = ours(path, format!("batch {pair}"), SESSIONS, TOKENS);
        let (all, _) = with_bare.measure(all, bare_loop(path, SESSIONS, TOKENS)).await;
        with_one.push(all, ours(path, format!("alone {pair}"), 1, SESSIONS * TOKENS / 8).await);
    }
    println!("batch: {SESSIONS} sessions, against a bare batched loop: {with_bare}");
    println!("batch: the same, against one session: {with_one}");
    let mut with_serial = Pairs::default();
    for _ in 0..TRIALS {
        let together = completed(path, SESSIONS, SESSIONS, TOKENS);
        with_serial.measure(together, completed(path, 1, SESSIONS, TOKENS)).await;
    }
    println!("batch: {SESSIONS} whole answers, against one after the other: {with_serial}");
}

/// Measures short answers of some sessions, prompts included, with this many at once.
async fn completed(path: &Path, at_once: usize, sessions: usize, tokens: usize) -> Speed {
    let model = load(path, |options| options.max_sequences(at_once)).await;
    let most = u32::try_from(tokens).unwrap();
    let asked = |number| request(&format!("{number}"), None, vec![user("talk to me")], most);
    let mut running = JoinSet::new();
    let began = Taking::begin();
    for number in 0..sessions {
        running.spawn(complete(Arc::clone(&model), asked(number)));
    }
    let said = running.join_all().await;
    let tokens: u32 = said.iter().map(|said| said.usage.completion_tokens).sum();
    Speed::of(usize::try_from(tokens).unwrap(), began.taken())
}

/// Measures sessions of a model without resting chats, as in the bare loop.
async fn ours(path: &Path, name: String, sessions: usize, tokens: usize) -> Speed {
    let model = load(path, |options| options).await;
    streams(&model, &name, sessions, tokens).await
}

async fn common(path: &Path) {
    const SESSIONS: usize = 200;
    let model = load(path, |options| options.cache_tokens(16_384)).await;
    let system: Arc<str> = "s".repeat(1_000).into();
    let mut running = JoinSet::new();
    let began = Instant::now();
    for number in 0..SESSIONS {
        let name = number.to_string();
        let asked = CompletionRequest {
            user: UserId::new(&*name).unwrap(),
            ..request(&name, Some(&system), vec![user(&format!("{name} asks"))], 2)
        };
        running.spawn(complete(Arc::clone(&model), asked));
    }
    let prompts: u64 =
        running.join_all().await.iter().map(|said| u64::from(said.usage.prompt_tokens)).sum();
    let stats = model.stats();
    // One letter is one token, and so is each of the three marks around the system text. Users
    // share no more.
    let shared = (system.len() + "system\n\nuser\n".len() + 3) as u64;
    let distinct = prompts - shared * (SESSIONS as u64 - 1);
    println!(
        "common: {SESSIONS} sessions of {prompts} prompt tokens, distinct {distinct}, evaluated {}: {:.3}; {:.1} s",
        stats.prompt_tokens_evaluated,
        ratio(stats.prompt_tokens_evaluated, distinct),
        began.elapsed().as_secs_f64()
    );
}

async fn memory(path: &Path) {
    let model = load(path, |options| options.resting_tokens(0)).await;
    let mut cold = Duration::MAX;
    let mut again = Duration::MAX;
    for trial in 0..TRIALS {
        let session = format!("long {trial}");
        let other = format!("other {trial}");
        let asked = user(&format!("{trial}{}", "q".repeat(1_000)));
        let began = Instant::now();
        let said =
            complete(Arc::clone(&model), request(&session, None, vec![asked.clone()], 1)).await;
        cold = cold.min(began.elapsed());
        // Another chat comes to rest, so that this one moves to memory.
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

/// Measures the tokens a second of these sessions together.
async fn streams(model: &Arc<LlamaModel>, name: &str, sessions: usize, tokens: usize) -> Speed {
    let heard = Arc::new(Mutex::new(Heard::of(sessions)));
    let mut running = JoinSet::new();
    // An early session goes on until the last has as many tokens, however late that begins.
    let most = u32::try_from(20 * tokens).unwrap();
    let stop = CancellationToken::new();
    for number in 0..sessions {
        let model = Arc::clone(model);
        let heard = Arc::clone(&heard);
        let stop = stop.clone();
        let deltas = Deltas::new(move |_| heard.lock().unwrap().push(number));
        let asked = request(
            &format!("{name} {number}"),
            None,
            vec![user(&format!("{number:02} {name}"))],
            most,
        );
        running.spawn(async move { drop(model.complete(asked, deltas, stop).await) });
    }
    until(|| heard.lock().unwrap().has_each(tokens)).await;
    stop.cancel();
    running.join_all().await;
    let heard = heard.lock().unwrap();
    heard.speed()
}

/// Measures the cost of a prompt's token in pieces of some sizes, which bounds `long`.
async fn pieces(path: &Path) {
    const SIZES: [usize; 6] = [8, 16, 32, 63, 64, 128];
    for depth in [500, 2_000, 4_000] {
        let path = path.to_path_buf();
        let work = move || bare().pieces(&path, depth, &SIZES);
        let took = tokio::task::spawn_blocking(work).await.unwrap();
        let each = SIZES.iter().zip(took).map(|(size, took)| {
            let token = took / u32::try_from(*size).unwrap();
            format!("{size}: {:.0} ms, {:.1} a token", millis(took), millis(token))
        });
        println!("pieces behind {depth} tokens: {}", each.collect::<Vec<_>>().join("; "));
    }
}

async fn bare_loop(path: &Path, sequences: usize, tokens: usize) -> Speed {
    let path = path.to_path_buf();
    let work = move || bare().generate(&path, sequences, 40, tokens);
    Speed::of(sequences * tokens, tokio::task::spawn_blocking(work).await.unwrap())
}

fn bare() -> Bare {
    Bare { threads: threads(), has_flash_attention: has_flash_attention() }
}

async fn load(path: &Path, change: impl Fn(LlamaOptions) -> LlamaOptions) -> Arc<LlamaModel> {
    // The text is meaningless, and some of it repeats for ever.
    let options = LlamaOptions::new(path).threads(threads()).max_repeated_tokens(0);
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
        instructions: None,
        messages: Arc::new(messages),
        tools: Arc::new([]),
        language: LanguageTag::EN,
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
fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
