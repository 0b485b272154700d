//! Measures the mutual cost of a long prompt and the streams beside it.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang_actors::port::{ChatModel as _, Deltas};
use madang_llama::LlamaOptions;
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{TRIALS, complete, load, millis, request, speed::median, until, user};

/// Measures several times, and takes the median: it takes minutes, in which the machine may do
/// other work.
pub(crate) async fn measure(path: &Path) {
    let mut costs = Vec::new();
    for _ in 0..TRIALS {
        let (cost, worker_tokens) = once(path).await;
        println!("long: {cost}; {worker_tokens} of the prompt's tokens read by the prefill worker");
        costs.push(cost);
    }
    let median_of = |ratio: fn(&Cost) -> f64| median(costs.iter().map(ratio).collect());
    let gaps = median_of(Cost::of_gaps);
    let first = median_of(Cost::of_first_token);
    println!("long: median of {TRIALS}: gaps {gaps:.2} times, first token {first:.2} times");
}

/// The mutual cost of streams and a long prompt.
pub(crate) struct Cost {
    pub(crate) streams: usize,
    /// 99th percentile of the gaps of the streams.
    pub(crate) gap: Duration,
    pub(crate) gap_beside: Duration,
    /// The time of the prompt until its first token.
    pub(crate) first_token: Duration,
    pub(crate) first_token_beside: Duration,
}

impl Cost {
    fn of_gaps(&self) -> f64 {
        self.gap_beside.as_secs_f64() / self.gap.as_secs_f64()
    }

    fn of_first_token(&self) -> f64 {
        self.first_token_beside.as_secs_f64() / self.first_token.as_secs_f64()
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p99 gap of {} streams {:.0} ms, beside a prompt of 4,000 tokens {:.0} ms: {:.2} times; its first token alone {:.1} s, beside them {:.1} s: {:.2} times",
            self.streams,
            millis(self.gap),
            millis(self.gap_beside),
            self.of_gaps(),
            self.first_token.as_secs_f64(),
            self.first_token_beside.as_secs_f64(),
            self.of_first_token()
        )
    }
}

/// Gaps count once all streams have begun, because their own prompts come at once and are long
/// together.
async fn once(path: &Path) -> (Cost, u64) {
    const STREAMS: usize = 16;
    /// The tokens of each stream before the long prompt.
    const TOKENS: usize = 40;
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
        let model = Arc::clone(&model);
        let heard = Arc::clone(&heard);
        let stop = stop.clone();
        let deltas = Deltas::new(move |_| heard.lock().unwrap()[number].push(Instant::now()));
        let asked =
            request(&format!("{number}"), None, vec![user(&format!("{number:02} talks"))], 4_000);
        running.spawn(async move { drop(model.complete(asked, deltas, stop).await) });
    }
    let all_have = |tokens| heard.lock().unwrap().iter().all(|heard| heard.len() >= tokens);
    until(|| all_have(2)).await;
    let begun = Instant::now();
    let most = heard.lock().unwrap().iter().map(Vec::len).max().unwrap();
    until(|| all_have(most + TOKENS)).await;
    let came = Instant::now();
    complete(Arc::clone(&model), newcomer()).await;
    let beside = came.elapsed();
    stop.cancel();
    running.join_all().await;
    let mut before = Vec::new();
    let mut during = Vec::new();
    for pair in heard.lock().unwrap().iter().flat_map(|heard| heard.windows(2)) {
        let gap = pair[1] - pair[0];
        if pair[1] >= came {
            during.push(gap);
        } else if pair[0] >= begun {
            before.push(gap);
        }
    }
    let cost = Cost {
        streams: STREAMS,
        gap: p99(before),
        gap_beside: p99(during),
        first_token: alone,
        first_token_beside: beside,
    };
    (cost, model.stats().prefill_worker_tokens)
}

/// Returns the 99th percentile.
pub(crate) fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * 99 / 100]
}
