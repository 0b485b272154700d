//! Plans what the model asks the remote tools for. The plan is the user's text, so the next process
//! gets the same answer.

use madang::model::{Completion, ModelError, PromptMessage};
use serde_json::{Value, json};

use crate::{
    dice::Dice,
    named::named,
    workload::{asking, last_turn},
};

named! {
    /// A tool of the server.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum RemoteTool {
        /// Writes, and must not be repeated.
        Note = "note",
        /// Only reads.
        Look = "look",
        /// Destructive: a person is asked.
        Shred = "shred",
    }
}

/// The name of the server in its configuration.
pub(super) const SERVER: &str = "far";

impl RemoteTool {
    /// Finds the tool that a model calls so.
    pub(super) fn called(name: &str) -> Option<Self> {
        Self::named(name.strip_prefix(SERVER)?.strip_prefix("__")?)
    }

    /// Describes it as the server lists it.
    pub(super) fn listed(self) -> Value {
        let name = self.name();
        let properties = json!({ "token": { "type": "string" } });
        json!({
            "name": name,
            "description": format!("Does {name}."),
            "inputSchema": { "type": "object", "properties": properties, "required": ["token"] },
            "annotations": { "readOnlyHint": self == Self::Look, "destructiveHint": self == Self::Shred },
        })
    }
}

/// Draws the user's text: some calls, each with a token that no other has.
pub(super) fn draw(dice: &mut Dice, name: &str) -> String {
    let call = |number: u64, dice: &mut Dice| {
        let tools = [RemoteTool::Note, RemoteTool::Note, RemoteTool::Look, RemoteTool::Shred];
        format!("{}:{name}.{number}", dice.pick(&tools).name())
    };
    let calls: Vec<_> = (0..=dice.below(4)).map(|number| call(number, dice)).collect();
    calls.join(" ")
}

/// Asks for the calls of the user's last text, two in a round at most.
#[expect(clippy::unnecessary_wraps, reason = "another plan says that the model fails")]
pub(super) fn follow(messages: &[PromptMessage]) -> Result<Completion, ModelError> {
    let (text, ended) = last_turn(messages).unwrap_or_default();
    let calls = text.split(' ').filter_map(|call| call.split_once(':')).skip(ended);
    let named = calls.map(|(tool, token)| (format!("{SERVER}__{tool}"), token));
    Ok(asking(named.take(2)))
}
