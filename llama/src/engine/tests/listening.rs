//! Records each token that an engine chooses, with the model's margin.

use std::collections::HashMap;

use madang_actors::protocol::CompletionId;

use crate::engine::{run::Kind, steps::Engine};

/// The tokens of a completion, each with its margin over the next best.
pub(in crate::engine) type Said = Vec<(i32, f32)>;

/// Does a step without cancellations and with an idle prefill worker, and records it.
pub(in crate::engine) fn listen(engine: &mut Engine<'_>, said: &mut HashMap<CompletionId, Said>) {
    engine.assign_sequences();
    for kind in Kind::BOTH {
        let Some(shares) = engine.decode(kind) else { continue };
        let mut last = -1;
        for share in &shares {
            last += i32::try_from(share.tokens).unwrap();
            let run = &engine.runs[share.run];
            if run.held == run.tokens.len() {
                let best = margin(engine.cache.kv.logits(last));
                said.entry(run.request.id).or_default().push(best);
            }
        }
        engine.generate(&shares);
        engine.reap();
    }
}

/// Returns the likeliest token and its margin.
fn margin(logits: &[f32]) -> (i32, f32) {
    let mut best = (0, f32::NEG_INFINITY);
    let mut second = f32::NEG_INFINITY;
    for (token, logit) in (0..).zip(logits) {
        if *logit > best.1 {
            second = best.1;
            best = (token, *logit);
        } else if *logit > second {
            second = *logit;
        }
    }
    (best.0, best.1 - second)
}
