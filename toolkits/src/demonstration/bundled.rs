//! The model that comes with Madang, so that the first command needs no download.

use std::path::PathBuf;

use madang::model::llama::{LlamaModel, LlamaOptions, LoadError};

use super::Demonstration;

/// The model file, as a part of the program.
const BYTES: &[u8] = include_bytes!("madang-seed.gguf");

/// Tokens of prompt and answer that this file can follow: the longest rows of its training. Of
/// generated chats with ten messages of the user, 99 of 100 have fewer than 2,500.
const FLUENT_TOKENS: u32 = 3_072;

/// Loads the demonstration model that comes with Madang. It knows the toolkits `life` and `notes`
/// and little else; any GGUF file can replace it ([`LlamaModel`]). It reads only the end of a long
/// chat. It runs without flash attention, so its answers do not depend on other chats in the batch.
///
/// This blocks the calling thread for some tenths of a second.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = madang_toolkits::demonstration::load()?;
/// # drop(model);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns the [`LoadError`] of [`LlamaModel::load`].
pub fn load() -> Result<Demonstration<LlamaModel>, LoadError> {
    load_with(|options| options)
}

/// Loads the demonstration model with changed options.
///
/// # Errors
/// Returns the [`LoadError`] of [`LlamaModel::load`].
pub fn load_with(
    change: impl FnOnce(LlamaOptions) -> LlamaOptions,
) -> Result<Demonstration<LlamaModel>, LoadError> {
    demonstration(LlamaOptions::from_bytes("madang-seed", BYTES), change)
}

/// Loads another file of the demonstration model, such as one that was just trained, as the file in
/// the library is loaded.
///
/// # Errors
/// Returns the [`LoadError`] of [`LlamaModel::load`].
pub fn load_file(
    path: impl Into<PathBuf>,
    change: impl FnOnce(LlamaOptions) -> LlamaOptions,
) -> Result<Demonstration<LlamaModel>, LoadError> {
    demonstration(LlamaOptions::new(path), change)
}

fn demonstration(
    file: LlamaOptions,
    change: impl FnOnce(LlamaOptions) -> LlamaOptions,
) -> Result<Demonstration<LlamaModel>, LoadError> {
    let options = file.flash_attention(false).context_tokens(FLUENT_TOKENS);
    LlamaModel::load(change(options)).map(Demonstration::new)
}
