//! Finds the beginning of a prompt before the first word of the chat, with its exact tokens. Users
//! share nothing else.
//!
//! The end of the beginning must not depend on any user's words. A tokenizer may join its last
//! letters with the first ones of a question. A user who saw how much is shared would then learn
//! how another user's question begins. So the border follows from the system text and the tools
//! alone, and a prompt whose letters would join across it is cut there. The instructions of a turn
//! are a user's words too, so the border is before them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use madang_actors::protocol::{CompletionRequest, PromptMessage, ToolSpec};

use super::{hidden::Piece, prompt::PromptWriter};

/// The common beginning of all prompts with the same system text and tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Beginning<T> {
    text: String,
    tokens: Vec<T>,
}

/// Where in the prompt a text is that is tokenized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// At the start, where a model may want a token of its own.
    First,
    /// After other tokens.
    Behind,
}

/// How many candidates for the border are tried, the latest first.
const BORDERS: usize = 16;

impl<T: Clone + PartialEq> Beginning<T> {
    const NONE: Self = Self { text: String::new(), tokens: Vec::new() };

    pub(super) const fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Finds the common beginning of chats that differ only in their words. The border is the last
    /// token border that all of them share, so a usual question is cut as in training.
    fn of(chats: &[Vec<Piece>], tokenize: &impl Fn(&[Piece], Part) -> Vec<T>) -> Self {
        let Some((first, others)) = chats.split_first() else { return Self::NONE };
        let text = text(first);
        let same = |len: usize, other: &Vec<Piece>| common(&text[..len], &self::text(other));
        let text = &text[..others.iter().fold(text.len(), same)];
        let all: Vec<Vec<T>> = chats.iter().map(|chat| tokenize(chat, Part::First)).collect();
        let borders = borders(text).take(BORDERS);
        let fitting = borders.filter_map(|border| {
            let [before, _] = cut(first, border)?;
            let tokens = tokenize(&before, Part::First);
            let is_border = all.iter().all(|chat| chat.starts_with(&tokens));
            is_border.then(|| Self { text: text[..border].to_owned(), tokens })
        });
        fitting.into_iter().next().unwrap_or(Self::NONE)
    }

    /// Tokenizes a prompt, and counts the tokens of the beginning in it: all of them, or none.
    pub(super) fn tokens(
        &self,
        prompt: &[Piece],
        tokenize: &impl Fn(&[Piece], Part) -> Vec<T>,
    ) -> (Vec<T>, usize) {
        let whole = tokenize(prompt, Part::First);
        if whole.starts_with(&self.tokens) {
            return (whole, self.tokens.len());
        }
        match cut(prompt, self.text.len()) {
            Some([before, behind]) if text(&before) == self.text => {
                let tokens = [&*self.tokens, &tokenize(&behind, Part::Behind)].concat();
                (tokens, self.tokens.len())
            }
            Some(_) | None => (whole, 0),
        }
    }
}

/// The latest beginnings.
#[derive(Debug)]
pub(super) struct Beginnings<T> {
    known: Mutex<VecDeque<MetBeginning<T>>>,
}

#[derive(Debug)]
struct MetBeginning<T> {
    system: Option<Arc<str>>,
    tools: Arc<[ToolSpec]>,
    /// Whether the request has instructions. The beginning then ends before them.
    has_instructions: bool,
    beginning: Arc<Beginning<T>>,
}

/// How many beginnings are kept. An application has a few sets of tools and system texts.
const KEPT: usize = 8;
/// The words of the probes that show where the beginning ends, in two scripts and as a number.
const WORDS: [&str; 3] = ["a", "가", "1"];

impl<T> Default for Beginnings<T> {
    fn default() -> Self {
        Self { known: Mutex::default() }
    }
}

impl<T: Clone + PartialEq> Beginnings<T> {
    /// Returns the beginning of this request, as it was at its first use.
    pub(super) fn find(
        &self,
        request: &CompletionRequest,
        writer: &PromptWriter<'_>,
        tokenize: &impl Fn(&[Piece], Part) -> Vec<T>,
    ) -> Arc<Beginning<T>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|known| known.is_of(request));
        let found = found.map(|known| Arc::clone(&known.beginning));
        drop(known);
        found.unwrap_or_else(|| self.learn(request, writer, tokenize))
    }

    /// Returns the present beginning, for a prompt that does not begin with the known one.
    /// Templates may write the date. Returns `None` if the beginning is the same, because the
    /// template then begins this chat in another way.
    pub(super) fn changed(
        &self,
        known: &Beginning<T>,
        request: &CompletionRequest,
        writer: &PromptWriter<'_>,
        tokenize: &impl Fn(&[Piece], Part) -> Vec<T>,
    ) -> Option<Arc<Beginning<T>>> {
        let now = words(writer, WORDS[0])?;
        (!text(&now).starts_with(&known.text)).then(|| self.learn(request, writer, tokenize))
    }

    fn learn(
        &self,
        request: &CompletionRequest,
        writer: &PromptWriter<'_>,
        tokenize: &impl Fn(&[Piece], Part) -> Vec<T>,
    ) -> Arc<Beginning<T>> {
        let chats: Option<Vec<Vec<Piece>>> = WORDS.iter().map(|word| words(writer, word)).collect();
        let beginning = Arc::new(Beginning::of(&chats.unwrap_or_default(), tokenize));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| !known.is_of(request));
        known.push_front(MetBeginning {
            system: request.system.clone(),
            tools: Arc::clone(&request.tools),
            has_instructions: request.instructions.is_some(),
            beginning: Arc::clone(&beginning),
        });
        known.truncate(KEPT);
        beginning
    }
}

impl<T> MetBeginning<T> {
    fn is_of(&self, request: &CompletionRequest) -> bool {
        let has_tools = Arc::ptr_eq(&self.tools, &request.tools) || self.tools == request.tools;
        has_tools
            && self.system == request.system
            && self.has_instructions == request.instructions.is_some()
    }
}

/// Makes a chat with only this text, as its question and as its instructions if it has any, since
/// neither is shared. Returns `None` if the template refuses it.
fn words(writer: &PromptWriter<'_>, text: &str) -> Option<Vec<Piece>> {
    let message = PromptMessage::User { text: text.into() };
    let writer = PromptWriter { instructions: writer.instructions.map(|_| text), ..*writer };
    writer.write(&[&message]).ok().map(|prompt| prompt.pieces)
}

/// Lists possible borders, the latest first: the end, the position before its blanks, and those
/// after lines and marks.
fn borders(text: &str) -> impl Iterator<Item = usize> + '_ {
    let before_blanks = text.trim_end().len();
    let marks = text[..before_blanks].char_indices().rev();
    let behind_marks = marks.filter(|(_, letter)| matches!(letter, '\n' | '>' | ']'));
    let behind_marks = behind_marks.map(|(at, letter)| at + letter.len_utf8());
    let all = [text.len(), before_blanks].into_iter().chain(behind_marks);
    all.filter(|border| *border > 0)
}

/// Cuts a prompt after this many bytes. Returns `None` if no character ends there.
fn cut(prompt: &[Piece], at: usize) -> Option<[Vec<Piece>; 2]> {
    let mut parts = [Vec::new(), Vec::new()];
    let mut left = at;
    for piece in prompt {
        let (before, behind) = piece.text().split_at_checked(left.min(piece.text().len()))?;
        left -= before.len();
        for (part, text) in parts.iter_mut().zip([before, behind]) {
            let text = text.to_owned();
            match piece {
                _ if text.is_empty() => (),
                Piece::Trusted(_) => part.push(Piece::Trusted(text)),
                Piece::Untrusted(_) => part.push(Piece::Untrusted(text)),
            }
        }
    }
    (left == 0).then_some(parts)
}

fn text(prompt: &[Piece]) -> String {
    prompt.iter().map(Piece::text).collect()
}

/// Counts the bytes of whole characters with which both texts begin.
fn common(one: &str, other: &str) -> usize {
    let alike = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    alike.map(|(letter, _)| letter.len_utf8()).sum()
}

#[cfg(test)]
#[path = "tests/beginning.rs"]
mod tests;
