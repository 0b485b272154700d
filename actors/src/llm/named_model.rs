//! A model with its name.

use std::sync::Arc;

use crate::{port::ChatModel, protocol::ModelName};

/// A model, and the name by which turns choose it. Only a runtime's single model may have none.
#[derive(Debug, Clone)]
pub struct NamedModel {
    /// The name of the model within its runtime.
    pub name: Option<ModelName>,
    /// The model that completes the turns under this name.
    pub model: Arc<dyn ChatModel>,
}

impl From<Arc<dyn ChatModel>> for NamedModel {
    fn from(model: Arc<dyn ChatModel>) -> Self {
        Self { name: None, model }
    }
}
