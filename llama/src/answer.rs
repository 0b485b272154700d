//! The generated part of a completion, and the choice of its next token.

use std::collections::HashMap;

use llama_cpp_2::token::LlamaToken;
use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{Completion, CompletionDelta, FinishReason, Usage},
};
use madang_parser::{Parser, Segment};

use super::{
    grammar::{CallGuide, Grammar},
    repetition::Repetition,
    sampler::{Limits, Sampler},
    utf8::Utf8,
    vocabulary::Vocabulary,
};

/// How a completion continues after a token.
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
    /// The token that opens calls. `None` if the model has none.
    opens: Option<u32>,
    /// The tokens that are parts of what opens calls, by their texts.
    parts: HashMap<u32, String>,
    /// The grammar of allowed calls. `None` if the schemas cannot be followed.
    calls: Option<Grammar>,
    guide: Guide,
    generated: Vec<u32>,
    /// The token that opens calls, if it is banned because no tool may be called.
    banned: Option<u32>,
    has_parallel_calls: bool,
    completion: Completion,
    repetition: Repetition,
    /// Whether the answer repeats itself.
    is_repeated: bool,
}

/// The latest tokens that count for the repeat penalty.
const RECENT: usize = 64;

/// The most bytes of forced text that become tokens at once. This takes less time than a decode.
const FORCED_BYTES: usize = 1_024;

/// The constraint on the call that is being written.
enum Guide {
    /// No call is being written.
    None,
    Follows {
        guide: Box<CallGuide>,
        /// The position of the block's first token. `None` if it is unknown.
        begin: Option<usize>,
    },
    /// The call cannot be followed; the dispatcher checks it.
    Unconstrained,
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
            parts: HashMap::new(),
            calls: None,
            guide: Guide::None,
            generated: Vec::new(),
            banned: None,
            has_parallel_calls,
            completion: Completion::default(),
            repetition,
            is_repeated: false,
        }
    }

    /// Bans this token, if there is one.
    pub(super) fn without(mut self, banned: Option<LlamaToken>) -> Self {
        self.banned = banned.map(|token| token.0.cast_unsigned());
        self
    }

    /// Makes this token the only one that opens calls.
    pub(super) fn opened_by(mut self, token: Option<LlamaToken>) -> Self {
        self.opens = token.map(|token| token.0.cast_unsigned());
        if self.opens.is_some() {
            self.parser = self.parser.opened_by_token();
        }
        self
    }

    /// Makes only these tokens, and no text like theirs, a part of what opens a call.
    pub(super) fn opened_in_part_by(mut self, parts: &[(LlamaToken, String)]) -> Self {
        let id = |token: LlamaToken| token.0.cast_unsigned();
        self.parts = parts.iter().map(|(token, text)| (id(*token), text.clone())).collect();
        self.parser = self.parser.guarding(parts.iter().map(|(_, text)| text.clone()).collect());
        self
    }

    /// Allows only these calls.
    pub(super) fn calling(self, calls: Option<Grammar>) -> Self {
        Self { calls, ..self }
    }

    /// Chooses the next token. Returns `None` if no logit is a number.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Option<LlamaToken> {
        let is_call = !matches!(self.guide, Guide::None);
        let recent = if is_call { 0 } else { RECENT };
        let recent = &self.generated[self.generated.len().saturating_sub(recent)..];
        let free = Limits { allowed: None, banned: self.banned, recent };
        // A trained model seldom wants a forbidden token, and checking one token is faster than
        // checking all.
        if let Guide::Follows { guide, .. } = &mut self.guide
            && self.sampler.is_greedy()
            && let Some(token) = self.sampler.choose(logits, free)
            && guide.allows(token)
        {
            return i32::try_from(token).ok().map(LlamaToken);
        }
        let allowed = match &mut self.guide {
            Guide::Follows { guide, .. } => guide.allowed(),
            Guide::None | Guide::Unconstrained => None,
        };
        if is_call && allowed.is_none() {
            self.guide = Guide::Unconstrained;
        }
        let token = self.sampler.choose(logits, Limits { allowed: allowed.as_ref(), ..free })?;
        i32::try_from(token).ok().map(LlamaToken)
    }

    /// Adds the chosen token and its bytes.
    pub(super) fn take(&mut self, token: LlamaToken, bytes: &[u8], deltas: &Deltas) -> Flow {
        let id = token.0.cast_unsigned();
        if let Guide::Follows { guide, .. } = &mut self.guide
            && !guide.take(id)
        {
            self.guide = Guide::Unconstrained;
        }
        self.receive(id, bytes, deltas);
        let is_open = !matches!(self.guide, Guide::None);
        match self.parser.open_block() {
            None => self.guide = Guide::None,
            Some(_) if is_open => (),
            Some(body) => {
                let begin = self.generated.len();
                let guide = self.calls.as_ref().and_then(|calls| calls.begin(body));
                self.guide = guide.map_or(Guide::Unconstrained, |guide| Guide::Follows {
                    guide: Box::new(guide),
                    begin: body.is_empty().then_some(begin),
                });
            }
        }
        self.flow()
    }

    /// Returns the tokens that must follow the last one, at most `max`, and adds them. They need no
    /// logits, so they are decoded together with it. [`flow`](Self::flow) then returns whether the
    /// completion continues.
    pub(super) fn forced(
        &mut self,
        vocabulary: &Vocabulary<'_>,
        max: usize,
        deltas: &Deltas,
    ) -> Vec<LlamaToken> {
        let Guide::Follows { guide, begin } = &mut self.guide else { return Vec::new() };
        let text = guide.forced();
        // The rest follows in the next step, because a schema may force a long text and all streams
        // wait for its tokens.
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
            self.receive(token.0.cast_unsigned(), &vocabulary.bytes(*token), deltas);
        }
        if self.parser.open_block().is_none() {
            self.guide = Guide::None;
        }
        tokens
    }

    /// Returns whether the completion continues.
    pub(super) fn flow(&self) -> Flow {
        let has_call = !self.completion.tool_calls.is_empty();
        let is_over =
            self.is_repeated || self.parser.is_stopped() || (has_call && !self.has_parallel_calls);
        if is_over { Flow::Ended } else { Flow::GoesOn }
    }

    fn receive(&mut self, token: u32, bytes: &[u8], deltas: &Deltas) {
        self.generated.push(token);
        self.is_repeated |= self.repetition.is_circle(token);
        let mut found = Vec::new();
        let opens = self.opens == Some(token);
        let part = self.parts.get(&token);
        if opens || part.is_some() {
            let rest = self.utf8.finish();
            self.parser.push(&rest, &mut found);
        }
        if let Some(part) = part {
            self.parser.push_token(part, &mut found);
        } else if !(opens && self.parser.open_call(&mut found)) {
            let text = self.utf8.push(bytes);
            self.parser.push(&text, &mut found);
        }
        self.keep(found, deltas);
    }

    /// Reads the rest after the last token.
    pub(super) fn finish(&mut self, was_cut_off: bool, deltas: &Deltas) {
        let mut found = Vec::new();
        let rest = self.utf8.finish();
        self.parser.push(&rest, &mut found);
        // If the answer repeats itself, even the readable part of a call is not meant.
        self.parser.finish(was_cut_off || self.is_repeated, &mut found);
        self.keep(found, deltas);
    }

    fn keep(&mut self, found: Vec<Segment>, deltas: &Deltas) {
        for found in found {
            let is_over = !self.has_parallel_calls && !self.completion.tool_calls.is_empty();
            match found {
                // Text after the only call is dropped.
                _ if is_over => (),
                Segment::Text(text) => {
                    deltas.text(&text);
                    self.completion.text.push_str(&text);
                }
                Segment::Thinking(text) => deltas.push(CompletionDelta::Thinking(&text)),
                // A call that cannot be read is refused, and the model reads why.
                Segment::Call(call) | Segment::Malformed(call) => {
                    self.completion.tool_calls.push(call)
                }
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
        let finish = if has_calls { FinishReason::ToolCalls } else { finish };
        Ok(Completion { finish, usage, ..self.completion })
    }
}

/// Tokenizes a text that follows these tokens, so that both together are cut as in training.
/// Returns `None` if the tokens of both do not begin with these.
fn continued(vocabulary: &Vocabulary<'_>, block: &[u32], text: &str) -> Option<Vec<LlamaToken>> {
    let block: Vec<LlamaToken> =
        block.iter().map(|token| LlamaToken(token.cast_signed())).collect();
    let bytes: Vec<u8> = block.iter().flat_map(|token| vocabulary.bytes(*token)).collect();
    let whole = format!("{}{text}", std::str::from_utf8(&bytes).ok()?);
    vocabulary.tokenize_call(&whole)?.strip_prefix(&*block).map(<[LlamaToken]>::to_vec)
}
