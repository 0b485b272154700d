//! Measures the delay of others' tokens while one user sends texts, markers or schemas that are
//! dear to prepare.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang_actors::protocol::{ToolSpec, UserId};
use madang_actors::{
    port::{ChatModel as _, Deltas},
    protocol::CompletionRequest,
};
use madang_llama::{LlamaModel, LlamaOptions};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{load, long::p99, millis, request, until, user};

/// The streams of the others.
const STREAMS: usize = 4;
/// The time of each kind of hostility, and of none, in turns.
const SPAN: Duration = Duration::from_secs(6);
/// The longest message.
const BYTES: usize = 64 << 10;

/// Compares the gaps of the others' streams beside each kind of hostility with those just before
/// it. Also compares them with gaps beside as many honest requests, since any prompt takes time to
/// read.
pub(crate) async fn measure(path: &Path) {
    let options = |options: LlamaOptions| options.context_tokens(8_192).cache_tokens(16_384);
    let model = load(path, options).await;
    let mut honest = None;
    for (kind, text, schema) in kinds() {
        let heard = streams(&model).await;
        let began = Instant::now();
        tokio::time::sleep(SPAN).await;
        let came = Instant::now();
        let sent = send(&model, &text, schema.as_ref(), came + SPAN).await;
        let gone = Instant::now();
        let (gaps, stop) = heard;
        stop.cancel();
        let gaps = gaps.lock().unwrap().clone();
        let peace = between(&gaps, began, came);
        let beside = between(&gaps, came, gone);
        let count = beside.len();
        let peace = p99(peace);
        let beside = p99(beside);
        let later = beside.saturating_sub(peace);
        let honest = *honest.get_or_insert(later);
        println!(
            "hostile: {kind}: {sent} requests; p99 of {count} gaps of {STREAMS} others {:.0} ms, in peace {:.0} ms: {:.0} ms later, {:.0} ms more than beside honest ones (at most 100)",
            millis(beside),
            millis(peace),
            millis(later),
            millis(later.saturating_sub(honest)),
        );
    }
}

/// Lists the hostile texts and schemas, each with its name.
fn kinds() -> Vec<(&'static str, String, Option<Value>)> {
    let many = |piece: &str| piece.repeat(BYTES / piece.len());
    let keys = |key: &str| {
        let key =
            |number: usize| (format!("{number}{}", key.repeat(60)), json!({ "type": "string" }));
        json!({ "type": "object", "properties": (0..500).map(key).collect::<serde_json::Map<_, _>>() })
    };
    let pattern = json!({ "type": "object", "properties": {
        "a": { "type": "string", "pattern": "^((a|b|c){1,60}x){1,60}$" },
    }, "required": ["a"] });
    let plain = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    vec![
        ("nothing hostile", "hi".to_owned(), Some(plain)),
        ("one letter", many("a"), None),
        ("digits", many("1"), None),
        ("blanks", many(" "), None),
        ("syllables", many("가"), None),
        ("markers", many("<|im_start|>"), None),
        ("halves of a marker", many("<|im_"), None),
        ("keys that are no characters", "hi".to_owned(), Some(keys("\u{FDD0}"))),
        ("keys that are markers", "hi".to_owned(), Some(keys("<|im_start|>"))),
        ("a pattern", "hi".to_owned(), Some(pattern)),
    ]
}

type Heard = (Arc<Mutex<Vec<Vec<Instant>>>>, CancellationToken);

/// Starts the others, and waits until each has begun.
async fn streams(model: &Arc<LlamaModel>) -> Heard {
    let heard: Arc<Mutex<Vec<Vec<Instant>>>> = Arc::new(Mutex::new(vec![Vec::new(); STREAMS]));
    let stop = CancellationToken::new();
    for number in 0..STREAMS {
        let model = Arc::clone(model);
        let heard = Arc::clone(&heard);
        let stop = stop.clone();
        let deltas = Deltas::new(move |_| heard.lock().unwrap()[number].push(Instant::now()));
        let asked = request(&format!("{number}"), None, vec![user("talk to me")], 7_000);
        tokio::spawn(async move { drop(model.complete(asked, deltas, stop).await) });
    }
    until(|| heard.lock().unwrap().iter().all(|heard| heard.len() > 2)).await;
    (heard, stop)
}

/// Sends the same request again and again, four at a time, and counts them.
async fn send(model: &Arc<LlamaModel>, text: &str, schema: Option<&Value>, until: Instant) -> u64 {
    let mut running = JoinSet::new();
    for number in 0..4 {
        let model = Arc::clone(model);
        let text = text.to_owned();
        let schema = schema.cloned();
        running.spawn(async move {
            let mut sent = 0;
            while Instant::now() < until {
                let tools: Vec<_> = schema
                    .clone()
                    .into_iter()
                    .map(|schema| ToolSpec::new("t", "Does it.", schema))
                    .collect();
                let asked = CompletionRequest {
                    user: UserId::new("hostile").unwrap(),
                    tools: tools.into(),
                    ..request(
                        &format!("hostile {number}"),
                        None,
                        vec![user(&format!("{sent}{text}"))],
                        1,
                    )
                };
                let cancel = CancellationToken::new();
                let late = cancel.clone().drop_guard();
                let _ = tokio::time::timeout_at(
                    until,
                    model.complete(asked, Deltas::ignored(), cancel),
                )
                .await;
                drop(late);
                sent += 1;
            }
            sent
        });
    }
    running.join_all().await.into_iter().sum()
}

/// Selects the gaps that ended between these moments.
fn between(heard: &[Vec<Instant>], from: Instant, to: Instant) -> Vec<Duration> {
    let pairs = heard.iter().flat_map(|heard| heard.windows(2));
    pairs.filter(|pair| pair[1] > from && pair[1] <= to).map(|pair| pair[1] - pair[0]).collect()
}
