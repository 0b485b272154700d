//! The tokens of a model: text to tokens and back, without ever asking llama.cpp something that it would abort on.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use llama_cpp_2::{
    model::LlamaModel, token::LlamaToken, token_type::LlamaTokenAttr, vocab::LlamaVocab,
};
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use super::{family::Family, spans::Span};

/// The vocabulary of a model.
#[derive(Debug)]
pub(super) struct Vocabulary<'m> {
    vocab: LlamaVocab<'m>,
    /// Texts that must not come out of untrusted text: those of all control tokens, and what the family means
    /// something by.
    pub(super) markers: Vec<String>,
    /// Tokens that are written out although they are control tokens, because the parser waits for them.
    spoken: HashSet<LlamaToken>,
    /// Those of them that stand inside calls.
    inner: HashSet<LlamaToken>,
    /// The mark that the family writes inside calls.
    inner_mark: Option<&'static str>,
    /// The token that opens a call, where there is one.
    pub(super) call_open: Option<LlamaToken>,
    pub(super) bos: String,
    pub(super) eos: String,
    texts: HashMap<String, LlamaToken>,
}

impl<'m> Vocabulary<'m> {
    pub(super) fn of(model: &'m LlamaModel) -> Self {
        let vocab = model.vocab();
        let mut markers = Vec::new();
        let mut texts = HashMap::new();
        for token in vocab.tokens() {
            let attributes = vocab.attr(token);
            let is_control =
                attributes.intersects(LlamaTokenAttr::Control | LlamaTokenAttr::Unknown);
            if !is_control && !attributes.contains(LlamaTokenAttr::UserDefined) {
                continue;
            }
            let Some(text) = vocab.text(token).and_then(|text| text.to_str().ok()) else {
                continue;
            };
            if is_control {
                markers.push(text.to_owned());
            }
            texts.insert(text.to_owned(), token);
        }
        let name = |token: LlamaToken| {
            let text = if token.0 < 0 { None } else { vocab.text(token) };
            text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let (bos, eos) = (name(vocab.bos()), name(vocab.eos()));
        let (spoken, inner) = (HashSet::new(), HashSet::new());
        Self { vocab, markers, spoken, inner, inner_mark: None, call_open: None, bos, eos, texts }
    }

    /// Speaks as this family does.
    pub(super) fn of_family(mut self, family: &Family) -> Self {
        let token = |text: &str| self.texts.get(text).copied();
        self.call_open = family.marker().and_then(token);
        self.inner_mark = family.inner();
        self.inner = family.inner().and_then(token).into_iter().collect();
        // A marker of several tokens is spoken by its first one.
        let begins = |marker: &str| {
            self.texts
                .iter()
                .filter(|(text, _)| marker.starts_with(*text))
                .map(|(_, token)| *token)
                .collect::<Vec<_>>()
        };
        self.spoken = family.spoken().flat_map(begins).chain(self.inner.iter().copied()).collect();
        self.markers.extend(family.markers().map(str::to_owned));
        self.markers.sort_unstable();
        self.markers.dedup();
        self
    }

    /// Whether there is a special token with this text.
    pub(super) fn has(&self, text: &str) -> bool {
        self.texts.contains_key(text)
    }

    /// The tokens of a prompt, with the one that begins it where the model wants that.
    pub(super) fn tokenize(&self, spans: &[Span]) -> Vec<LlamaToken> {
        let mut tokens = self.tokenize_behind(spans);
        let bos = self.vocab.bos();
        if self.vocab.should_add_bos() && bos.0 >= 0 && tokens.first() != Some(&bos) {
            tokens.insert(0, bos);
        }
        tokens
    }

    /// The tokens of a part of a prompt that stands behind others.
    pub(super) fn tokenize_behind(&self, spans: &[Span]) -> Vec<LlamaToken> {
        let tokens =
            |span: &Span| self.vocab.tokenize(span.text.as_bytes(), false, span.has_control);
        spans.iter().flat_map(tokens).collect()
    }

    /// The tokens of a text inside a call, in which the family's own mark is meant; `None` where they spell another text,
    /// as some tokenizers begin every text with a blank.
    pub(super) fn tokenize_call(&self, text: &str) -> Option<Vec<LlamaToken>> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let mark = self.inner_mark.and_then(|mark| Some((rest.find(mark)?, mark)));
            let (plain, mark) = mark.map_or((rest, ""), |(at, mark)| (&rest[..at], mark));
            for (piece, is_meant) in [(plain, false), (mark, true)] {
                if !piece.is_empty() {
                    tokens.extend(self.vocab.tokenize(piece.as_bytes(), false, is_meant));
                }
            }
            rest = &rest[plain.len() + mark.len()..];
        }
        let spelled: Vec<u8> = tokens.iter().flat_map(|token| self.bytes(*token)).collect();
        (spelled == text.as_bytes()).then_some(tokens)
    }

    /// The bytes that a generated token stands for; none for a control token.
    pub(super) fn bytes(&self, token: LlamaToken) -> Vec<u8> {
        self.vocab.token_to_piece(token, self.spoken.contains(&token), None)
    }

    /// What the grammars must know of the tokens. Special tokens never stand inside a call, but for the family's own.
    pub(super) fn token_environment(&self) -> TokEnv {
        let id = |token: LlamaToken| u32::try_from(token.0).ok();
        let word = |token: LlamaToken| {
            let is_inner = self.inner.contains(&token);
            let bytes = self.vocab.token_to_piece(token, is_inner, None);
            if !bytes.is_empty() && (is_inner || !self.spoken.contains(&token)) {
                return bytes;
            }
            let name = self.vocab.token_to_piece(token, true, None);
            if name.is_empty() {
                name
            } else {
                [&[TokTrie::SPECIAL_TOKEN_MARKER][..], &name].concat()
            }
        };
        let words: Vec<Vec<u8>> = self.vocab.tokens().map(word).collect();
        let ends: Vec<u32> =
            self.vocab.tokens().filter(|token| self.ends(*token)).filter_map(id).collect();
        let len = u32::try_from(words.len()).expect("llama.cpp counts tokens in 31 bits");
        let info = TokRxInfo::new(len, ends.first().copied().unwrap_or_default());
        Arc::new(ApproximateTokEnv::new(TokTrie::from(&info, &words).with_eos_tokens(&ends)))
    }

    /// Whether a token ends the answer.
    pub(super) fn ends(&self, token: LlamaToken) -> bool {
        self.vocab.is_eog(token)
    }
}
