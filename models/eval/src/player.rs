//! Plays the turns that a case gives, and passes the others to the judged model, with ids that are
//! the same in every run.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use madang::{
    model::{
        Caveat, ChatModel, Completion, CompletionRequest, Deltas, FinishReason, ModelError,
        ModelInfo, PromptMessage, Unconstrained, Usage,
    },
    tool::{BoxFuture, ToolSpec, WantedCall},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    aliases::Aliases,
    arguments::{NamedResults, example_of},
    case::{Call, Played},
};

/// The model of a case. Clones share the turns to play.
#[derive(Debug, Clone)]
pub(crate) struct Player {
    model: Arc<dyn ChatModel>,
    state: Arc<Mutex<PlayerState>>,
}

#[derive(Debug)]
struct PlayerState {
    aliases: Aliases,
    steps: VecDeque<Step>,
    known: NamedResults,
    /// The name of the last played call, whose result comes with the next request.
    awaited: Option<String>,
}

/// One played completion.
#[derive(Debug)]
enum Step {
    Call(Call),
    Say(String),
}

impl Player {
    /// Creates a player in front of this model, with these ids.
    pub(crate) fn new(model: Arc<dyn ChatModel>, aliases: Aliases) -> Self {
        let state = PlayerState {
            aliases,
            steps: VecDeque::new(),
            known: NamedResults::new(),
            awaited: None,
        };
        Self { model, state: Arc::new(Mutex::new(state)) }
    }

    /// Plays this in the next turn; its references use these results.
    pub(crate) fn play(&self, played: &Played, known: &NamedResults) {
        let mut state = self.state();
        let calls = played.calls.iter().cloned().map(Step::Call);
        state.steps = calls.chain([Step::Say(played.say.clone())]).collect();
        state.known = known.clone();
        state.awaited = None;
    }

    fn state(&self) -> MutexGuard<'_, PlayerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlayerState {
    /// Returns the next played completion; `None` if the model answers itself.
    fn next(&mut self, messages: &[PromptMessage]) -> Option<Result<Completion, ModelError>> {
        if let Some(name) = self.awaited.take()
            && let Some(PromptMessage::ToolCall { envelope, .. }) = messages.last()
            && let Ok(mut envelope) = serde_json::from_str::<Value>(envelope)
        {
            self.known.insert(name, envelope["data"].take());
        }
        Some(match self.steps.pop_front()? {
            Step::Say(text) => Ok(completion(text, Vec::new(), FinishReason::Stop)),
            Step::Call(call) => match example_of(&call.arguments, &self.known) {
                Ok(arguments) => {
                    self.awaited = call.known_as;
                    let arguments = Value::from(arguments).to_string();
                    let wanted = WantedCall::new(call.name, arguments);
                    Ok(completion(String::new(), vec![wanted], FinishReason::ToolCalls))
                }
                Err(path) => Err(ModelError::failed(format!("NoResult({path})"))),
            },
        })
    }
}

fn completion(text: String, tool_calls: Vec<WantedCall>, finish: FinishReason) -> Completion {
    Completion { text, tool_calls, finish, usage: Usage::default(), left_out: 0 }
}

impl ChatModel for Player {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let played = self.state().next(&request.messages);
        if let Some(completion) = played {
            return Box::pin(async move { completion });
        }
        let aliases = &mut self.state().aliases;
        let messages = request.messages.iter().map(|message| aliases.show(message)).collect();
        let request = CompletionRequest { messages: Arc::new(messages), ..request };
        Box::pin(async move {
            let completion = self.model.complete(request, deltas, cancel).await?;
            Ok(self.state().aliases.mean(completion))
        })
    }

    fn unconstrained(&self, tools: &[ToolSpec]) -> Vec<Unconstrained> {
        self.model.unconstrained(tools)
    }

    fn caveats(&self) -> Vec<Caveat> {
        self.model.caveats()
    }
}
