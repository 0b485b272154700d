//! The families of models that are known: how each opens, writes and closes a tool call, what frames its messages, and
//! what tells it of its tools. One file a family; everything else is the same code for all.

mod envelope;
mod function_gemma;
mod gemma3;
mod gemma4;
mod hermes;
mod lfm2;
mod llama3;
mod mistral;

pub(super) use envelope::ENVELOPE;
pub(super) use function_gemma::FUNCTION_GEMMA;
pub(super) use gemma3::GEMMA_3;
pub(super) use gemma4::GEMMA_4;
pub(super) use hermes::HERMES;
pub(super) use lfm2::LFM2;
pub(super) use llama3::LLAMA_3;
pub(super) use mistral::{MISTRAL, MISTRAL_MARKED};

use std::fmt;

use super::call::CallForm;

/// How the models of a family talk.
pub(super) struct Family {
    /// For logs and tests.
    pub(super) name: &'static str,
    pub(super) opening: Opening,
    pub(super) form: CallForm,
    /// What closes a block of calls; the first of it is written into prompts.
    pub(super) closing: &'static [&'static str],
    /// What thinking aloud stands between.
    pub(super) thinking: [&'static str; 2],
    /// What else means something in a prompt of this family: it must not come out of what others wrote, whether the
    /// vocabulary has a token for it or not.
    pub(super) frames: &'static [&'static str],
    /// How to write a call, for models whose templates list no tools.
    pub(super) instruction: Option<&'static str>,
}

/// What a block of calls begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// A text of its own, anywhere in the answer.
    Marker(&'static str),
    /// The answer is nothing but a call: an object whose first key is this, fenced or not.
    Answer(&'static str),
}

/// All families whose calls can be told from any text, the most particular first. What writes its calls in no such way
/// is talked to in envelopes.
pub(super) const FAMILIES: [&Family; 9] = [
    &GEMMA_4,
    &FUNCTION_GEMMA,
    &LFM2,
    &MISTRAL_MARKED,
    &MISTRAL,
    &HERMES,
    &LLAMA_3,
    &GEMMA_3,
    &ENVELOPE,
];

/// What most models think between.
const THINK: [&str; 2] = ["<think>", "</think>"];

impl Family {
    /// The marker that opens a call.
    pub(super) fn marker(&self) -> Option<&'static str> {
        match self.opening {
            Opening::Marker(marker) => Some(marker),
            Opening::Answer(_) => None,
        }
    }

    /// Markers that a model writes itself, and that the parser waits for.
    pub(super) fn spoken(&self) -> impl Iterator<Item = &'static str> {
        self.marker().into_iter().chain(self.closing.iter().copied()).chain(self.thinking)
    }

    /// Marks that a model writes inside a call, as part of it.
    pub(super) fn inner(&self) -> Option<&'static str> {
        match self.form {
            CallForm::Marked(mark) | CallForm::Braces(mark) => Some(mark),
            CallForm::Object { .. } | CallForm::Objects | CallForm::Python => None,
        }
    }

    /// Everything that means something in a prompt of this family.
    pub(super) fn markers(&self) -> impl Iterator<Item = &'static str> {
        self.spoken().chain(self.inner()).chain(self.frames.iter().copied())
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Family({})", self.name)
    }
}

/// Families are the same if they are the same constant.
impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
