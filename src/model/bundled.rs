//! The model that comes with the library: a small one for the toolkits, so that the first command needs no download.

use super::llama::LlamaOptions;

/// The whole file, inside the program.
const BYTES: &[u8] = include_bytes!("../../models/madang-seed.gguf");

/// Room for so much of a chat and the answer. Of the dialogues of its training 99 in 100 were shorter than 1,052 tokens, and
/// where it is shown 2,000 it says anything.
const FLUENT_TOKENS: u32 = 1_280;

/// Gives the model that comes with Madang. It knows the toolkits `life` and `notes` and little else: any GGUF replaces it.
/// Of a long chat it is shown the end, as far as it can follow. It is small enough to do without flash attention, and says
/// beside others what it says alone.
#[must_use]
pub fn bundled() -> LlamaOptions {
    LlamaOptions::from_bytes("madang-seed", BYTES)
        .flash_attention(false)
        .context_tokens(FLUENT_TOKENS)
}
