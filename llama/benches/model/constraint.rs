//! Measures the cost of the constraint: chats in tool calls against chats in plain text.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use madang_actors::port::{ChatModel as _, Deltas};
use madang_actors::protocol::{CompletionDelta, ToolSpec};
use madang_llama::LlamaModel;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    PAIRS, load, request,
    speed::{Pairs, Speed, Taking},
    user,
};

/// Measures sessions in the middle of a long string of a tool call, against sessions that write
/// plain text.
pub(crate) async fn measure(path: &Path) {
    let text =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let tools: Arc<[ToolSpec]> = Arc::new([ToolSpec::new("note", "Writes a note", text)]);
    let mut pairs = Pairs::default();
    for pair in 0..PAIRS {
        let plain = speed(path, pair, Arc::new([]));
        pairs.measure(speed(path, pair, Arc::clone(&tools)), plain).await;
    }
    println!("constraint: {SESSIONS} sessions in tool calls, against plain text: {pairs}");
}

const SESSIONS: usize = 16;

/// Measures how fast these sessions write: with tools in a call, without in plain text.
async fn speed(path: &Path, pair: usize, tools: Arc<[ToolSpec]>) -> Speed {
    /// The tokens after which each is in its call.
    const BEFORE: usize = 120;
    const TOKENS: usize = 40;
    let is_call = !tools.is_empty();
    // Chats that rest beside it would slow the second side.
    let model = load(path, |options| options).await;
    let heard = Arc::new(AtomicUsize::new(0));
    let stop = CancellationToken::new();
    let begun = model.stats().tokens_generated;
    let mut running = JoinSet::new();
    for number in 0..SESSIONS {
        let model = Arc::clone(&model);
        let heard = Arc::clone(&heard);
        let stop = stop.clone();
        let deltas = Deltas::new(move |delta| {
            if matches!(delta, CompletionDelta::Text(_)) {
                heard.fetch_add(1, Ordering::Relaxed);
            }
        });
        let name = format!("constraint {pair} {is_call} {number}");
        let chat = vec![user(&format!("{number:02} {pair}"))];
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
    Speed::of(usize::try_from(after - before).unwrap(), took)
}

/// Waits until the model has generated this many tokens, and returns their number.
async fn generated(model: &LlamaModel, tokens: u64) -> u64 {
    loop {
        let generated = model.stats().tokens_generated;
        if generated >= tokens {
            return generated;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
