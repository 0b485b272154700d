//! Reads a script from JSON lines.

use std::{str::FromStr, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use super::{ScriptedCompletion, ScriptedModel, completion::raw};
use madang_actors::protocol::{Usage, WantedCall};

/// Reads a script of JSON lines, with one completion in each.
///
/// A line is `{"text":".."}`, `{"text":"..","tool_calls":[{"name":"..","arguments":{..}}]}` or
/// `{"error":".."}`. Each may also have `"thinking"`, `"usage"` and `"delay_ms"`, in milliseconds.
/// Arguments that are a string are the raw text that the model wrote. Blank lines are skipped.
impl FromStr for ScriptedModel {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let script: Result<Vec<_>, _> =
            lines.map(|(number, line)| ScriptedCompletion::read(number, line)).collect();
        script.map(Self::new)
    }
}

/// Why a script cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script {problem}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The problem in that line.
    pub problem: String,
}

impl ScriptedCompletion {
    fn read(line: usize, text: &str) -> Result<Self, ScriptError> {
        let refused = |problem: String| ScriptError { line, problem };
        let read: Line = serde_json::from_str(text).map_err(|error| refused(problem_of(&error)))?;
        if read.text.is_none() && read.tool_calls.is_none() && read.error.is_none() {
            return Err(refused("needs a `text`, `tool_calls` or an `error`".to_owned()));
        }
        if read.tool_calls.is_some() && read.error.is_some() {
            return Err(refused("has both `tool_calls` and an `error`".to_owned()));
        }
        let calls = read.tool_calls.unwrap_or_default().into_iter();
        Ok(Self {
            thinking: read.thinking.unwrap_or_default().into(),
            text: read.text.unwrap_or_default().into(),
            calls: calls.map(|call| WantedCall::new(call.name, raw(&call.arguments))).collect(),
            error: read.error.map(Into::into),
            delay: Duration::from_millis(read.delay_ms),
            usage: read.usage,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    thinking: Option<String>,
    text: Option<String>,
    tool_calls: Option<Vec<LineCall>>,
    error: Option<String>,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    delay_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineCall {
    name: String,
    #[serde(default = "no_arguments")]
    arguments: Value,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// Returns serde_json's message without its line, which is always the first because a script is
/// read line by line.
fn problem_of(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let said = said.strip_suffix(&position).unwrap_or(&said);
    if said == "recursion limit exceeded" {
        return "is nested too deep: write such arguments as a string".to_owned();
    }
    format!("is not a completion: {said} (column {})", error.column())
}
