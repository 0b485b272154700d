//! The connection that fake tools use: a table of values inside the store's own transaction.

use std::{any::Any, collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{layer::Layer, shared::Shared};
use madang_actors::port::Reader;

/// The connection of a [`MemoryStore`](super::MemoryStore). It keeps values by name, in the store's
/// own transaction.
#[derive(Debug)]
pub struct MemoryConnection {
    shared: Arc<Shared>,
    /// The changes of the open transaction, one layer for each savepoint. `None` for a reader.
    layers: Option<Vec<Layer>>,
}

/// A reader cannot write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection cannot write")]
pub struct ReadOnly;

impl MemoryConnection {
    pub(super) const fn reading(shared: Arc<Shared>) -> Self {
        Self { shared, layers: None }
    }

    pub(super) fn writing(shared: Arc<Shared>) -> Self {
        Self { shared, layers: Some(vec![Layer::default()]) }
    }

    /// Returns the value of this name, or `None` if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.find(|layer| layer.values.get(name).cloned()).flatten()
    }

    /// Returns all values by name.
    #[must_use]
    pub fn values(&self) -> BTreeMap<String, Value> {
        let mut all = self.shared.read(|committed| committed.values.clone());
        for layer in self.layers.iter().flatten() {
            all.extend(layer.values.clone());
        }
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Sets a value.
    ///
    /// # Errors
    /// Returns [`ReadOnly`] on a reader.
    pub fn put(&mut self, name: impl Into<String>, value: Value) -> Result<(), ReadOnly> {
        self.top().ok_or(ReadOnly)?.values.insert(name.into(), Some(value));
        Ok(())
    }

    /// Removes a value. Does nothing if there is none.
    ///
    /// # Errors
    /// Returns [`ReadOnly`] on a reader.
    pub fn remove(&mut self, name: impl Into<String>) -> Result<(), ReadOnly> {
        self.top().ok_or(ReadOnly)?.values.insert(name.into(), None);
        Ok(())
    }

    /// Searches from the newest change back to the committed state.
    pub(super) fn find<T>(&self, look: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        let changed = self.layers.iter().flatten().rev().find_map(&look);
        changed.or_else(|| self.shared.read(&look))
    }

    /// Collects from the committed state and from each later change, in order.
    pub(super) fn of_all_layers<T>(&self, look: impl Fn(&Layer) -> Vec<T>) -> Vec<T> {
        let mut all = self.shared.read(&look);
        all.extend(self.layers.iter().flatten().flat_map(look));
        all
    }

    /// Returns the changes of the innermost savepoint.
    pub(super) fn top(&mut self) -> Option<&mut Layer> {
        self.layers.as_mut()?.last_mut()
    }

    pub(super) fn layers(&mut self) -> &mut Vec<Layer> {
        self.layers.as_mut().expect("only a transaction's connection has savepoints")
    }
}

impl Reader for MemoryConnection {
    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self
    }
}
