//! A tool made from a typed async function, and the functions that make one.

use std::{any::Any, fmt, future::Future, sync::Arc, time::Duration};

use madang_actors::{
    port::{
        Access, BoxFuture, ConnectionType, Need, Prepared, Resource, Tool, ToolContext, ToolResult,
    },
    protocol::{EffectPolicy, Limits, Locale, Problem, Text, ToolOutcome, ToolSpec},
    registry::Problems,
};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    async_fn::{AsyncFn1, AsyncFn2, AsyncFn3, PrepareFn},
    handler::{Handler, Look, Preparing, connection, misuse, outcome_of},
    misfit,
    schema::parameters_of,
};

/// Makes a tool without a connection, for work outside of the database. It is `Destructive` unless
/// [`effect`](TypedTool::effect) sets another effect.
pub fn plain<A, F>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    run: F,
) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: for<'a> AsyncFn1<'a, A> + 'static,
{
    let run = Arc::new(run);
    let handler: Box<Handler<A>> = Box::new(move |arguments, _, ctx, _| {
        let run = run.clone();
        Box::pin(async move { outcome_of(run.run(arguments, ctx).await?) })
    });
    typed(name, description, handler)
}

/// Makes a tool that reads the application's database. Its effect is `Read`.
pub fn reading<A, C, F>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    run: F,
) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    C: Any + Send,
    F: for<'a> AsyncFn2<'a, A, &'a mut C> + 'static,
{
    storing(name, description, run, Need::Reader).effect(EffectPolicy::Read)
}

/// Makes a tool that writes the application's database in the ledger's own transaction. It is
/// `Destructive` unless [`effect`](TypedTool::effect) sets `Write`.
///
/// The function does database work only. At its deadline of about 250 ms its future is dropped and
/// its writes are undone.
pub fn transactional<A, C, F>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    run: F,
) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    C: Any + Send,
    F: for<'a> AsyncFn2<'a, A, &'a mut C> + 'static,
{
    storing(name, description, run, Need::Transaction)
}

fn storing<A, C, F>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    run: F,
    need: fn(ConnectionType) -> Need,
) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    C: Any + Send,
    F: for<'a> AsyncFn2<'a, A, &'a mut C> + 'static,
{
    let run = Arc::new(run);
    let need = need(ConnectionType::of::<C>());
    let handler: Box<Handler<A>> = Box::new(move |arguments, _, ctx, access| {
        let run = run.clone();
        Box::pin(async move {
            let db = connection::<C>(access, need)?;
            outcome_of(run.run(arguments, db, ctx).await?)
        })
    });
    TypedTool { needs: Some(need), ..typed(name, description, handler) }
}

/// Makes a [`transactional`] tool with slow work before: `prepare` runs without a transaction, and
/// `run` receives its result.
pub fn prepared<A, P, C, F, G>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    prepare: F,
    run: G,
) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    P: Any + Send,
    C: Any + Send,
    F: for<'a> PrepareFn<'a, A, P> + 'static,
    G: for<'a> AsyncFn3<'a, A, P, &'a mut C> + 'static,
{
    let prepare = Arc::new(prepare);
    let run = Arc::new(run);
    let need = Need::Transaction(ConnectionType::of::<C>());
    let prepare: Box<Preparing<A>> = Box::new(move |arguments, ctx| {
        let prepare = prepare.clone();
        Box::pin(async move { Ok(Prepared::new(prepare.run(&arguments, ctx).await?)) })
    });
    let handler: Box<Handler<A>> = Box::new(move |arguments, prepared, ctx, access| {
        let run = run.clone();
        Box::pin(async move {
            let db = connection::<C>(access, need)?;
            let prepared = prepared.take::<P>().ok_or_else(misuse::<P>)?;
            outcome_of(run.run(arguments, prepared, db, ctx).await?)
        })
    });
    TypedTool { needs: Some(need), prepare: Some(prepare), ..typed(name, description, handler) }
}

/// Makes a tool without a connection whose schema is written by hand.
pub fn from_schema<F, Fut>(spec: ToolSpec, run: F) -> TypedTool<Value>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ToolResult<ToolOutcome>> + Send + 'static,
{
    let handler: Box<Handler<Value>> =
        Box::new(move |arguments, _, ctx, _| Box::pin(run(arguments, ctx.clone())));
    TypedTool::new(spec, handler)
}

/// The arguments of a tool without parameters.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// A tool made from a typed async function by [`plain`], [`reading`], [`transactional`],
/// [`prepared`] or [`from_schema`].
pub struct TypedTool<A: 'static> {
    spec: ToolSpec,
    needs: Option<Need>,
    asks: Option<Box<Asks<A>>>,
    look: Option<Box<Look<A>>>,
    consequence: Option<Box<Consequence<A>>>,
    resource: Option<Box<Working<A>>>,
    prepare: Option<Box<Preparing<A>>>,
    handler: Box<Handler<A>>,
}

type Asks<A> = dyn Fn(&A) -> bool + Send + Sync;
type Working<A> = dyn Fn(&A, &ToolContext) -> Option<Resource> + Send + Sync;
type Consequence<A> = dyn Fn(&A, Locale) -> String + Send + Sync;

fn typed<A: DeserializeOwned + JsonSchema + 'static>(
    name: impl Into<Arc<str>>,
    description: impl Into<Arc<str>>,
    handler: Box<Handler<A>>,
) -> TypedTool<A> {
    TypedTool::new(ToolSpec::new(name, description, parameters_of::<A>()), handler)
}

impl<A: 'static> TypedTool<A> {
    fn new(spec: ToolSpec, handler: Box<Handler<A>>) -> Self {
        Self {
            spec,
            needs: None,
            asks: None,
            consequence: None,
            look: None,
            resource: None,
            prepare: None,
            handler,
        }
    }

    /// Puts the tool into a category.
    #[must_use]
    pub fn category(mut self, category: impl Into<Arc<str>>) -> Self {
        self.spec = self.spec.category(category);
        self
    }

    /// Sets the effects that the tool may have. A [`reading`] tool must have the effect `Read`, and
    /// a [`transactional`] tool any other effect. Otherwise its registration fails.
    #[must_use]
    pub fn effect(mut self, effect: EffectPolicy) -> Self {
        self.spec = self.spec.effect(effect);
        self
    }

    /// Marks the tool as idempotent: running it twice has the effect of running it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.spec = self.spec.idempotent();
        self
    }

    /// Sets the most time that its handler may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.spec = self.spec.timeout(timeout);
        self
    }

    /// Sets the most handlers of this tool that run at once.
    #[must_use]
    pub fn max_concurrent(mut self, count: usize) -> Self {
        self.spec = self.spec.max_concurrent(count);
        self
    }

    /// Names the resource that a call works on. Calls on the same [`Resource`] wait for one
    /// another, whatever their session, user and tool. A call for which this returns `None` waits
    /// for no other.
    #[must_use]
    pub fn resource(
        mut self,
        works_on: impl Fn(&A, &ToolContext) -> Option<Resource> + Send + Sync + 'static,
    ) -> Self {
        self.resource = Some(Box::new(works_on));
        self
    }

    /// Names the tool that returns a part of this one's data, for the model to call if all of it is
    /// too large.
    #[must_use]
    pub fn narrower(mut self, name: impl Into<Arc<str>>) -> Self {
        self.spec = self.spec.narrower(name);
        self
    }

    /// Chooses the calls that a person must approve. By default these are all calls of a
    /// destructive tool.
    #[must_use]
    pub fn asks(mut self, asks: impl Fn(&A) -> bool + Send + Sync + 'static) -> Self {
        self.asks = Some(Box::new(asks));
        self
    }

    /// Describes what will happen, such as the number of rows to be deleted or the name of an item,
    /// from what the database has when the question is asked. The connection cannot write. This
    /// takes precedence over [`consequence`](Self::consequence), which is used if this fails.
    #[must_use]
    pub fn consequence_from<C, F>(mut self, tell: F) -> Self
    where
        A: Send + Sync,
        C: Any + Send,
        F: for<'a> AsyncFn2<'a, &'a A, &'a mut C, Data = String> + 'static,
    {
        let tell = Arc::new(tell);
        self.look = Some(Box::new(move |arguments, ctx, db| {
            let tell = tell.clone();
            Box::pin(async move {
                let db = db.downcast_mut::<C>().ok_or_else(misuse::<C>)?;
                tell.run(&arguments, db, ctx).await
            })
        }));
        self
    }

    /// Describes what will happen, for the question to a person.
    #[must_use]
    pub fn consequence(
        mut self,
        tell: impl Fn(&A, Locale) -> String + Send + Sync + 'static,
    ) -> Self {
        self.consequence = Some(Box::new(tell));
        self
    }
}

impl<A: DeserializeOwned + Send + 'static> Tool for TypedTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self) -> Option<Need> {
        self.needs
    }

    fn accepts(&self, arguments: &Value) -> Result<(), Problem> {
        misfit::read::<A>(arguments).map(drop)
    }

    fn asks(&self, arguments: &Value) -> bool {
        let Some(asks) = &self.asks else { return true };
        misfit::read(arguments).map_or(true, |arguments| asks(&arguments))
    }

    fn consequence(&self, arguments: &Value, locale: Locale) -> Option<String> {
        let tell = self.consequence.as_ref()?;
        misfit::read(arguments).ok().map(|arguments| tell(&arguments, locale))
    }

    fn looks_before_asking(&self) -> bool {
        self.look.is_some()
    }

    fn consequence_from<'a>(
        &'a self,
        arguments: &'a Value,
        ctx: &'a ToolContext,
        db: &'a mut (dyn Any + Send),
    ) -> BoxFuture<'a, ToolResult<Option<String>>> {
        match self.look.as_ref().zip(misfit::read(arguments).ok()) {
            Some((look, arguments)) => {
                Box::pin(async move { look(arguments, ctx, db).await.map(Some) })
            }
            None => Box::pin(async { Ok(None) }),
        }
    }

    fn resource(&self, arguments: &Value, ctx: &ToolContext) -> Option<Resource> {
        let works_on = self.resource.as_ref()?;
        misfit::read(arguments).ok().and_then(|arguments| works_on(&arguments, ctx))
    }

    fn prepare<'a>(
        &'a self,
        arguments: &'a Value,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult<Prepared>> {
        match self.prepare.as_ref().zip(misfit::read(arguments).ok()) {
            Some((prepare, arguments)) => prepare(arguments, ctx),
            // `call` will report a problem with the arguments.
            None => Box::pin(async { Ok(Prepared::default()) }),
        }
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        prepared: Prepared,
        ctx: &'a ToolContext,
        access: Access<'a>,
    ) -> BoxFuture<'a, ToolResult<ToolOutcome>> {
        match misfit::read(&arguments) {
            Ok(arguments) => (self.handler)(arguments, prepared, ctx, access),
            Err(problem) => {
                let problems =
                    Problems::new(vec![problem], &Limits::default()).in_locale(ctx.locale);
                let reason = Text::BadArguments(&problems).in_locale(ctx.locale);
                Box::pin(async { Ok(ToolOutcome::error("validation", reason)) })
            }
        }
    }
}

impl<A: 'static> fmt::Debug for TypedTool<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}
