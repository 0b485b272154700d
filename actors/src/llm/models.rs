//! The models of a runtime, in their order, each with a queue of its own.

use std::sync::Arc;

use super::{ModelQueue, NamedModel};
use crate::{
    port::UserWeights,
    protocol::{Limits, ModelName},
};

/// The models of a runtime; none in a runtime whose turns do not begin. Cheap to clone. They are in
/// the order in which they replace each other, and the first is asked if a turn chooses none. A
/// model is known by its index in the order.
#[derive(Debug, Clone)]
pub struct Models(Arc<[ModelQueue]>);

impl Models {
    /// Makes a queue for each model, to which no actor attends yet. Each queue is bounded and fair
    /// independently of the others.
    #[must_use]
    pub fn new(
        models: impl IntoIterator<Item = NamedModel>,
        weights: &UserWeights,
        limits: &Arc<Limits>,
    ) -> Self {
        let queue = |model| ModelQueue::new(model, weights.clone(), limits.clone());
        Self(models.into_iter().map(queue).collect())
    }

    /// Returns whether there is no model: no turn begins, and an open one stays as it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the queues, in the order of the models.
    #[must_use]
    pub fn queues(&self) -> &[ModelQueue] {
        &self.0
    }

    /// Returns the queue of the model at this index.
    ///
    /// # Panics
    /// If there is no such model. Indexes come from [`find`](Self::find) and from the order of
    /// [`queues`](Self::queues); the first model is there whenever a turn runs.
    #[must_use]
    pub fn queue(&self, index: usize) -> &ModelQueue {
        &self.0[index]
    }

    /// Finds the index of a model by its name.
    #[must_use]
    pub fn find(&self, name: &ModelName) -> Option<usize> {
        self.0.iter().position(|queue| queue.name() == Some(name))
    }

    /// Returns the names of the models, in their order. The only model of a runtime may have none.
    pub fn names(&self) -> impl Iterator<Item = &ModelName> {
        self.0.iter().filter_map(ModelQueue::name)
    }
}
