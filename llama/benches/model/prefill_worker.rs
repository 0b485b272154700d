//! The bare counterpart of `long` with two contexts: streams in one, the long prompt in the other,
//! each with half of the threads.

use std::{
    num::NonZeroUsize,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    bare::{Bare, weights},
    long::{Cost, p99},
};

/// Compares bare loops with a context that has all threads for each of them alone.
pub(crate) fn measure(path: &Path, all: Bare) {
    const STREAMS: usize = 16;
    const BEFORE: usize = 100;
    const STEPS: usize = 60;
    const PROMPT: usize = 4_000;
    const PIECE: usize = 128;
    let half =
        Bare { threads: NonZeroUsize::new(all.threads.get() / 2).unwrap_or(all.threads), ..all };
    let weights = weights(path);
    let alone = all.first_token(&weights, PROMPT, PIECE);
    let mut streams = all.streams(&weights, STREAMS, BEFORE);
    let without = p99((0..STEPS).map(|_| timed(|| streams.step())).collect());
    drop(streams);
    let has_read = AtomicBool::new(false);
    let (beside, during) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let took = half.first_token(&weights, PROMPT, PIECE);
            has_read.store(true, Ordering::Release);
            took
        });
        let mut streams = half.streams(&weights, STREAMS, BEFORE);
        let mut gaps = Vec::new();
        while !has_read.load(Ordering::Acquire) {
            gaps.push(timed(|| streams.step()));
        }
        (reader.join().unwrap(), p99(gaps))
    });
    let cost = Cost {
        streams: STREAMS,
        gap: without,
        gap_beside: during,
        first_token: alone,
        first_token_beside: beside,
    };
    println!("prefill worker, bare loops: {cost}");
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}
