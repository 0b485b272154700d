//! The description of a tool: what the model reads, and what the dispatcher needs before it runs
//! one.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The effects that a tool may have. A tool without an annotation is `Destructive` (decision 0004).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EffectPolicy {
    /// Changes nothing. It runs without a question, at the same time as other reads, and receives
    /// no handle that can write.
    Read,
    /// Changes something, but needs no question.
    Write,
    /// Changes something that a person must approve, unless the tool's predicate exempts these
    /// arguments.
    #[default]
    Destructive,
}

/// The description of a tool: name, description, category, parameters, effect, and how it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name, in snake case: `^[a-z][a-z0-9_]*$`.
    pub name: Arc<str>,
    /// The description for the model. It is never blank.
    pub description: Arc<str>,
    /// The group of the tool, e.g. `habit`. It may be empty.
    pub category: Arc<str>,
    /// The parameters, as a JSON Schema (draft-07 form) of type object.
    pub parameters: Arc<Value>,
    /// The effects that it may have.
    pub effect: EffectPolicy,
    /// Whether running it twice with the same arguments has the effect of running it once.
    pub is_idempotent: bool,
    /// The time that its handler may take before the caller receives `timeout`. `None` uses the
    /// default of `Limits`.
    pub timeout: Option<Duration>,
    /// The number of its handlers that may run at once in this runtime. `None` leaves it to
    /// `Limits`.
    pub max_concurrent: Option<usize>,
    /// The tool that returns a part of this one's data. The model reads its name if the data did
    /// not fit the envelope.
    pub narrower: Option<Arc<str>>,
}

impl ToolSpec {
    /// Describes a tool. Its effect is `Destructive` until it is set.
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        parameters: Value,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            category: "".into(),
            parameters: Arc::new(parameters),
            effect: EffectPolicy::default(),
            is_idempotent: false,
            timeout: None,
            max_concurrent: None,
            narrower: None,
        }
    }

    /// Puts the tool into a category.
    #[must_use]
    pub fn category(mut self, category: impl Into<Arc<str>>) -> Self {
        self.category = category.into();
        self
    }

    /// Sets the effects that the tool may have.
    #[must_use]
    pub fn effect(mut self, effect: EffectPolicy) -> Self {
        self.effect = effect;
        self
    }

    /// Marks the tool as idempotent: running it twice has the effect of running it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// Sets the most time that its handler may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the most handlers of this tool that run at once.
    #[must_use]
    pub fn max_concurrent(mut self, count: usize) -> Self {
        self.max_concurrent = Some(count);
        self
    }

    /// Names the tool that returns a part of this one's data.
    #[must_use]
    pub fn narrower(mut self, name: impl Into<Arc<str>>) -> Self {
        self.narrower = Some(name.into());
        self
    }

    /// Returns whether the tool returns long data in parts: it takes an integer `offset`, the
    /// number of entries to skip.
    #[must_use]
    pub fn takes_offset(&self) -> bool {
        self.parameters.pointer("/properties/offset/type") == Some(&json!("integer"))
    }

    /// Checks the parts that need no schema compiler: name, description, and parameters of type
    /// object.
    ///
    /// # Errors
    /// [`SpecError`] names the first thing that is wrong.
    pub fn check(&self) -> Result<(), SpecError> {
        let mut letters = self.name.chars();
        let begins = letters.next().is_some_and(|c| c.is_ascii_lowercase());
        if !begins || !letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
            return Err(SpecError::Name(self.name.clone()));
        }
        if self.description.trim().is_empty() {
            return Err(SpecError::Description(self.name.clone()));
        }
        if self.parameters.get("type") != Some(&json!("object")) {
            return Err(SpecError::NotAnObject(self.name.clone()));
        }
        Ok(())
    }

    /// Returns the plain form: `{name, description, parameters}`.
    #[must_use]
    pub fn to_plain(&self) -> Value {
        json!({ "name": &*self.name, "description": &*self.description, "parameters": &*self.parameters })
    }

    /// Returns the OpenAI form: `{"type":"function","function":{..}}`.
    #[must_use]
    pub fn to_openai(&self) -> Value {
        json!({ "type": "function", "function": self.to_plain() })
    }

    /// Returns the Anthropic form, with `input_schema` instead of `parameters`.
    #[must_use]
    pub fn to_anthropic(&self) -> Value {
        json!({ "name": &*self.name, "description": &*self.description, "input_schema": &*self.parameters })
    }
}

/// A problem with a tool's description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The name is not snake case.
    #[error("tool name {0:?} is not snake case (a-z, 0-9, _, beginning with a letter)")]
    Name(Arc<str>),
    /// The description is blank.
    #[error("tool {0} has no description")]
    Description(Arc<str>),
    /// The parameters are not a schema of type object.
    #[error("the parameters of tool {0} are not a JSON Schema of type object")]
    NotAnObject(Arc<str>),
    /// The parameters are not a valid JSON Schema.
    #[error("the parameters of tool {tool} are not a valid JSON Schema: {problem}")]
    Schema {
        /// The name of the tool.
        tool: Arc<str>,
        /// The message of the schema compiler.
        problem: String,
    },
}
