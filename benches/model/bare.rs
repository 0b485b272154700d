//! The counterpart: a bare decode loop through the same binding, greedy, nothing else.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::Path,
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

use crate::{Taken, Taking};

/// How long `sequences` take to generate so many tokens each, behind prompts of so many tokens.
pub(crate) fn generate(
    model: &Path,
    threads: NonZeroUsize,
    has_flash_attention: bool,
    sequences: usize,
    prompt: usize,
    tokens: usize,
) -> Taken {
    send_logs_to_tracing(LogOptions::default());
    // An error says that the engine has initialised it already. It is never freed: the engine goes on with it.
    let backend = Box::leak(Box::new(LlamaBackend::init().unwrap_or(LlamaBackend {})));
    let weights = LlamaModel::load_from_file(backend, model, &LlamaModelParams::default()).unwrap();
    let threads = i32::try_from(threads.get()).unwrap();
    let attention = if has_flash_attention {
        LLAMA_FLASH_ATTN_TYPE_AUTO
    } else {
        LLAMA_FLASH_ATTN_TYPE_DISABLED
    };
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(8_192))
        .with_n_batch(256)
        .with_n_ubatch(256)
        .with_n_seq_max(u32::try_from(sequences).unwrap())
        .with_kv_unified(true)
        .with_flash_attention_policy(attention)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        .with_no_perf(true);
    let mut context = weights.new_context(backend, params).unwrap();
    let mut batch = LlamaBatch::new(256, 1);
    let mut last = Vec::new();
    for sequence in 0..sequences {
        batch.clear();
        for at in 0..prompt {
            let token = LlamaToken(i32::try_from((at * 31 + sequence * 7) % 200).unwrap());
            let (position, id) = (i32::try_from(at).unwrap(), i32::try_from(sequence).unwrap());
            batch.add(token, position, &[id], at + 1 == prompt).unwrap();
        }
        context.decode(&mut batch).unwrap();
        last.push(likeliest(&context, batch.n_tokens() - 1));
    }
    let began = Taking::begin();
    for step in 0..tokens {
        batch.clear();
        let position = i32::try_from(prompt + step).unwrap();
        for (sequence, token) in (0..).zip(&last) {
            batch.add(*token, position, &[sequence], true).unwrap();
        }
        context.decode(&mut batch).unwrap();
        for (at, token) in (0..).zip(&mut last) {
            *token = likeliest(&context, at);
        }
    }
    began.taken()
}

fn likeliest(context: &LlamaContext<'_>, at: i32) -> LlamaToken {
    let logits = context.get_logits_ith(at);
    let best =
        logits.iter().zip(0..).reduce(|best, next| if next.0 > best.0 { next } else { best });
    LlamaToken(best.unwrap().1)
}
