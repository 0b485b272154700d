//! The completions of a turn: the model is asked with the chat, and its end is taken.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::{debug, error, warn};

use crate::session::{
    state::SessionState,
    turn::{active::AskedCompletion, fall_back::next_model, machine::TurnInput},
};
use crate::{
    port::ModelError,
    protocol::{Completion, CompletionId, EventKind, PromptMessage, PromptSize, Text, TurnError},
};

impl SessionState {
    /// Asks the turn's own model, once the turn has room.
    pub(super) fn complete(&mut self) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.permit.is_some()) {
            turn.model = turn.first_model;
            self.ask_model(Instant::now());
        }
    }

    /// Asks the current model, within the time that began at this moment.
    fn ask_model(&mut self, since: Instant) {
        let messages = self.prompt();
        let Some(turn) = self.turn.as_mut() else { return };
        // Before it is sent: a model that panics leaves a completion that is silenced.
        let asked = turn.completion.insert(AskedCompletion::new(since)).clone();
        self.outbox.ask_model(turn, messages, asked);
    }

    /// Writes the chat for the model that is asked now.
    fn prompt(&mut self) -> Arc<Vec<PromptMessage>> {
        let Some(turn) = &self.turn else { return Arc::default() };
        let outbox = &self.outbox;
        let locale = outbox.locale_of(&turn.options);
        let model = outbox.models().queue(turn.model).name();
        self.chat.prompt(model, outbox.specs(), locale, outbox.limits())
    }

    /// Measures the prompt that the model was asked with.
    fn prompt_size(&mut self) -> PromptSize {
        let messages = self.prompt();
        let turn = self.turn.as_ref();
        let instructions = turn.and_then(|turn| turn.options.instructions.as_deref());
        let before = self.outbox.system().into_iter().chain(instructions);
        PromptSize::of(before, &messages, self.outbox.specs())
    }

    pub(super) fn cancel_completion(&mut self) {
        if let Some(turn) = self.turn.as_mut() {
            turn.cancel_completion();
        }
    }

    pub(in crate::session) fn completed(
        &mut self,
        completion: CompletionId,
        result: Result<Completion, ModelError>,
        has_begun: bool,
    ) {
        let Some(turn) = self.turn.as_mut() else { return };
        let Some(asked) = turn.completion.take_if(|asked| asked.id == completion) else {
            debug!(%completion, "dropped a late completion");
            return;
        };
        let models = self.outbox.models();
        if let Err(error) = &result
            && let Some(next) = next_model(turn.model, models.queues().len(), error, has_begun)
        {
            let of = |index| models.queue(index).name().map(ToString::to_string);
            let model = of(turn.model);
            let next_model = of(next);
            warn!(session = %self.outbox.session(), %completion, model, kind = error.kind(), cause = ?error, next_model, "the next model is asked");
            turn.model = next;
            return self.ask_model(asked.since);
        }
        let spoken = self.outbox.feed().silence();
        let input = match result {
            Ok(Completion { text, tool_calls, usage, left_out, finish }) => {
                self.publish_left_out(left_out);
                TurnInput::Completed { text, calls: self.sharing(tool_calls), usage, finish }
            }
            Err(error) => {
                error!(session = %self.outbox.session(), %completion, kind = error.kind(), cause = ?error, "the model failed");
                let is_too_long = error.kind() == ModelError::PROMPT_TOO_LONG;
                let prompt = is_too_long.then(|| self.prompt_size());
                TurnInput::CompletionFailed { error: turn_error(&error, prompt), spoken }
            }
        };
        self.on(input);
    }

    /// Publishes that the model answered without the oldest messages, if it did.
    fn publish_left_out(&mut self, messages: u32) {
        let Some(turn) = self.turn.as_ref().filter(|_| messages > 0) else { return };
        let text = Text::MessagesLeftOut(messages).in_locale(self.outbox.locale_of(&turn.options));
        self.outbox.publish(turn.id, EventKind::MessagesLeftOut { messages, text });
    }
}

/// Makes the error of a model's failure for a person, with the sizes of a prompt that was too long.
fn turn_error(error: &ModelError, prompt: Option<PromptSize>) -> TurnError {
    match error {
        // Only the model itself can have cancelled a completion that is still awaited.
        ModelError::Cancelled { .. } => TurnError::model(ModelError::ENGINE_DIED),
        ModelError::Failed { kind, said, .. } => {
            let kind = kind.to_string();
            let said = said.clone();
            TurnError::Model { kind, retry_after_ms: None, said, prompt }
        }
        ModelError::Overloaded { retry_after } => TurnError::Model {
            kind: ModelError::OVERLOADED.to_owned(),
            retry_after_ms: retry_after
                .map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
            said: None,
            prompt: None,
        },
    }
}
