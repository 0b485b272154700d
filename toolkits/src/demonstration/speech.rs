//! Passes on what a model says, and holds it back while it may be a placeholder.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use madang::model::{CompletionDelta, Deltas};

use super::placeholder::Placeholder;

/// What comes between the words in front of an answer and the answer.
const GAP: &str = "\n\n";

/// An answer on its way from the model to its reader. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Speech {
    reader: Deltas,
    state: Arc<Mutex<SpeechState>>,
    /// What is said before the answer.
    first: Option<&'static str>,
}

#[derive(Debug, Default)]
struct SpeechState {
    /// The beginning of the answer that may still become a placeholder.
    held: String,
    passes: bool,
    /// Whether the reader knows that the answer has begun.
    has_begun: bool,
}

impl Speech {
    /// Sends what is said to this reader, with these words before the answer.
    pub(super) fn new(reader: Deltas, first: Option<&'static str>) -> Self {
        Self { reader, state: Arc::default(), first }
    }

    /// Returns what the model pushes its answer into.
    pub(super) fn deltas(&self) -> Deltas {
        let this = self.clone();
        Deltas::new(move |delta| match delta {
            CompletionDelta::Text(text) => this.hear(text),
            CompletionDelta::Began | CompletionDelta::Thinking(_) => {
                this.state().has_begun = true;
                this.reader.push(delta);
            }
        })
    }

    fn hear(&self, text: &str) {
        let mut state = self.state();
        if !state.passes {
            state.held.push_str(text);
            if Placeholder::may_begin(&state.held) {
                // A reader waits only so long for a first token.
                let begins = !mem::replace(&mut state.has_begun, true);
                drop(state);
                if begins {
                    self.reader.push(CompletionDelta::Began);
                }
                return;
            }
            state.passes = true;
            let held = mem::take(&mut state.held);
            drop(state);
            self.say(&held);
        } else {
            drop(state);
            self.reader.text(text);
        }
    }

    /// Returns the whole text of an ended answer, and sends what was held back of it: the words
    /// that `render` writes if the answer is a placeholder.
    pub(super) fn end(&self, answer: String, render: impl FnOnce(Placeholder) -> String) -> String {
        let mut state = self.state();
        let held = mem::take(&mut state.held);
        let has_passed = mem::replace(&mut state.passes, true);
        drop(state);
        let (answer, rest) = match Placeholder::of(&answer) {
            Some(placeholder) => {
                let words = render(placeholder);
                (words.clone(), words)
            }
            None => (answer, held),
        };
        if answer.trim().is_empty() {
            return answer;
        }
        if !has_passed && !rest.is_empty() {
            self.say(&rest);
        }
        self.whole(answer)
    }

    /// Sends these words in place of an answer without a text. Returns the whole text.
    pub(super) fn end_with(&self, words: &str) -> String {
        self.say(words);
        self.whole(words.to_owned())
    }

    /// Sends the beginning of the answer, after what is said before it.
    fn say(&self, words: &str) {
        self.reader.text(&self.whole(words.to_owned()));
    }

    /// Returns an answer with what is said before it.
    fn whole(&self, answer: String) -> String {
        match self.first {
            Some(first) => format!("{first}{GAP}{answer}"),
            None => answer,
        }
    }

    fn state(&self) -> MutexGuard<'_, SpeechState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the words from the beginning of an answer, if they stand before it.
pub(super) fn without<'a>(first: &str, answer: &'a str) -> Option<&'a str> {
    answer.strip_prefix(first)?.strip_prefix(GAP)
}
