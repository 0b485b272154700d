//! Converts between text and a model's tokens, without the calls on which llama.cpp would abort.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use llama_cpp_2::{
    model::LlamaModel, token::LlamaToken, token_type::LlamaTokenAttr, vocab::LlamaVocab,
};
use madang_parser::family::Family;
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use super::{
    letters::Letters,
    markers::{Markers, Special},
    pieces::pieces,
    spans::Span,
};

/// The vocabulary of a model.
#[derive(Debug)]
pub(super) struct Vocabulary<'m> {
    vocab: LlamaVocab<'m>,
    /// Texts that must not come out of untrusted text: those of special tokens, and those that mean
    /// something in the family or the template.
    pub(super) markers: Markers,
    specials: Vec<Special>,
    /// Tokens that no text becomes.
    unread: HashSet<LlamaToken>,
    letters: Letters,
    reading: Reading,
    /// Control tokens that are written out because the parser waits for them.
    spoken: HashSet<LlamaToken>,
    /// Those of them that may be inside calls, with their texts.
    inner: Vec<(String, LlamaToken)>,
    /// The token that opens a call. `None` if the model has none.
    pub(super) call_open: Option<LlamaToken>,
    /// The tokens that are parts of what opens a call, with their texts, if no single token opens
    /// one.
    pub(super) opening_parts: Vec<(LlamaToken, String)>,
    pub(super) bos: String,
    pub(super) eos: String,
    texts: HashMap<String, LlamaToken>,
    /// How many tokens of a prompt are of use. A longer one need not be read to its end.
    room: usize,
}

/// How text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// By llama.cpp, in pieces.
    Pieces,
    /// By llama.cpp at once. Its other tokenizers use no expressions, and some begin every text
    /// with a blank.
    Whole,
    /// Character by character, because llama.cpp would abort on two blanks in a row.
    Letters,
}

/// The tokenizers of llama.cpp that find words with expressions.
const WITH_EXPRESSIONS: [&str; 4] = ["gpt2", "hybriddna", "whitespace", "gemma4"];

impl Reading {
    /// Chooses by the metadata of the file, because the binding panics on some vocabularies.
    fn of(model: &LlamaModel) -> Self {
        let is = |key: &str, value: &str| model.meta_val_str(key).is_ok_and(|is| is == value);
        if !WITH_EXPRESSIONS.iter().any(|name| is("tokenizer.ggml.model", name)) {
            Self::Whole
        } else if is("tokenizer.ggml.pre", "whitespace") {
            Self::Letters
        } else {
            Self::Pieces
        }
    }
}

impl<'m> Vocabulary<'m> {
    /// Reads the vocabulary. Returns `None` if it has too many special tokens to search for.
    pub(super) fn of(model: &'m LlamaModel) -> Option<Self> {
        let vocab = model.vocab();
        let mut specials = Vec::new();
        let mut unread = HashSet::new();
        let mut texts = HashMap::new();
        let mut letters = Letters::default();
        for token in vocab.tokens() {
            let attributes = vocab.attr(token);
            let has = |attribute: LlamaTokenAttr| attributes.contains(attribute);
            let text = vocab.text(token).and_then(|text| text.to_str().ok());
            // Some vocabularies mark tokens of many blanks or lines as special, although these have
            // no other meaning.
            let is_blank = text.is_some_and(|text| text.trim_matches(is_blank).is_empty());
            let is_defined = has(LlamaTokenAttr::UserDefined) && !is_blank;
            if has(LlamaTokenAttr::Control) || is_defined {
                unread.insert(token);
            } else if !has(LlamaTokenAttr::Unknown) && !has(LlamaTokenAttr::Unused) {
                let bytes = vocab.token_to_piece(token, false, None);
                letters.take(&bytes, token, has(LlamaTokenAttr::Byte));
            }
            let is_special = attributes.intersects(
                LlamaTokenAttr::Control | LlamaTokenAttr::Unknown | LlamaTokenAttr::UserDefined,
            );
            let Some(text) = text.filter(|_| is_special) else { continue };
            texts.insert(text.to_owned(), token);
            if !has(LlamaTokenAttr::UserDefined) || !is_blank {
                let strips = [has(LlamaTokenAttr::LStrip), has(LlamaTokenAttr::RStrip)];
                specials.push(Special { text: text.to_owned(), token, strips });
            }
        }
        let name = |token: LlamaToken| {
            let text = if token.0 < 0 { None } else { vocab.text(token) };
            text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let bos = name(vocab.bos());
        let eos = name(vocab.eos());
        Some(Self {
            reading: Reading::of(model),
            markers: Markers::new(specials.clone(), [])?,
            vocab,
            specials,
            unread,
            letters,
            spoken: HashSet::new(),
            inner: Vec::new(),
            call_open: None,
            opening_parts: Vec::new(),
            bos,
            eos,
            texts,
            room: usize::MAX,
        })
    }

    /// Adds the markers of this family, what opens calls of no family, and these frames. Returns
    /// `None` if they are too many.
    pub(super) fn of_family(
        mut self,
        family: &Family,
        foreign: Option<&str>,
        frames: &[String],
    ) -> Option<Self> {
        let token = |text: &str| self.texts.get(text).copied();
        self.call_open = family.marker().and_then(token);
        if self.call_open.is_none() {
            let own = family.marker().into_iter().chain(family.header_marks());
            let mut openings: Vec<&str> = own.collect();
            openings.extend(foreign);
            let is_part = |text: &&String| {
                !text.trim_matches(is_blank).is_empty()
                    && openings.iter().any(|opening| opening.contains(&***text))
            };
            let parts = self.texts.iter().filter(|(text, _)| is_part(text));
            self.opening_parts = parts.map(|(text, token)| (*token, text.clone())).collect();
        }
        let is_inner = |text: &&String| {
            !text.trim_matches(is_blank).is_empty()
                && family.inner().any(|inner| inner.contains(&***text))
        };
        let inner = self.texts.iter().filter(|(text, _)| is_inner(text));
        self.inner = inner.map(|(text, token)| (text.clone(), *token)).collect();
        // A marker of several tokens is written out with each of them.
        let parts = |marker: &str| {
            self.texts
                .iter()
                .filter(|(text, _)| marker.contains(*text))
                .map(|(_, token)| *token)
                .collect::<Vec<_>>()
        };
        let inner = self.inner.iter().map(|(_, token)| *token);
        let mut spoken: Vec<&str> = family.spoken().collect();
        spoken.extend(foreign);
        self.spoken = spoken.into_iter().flat_map(parts).chain(inner).collect();
        let mut marks: Vec<&str> = family.markers().collect();
        marks.extend(foreign);
        let marks = marks.into_iter().map(str::to_owned);
        let frames = marks.chain(frames.iter().cloned());
        self.markers = Markers::new(std::mem::take(&mut self.specials), frames)?;
        Some(self)
    }

    /// Stops reading a prompt after this many tokens.
    pub(super) fn with_room(self, room: usize) -> Self {
        Self { room, ..self }
    }

    /// Returns whether a special token has this text.
    pub(super) fn has(&self, text: &str) -> bool {
        self.texts.contains_key(text)
    }

    /// Tokenizes a prompt, with the token that begins it if the model wants one.
    pub(super) fn tokenize(&self, spans: &[Span]) -> Vec<LlamaToken> {
        let mut tokens = self.tokenize_behind(spans);
        let bos = self.vocab.bos();
        if self.vocab.should_add_bos() && bos.0 >= 0 && tokens.first() != Some(&bos) {
            tokens.insert(0, bos);
        }
        tokens
    }

    /// Tokenizes a part of a prompt that follows others.
    pub(super) fn tokenize_behind(&self, spans: &[Span]) -> Vec<LlamaToken> {
        let mut tokens = Vec::new();
        for span in spans {
            if tokens.len() > self.room {
                break;
            }
            match span {
                Span::Special(token) => tokens.push(*token),
                Span::Text(text) => self.read(text, &mut tokens),
                Span::Letters(text) => self.letters.spell(text, &mut tokens),
            }
        }
        tokens
    }

    /// Tokenizes a text without any special token.
    fn read(&self, text: &str, tokens: &mut Vec<LlamaToken>) {
        match self.reading {
            Reading::Pieces => {
                for piece in pieces(text) {
                    if tokens.len() > self.room {
                        break;
                    }
                    self.read_piece(piece, tokens);
                }
            }
            Reading::Whole => self.read_piece(text, tokens),
            Reading::Letters => self.letters.spell(text, tokens),
        }
    }

    fn read_piece(&self, piece: &str, tokens: &mut Vec<LlamaToken>) {
        let read = self.vocab.tokenize(piece.as_bytes(), false, false);
        // In a hostile vocabulary, the characters between markers could merge into a special token.
        if read.iter().any(|token| self.unread.contains(token)) {
            self.letters.spell(piece, tokens);
        } else {
            tokens.extend(read);
        }
    }

    /// Tokenizes a text inside a call, with the family's own mark. Returns `None` if the tokens
    /// spell another text, since some tokenizers begin every text with a blank.
    pub(super) fn tokenize_call(&self, text: &str) -> Option<Vec<LlamaToken>> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let marks = self
                .inner
                .iter()
                .filter_map(|(text, token)| Some((rest.find(text)?, Reverse(text.len()), *token)));
            // Of those that begin at the same character the longest is meant.
            let mark = marks.min_by_key(|(at, len, _)| (*at, *len));
            let plain = &rest[..mark.map_or(rest.len(), |(at, ..)| at)];
            if !plain.is_empty() {
                self.read(plain, &mut tokens);
            }
            rest = &rest[plain.len()..];
            if let Some((_, Reverse(len), token)) = mark {
                tokens.push(token);
                rest = &rest[len..];
            }
        }
        let spelled: Vec<u8> = tokens.iter().flat_map(|token| self.bytes(*token)).collect();
        (spelled == text.as_bytes()).then_some(tokens)
    }

    /// Returns the bytes of a generated token. A control token has none.
    pub(super) fn bytes(&self, token: LlamaToken) -> Vec<u8> {
        self.vocab.token_to_piece(token, self.spoken.contains(&token), None)
    }

    /// Describes the tokens for the grammars. Of the special tokens, only the family's own may be
    /// inside a call.
    pub(super) fn token_environment(&self) -> TokEnv {
        let id = |token: LlamaToken| u32::try_from(token.0).ok();
        let word = |token: LlamaToken| {
            let is_inner = self.inner.iter().any(|(_, inner)| *inner == token);
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

    /// Returns whether a token ends the answer.
    pub(super) fn ends(&self, token: LlamaToken) -> bool {
        self.vocab.is_eog(token)
    }
}

/// Returns whether a character is a blank. Some vocabularies write a blank as a mark of its own.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{2581}'
}
