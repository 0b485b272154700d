//! The model that comes with the library: a small one for the bundled tools, so that the first command needs no
//! download.

use super::LlamaOptions;

/// The whole file, inside the program.
const BYTES: &[u8] = include_bytes!("../../../models/madang-seed.gguf");

impl LlamaOptions {
    /// The model that comes with Madang. It knows the toolkits `life` and `notes` and little else: any
    /// GGUF replaces it. It is small
    /// enough to do without flash attention, and says beside others what it says alone.
    #[must_use]
    pub fn bundled() -> Self {
        Self::from_bytes("madang-seed", BYTES).flash_attention(false)
    }
}
