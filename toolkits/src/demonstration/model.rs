//! The model around the demonstration model.

use std::{mem, sync::Arc};

use madang::{
    LanguageTag,
    model::{
        Caveat, ChatModel, Completion, CompletionRequest, Deltas, FinishReason, ModelError,
        ModelInfo, Unconstrained,
    },
    tool::{BoxFuture, Locale, ToolSpec},
};
use tokio_util::sync::CancellationToken;

use super::{
    grounds::{grounded, unclear, without_repeated},
    offered::{Offered, is_first_answer, knows_none, knows_some},
    past_call::PastCalls,
    placeholder::Placeholder,
    prompt::restored,
    rendering::render,
    speech::Speech,
};

/// A model for the toolkits, which leaves to code what it says of data.
///
/// It wraps a model that was trained to do so. An answer that is no placeholder is passed on as it
/// is, so any model may be wrapped, but a larger one has no use for it.
#[derive(Debug)]
pub struct Demonstration<M> {
    model: M,
}

impl<M: ChatModel> Demonstration<M> {
    /// Wraps a model.
    #[must_use]
    pub const fn new(model: M) -> Self {
        Self { model }
    }

    /// Returns the wrapped model, such as for its statistics. What it says to a chat has
    /// placeholders in it.
    #[must_use]
    pub const fn inner(&self) -> &M {
        &self.model
    }
}

impl<M: ChatModel> ChatModel for Demonstration<M> {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let locale = locale_of(request.language);
        let (tools, first) = match Offered::of(&request.tools) {
            Offered::All(tools) => (tools, None),
            Offered::Some(tools) => {
                let is_first = is_first_answer(&request.messages);
                (tools, is_first.then(|| knows_some(locale)))
            }
            Offered::None => {
                return Box::pin(async move {
                    let words = knows_none(locale);
                    deltas.text(words);
                    Ok(Completion::text(words))
                });
            }
        };
        let speech = Speech::new(deltas, first);
        let chat = request.messages;
        let request = CompletionRequest { messages: restored(&chat), tools, ..request };
        Box::pin(async move {
            let mut completion = self.model.complete(request, speech.deltas(), cancel).await?;
            let calls = mem::take(&mut completion.tool_calls);
            let has_calls = !calls.is_empty();
            let calls: Option<Vec<_>> =
                calls.into_iter().map(|call| grounded(call, &chat)).collect();
            let has_grounds = calls.is_some();
            completion.tool_calls = without_repeated(calls.unwrap_or_default(), &chat);
            if has_calls && completion.tool_calls.is_empty() {
                completion.finish = FinishReason::Stop;
                if completion.text.trim().is_empty() {
                    let text = match has_grounds {
                        // The result of the first call says what became of it.
                        true => render(Placeholder::Outcome, &PastCalls::read(&chat), locale),
                        false => unclear(locale).to_owned(),
                    };
                    let text = speech.end_with(&text);
                    return Ok(Completion { text, ..completion });
                }
            }
            let text = speech.end(completion.text, |placeholder| {
                render(placeholder, &PastCalls::read(&chat), locale)
            });
            Ok(Completion { text, ..completion })
        })
    }

    fn unconstrained(&self, tools: &[ToolSpec]) -> Vec<Unconstrained> {
        match Offered::of(&Arc::from(tools)) {
            Offered::All(known) | Offered::Some(known) => self.model.unconstrained(&known),
            Offered::None => Vec::new(),
        }
    }

    fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = self.model.caveats();
        caveats.push(Caveat::Demonstration);
        caveats
    }
}

/// Returns the language of the texts. There are two.
fn locale_of(language: LanguageTag) -> Locale {
    if language.language() == LanguageTag::KO.language() { Locale::KO } else { Locale::EN }
}
