//! The counterpart: a bare greedy decode loop through the same binding.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    ops::Range,
    path::Path,
    time::Duration,
};

use llama_cpp_2::{
    LogOptions,
    context::{LlamaContext, params::LlamaContextParams},
    llama_backend::LlamaBackend,
    llama_batch::LlamaBatch,
    model::{LlamaModel, params::LlamaModelParams},
    send_logs_to_tracing,
    token::LlamaToken,
};

use llama_cpp_sys_2::{LLAMA_FLASH_ATTN_TYPE_AUTO, LLAMA_FLASH_ATTN_TYPE_DISABLED};

use crate::{CONTEXT_TOKENS, Taken, Taking};

/// The parameters of a bare loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bare {
    pub(crate) threads: NonZeroUsize,
    pub(crate) has_flash_attention: bool,
}

impl Bare {
    /// Measures `sequences` that generate this many tokens each, behind prompts of this many
    /// tokens.
    pub(crate) fn generate(
        self,
        model: &Path,
        sequences: usize,
        prompt: usize,
        tokens: usize,
    ) -> Taken {
        let weights = weights(model);
        let mut streams = self.streams(&weights, sequences, prompt);
        let began = Taking::begin();
        for _ in 0..tokens {
            streams.step();
        }
        began.taken()
    }

    /// Makes sequences that have read this many tokens each.
    pub(crate) fn streams(
        self,
        weights: &LlamaModel,
        sequences: usize,
        prompt: usize,
    ) -> Streams<'_> {
        let mut context = self.context(weights, sequences);
        let mut batch = LlamaBatch::new(BATCH, 1);
        let mut last = Vec::new();
        for sequence in 0..sequences {
            decode(&mut context, &mut batch, sequence, 0..prompt);
            last.push(likeliest(&context, batch.n_tokens() - 1));
        }
        Streams { context, batch, last, position: prompt }
    }

    /// Measures a prompt of this many tokens until its first token.
    pub(crate) fn first_token(self, weights: &LlamaModel, prompt: usize, piece: usize) -> Duration {
        let mut context = self.context(weights, 1);
        let mut batch = LlamaBatch::new(BATCH, 1);
        let began = Taking::begin();
        for start in (0..prompt).step_by(piece) {
            decode(&mut context, &mut batch, 0, start..prompt.min(start + piece));
        }
        likeliest(&context, batch.n_tokens() - 1);
        began.taken().wall
    }

    /// Measures pieces of this many tokens each, behind a prompt of `depth` tokens; the best of
    /// some.
    pub(crate) fn pieces(self, model: &Path, depth: usize, sizes: &[usize]) -> Vec<Duration> {
        let weights = weights(model);
        let mut context = self.context(&weights, 1);
        let mut batch = LlamaBatch::new(BATCH, 1);
        for start in (0..depth).step_by(BATCH) {
            decode(&mut context, &mut batch, 0, start..depth.min(start + BATCH));
        }
        let behind = u32::try_from(depth).unwrap();
        let piece = |size: &usize| {
            let trials = (0..3).map(|_| {
                let began = Taking::begin();
                decode(&mut context, &mut batch, 0, depth..depth + size);
                likeliest(&context, batch.n_tokens() - 1);
                let took = began.taken().wall;
                context.clear_kv_cache_seq(Some(0), Some(behind), None).unwrap();
                took
            });
            trials.min().unwrap()
        };
        sizes.iter().map(piece).collect()
    }

    fn context<'m>(self, weights: &'m LlamaModel, sequences: usize) -> LlamaContext<'m> {
        let threads = i32::try_from(self.threads.get()).unwrap();
        let attention = if self.has_flash_attention {
            LLAMA_FLASH_ATTN_TYPE_AUTO
        } else {
            LLAMA_FLASH_ATTN_TYPE_DISABLED
        };
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(CONTEXT_TOKENS))
            .with_n_batch(256)
            .with_n_ubatch(256)
            .with_n_seq_max(u32::try_from(sequences).unwrap())
            .with_kv_unified(true)
            .with_flash_attention_policy(attention)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_no_perf(true);
        weights.new_context(backend(), params).unwrap()
    }
}

/// Sequences that generate together.
pub(crate) struct Streams<'m> {
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    /// The last token of each.
    last: Vec<LlamaToken>,
    position: usize,
}

impl Streams<'_> {
    /// Generates a token of each.
    pub(crate) fn step(&mut self) {
        self.batch.clear();
        let position = i32::try_from(self.position).unwrap();
        for (sequence, token) in (0..).zip(&self.last) {
            self.batch.add(*token, position, &[sequence], true).unwrap();
        }
        self.context.decode(&mut self.batch).unwrap();
        for (at, token) in (0..).zip(&mut self.last) {
            *token = likeliest(&self.context, at);
        }
        self.position += 1;
    }
}

/// The most tokens of a decode.
const BATCH: usize = 256;

pub(crate) fn weights(model: &Path) -> LlamaModel {
    send_logs_to_tracing(LogOptions::default());
    LlamaModel::load_from_file(backend(), model, &LlamaModelParams::default()).unwrap()
}

/// Returns the backend. An error says that the engine has initialised it. It is never freed,
/// because the engine still uses it.
fn backend() -> &'static LlamaBackend {
    Box::leak(Box::new(LlamaBackend::init().unwrap_or(LlamaBackend {})))
}

/// Reads some tokens at these positions, and keeps the logits of the last.
fn decode(
    context: &mut LlamaContext<'_>,
    batch: &mut LlamaBatch<'_>,
    sequence: usize,
    positions: Range<usize>,
) {
    batch.clear();
    let id = i32::try_from(sequence).unwrap();
    for at in positions.clone() {
        let token = LlamaToken(i32::try_from((at * 31 + sequence * 7) % 200).unwrap());
        batch.add(token, i32::try_from(at).unwrap(), &[id], at + 1 == positions.end).unwrap();
    }
    context.decode(batch).unwrap();
}

fn likeliest(context: &LlamaContext<'_>, at: i32) -> LlamaToken {
    let logits = context.get_logits_ith(at);
    let best =
        logits.iter().zip(0..).reduce(|best, next| if next.0 > best.0 { next } else { best });
    LlamaToken(best.unwrap().1)
}
