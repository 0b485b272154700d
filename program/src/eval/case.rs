//! The form of a case: the rows before it, the user's texts, and what must come of it.

use madang::approval::Decision;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One line of a file of cases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) id: String,
    /// Whose tools it needs; a case of a toolkit that is not there is left out.
    pub(super) toolkit: String,
    pub(super) language: Language,
    pub(super) kind: Kind,
    /// Calls that are made before, each of which must succeed.
    #[serde(default)]
    pub(super) setup: Vec<Call>,
    pub(super) turns: Vec<Turn>,
    /// What the database has at the end.
    #[serde(default)]
    pub(super) rows: Vec<Rows>,
    /// Calls that must not happen, beside unexpected writing calls.
    #[serde(default)]
    pub(super) never: Vec<Never>,
}

/// The language of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Language {
    Ko,
    En,
}

/// What a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// One call.
    Single,
    /// Several calls, of which later ones rest on what earlier ones gave.
    Chain,
    /// Nothing may be written, and mostly nothing called.
    Restraint,
    /// The user corrects what was said before.
    Correction,
    /// The person says no to the question before a call.
    Refusal,
    /// A call fails, or something is not there, and that is put into words.
    Error,
}

/// A call: expected, played, or made before the chat begins, without a model and with the person's yes. What is expected
/// may have matchers in its arguments, the others references.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    /// The name under which a `$ref` finds its result.
    #[serde(rename = "as")]
    pub(super) known_as: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
    /// Before the chat: whose call it is, where that is not the person of the case.
    pub(super) user: Option<String>,
    /// Before the chat: the day on which it is made, YYYY-MM-DD, where that is not the day of the case.
    pub(super) on: Option<String>,
}

/// One turn of the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    pub(super) user: String,
    /// How questions are answered, in order; one more than these is answered by a no.
    #[serde(default)]
    pub(super) decisions: Vec<Answer>,
    /// The model's part, where the case plays it itself: a past that is the same for every model.
    pub(super) played: Option<Played>,
    /// The calls that are expected, in order: all of them, and no others.
    pub(super) calls: Option<Vec<Call>>,
    #[serde(default)]
    pub(super) text: FinalText,
}

/// What the model is made to do in a turn: a completion for each call, and one for what it says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Played {
    #[serde(default)]
    pub(super) calls: Vec<Call>,
    pub(super) say: String,
}

/// How a question is answered.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Approve,
    Deny,
    /// No, and the model is told this.
    DenyWith(String),
    /// Yes, with these arguments instead.
    Edit(Value),
}

/// What the text at the end of a turn says. Capitals and the number of spaces make no difference.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FinalText {
    /// Of each of these lists, one.
    #[serde(default)]
    pub(super) says: Vec<Vec<String>>,
    /// None of these.
    #[serde(default)]
    pub(super) says_not: Vec<String>,
    /// Whether it must be a question.
    #[serde(default)]
    pub(super) asks: bool,
}

/// Rows that the database must have. Those of the case's person, where `where` names no other `user`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    pub(super) table: String,
    /// Which rows.
    #[serde(default, rename = "where")]
    pub(super) filter: Map<String, Value>,
    /// What each of them has.
    #[serde(default)]
    pub(super) columns: Map<String, Value>,
    /// How many they are.
    #[serde(default = "one")]
    pub(super) count: u64,
}

/// A call that must not happen.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Never {
    /// None at all.
    Any,
    /// None that may write.
    Writes,
    /// None of this tool.
    Tool(String),
}

const fn one() -> u64 {
    1
}

impl Answer {
    pub(super) fn decision(&self) -> Decision {
        match self {
            Self::Approve => Decision::Approve,
            Self::Deny => Decision::Deny,
            Self::DenyWith(message) => Decision::DenyWith { message: message.as_str().into() },
            Self::Edit(arguments) => Decision::Edit { arguments: arguments.clone() },
        }
    }
}

impl Language {
    /// As it stands in files and tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ko => "ko",
            Self::En => "en",
        }
    }
}

impl Kind {
    /// As it stands in files and tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Chain => "chain",
            Self::Restraint => "restraint",
            Self::Correction => "correction",
            Self::Refusal => "refusal",
            Self::Error => "error",
        }
    }
}

impl Case {
    /// What is wrong with it whatever the tools are; `None` if nothing is.
    pub(super) fn problem(&self) -> Option<String> {
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
    /// What the model's part in a turn would be if it did what is meant; it finds no better words than those that are
    /// asked for.
    pub(super) fn as_meant(&self, turn: &Turn) -> Played {
        let mut words: Vec<&str> = Vec::new();
        words.extend(turn.text.says.iter().filter_map(|any| any.first()).map(String::as_str));
        let (no, ask, yes) = match self.language {
            Language::Ko => ("하지 않았어요.", "어떻게 할까요?", "네."),
            Language::En => ("That was not done.", "Which one?", "Here you are."),
        };
        words.push(match self.kind {
            _ if turn.text.asks => ask,
            Kind::Refusal | Kind::Error => no,
            Kind::Single | Kind::Chain | Kind::Restraint | Kind::Correction => yes,
        });
        Played { calls: turn.calls().to_vec(), say: words.join(" ") }
    }
}

impl Turn {
    /// Its calls, played or expected.
    pub(super) fn calls(&self) -> &[Call] {
        let played = self.played.as_ref().map(|played| &*played.calls);
        played.or(self.calls.as_deref()).unwrap_or_default()
    }
}

/// The names that references in these arguments begin with.
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
