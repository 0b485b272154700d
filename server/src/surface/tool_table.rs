//! What surfaces must know of tools: which of them only read, and which arguments they take.

use std::{collections::HashMap, sync::Arc};

use madang::tool::{EffectPolicy, ToolSpec};
use serde_json::Value;

/// The tools of a runtime by their names. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolTable(Arc<HashMap<Arc<str>, ToolSpec>>);

impl ToolTable {
    /// Makes the table of these tools.
    pub(crate) fn new(specs: impl IntoIterator<Item = ToolSpec>) -> Self {
        Self(Arc::new(specs.into_iter().map(|spec| (spec.name.clone(), spec)).collect()))
    }

    /// Tells whether a tool only reads. One that is not registered may do anything.
    pub(crate) fn only_reads(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|spec| spec.effect == EffectPolicy::Read)
    }

    /// Gives the schema of a tool's arguments.
    pub(crate) fn parameters(&self, name: &str) -> Option<&Value> {
        self.0.get(name).map(|spec| &*spec.parameters)
    }
}
