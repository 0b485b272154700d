//! The options of loading and running a model.

use std::{borrow::Cow, fmt, num::NonZeroUsize, path::PathBuf};

use super::sampler::Sampling;

/// Names the model to load, and sets how it runs.
#[non_exhaustive]
pub struct LlamaOptions {
    pub(super) source: Source,
    pub(super) context_tokens: Option<u32>,
    pub(super) prefill_tokens: usize,
    pub(super) max_sequences: usize,
    pub(super) cache_tokens: Option<u32>,
    pub(super) resting_tokens: Option<usize>,
    pub(super) prefill_context_tokens: Option<u32>,
    pub(super) swapped_bytes: usize,
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) gpu_layers: u32,
    pub(super) has_flash_attention: bool,
    pub(super) sampling: Sampling,
    pub(super) has_thinking: bool,
    pub(super) has_parallel_calls: bool,
    pub(super) has_constraints: bool,
    pub(super) max_waiting: usize,
    pub(super) max_repeated_tokens: usize,
    pub(super) progress: Option<Progress>,
}

/// Receives how much of a model is loaded, from 0 to 1.
pub(super) type Progress = Box<dyn FnMut(f32) + Send>;

/// The source of a model.
#[derive(Debug, Clone)]
pub(super) enum Source {
    File(PathBuf),
    Bytes { name: Cow<'static, str>, bytes: Cow<'static, [u8]> },
}

/// Whether llama.cpp was built for a graphics card.
const HAS_CARD: bool = cfg!(any(feature = "cuda", feature = "metal", feature = "vulkan"));
/// More layers than any model has.
const ALL_LAYERS: u32 = 10_000;

impl LlamaOptions {
    /// Uses the GGUF file at this path, with default options.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::of(Source::File(path.into()))
    }

    /// Uses a GGUF file in memory, such as one that is part of the program. It is on the disk only
    /// while the model is loaded.
    #[must_use]
    pub fn from_bytes(
        name: impl Into<Cow<'static, str>>,
        bytes: impl Into<Cow<'static, [u8]>>,
    ) -> Self {
        Self::of(Source::Bytes { name: name.into(), bytes: bytes.into() })
    }

    fn of(source: Source) -> Self {
        Self {
            source,
            context_tokens: None,
            prefill_tokens: 128,
            max_sequences: 32,
            cache_tokens: None,
            resting_tokens: None,
            prefill_context_tokens: None,
            swapped_bytes: 256 << 20,
            threads: None,
            gpu_layers: if HAS_CARD { ALL_LAYERS } else { 0 },
            has_flash_attention: true,
            sampling: Sampling::default(),
            has_thinking: false,
            has_parallel_calls: false,
            has_constraints: true,
            max_waiting: 1_024,
            max_repeated_tokens: 128,
            progress: None,
        }
    }

    /// Sets how many tokens a chat may have, with its tools and the answer, but never more than the
    /// model was trained for. By default it is as many as half of the free memory holds, or half of
    /// the graphics card's if it keeps layers. This default is at least 4,096 and at most 32,768,
    /// because a processor takes minutes to read more.
    #[must_use]
    pub fn context_tokens(mut self, tokens: impl Into<Option<u32>>) -> Self {
        self.context_tokens = tokens.into();
        self
    }

    /// Sets the most tokens of prompts in one decode, from 1 to 2,048. The default is 128. Fewer
    /// are read while others generate. A completion that is cancelled ends after the present
    /// decode.
    #[must_use]
    pub fn prefill_tokens(mut self, tokens: usize) -> Self {
        self.prefill_tokens = tokens.clamp(1, 2_048);
        self
    }

    /// Sets how many completions generate at once, from 1 to 120. Other numbers count as the
    /// nearest of these. Further completions wait. The default is 32. With more, each is slower and
    /// all together are hardly faster.
    #[must_use]
    pub fn max_sequences(mut self, completions: usize) -> Self {
        self.max_sequences = completions.clamp(1, 120);
        self
    }

    /// Sets how many tokens of all chats together the context holds, but never fewer than those of
    /// one chat. A common beginning counts once. The default is that of four chats up to 16,384, or
    /// that of one longer chat. Loading fails above 16 Mi.
    #[must_use]
    pub fn cache_tokens(mut self, tokens: u32) -> Self {
        self.cache_tokens = Some(tokens);
        self
    }

    /// Sets how many tokens of chats between two turns stay in the context. They slow down all
    /// other chats a little. While completions run, the limit is divided by their number plus one.
    /// The default is the tokens of one chat. Above the limit, the chat that has rested longest
    /// moves to memory.
    #[must_use]
    pub fn resting_tokens(mut self, tokens: usize) -> Self {
        self.resting_tokens = Some(tokens);
        self
    }

    /// Sets how many tokens a prefill worker has room for, which reads long prompts if there are
    /// two threads or more. The engine makes two more contexts of this size when they are first
    /// needed. The default is the tokens of one chat. Loading fails above 16 Mi. All other prompts
    /// are read in turns with the streams, and with 0 all of them are.
    #[must_use]
    pub fn prefill_context_tokens(mut self, tokens: u32) -> Self {
        self.prefill_context_tokens = Some(tokens);
        self
    }

    /// Sets how many bytes of resting chats stay in memory. The memory of one more chat is kept for
    /// reuse. The default of 256 MiB holds some hundred chats of a small model. Beyond it, the chat
    /// that has rested longest is forgotten, and its next turn is read from the beginning.
    #[must_use]
    pub fn swapped_bytes(mut self, bytes: usize) -> Self {
        self.swapped_bytes = bytes;
        self
    }

    /// Sets the number of threads, but never more than there are cores. llama.cpp's threads wait by
    /// spinning, so more of them than cores would stop each other. The default is one for a small
    /// model, for which waiting costs more than it gains, and all cores for a large one.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets how many layers the graphics card keeps, if llama.cpp was built for one (`cuda`,
    /// `metal`, `vulkan`). The default is all of them, and none without such a feature. If there
    /// are any, no prefill worker reads long prompts, because a card computes one decode after
    /// another.
    #[must_use]
    pub fn gpu_layers(mut self, layers: u32) -> Self {
        self.gpu_layers = layers;
        self
    }

    /// Lets llama.cpp use flash attention, as it does by default. With it, the cost of a token
    /// depends only on its own chat; without it, on all chats in the context. On a processor it
    /// sums in 16 bits, in the order of all chats' tokens, so an answer may depend on other chats
    /// if the model is unsure. The bundled model does not use it.
    #[must_use]
    pub fn flash_attention(mut self, has_flash_attention: bool) -> Self {
        self.has_flash_attention = has_flash_attention;
        self
    }

    /// Sets how tokens are chosen. The default is greedy.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Lets a model that can think aloud do so, which takes time. It is off by default.
    #[must_use]
    pub fn thinking(mut self, has_thinking: bool) -> Self {
        self.has_thinking = has_thinking;
        self
    }

    /// Lets a completion continue after a tool call, for models that ask for several at once. By
    /// default a completion ends with its first call.
    #[must_use]
    pub fn parallel_calls(mut self, has_parallel_calls: bool) -> Self {
        self.has_parallel_calls = has_parallel_calls;
        self
    }

    /// Limits tool calls to registered names and to arguments that the schemas allow. This is the
    /// default. The dispatcher checks each call in any case.
    #[must_use]
    pub fn constrained_calls(mut self, has_constraints: bool) -> Self {
        self.has_constraints = has_constraints;
        self
    }

    /// Sets how many completions may wait for the model, 1,024 by default. More are refused as
    /// `Overloaded`.
    #[must_use]
    pub fn max_waiting(mut self, completions: usize) -> Self {
        self.max_waiting = completions.max(1);
        self
    }

    /// Ends a completion with [`ModelError::REPETITION`] if it repeats itself for this many tokens.
    /// With 0 it never does. The default is 128, because no useful answer repeats for so long, and
    /// a small model would continue until its limit.
    ///
    /// [`ModelError::REPETITION`]: madang_actors::port::ModelError::REPETITION
    #[must_use]
    pub fn max_repeated_tokens(mut self, tokens: usize) -> Self {
        self.max_repeated_tokens = tokens;
        self
    }

    /// Calls this function with the loaded part of the model, from 0 to 1, while the model loads.
    #[must_use]
    pub fn on_progress(mut self, progress: impl FnMut(f32) + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl fmt::Debug for LlamaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source: &dyn fmt::Debug = match &self.source {
            Source::File(path) => path,
            Source::Bytes { name, .. } => name,
        };
        f.debug_struct("LlamaOptions")
            .field("source", source)
            .field("context_tokens", &self.context_tokens)
            .field("sampling", &self.sampling)
            .finish_non_exhaustive()
    }
}
