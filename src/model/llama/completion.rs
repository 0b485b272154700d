//! One completion: read the prompt, then token after token until it ends.

use llama_cpp_2::{
    DecodeError, context::LlamaContext, llama_batch::LlamaBatch, model::LlamaModel as Weights,
    token::LlamaToken,
};
use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionRequest, FinishReason, Usage},
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    answer::{Answer, Calls, Flow},
    dialect::Dialect,
    gguf::Gguf,
    grammar::Grammars,
    options::LlamaOptions,
    parser::Parser,
    prompt::PromptWriter,
    sampler::{Sampler, Sampling},
    spans::spans,
    vocabulary::Vocabulary,
    window,
};

/// A model with its context, and what is kept from one completion to the next.
pub(super) struct Engine<'m> {
    vocabulary: Vocabulary<'m>,
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    dialect: Dialect,
    grammars: Option<Grammars>,
    sampling: Sampling,
    has_thinking: bool,
    has_parallel_calls: bool,
    /// The tokens whose keys and values the context holds, in order.
    held: Vec<LlamaToken>,
    /// How many tokens one decode may take.
    chunk: usize,
}

/// The one sequence of the context.
const SEQUENCE: u32 = 0;

impl<'m> Engine<'m> {
    pub(super) fn new(
        weights: &'m Weights,
        context: LlamaContext<'m>,
        gguf: &Gguf,
        options: &LlamaOptions,
    ) -> Self {
        let vocabulary = Vocabulary::of(weights);
        let dialect = Dialect::detect(gguf, &|text| vocabulary.has(text));
        let vocabulary = vocabulary.of_family(dialect.family);
        let grammars = options.has_constraints.then(|| {
            Grammars::new(vocabulary.token_environment(), dialect.family, dialect.style.clone())
        });
        let grammars = grammars.and_then(|grammars| {
            grammars
                .inspect_err(|problem| {
                    warn!(problem, "failed to prepare grammars: calls are not constrained")
                })
                .ok()
        });
        let chunk = usize::try_from(context.n_batch()).expect("a batch fits in memory");
        Self {
            vocabulary,
            context,
            batch: LlamaBatch::new(chunk, 1),
            dialect,
            grammars,
            sampling: options.sampling.clone(),
            has_thinking: options.has_thinking,
            has_parallel_calls: options.has_parallel_calls,
            held: Vec::new(),
            chunk,
        }
    }

    pub(super) fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Forgets all chats: nothing is known of the context any more.
    pub(super) fn forget(&mut self) {
        self.held.clear();
        self.context.clear_kv_cache();
    }

    /// Generates a completion.
    pub(super) fn complete(
        &mut self,
        request: &CompletionRequest,
        deltas: &Deltas,
        stop: &CancellationToken,
    ) -> Result<Completion, ModelError> {
        let (prompt, is_thinking) = self.prompt(request)?;
        let mut usage = Usage { prompt_tokens: count(prompt.len()), ..Usage::default() };
        usage.cached_tokens = self.keep_prefix(&prompt);
        let mut answer = self.answer(request, is_thinking);
        let mut next =
            prompt[usize::try_from(usage.cached_tokens).expect("counted in memory")..].to_vec();
        loop {
            self.read(&next, stop, usage)?;
            let logits = self.context.get_logits_ith(self.batch.n_tokens() - 1);
            let Some(token) = answer.choose(logits) else {
                self.forget();
                return Err(ModelError::failed(ModelError::BAD_OUTPUT));
            };
            usage.completion_tokens += 1;
            if self.vocabulary.ends(token) {
                answer.finish(false, deltas);
                return answer.into_completion(FinishReason::Stop, usage);
            }
            let calls = Calls { tools: &request.tools, grammars: self.grammars.as_mut() };
            answer.take(token, &self.vocabulary.bytes(token), calls, deltas);
            next = vec![token];
            if answer.flow() == Flow::GoesOn {
                let left = request.max_tokens.saturating_sub(usage.completion_tokens);
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                let room = self.room().saturating_sub(self.held.len() + 1);
                let forced = answer.forced(&self.vocabulary, left.min(room), deltas);
                usage.completion_tokens += count(forced.len());
                next.extend(forced);
            }
            if answer.flow() == Flow::Ended {
                answer.finish(false, deltas);
                return answer.into_completion(FinishReason::Stop, usage);
            }
            let is_full = self.held.len() + next.len() > self.room();
            if usage.completion_tokens >= request.max_tokens || is_full {
                answer.finish(true, deltas);
                return answer.into_completion(FinishReason::Length, usage);
            }
        }
    }

    fn answer(&self, request: &CompletionRequest, is_thinking: bool) -> Answer {
        let parser = Parser::new(self.dialect.family, self.dialect.stops);
        let parser = if request.tools.is_empty() { parser.without_tools() } else { parser };
        let parser = if is_thinking { parser.thinking() } else { parser };
        // Where no tool may be called no call is opened.
        let banned = self.vocabulary.call_open.filter(|_| request.tools.is_empty());
        Answer::new(parser, Sampler::new(&self.sampling), self.has_parallel_calls).without(banned)
    }

    /// The tokens of the prompt, with as much of the chat as there is room for.
    fn prompt(&self, request: &CompletionRequest) -> Result<(Vec<LlamaToken>, bool), ModelError> {
        let writer = PromptWriter {
            dialect: &self.dialect,
            markers: &self.vocabulary.markers,
            bos: &self.vocabulary.bos,
            eos: &self.vocabulary.eos,
            has_thinking: self.has_thinking,
            system: request.system.as_deref(),
            tools: &request.tools,
        };
        // Room for the answer: what it may take, but no more than a quarter of the context.
        let answer =
            usize::try_from(request.max_tokens).unwrap_or(usize::MAX).min(self.room() / 4).max(1);
        let fitted = window::longest(&request.messages, |messages| {
            let prompt = writer.write(messages)?;
            let tokens = self.vocabulary.tokenize(&spans(&prompt.pieces, &self.vocabulary.markers));
            let fits = tokens.len() + answer <= self.room() && !tokens.is_empty();
            Ok::<_, minijinja::Error>(fits.then_some((tokens, prompt.is_thinking)))
        });
        fitted
            .map_err(|cause| ModelError::failed_by(TEMPLATE, cause))?
            .ok_or_else(|| ModelError::failed(TOO_LONG))
    }

    fn room(&self) -> usize {
        usize::try_from(self.context.n_ctx()).expect("a context fits in memory")
    }

    /// Keeps what the context holds already of this prompt, drops the rest, and says how much was kept. The last token
    /// is always read again: its logits are not kept.
    fn keep_prefix(&mut self, prompt: &[LlamaToken]) -> u32 {
        let common =
            self.held.iter().zip(prompt).take_while(|(held, wanted)| held == wanted).count();
        let kept = count(common.min(prompt.len() - 1));
        match self.context.clear_kv_cache_seq(Some(SEQUENCE), Some(kept), None) {
            Ok(true) => {
                self.held.truncate(usize::try_from(kept).expect("counted in memory"));
                kept
            }
            // Some kinds of models cannot go back.
            Ok(false) | Err(_) => {
                self.forget();
                0
            }
        }
    }

    /// Decodes tokens in small pieces, between which it can be stopped. The logits of the last one are ready then.
    fn read(
        &mut self,
        tokens: &[LlamaToken],
        stop: &CancellationToken,
        usage: Usage,
    ) -> Result<(), ModelError> {
        for piece in tokens.chunks(self.chunk) {
            if stop.is_cancelled() {
                return Err(ModelError::Cancelled { usage });
            }
            if let Err(error) = self.decode(piece) {
                self.forget();
                return Err(ModelError::failed_by(DECODE, error));
            }
        }
        Ok(())
    }

    fn decode(&mut self, piece: &[LlamaToken]) -> Result<(), DecodeError> {
        self.batch.clear();
        for (at, token) in piece.iter().enumerate() {
            let position =
                i32::try_from(self.held.len() + at).map_err(|_| DecodeError::NoKvCacheSlot)?;
            self.batch
                .add(*token, position, &[SEQUENCE.cast_signed()], at + 1 == piece.len())
                .expect("a piece is no longer than the batch");
        }
        self.context.decode(&mut self.batch)?;
        self.held.extend_from_slice(piece);
        Ok(())
    }
}

/// The template of the model refuses the chat.
const TEMPLATE: &str = "Template";
/// The question alone is longer than the context.
const TOO_LONG: &str = "PromptTooLong";
/// llama.cpp failed.
const DECODE: &str = "Decode";

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
