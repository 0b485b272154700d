//! What may be chosen when a model is loaded.

use std::{borrow::Cow, fmt, num::NonZeroUsize, path::PathBuf};

use super::sampler::Sampling;

/// Which model to load, and how to run it.
#[non_exhaustive]
pub struct LlamaOptions {
    pub(super) source: Source,
    pub(super) context_tokens: u32,
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

/// Hears how much of a model is loaded, from 0 to 1.
pub(super) type Progress = Box<dyn FnMut(f32) + Send>;

/// Where a model comes from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    File(PathBuf),
    Bytes { name: Cow<'static, str>, bytes: Cow<'static, [u8]> },
}

impl LlamaOptions {
    /// The GGUF file at this path, with the defaults for the rest.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::of(Source::File(path.into()))
    }

    /// A GGUF file that is in memory, e.g. inside the program. It is on the disk only while it is loaded.
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
            context_tokens: 4_096,
            prefill_tokens: 128,
            max_sequences: 32,
            cache_tokens: None,
            resting_tokens: None,
            prefill_context_tokens: None,
            swapped_bytes: 256 << 20,
            threads: None,
            gpu_layers: 0,
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

    /// Remembers so many tokens of a chat at most; never more than the model was trained for.
    #[must_use]
    pub fn context_tokens(mut self, tokens: u32) -> Self {
        self.context_tokens = tokens;
        self
    }

    /// Reads so many tokens of prompts in one decode, and fewer where others generate meanwhile. A cancel waits until these
    /// are read.
    #[must_use]
    pub fn prefill_tokens(mut self, tokens: usize) -> Self {
        self.prefill_tokens = tokens.clamp(1, 2_048);
        self
    }

    /// Generates so many completions at once, 120 at most; the rest wait. By default 32: with more, each gets slower and
    /// all together hardly get faster.
    #[must_use]
    pub fn max_sequences(mut self, completions: usize) -> Self {
        self.max_sequences = completions.clamp(1, 120);
        self
    }

    /// Holds so many tokens of all chats together in the context; never less than one chat may have, and at most 16 Mi, above
    /// which loading fails. By default four times that of one chat. What chats begin with alike counts once.
    #[must_use]
    pub fn cache_tokens(mut self, tokens: u32) -> Self {
        self.cache_tokens = Some(tokens);
        self
    }

    /// Leaves so many tokens of chats that rest between two turns in the context, where each makes all others a little
    /// slower; half as many where one runs, a third where two do, and so on. By default as many as one chat may have.
    /// Beyond that the chat that has rested longest moves to memory.
    #[must_use]
    pub fn resting_tokens(mut self, tokens: usize) -> Self {
        self.resting_tokens = Some(tokens);
        self
    }

    /// Lets a prefill worker read long prompts, where there are two threads or more. The engine then has two more contexts with
    /// room for so many tokens each, and makes them when they are first needed. By default as many as one chat may have; at
    /// most 16 Mi, above which loading fails.
    /// What has no room there, and everything with 0, is read in turns with those that generate.
    #[must_use]
    pub fn prefill_context_tokens(mut self, tokens: u32) -> Self {
        self.prefill_context_tokens = Some(tokens);
        self
    }

    /// Keeps so many bytes of resting chats in memory, and the memory of one more for the next; by default 256 MiB, which is
    /// some hundred chats of a small model.
    /// Beyond that the chat that has rested longest is forgotten: its next turn is read from the beginning.
    #[must_use]
    pub fn swapped_bytes(mut self, bytes: usize) -> Self {
        self.swapped_bytes = bytes;
        self
    }

    /// Computes in so many threads, but never in more than there are cores: llama.cpp's threads wait for each other by
    /// spinning, and with more of them than cores nothing goes on. By default one for small models, where waiting costs
    /// more than it gains, and all cores for large ones.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Keeps so many layers on the graphics card, where llama.cpp was built for one.
    #[must_use]
    pub fn gpu_layers(mut self, layers: u32) -> Self {
        self.gpu_layers = layers;
        self
    }

    /// Lets llama.cpp use flash attention where it can, which is the default. Then a chat pays for its own tokens only;
    /// without it, for those of all chats in the context. But on a processor it sums in 16 bits, in the order in which the
    /// tokens of all chats lie there: a chat may say something else beside others than alone where the model is not sure.
    /// The bundled model does without.
    #[must_use]
    pub fn flash_attention(mut self, has_flash_attention: bool) -> Self {
        self.has_flash_attention = has_flash_attention;
        self
    }

    /// Chooses tokens so; greedily by default.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Lets a model that can think aloud do so, which takes time. It does not by default.
    #[must_use]
    pub fn thinking(mut self, has_thinking: bool) -> Self {
        self.has_thinking = has_thinking;
        self
    }

    /// Reads on behind a tool call, because the model may ask for several at once. By default a completion ends with its
    /// first call.
    #[must_use]
    pub fn parallel_calls(mut self, has_parallel_calls: bool) -> Self {
        self.has_parallel_calls = has_parallel_calls;
        self
    }

    /// Lets a tool call have only a registered name and arguments that its schema allows, which is the default.
    /// Whatever the model writes is checked again before anything runs.
    #[must_use]
    pub fn constrained_calls(mut self, has_constraints: bool) -> Self {
        self.has_constraints = has_constraints;
        self
    }

    /// Lets so many completions wait for the model; more are refused as `Overloaded`.
    #[must_use]
    pub fn max_waiting(mut self, completions: usize) -> Self {
        self.max_waiting = completions.max(1);
        self
    }

    /// Ends a completion that repeats itself for so many tokens, with [`ModelError::REPETITION`]; 0 lets it go on. By default
    /// 128: no answer of use says the same for so long, and a small model in a circle would go on to its bound.
    ///
    /// [`ModelError::REPETITION`]: madang_actors::port::ModelError::REPETITION
    #[must_use]
    pub fn max_repeated_tokens(mut self, tokens: usize) -> Self {
        self.max_repeated_tokens = tokens;
        self
    }

    /// Hears how much of the model is loaded, from 0 to 1.
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
