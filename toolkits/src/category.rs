//! Puts a tool of a toolkit into its category, as the last step of making it.
use std::sync::Arc;

use madang::tool::{Tool, TypedTool};
use serde::de::DeserializeOwned;

/// A tool that lacks only its category.
pub(crate) trait Within {
    /// Puts the tool into a category, ready for a runtime.
    fn within(self, category: &'static str) -> Arc<dyn Tool>;
}

impl<A: DeserializeOwned + Send + 'static> Within for TypedTool<A> {
    fn within(self, category: &'static str) -> Arc<dyn Tool> {
        Arc::new(self.category(category))
    }
}
