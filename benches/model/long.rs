//! What a long prompt costs those that stream beside it, and they it.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang::{ChatModel as _, Deltas, model::llama::LlamaOptions};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{complete, load, millis, request, until, user};

/// The gaps of streams are taken from when all have begun: they begin at once, which is a long prompt by itself.
pub(crate) async fn measure(path: &Path) {
    const STREAMS: usize = 16;
    /// So many each says before the newcomer comes.
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
        let (model, heard, stop) = (Arc::clone(&model), Arc::clone(&heard), stop.clone());
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
    let (mut before, mut during) = (Vec::new(), Vec::new());
    for pair in heard.lock().unwrap().iter().flat_map(|heard| heard.windows(2)) {
        let gap = pair[1] - pair[0];
        if pair[1] >= came {
            during.push(gap);
        } else if pair[0] >= begun {
            before.push(gap);
        }
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
    println!("long: {:?}", model.stats());
}

/// All but a hundredth of these are no longer.
pub(crate) fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * 99 / 100]
}
