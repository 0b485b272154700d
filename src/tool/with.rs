//! Tools that share state: methods of one value.

use std::{any::Any, sync::Arc};

use madang_actors::port::ToolContext;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{
    TypedTool,
    async_fn::{AsyncFn1, AsyncFn2, AsyncFn3},
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

/// The state that tools share; made by [`with`].
#[derive(Debug)]
pub struct With<S>(Arc<S>);

impl<S: Send + Sync + 'static> With<S> {
    /// Makes a [`plain`](super::plain) tool of `async fn(&S, A, &ToolContext) -> ToolResult<T>`.
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
        super::plain(name, description, self.bound(run))
    }

    /// Makes a [`reading`](super::reading) tool of
    /// `async fn(&S, A, &mut C, &ToolContext) -> ToolResult<T>`.
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
        super::reading(name, description, self.bound(run))
    }

    /// Makes a [`transactional`](super::transactional) tool of
    /// `async fn(&S, A, &mut C, &ToolContext) -> ToolResult<T>`.
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
        super::transactional(name, description, self.bound(run))
    }

    fn bound<F>(&self, run: F) -> Bound<S, F> {
        Bound { state: Arc::clone(&self.0), run }
    }
}

/// A function that receives the state first.
struct Bound<S, F> {
    state: Arc<S>,
    run: F,
}

impl<'a, S, F, X> AsyncFn1<'a, X> for Bound<S, F>
where
    S: Send + Sync + 'static,
    F: AsyncFn2<'a, &'a S, X>,
{
    type Data = F::Data;
    type Future = F::Future;
    fn run(&'a self, x: X, ctx: &'a ToolContext) -> F::Future {
        self.run.run(&self.state, x, ctx)
    }
}

impl<'a, S, F, X, Y> AsyncFn2<'a, X, Y> for Bound<S, F>
where
    S: Send + Sync + 'static,
    F: AsyncFn3<'a, &'a S, X, Y>,
{
    type Data = F::Data;
    type Future = F::Future;
    fn run(&'a self, x: X, y: Y, ctx: &'a ToolContext) -> F::Future {
        self.run.run(&self.state, x, y, ctx)
    }
}
