//! The tools of a runtime, in the order in which they were registered.

use std::{collections::HashMap, slice, sync::Arc};

use foldhash::fast::RandomState;
use serde_json::Value;
use tracing::info;

use super::{DuplicateTool, RegisteredTool, RegistryError, ToolNotFound};
use crate::{port::Tool, protocol::ToolSpec};

/// The tools of one runtime: filled at start, then only read, by any number of calls at once. It
/// knows no concrete tool.
#[derive(Debug, Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<Arc<RegisteredTool>>,
    indices: HashMap<Arc<str>, usize, RandomState>,
}

impl ToolRegistry {
    /// Makes an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool; chains: `registry.register(a)?.register(b)?`.
    ///
    /// # Errors
    /// [`RegistryError`] for a taken name or a wrong description; the registry stays as it was.
    pub fn register(&mut self, tool: impl Tool) -> Result<&mut Self, RegistryError> {
        self.register_all([Arc::new(tool) as Arc<dyn Tool>])
    }

    /// Adds all of these tools, or none.
    ///
    /// # Errors
    /// [`RegistryError`] names the first tool that cannot be added; the registry stays as it was.
    pub fn register_all(
        &mut self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<&mut Self, RegistryError> {
        let mut grown = self.clone();
        let before = self.len();
        for tool in tools {
            grown.add(Arc::new(RegisteredTool::new(tool)?))?;
        }
        *self = grown;
        info!(added = self.len() - before, count = self.len(), "registered tools");
        Ok(self)
    }

    /// Looks a tool up, in constant time.
    ///
    /// # Errors
    /// [`ToolNotFound`] for a name that was never registered.
    pub fn get(&self, name: &str) -> Result<&Arc<RegisteredTool>, ToolNotFound> {
        let index = self.indices.get(name).ok_or_else(|| ToolNotFound { name: name.into() })?;
        Ok(&self.tools[*index])
    }

    /// Returns whether a tool of this name is registered.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.indices.contains_key(name)
    }

    /// Returns all tools in their order.
    pub fn iter(&self) -> slice::Iter<'_, Arc<RegisteredTool>> {
        self.tools.iter()
    }

    /// Returns all names in their order.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        self.iter().map(|tool| tool.spec().name.clone()).collect()
    }

    /// Counts the tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns whether the registry is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns all tools as plain `{name, description, parameters}`.
    #[must_use]
    pub fn specs(&self) -> Vec<Value> {
        self.exported(ToolSpec::to_plain)
    }

    /// Returns all tools in the form of the OpenAI API.
    #[must_use]
    pub fn to_openai(&self) -> Vec<Value> {
        self.exported(ToolSpec::to_openai)
    }

    /// Returns all tools in the form of the Anthropic API.
    #[must_use]
    pub fn to_anthropic(&self) -> Vec<Value> {
        self.exported(ToolSpec::to_anthropic)
    }

    fn exported(&self, form: fn(&ToolSpec) -> Value) -> Vec<Value> {
        self.iter().map(|tool| form(tool.spec())).collect()
    }

    fn add(&mut self, tool: Arc<RegisteredTool>) -> Result<(), DuplicateTool> {
        if self.has(&tool.spec().name) {
            return Err(DuplicateTool { name: tool.spec().name.clone() });
        }
        self.indices.insert(tool.spec().name.clone(), self.tools.len());
        self.tools.push(tool);
        Ok(())
    }
}

impl<'a> IntoIterator for &'a ToolRegistry {
    type Item = &'a Arc<RegisteredTool>;
    type IntoIter = slice::Iter<'a, Arc<RegisteredTool>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
