//! The known families of models: how each one opens, writes and closes a tool call, frames its
//! messages and its list of tools.
//!
//! Each family is one constant, in a file of its own or as a row of a table (`marked`, `tagged`,
//! `listed`). All other code is common to them:
//! - [`call`](crate::call) reads and writes calls in the family's form.
//! - The [`Parser`](crate::Parser) finds the family's markers in the stream.
//! - `madang-llama` chooses the family by trying the model's template, in the order of
//!   [`FAMILIES`]. It constrains calls to the family's form, and keeps the family's markers out of
//!   the text of users and tools.
//!
//! A model of no known family uses `envelope`: JSON that the system text describes.
//!
//! Invariants:
//! - The name of a model is not used. A family is known by what the template writes, or by its
//!   marker in the vocabulary.
//! - A more particular form comes before a plainer one, because its calls could be read as the
//!   plainer one.

mod envelope;
mod function_gemma;
mod gemma3;
mod gemma4;
mod gpt_oss;
mod hermes;
mod lfm2;
mod listed;
mod llama3;
mod marked;
mod mistral;
mod tagged;

pub use envelope::ENVELOPE;
pub use function_gemma::FUNCTION_GEMMA;
pub use gemma3::GEMMA_3;
pub use gemma4::GEMMA_4;
pub use gpt_oss::GPT_OSS;
pub use hermes::HERMES;
pub use lfm2::LFM2;
pub use listed::{
    APERTUS, APRIEL, COHERE, GIGACHAT, GIGACHAT_3, GRANITE_3, HYPERCLOVA, NEMOTRON_2,
};
pub use llama3::LLAMA_3;
pub use marked::{DEEPSEEK_R1, DEEPSEEK_V3_1, FUNCTIONARY, KIMI_K2, MISTRAL_MARKED, SOLAR};
pub use mistral::MISTRAL;
pub use tagged::{
    DEEPSEEK_V3_2, DEEPSEEK_V4, GLM, GLM_TIGHT, HY_3, MINICPM_5, MINIMAX_M2, QWEN_CODER, SEED,
};

use crate::{call::CallForm, header::Channels};

/// How the models of one family write.
#[derive(Debug)]
pub struct Family {
    /// The name in logs and tests.
    pub name: &'static str,
    /// What opens a block of calls.
    pub opening: Opening,
    /// The form of its calls.
    pub form: CallForm,
    /// The texts that close a block of calls. Prompts use the first.
    pub closing: &'static [&'static str],
    /// The marks around the model's thinking.
    pub thinking: [&'static str; 2],
    /// Other texts that mean something in this family's prompts. They must not come out of foreign
    /// texts, whether they have a token of their own or not.
    pub frames: &'static [&'static str],
    /// The instruction to write a call, for models whose templates list no tools. `None` if a model
    /// needs none.
    pub instruction: Option<&'static str>,
}

/// The beginning of a block of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// A marker, anywhere in the answer.
    Marker(&'static str),
    /// The header of a message, which names the tool.
    Header(&'static Channels),
    /// The whole answer is a call: an object with this first key, in a fence or not.
    Answer(&'static str),
}

/// All families, the most particular first. A model of no other family uses the last one, the
/// envelope.
pub const FAMILIES: [&Family; 32] = [
    &GEMMA_4,
    &FUNCTION_GEMMA,
    &LFM2,
    &DEEPSEEK_R1,
    &DEEPSEEK_V3_1,
    &KIMI_K2,
    &SOLAR,
    &FUNCTIONARY,
    &GPT_OSS,
    &GRANITE_3,
    &NEMOTRON_2,
    &APRIEL,
    &GIGACHAT,
    &GIGACHAT_3,
    &COHERE,
    &APERTUS,
    &HYPERCLOVA,
    &QWEN_CODER,
    &SEED,
    &MINICPM_5,
    &GLM,
    &GLM_TIGHT,
    &HY_3,
    &MINIMAX_M2,
    &DEEPSEEK_V3_2,
    &DEEPSEEK_V4,
    &MISTRAL_MARKED,
    &MISTRAL,
    &HERMES,
    &LLAMA_3,
    &GEMMA_3,
    &ENVELOPE,
];

/// The usual marks around thinking.
const THINK: [&str; 2] = ["<think>", "</think>"];

impl Family {
    /// Returns the marker that opens a call. Returns `None` if a header or the whole answer does.
    pub fn marker(&self) -> Option<&'static str> {
        match self.opening {
            Opening::Marker(marker) => Some(marker),
            Opening::Header(_) | Opening::Answer(_) => None,
        }
    }

    /// Lists the marks that frame the messages of the model.
    pub fn header_marks(&self) -> impl Iterator<Item = &'static str> {
        let marks = match self.opening {
            Opening::Header(channels) => Some(channels.marks()),
            Opening::Marker(_) | Opening::Answer(_) => None,
        };
        marks.into_iter().flatten()
    }

    /// Lists the markers that a model writes and that the parser waits for.
    pub fn spoken(&self) -> impl Iterator<Item = &'static str> {
        let marks = self.marker().into_iter().chain(self.header_marks());
        marks.chain(self.closing.iter().copied()).chain(self.thinking)
    }

    /// Lists the texts that a model writes inside a block of calls.
    pub fn inner(&self) -> impl Iterator<Item = &'static str> {
        // If a block may have several calls, the closing marker or another call may follow each.
        let has_closing = self.form.separator().is_some();
        let closing = self.closing.iter().copied().filter(move |_| has_closing);
        let texts = self.form.texts().into_iter().chain(closing);
        texts.map(str::trim).filter(|text| !text.is_empty())
    }

    /// Lists all texts that mean something in this family's prompts.
    pub fn markers(&self) -> impl Iterator<Item = &'static str> {
        // Other texts mean something only next to these.
        let is_mark = |text: &&str| text.len() > 3 && text.contains(['<', '[']);
        self.spoken().chain(self.inner().filter(is_mark)).chain(self.frames.iter().copied())
    }
}

/// Compares families by their names.
impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

#[cfg(test)]
mod tests;
