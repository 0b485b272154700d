//! What a completion has generated so far, and how its next token is chosen.

use llama_cpp_2::token::LlamaToken;
use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionDelta, FinishReason, Usage},
};

use super::{
    grammar::{CallGuide, Grammar},
    parser::{Found, Parser},
    repetition::Repetition,
    sampler::{Limits, Sampler},
    utf8::Utf8,
    vocabulary::Vocabulary,
};

/// Whether a completion goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    GoesOn,
    Ended,
}

/// The text generated so far.
pub(super) struct Answer {
    sampler: Sampler,
    utf8: Utf8,
    parser: Parser,
    /// The token that opens calls, where there is one.
    opens: Option<u32>,
    /// What may be called; `None` where that cannot be followed.
    calls: Option<Grammar>,
    guide: Guide,
    generated: Vec<u32>,
    /// No tool may be called, so no call may be opened.
    banned: Option<u32>,
    has_parallel_calls: bool,
    completion: Completion,
    is_malformed: bool,
    repetition: Repetition,
    /// It goes in a circle.
    is_repeated: bool,
}

/// So many of the latest tokens count for the repeat penalty.
const RECENT: usize = 64;

/// So many bytes of a text that must follow become tokens at once: that takes less than a decode.
const FORCED_BYTES: usize = 1_024;

/// How a call that is being written is constrained.
enum Guide {
    /// No call is being written.
    None,
    Follows {
        guide: Box<CallGuide>,
        /// The first token of the block, where it is known.
        begin: Option<usize>,
    },
    /// This call cannot be followed; it is checked when it is dispatched.
    Lost,
}

impl Answer {
    pub(super) fn new(
        parser: Parser,
        sampler: Sampler,
        repetition: Repetition,
        has_parallel_calls: bool,
    ) -> Self {
        Self {
            sampler,
            utf8: Utf8::default(),
            parser,
            opens: None,
            calls: None,
            guide: Guide::None,
            generated: Vec::new(),
            banned: None,
            has_parallel_calls,
            completion: Completion::default(),
            is_malformed: false,
            repetition,
            is_repeated: false,
        }
    }

    /// Never chooses this token.
    pub(super) fn without(mut self, banned: Option<LlamaToken>) -> Self {
        self.banned = banned.map(|token| token.0.cast_unsigned());
        self
    }

    /// Lets this token alone open calls, where there is one.
    pub(super) fn opened_by(mut self, token: Option<LlamaToken>) -> Self {
        self.opens = token.map(|token| token.0.cast_unsigned());
        if self.opens.is_some() {
            self.parser = self.parser.opened_by_token();
        }
        self
    }

    /// Lets calls be these only.
    pub(super) fn calling(self, calls: Option<Grammar>) -> Self {
        Self { calls, ..self }
    }

    /// Chooses the next token; `None` if the model says nothing that can be used.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Option<LlamaToken> {
        let is_call = !matches!(self.guide, Guide::None);
        let recent = if is_call { 0 } else { RECENT };
        let recent = &self.generated[self.generated.len().saturating_sub(recent)..];
        let free = Limits { allowed: None, banned: self.banned, recent };
        // A model that knows calls seldom wants what is not allowed, and one token is looked up sooner than all.
        if let Guide::Follows { guide, .. } = &mut self.guide
            && self.sampler.is_greedy()
            && let Some(token) = self.sampler.choose(logits, free)
            && guide.allows(token)
        {
            return i32::try_from(token).ok().map(LlamaToken);
        }
        let allowed = match &mut self.guide {
            Guide::Follows { guide, .. } => guide.allowed(),
            Guide::None | Guide::Lost => None,
        };
        if is_call && allowed.is_none() {
            self.guide = Guide::Lost;
        }
        let token = self.sampler.choose(logits, Limits { allowed: allowed.as_ref(), ..free })?;
        i32::try_from(token).ok().map(LlamaToken)
    }

    /// Takes the token that was chosen, with the bytes that it stands for.
    pub(super) fn take(&mut self, token: LlamaToken, bytes: &[u8], deltas: &Deltas) -> Flow {
        let id = token.0.cast_unsigned();
        if let Guide::Follows { guide, .. } = &mut self.guide
            && !guide.take(id)
        {
            self.guide = Guide::Lost;
        }
        self.hear(id, bytes, deltas);
        let is_open = !matches!(self.guide, Guide::None);
        match self.parser.open_block() {
            None => self.guide = Guide::None,
            Some(_) if is_open => (),
            Some(body) => {
                let begin = self.generated.len();
                let guide = self.calls.as_ref().and_then(|calls| calls.begin(body));
                self.guide = guide.map_or(Guide::Lost, |guide| Guide::Follows {
                    guide: Box::new(guide),
                    begin: body.is_empty().then_some(begin),
                });
            }
        }
        self.flow()
    }

    /// The tokens that must follow the one that was taken last, at most so many; they are taken already. They need no
    /// logits, so they are decoded together with it. [`flow`](Self::flow) says whether the completion goes on behind
    /// them.
    pub(super) fn forced(
        &mut self,
        vocabulary: &Vocabulary<'_>,
        max: usize,
        deltas: &Deltas,
    ) -> Vec<LlamaToken> {
        let Guide::Follows { guide, begin } = &mut self.guide else { return Vec::new() };
        let text = guide.forced();
        // The rest comes with the next step: a schema may force any text, and all that generate wait for its tokens.
        let text = &text[..text.floor_char_boundary(FORCED_BYTES)];
        if text.is_empty() {
            return Vec::new();
        }
        let mut tokens = begin
            .and_then(|begin| continued(vocabulary, &self.generated[begin..], text))
            .or_else(|| vocabulary.tokenize_call(text))
            .unwrap_or_default();
        tokens.truncate(max);
        let ids: Vec<u32> = tokens.iter().map(|token| token.0.cast_unsigned()).collect();
        tokens.truncate(guide.take_certain(&ids));
        for token in &tokens {
            self.hear(token.0.cast_unsigned(), &vocabulary.bytes(*token), deltas);
        }
        if self.parser.open_block().is_none() {
            self.guide = Guide::None;
        }
        tokens
    }

    /// Whether the completion goes on.
    pub(super) fn flow(&self) -> Flow {
        let has_call = !self.completion.tool_calls.is_empty();
        let is_over = self.is_malformed
            || self.is_repeated
            || self.parser.is_stopped()
            || (has_call && !self.has_parallel_calls);
        if is_over { Flow::Ended } else { Flow::GoesOn }
    }

    fn hear(&mut self, token: u32, bytes: &[u8], deltas: &Deltas) {
        self.generated.push(token);
        self.is_repeated |= self.repetition.is_circle(token);
        let mut found = Vec::new();
        let opens = self.opens == Some(token);
        if opens {
            let rest = self.utf8.finish();
            self.parser.push(&rest, &mut found);
        }
        if !(opens && self.parser.open_call(&mut found)) {
            let text = self.utf8.push(bytes);
            self.parser.push(&text, &mut found);
        }
        self.keep(found, deltas);
    }

    /// Reads what is left when no more tokens come.
    pub(super) fn finish(&mut self, was_cut_off: bool, deltas: &Deltas) {
        let mut found = Vec::new();
        let rest = self.utf8.finish();
        self.parser.push(&rest, &mut found);
        // Of a call in a circle not even what could be read is meant.
        self.parser.finish(was_cut_off || self.is_repeated, &mut found);
        self.keep(found, deltas);
    }

    fn keep(&mut self, found: Vec<Found>, deltas: &Deltas) {
        for found in found {
            let is_over = !self.has_parallel_calls && !self.completion.tool_calls.is_empty();
            match found {
                // Text behind the only call is dropped.
                _ if is_over => (),
                Found::Text(text) => {
                    deltas.text(&text);
                    self.completion.text.push_str(&text);
                }
                Found::Thinking(text) => deltas.push(CompletionDelta::Thinking(&text)),
                Found::Call(call) => self.completion.tool_calls.push(call),
                Found::Malformed => self.is_malformed = true,
            }
        }
    }

    pub(super) fn into_completion(
        self,
        finish: FinishReason,
        usage: Usage,
    ) -> Result<Completion, ModelError> {
        let has_calls = !self.completion.tool_calls.is_empty();
        if self.is_repeated && !has_calls {
            return Err(ModelError::failed(ModelError::REPETITION));
        }
        if self.is_malformed && !has_calls {
            return Err(ModelError::failed(ModelError::BAD_OUTPUT));
        }
        let finish = if has_calls { FinishReason::ToolCalls } else { finish };
        Ok(Completion { finish, usage, ..self.completion })
    }
}

/// The tokens of a text that follows these, so that both together are cut as in training.
fn continued(vocabulary: &Vocabulary<'_>, block: &[u32], text: &str) -> Option<Vec<LlamaToken>> {
    let block: Vec<LlamaToken> =
        block.iter().map(|token| LlamaToken(token.cast_signed())).collect();
    let bytes: Vec<u8> = block.iter().flat_map(|token| vocabulary.bytes(*token)).collect();
    let whole = format!("{}{text}", std::str::from_utf8(&bytes).ok()?);
    vocabulary.tokenize_call(&whole)?.strip_prefix(&*block).map(<[LlamaToken]>::to_vec)
}
