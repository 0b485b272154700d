//! Tools that share state: methods of one value.

use std::{any::Any, marker::PhantomData, sync::Arc};

use madang_actors::protocol::EffectPolicy;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{
    async_fn::{AsyncFn2, AsyncFn3},
    handler::{Needed, PlainWith, StoringWith},
    typed_tool::{TypedTool, typed},
};

/// Makes tools of the methods of a value, which all of them share.
///
/// ```
/// # use madang::tool::{self, NoArguments, ToolContext, ToolRegistry, ToolResult};
/// struct Weather {
///     station: String,
/// }
///
/// impl Weather {
///     async fn report(&self, _: NoArguments, _: &ToolContext) -> ToolResult<String> {
///         Ok(format!("sunny at {}", self.station))
///     }
/// }
///
/// let weather = tool::with(Weather { station: "Jeju".to_owned() });
/// let mut registry = ToolRegistry::new();
/// registry.register(weather.plain("report_weather", "Tells the weather.", Weather::report))?;
/// # Ok::<(), tool::RegistryError>(())
/// ```
#[must_use]
pub fn with<S: Send + Sync + 'static>(state: impl Into<Arc<S>>) -> With<S> {
    With(state.into())
}

/// State that tools share; made by [`with`].
#[derive(Debug)]
pub struct With<S>(Arc<S>);

impl<S: Send + Sync + 'static> With<S> {
    /// [`plain`](super::plain) for `async fn(&S, A, &ToolContext) -> ToolResult<T>`.
    pub fn plain<A, F>(
        &self,
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        run: F,
    ) -> TypedTool<A>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: for<'a> AsyncFn2<'a, &'a S, A> + 'static,
    {
        typed(name, description, PlainWith(Arc::clone(&self.0), run))
    }

    /// [`reading`](super::reading) for `async fn(&S, A, &mut C, &ToolContext) -> ToolResult<T>`.
    pub fn reading<A, C, F>(
        &self,
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        run: F,
    ) -> TypedTool<A>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        C: Any + Send,
        F: for<'a> AsyncFn3<'a, &'a S, A, &'a mut C> + 'static,
    {
        typed(name, description, self.storing(run, Needed::Any)).effect(EffectPolicy::Read)
    }

    /// [`transactional`](super::transactional) for `async fn(&S, A, &mut C, &ToolContext) -> ToolResult<T>`.
    pub fn transactional<A, C, F>(
        &self,
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        run: F,
    ) -> TypedTool<A>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        C: Any + Send,
        F: for<'a> AsyncFn3<'a, &'a S, A, &'a mut C> + 'static,
    {
        typed(name, description, self.storing(run, Needed::Transaction))
    }

    fn storing<F, C>(&self, run: F, needed: Needed) -> StoringWith<S, F, C> {
        StoringWith { state: Arc::clone(&self.0), run, needed, connection: PhantomData }
    }
}
