//! Turns a chat into the tokens of a prompt, and logits into an answer.

use std::sync::Arc;

use llama_cpp_2::{model::LlamaModel as Weights, token::LlamaToken};
use madang_actors::{
    port::ModelError,
    protocol::{CompletionDelta, CompletionRequest, FinishReason},
};
use madang_parser::Parser;
use tracing::warn;

use super::run::ActiveCompletion;
use crate::{
    answer::{Answer, Flow},
    beginning::{Beginning, Beginnings, Part},
    dialect::Dialect,
    frames::frames,
    gguf::Gguf,
    grammar::{Grammar, Grammars},
    hidden::Piece,
    options::LlamaOptions,
    prompt::PromptWriter,
    repetition::Repetition,
    sampler::{Sampler, Sampling},
    spans::spans,
    template::LEAST_BYTES,
    vocabulary::Vocabulary,
    window,
};

/// Makes prompts and answers.
pub(super) struct Generator<'m> {
    vocabulary: Vocabulary<'m>,
    beginnings: Beginnings<LlamaToken>,
    dialect: Dialect,
    grammars: Option<Grammars>,
    sampling: Sampling,
    has_thinking: bool,
    has_parallel_calls: bool,
    max_repeated_tokens: usize,
    /// The most tokens of a chat with its answer.
    room: usize,
}

/// A chat in the model's tokens.
pub(super) struct Prompt {
    pub(super) tokens: Vec<LlamaToken>,
    /// How many of the first tokens depend only on the system text and the tools.
    pub(super) beginning: usize,
    pub(super) answer: Answer,
    /// How many messages had no room.
    pub(super) left_out: u32,
}

impl<'m> Generator<'m> {
    pub(super) fn new(
        weights: &'m Weights,
        gguf: &Gguf,
        options: &LlamaOptions,
        room: usize,
    ) -> Option<Self> {
        let vocabulary = Vocabulary::of(weights)?;
        let dialect = Dialect::detect(gguf, &|text| vocabulary.has(text));
        let frames = frames(&dialect, &vocabulary.markers);
        let vocabulary = vocabulary
            .of_family(dialect.family, dialect.foreign.as_deref(), &frames)?
            .with_room(room);
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
        Some(Self {
            vocabulary,
            beginnings: Beginnings::default(),
            dialect,
            grammars,
            sampling: options.sampling.clone(),
            has_thinking: options.has_thinking,
            has_parallel_calls: options.has_parallel_calls,
            max_repeated_tokens: options.max_repeated_tokens,
            room,
        })
    }

    pub(super) const fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Writes the tokens of the prompt, with as much of the chat as fits.
    pub(super) fn prompt(
        &self,
        request: &CompletionRequest,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<Prompt, ModelError> {
        let writer = PromptWriter {
            dialect: &self.dialect,
            markers: &self.vocabulary.markers,
            bos: &self.vocabulary.bos,
            eos: &self.vocabulary.eos,
            has_thinking: self.has_thinking,
            system: request.system.as_deref(),
            instructions: request.instructions.as_deref(),
            tools: &request.tools,
            max_bytes: (BYTES_OF_A_TOKEN * self.room).max(LEAST_BYTES),
        };
        // Room for the answer: its most tokens, but at most a quarter of the context.
        let answer =
            usize::try_from(request.max_tokens).unwrap_or(usize::MAX).min(self.room / 4).max(1);
        let tokenize = |pieces: &[Piece], part: Part| self.tokens(pieces, part);
        let fitted = |beginning: &Beginning<LlamaToken>| {
            let fitted = window::longest(&request.messages, |messages| {
                let bytes: usize = messages.iter().map(|message| message.bytes()).sum();
                if bytes > writer.max_bytes || is_unwanted() {
                    return Ok(None);
                }
                let prompt = match writer.write(messages) {
                    Err(error) if is_too_long(&error) => return Ok(None),
                    written => written?,
                };
                let (tokens, shared) = beginning.tokens(&prompt.pieces, &tokenize);
                let fits = tokens.len() + answer <= self.room && !tokens.is_empty();
                Ok::<_, minijinja::Error>(fits.then_some((tokens, shared, prompt.is_thinking)))
            });
            fitted
                .map_err(|cause| ModelError::failed_by(TEMPLATE, cause))?
                .ok_or_else(|| ModelError::failed(TOO_LONG))
        };
        let beginning = self.beginnings.find(request, &writer, &tokenize);
        let mut prompt = fitted(&beginning)?;
        let ((_, shared, _), _) = prompt;
        if shared == 0
            && !beginning.is_empty()
            && let Some(now) = self.beginnings.changed(&beginning, request, &writer, &tokenize)
        {
            prompt = fitted(&now)?;
        }
        let ((tokens, beginning, is_thinking), left_out) = prompt;
        let left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
        // Compiled here too, because it takes as long as the schemas are.
        let calls =
            self.grammars.as_ref().and_then(|grammars| grammars.compiled_for(&request.tools));
        let answer = self.answer(request, is_thinking, calls);
        Ok(Prompt { tokens, beginning, answer, left_out })
    }

    fn tokens(&self, pieces: &[Piece], part: Part) -> Vec<LlamaToken> {
        let spans = spans(pieces, &self.vocabulary.markers);
        match part {
            Part::First => self.vocabulary.tokenize(&spans),
            Part::Behind => self.vocabulary.tokenize_behind(&spans),
        }
    }

    fn answer(
        &self,
        request: &CompletionRequest,
        is_thinking: bool,
        calls: Option<Grammar>,
    ) -> Answer {
        let parser = Parser::new(self.dialect.family, self.dialect.stops);
        let parser =
            parser.offering(Arc::clone(&request.tools)).failing(self.dialect.foreign.clone());
        let parser = if is_thinking { parser.thinking() } else { parser };
        // Without tools no call is opened.
        let banned = self.vocabulary.call_open.filter(|_| request.tools.is_empty());
        let repetition = Repetition::new(self.max_repeated_tokens);
        let sampler = Sampler::new(&self.sampling);
        let answer = Answer::new(parser, sampler, repetition, self.has_parallel_calls);
        let answer = answer.without(banned).opened_by(self.vocabulary.call_open);
        answer.opened_in_part_by(&self.vocabulary.opening_parts).calling(calls)
    }

    /// Chooses the next token of a completion, and adds the forced ones after it. Returns the
    /// reason if the completion ends.
    pub(super) fn generate(
        &self,
        run: &mut ActiveCompletion,
        logits: &[f32],
    ) -> Option<Result<FinishReason, ModelError>> {
        let Some(token) = run.answer.choose(logits) else {
            return Some(Err(ModelError::failed(ModelError::BAD_OUTPUT)));
        };
        run.usage.completion_tokens += 1;
        if run.usage.completion_tokens == 1 {
            run.deltas.push(CompletionDelta::Began);
        }
        if self.vocabulary.ends(token) {
            run.answer.finish(false, &run.deltas);
            return Some(Ok(FinishReason::Stop));
        }
        run.tokens.extend(run.owner.user.hold(&[token]));
        run.answer.take(token, &self.vocabulary.bytes(token), &run.deltas);
        if run.answer.flow() == Flow::GoesOn {
            // Forced tokens are decoded together with this one.
            let left = run.request.max_tokens.saturating_sub(run.usage.completion_tokens);
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let room = self.room.saturating_sub(run.tokens.len());
            let forced = run.answer.forced(&self.vocabulary, left.min(room), &run.deltas);
            run.usage.completion_tokens += u32::try_from(forced.len()).unwrap_or(u32::MAX);
            run.tokens.extend(run.owner.user.hold(&forced));
        }
        if run.answer.flow() == Flow::Ended {
            run.answer.finish(false, &run.deltas);
            return Some(Ok(FinishReason::Stop));
        }
        // The last token need not be read.
        if run.usage.completion_tokens >= run.request.max_tokens || run.tokens.len() > self.room {
            run.answer.finish(true, &run.deltas);
            return Some(Ok(FinishReason::Length));
        }
        None
    }
}

/// Returns whether a prompt was given up because it grew too long.
fn is_too_long(error: &minijinja::Error) -> bool {
    error.kind() == minijinja::ErrorKind::WriteFailure
}

/// The bytes of a prompt for each token that it may have: eight times the average.
const BYTES_OF_A_TOKEN: usize = 32;
/// The kind of error of a chat that the model's template refuses.
const TEMPLATE: &str = "Template";
/// The kind of error of a question that is longer than the context.
const TOO_LONG: &str = ModelError::PROMPT_TOO_LONG;
