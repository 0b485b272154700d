//! The form of a case: its rows, the user's texts, and the expected results.

use madang::approval::Decision;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::language::Language;

/// One line of a file of cases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) id: String,
    /// The toolkit of its tools; without that toolkit the case is left out.
    pub(crate) toolkit: String,
    /// The language of the user.
    pub(crate) language: Language,
    pub(crate) kind: Kind,
    /// Calls before the chat, each of which must succeed.
    #[serde(default)]
    pub(crate) setup: Vec<Call>,
    pub(crate) turns: Vec<Turn>,
    /// The rows at the end.
    #[serde(default)]
    pub(crate) rows: Vec<Rows>,
    /// Forbidden calls, beside unexpected writing calls.
    #[serde(default)]
    pub(crate) never: Vec<Never>,
}

/// The subject of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// One call.
    Single,
    /// Several calls that use results of earlier ones.
    Chain,
    /// Nothing may be written, and mostly nothing called.
    Restraint,
    /// The user corrects an earlier text.
    Correction,
    /// The person denies a call.
    Refusal,
    /// A call fails or finds nothing, and the model must say so.
    Error,
    /// Whatever a new user asks first, in the words that come to mind.
    Natural,
}

/// A call: expected, played, or made before the chat, without a model and with the person's
/// approval. Arguments of an expected call may have matchers, those of the others references.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// The name by which a `$ref` finds its result.
    #[serde(rename = "as")]
    pub(crate) known_as: Option<String>,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
    /// Before the chat: the user of the call, if not the person of the case.
    pub(crate) user: Option<String>,
    /// Before the chat: the day of the call, YYYY-MM-DD, if not the day of the case.
    pub(crate) on: Option<String>,
}

/// One turn of the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Turn {
    pub(crate) user: String,
    /// The answers to questions, in order; any further question is denied.
    #[serde(default)]
    pub(crate) decisions: Vec<Answer>,
    /// The model's part, if the case plays it: the same past for every model.
    pub(crate) played: Option<Played>,
    /// All expected calls, in order.
    pub(crate) calls: Option<Vec<Call>>,
    #[serde(default)]
    pub(crate) text: FinalText,
}

/// The played part of the model in a turn: a completion for each call, and one for its text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Played {
    #[serde(default)]
    pub(crate) calls: Vec<Call>,
    pub(crate) say: String,
}

/// An answer to a question.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Approve,
    Deny,
    /// Denies, and tells the model this.
    DenyWith(String),
    /// Approves with these arguments instead.
    Edit(Value),
}

/// The expected text at the end of a turn. Case and the number of spaces make no difference.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinalText {
    /// The text must contain one word of each list.
    #[serde(default)]
    pub(crate) says: Vec<Vec<String>>,
    /// The text must contain none of these.
    #[serde(default)]
    pub(crate) says_not: Vec<String>,
    /// The text must be a question.
    #[serde(default)]
    pub(crate) asks: bool,
}

/// Rows that the database must have; the person's, unless `where` names another `user`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rows {
    pub(crate) table: String,
    /// The columns that select the rows.
    #[serde(default, rename = "where")]
    pub(crate) filter: Map<String, Value>,
    /// The columns that each of them must have.
    #[serde(default)]
    pub(crate) columns: Map<String, Value>,
    /// The number of rows.
    #[serde(default = "one")]
    pub(crate) count: u64,
}

/// A forbidden call.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Never {
    /// Any call.
    Any,
    /// Any call that may write.
    Writes,
    /// Any call of this tool.
    Tool(String),
}

const fn one() -> u64 {
    1
}

impl Answer {
    pub(crate) fn decision(&self) -> Decision {
        match self {
            Self::Approve => Decision::Approve,
            Self::Deny => Decision::Deny,
            Self::DenyWith(message) => Decision::DenyWith { message: message.as_str().into() },
            Self::Edit(arguments) => Decision::Edit { arguments: arguments.clone() },
        }
    }
}

impl Kind {
    /// Returns the name in files and tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Chain => "chain",
            Self::Restraint => "restraint",
            Self::Correction => "correction",
            Self::Refusal => "refusal",
            Self::Error => "error",
            Self::Natural => "natural",
        }
    }
}

impl Case {
    /// Returns a fault of the case that does not depend on the tools.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.turns.iter().all(|turn| turn.played.is_some()) {
            return Some("has no turn in which the model answers".to_owned());
        }
        for (number, turn) in (1..).zip(&self.turns) {
            if turn.played.is_some() == turn.calls.is_some() {
                return Some(format!("needs `calls` or `played` in turn {number}, and not both"));
            }
        }
        let mut known = Vec::new();
        let in_chat = || self.turns.iter().flat_map(Turn::calls);
        if in_chat().any(|call| call.user.is_some() || call.on.is_some()) {
            return Some("says `user` or `on` of a call that is not in its `setup`".to_owned());
        }
        for call in self.setup.iter().chain(in_chat()) {
            let unknown =
                references(&call.arguments).into_iter().find(|name| !known.contains(name));
            if let Some(name) = unknown {
                return Some(format!("refers to `{name}`, which no call before is known as"));
            }
            known.extend(call.known_as.clone());
        }
        None
    }
}

impl Case {
    /// Builds a perfect answer of the model in a turn, in the words that the case asks for.
    pub(crate) fn as_meant(&self, turn: &Turn) -> Played {
        let mut words: Vec<&str> = Vec::new();
        words.extend(turn.text.says.iter().filter_map(|any| any.first()).map(String::as_str));
        let (no, ask, yes) = match self.language {
            Language::Ko => ("하지 않았어요.", "어떻게 할까요?", "네."),
            Language::En => ("That was not done.", "Which one?", "Here you are."),
        };
        words.push(match self.kind {
            _ if turn.text.asks => ask,
            Kind::Refusal | Kind::Error => no,
            Kind::Single | Kind::Chain | Kind::Restraint | Kind::Correction | Kind::Natural => yes,
        });
        Played { calls: turn.calls().to_vec(), say: words.join(" ") }
    }
}

impl Turn {
    /// Returns its calls, played or expected.
    pub(crate) fn calls(&self) -> &[Call] {
        let played = self.played.as_ref().map(|played| &*played.calls);
        played.or(self.calls.as_deref()).unwrap_or_default()
    }
}

/// Returns the first names of the references in these arguments.
fn references(arguments: &Map<String, Value>) -> Vec<String> {
    let mut names = Vec::new();
    for (key, value) in arguments {
        match value {
            Value::String(path) if key == "$ref" => {
                names.push(path.split('.').next().unwrap_or(path).to_owned());
            }
            Value::Object(fields) => names.extend(references(fields)),
            Value::Array(items) => {
                names.extend(items.iter().filter_map(Value::as_object).flat_map(references));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    names
}
