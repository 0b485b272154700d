//! Several models in one runtime. Each turn asks the model that it chose, or the next one where
//! that is overloaded or unreachable and has said nothing. Messages and calls say which model they
//! come from.
//!
//! `Three` is a runtime with three models that the test drives by hand.
//!
//! - `choice` tests which model a turn asks, and `fallback` when the next one follows.
//! - `apart` tests that the queue and the faults of a model concern no other.
//! - `none` tests a runtime without a model.
//! - `restarts` tests a turn that goes on with the models of the next runtime.

mod apart;
mod choice;
mod fallback;
mod none;
mod restarts;

use madang::{
    Limits, ModelName, Runtime, Session, TurnOptions,
    event::Content,
    model::{Completion, CompletionRequest, PromptMessage},
    tool::WantedCall,
};
use madang_testing::{
    FakeTool, HandCompletion, HandDrivenModel, HandScript, MemoryStore, model_pair,
};

fn name(name: &str) -> ModelName {
    ModelName::new(name).unwrap()
}

fn asking(model: &str) -> TurnOptions {
    TurnOptions { model: Some(name(model)), ..TurnOptions::default() }
}

/// Three models that are driven by hand: the first without a name, then `second` and `third`.
struct Three {
    runtime: Runtime,
    session: Session,
    scripts: [HandScript; 3],
}

impl Three {
    async fn new() -> Self {
        Self::of([model_pair(), model_pair(), model_pair()], Limits::default()).await
    }

    async fn of(pairs: [(HandDrivenModel, HandScript); 3], limits: Limits) -> Self {
        let [(first, one), (second, two), (third, three)] = pairs;
        let builder = Runtime::builder().model(first);
        let builder = builder.add_model("second", second).add_model("third", third);
        let builder = builder.store(MemoryStore::new()).limits(limits).tool(FakeTool::read("look"));
        let runtime = builder.start().await.unwrap();
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        Self { runtime, session, scripts: [one, two, three] }
    }

    async fn next(&mut self, model: usize) -> HandCompletion {
        self.scripts[model].next().await
    }

    /// Ends the runtime, which has asked no model but those that the test saw.
    async fn shutdown(mut self) {
        self.runtime.shutdown().await.unwrap();
        assert!(self.scripts.iter_mut().all(|script| script.try_next().is_none()));
    }
}

/// The models that spoke in a chat, with what they said.
async fn said(session: &Session) -> Vec<(Option<String>, String)> {
    let messages = session.state().await.unwrap().messages;
    let said = messages.iter().filter_map(|message| {
        let Content::Model { text, model, .. } = &message.content else { return None };
        Some((model.as_ref().map(ToString::to_string), text.to_string()))
    });
    said.collect()
}

fn by(model: &str, text: &str) -> (Option<String>, String) {
    (Some(model.to_owned()), text.to_owned())
}

fn call(opaque: Option<&str>) -> Completion {
    let call = WantedCall { opaque: opaque.map(Into::into), ..WantedCall::new("look", "{}") };
    Completion { tool_calls: vec![call], ..Completion::default() }
}

/// What a model gets back with its calls.
fn given_back(request: &CompletionRequest) -> Vec<Option<&str>> {
    let opaque = request.messages.iter().filter_map(|message| match message {
        PromptMessage::ToolCall { opaque, .. } => Some(opaque.as_deref()),
        PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
    });
    opaque.collect()
}
