//! The small model inside the library, so that the first command needs no download.

use super::llama::LlamaOptions;

/// The model file, as a part of the program.
const BYTES: &[u8] = include_bytes!("../../models/madang-seed.gguf");

/// Tokens of prompt and answer that the model can follow. In training, 99 of 100 dialogues had
/// under 1,052 tokens; at 2,000 it talks nonsense.
const FLUENT_TOKENS: u32 = 1_280;

/// Returns the options of the model that comes with Madang. It knows the toolkits `life` and
/// `notes` and little else; any GGUF file can replace it. It reads only the end of a long chat. It
/// runs without flash attention, so its answers do not depend on other chats in the batch.
#[must_use]
pub fn bundled() -> LlamaOptions {
    LlamaOptions::from_bytes("madang-seed", BYTES)
        .flash_attention(false)
        .context_tokens(FLUENT_TOKENS)
}
