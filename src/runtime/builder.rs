//! The builder of a runtime.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::Arc,
};

use madang_actors::{
    llm::NamedModel,
    port::{
        ChatModel, Clock, Extensions, Need, Store, SystemClock, Tool, Unconstrained, UserWeights,
    },
    protocol::{
        EffectPolicy, Language, LanguageTag, Languages, Limits, ModelName, SessionId, UserId,
    },
    registry::ToolRegistry,
    supervisor::RuntimeConfig,
};
use tracing::warn;

use crate::{
    Runtime,
    error::BuildError,
    runtime::model_choice::{ModelChoice, ModelList},
    runtime::time_zone::TimeZones,
    telemetry,
};

/// The longest name of a tool, in bytes, that the interfaces of common models and of MCP accept.
const PORTABLE_NAME: usize = 64;

/// Builds a [`Runtime`]. It needs at least a store. Without a model it cannot begin turns, but it
/// can run tools through [`Runtime::begin`].
///
/// ```
/// # use madang_testing::{FakeTool, MemoryStore, ScriptedModel};
/// use madang::{Limits, Runtime, error::BuildError};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (model, store) = (ScriptedModel::new([]), MemoryStore::new());
///
/// let mut limits = Limits::default();
/// limits.max_user_text_bytes = 10_000;
/// let runtime = Runtime::builder()
///     .model(model)
///     .store(store)
///     .tool(FakeTool::destructive("delete_note"))
///     .system("You keep the notes of a household.")
///     .time_zone("Asia/Seoul")
///     .limits(limits)
///     .start()
///     .await?;
/// # runtime.shutdown().await?;
///
/// let without_store = Runtime::builder().start().await;
/// assert!(matches!(without_store, Err(BuildError::NoStore)));
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Builder {
    models: ModelList,
    model_choice: ModelChoice,
    weights: UserWeights,
    store: Option<Arc<dyn Store>>,
    tools: Vec<Arc<dyn Tool>>,
    limits: Limits,
    system: Option<Arc<str>>,
    has_temporary_chats: bool,
    language: Option<LanguageTag>,
    languages: Vec<&'static dyn Language>,
    time_zones: TimeZones,
    clock: Option<Arc<dyn Clock>>,
    extensions: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    has_panic_hook: bool,
}

impl Runtime {
    /// Returns a builder without a model, a store or tools, and with default limits.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Sets the model that answers. If other models are [added](Self::add_model), this one is the
    /// first of them and is named `default`.
    ///
    /// A runtime without any model runs calls without a model and their questions, and its chats
    /// can be read. A text is refused with [`Error::NoModel`](crate::Error::NoModel). A turn that
    /// an earlier process left open stays open until a start with a model. Its readers receive
    /// [`TurnInterrupted`](crate::event::EventKind::TurnInterrupted). Calls that were cut off while
    /// they ran are ended, and nothing else of the turn runs.
    #[must_use]
    pub fn model(mut self, model: impl ChatModel) -> Self {
        self.models.first = Some(Arc::new(model));
        self
    }

    /// Adds a model under this name, after those added before it. A turn chooses a model by its
    /// name ([`TurnOptions::model`](crate::TurnOptions)). If it chooses none, the first model is
    /// asked.
    ///
    /// If a model is overloaded, or loses its connection before it has said anything, the model
    /// added next is asked instead. A model added earlier never is, so the text of a turn that
    /// chose the last model goes to no other. Each model has a queue of its own, which users share
    /// independently of the other queues.
    ///
    /// ```
    /// # use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
    /// use madang::{ModelName, Runtime, TurnOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = |text| ScriptedModel::repeating([ScriptedCompletion::text(text)]);
    /// # let (large, small) = (model("From the large one."), model("From the small one."));
    ///
    /// let builder = Runtime::builder().model(large).add_model("small", small);
    /// let runtime = builder.store(MemoryStore::new()).start().await?;
    /// let session = runtime.user("kim")?.session("chat-1").await?;
    /// let options = TurnOptions { model: Some(ModelName::new("small")?), ..TurnOptions::default() };
    /// let turn = session.send_with("Hi", options).await?;
    /// assert_eq!(turn.text().await?, "From the small one.");
    /// # Ok(runtime.shutdown().await?)
    /// # }
    /// ```
    #[must_use]
    pub fn add_model(mut self, name: impl Into<Arc<str>>, model: impl ChatModel) -> Self {
        self.models.named.push((name.into(), Arc::new(model)));
        self
    }

    /// Sets the function that returns the name of a session's model. Its result takes precedence
    /// over the first model, and a turn's own choice takes precedence over its result. It is called
    /// for each turn that chooses no model, so it must not block.
    #[must_use]
    pub fn model_of(
        mut self,
        of_session: impl Fn(&UserId, &SessionId) -> Option<Arc<str>> + Send + Sync + 'static,
    ) -> Self {
        self.model_choice.of_session = Some(Arc::new(of_session));
        self
    }

    /// Sets the weights of users that wait for a model at the same time: a user with twice the
    /// weight of another is served twice as many tokens. By default all users have the same weight.
    #[must_use]
    pub fn weights(mut self, weight: impl Fn(&UserId) -> u32 + Send + Sync + 'static) -> Self {
        self.weights = UserWeights::new(weight);
        self
    }

    /// Sets the store that keeps the chats and the ledger. Transactional tools write in its
    /// transactions.
    #[must_use]
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds tools, such as those of a toolkit.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Replaces the default limits. [`start`](Self::start) refuses limits that no runtime can keep.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the text that every model reads before a chat.
    #[must_use]
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Makes the chats that are first opened in this runtime temporary. Their texts and the
    /// instructions of their turns are erased from the store when the runtime shuts down or, after
    /// a crash, at the next start of any runtime. A turn that was still open then ends as cut off,
    /// and standing approvals of these chats are revoked.
    ///
    /// The ledger of their calls is kept. Deleted bytes stay in the database file until the store
    /// overwrites them.
    #[must_use]
    pub fn temporary_chats(mut self) -> Self {
        self.has_temporary_chats = true;
        self
    }

    /// Sets the language of turns and calls that name none. By default, the language of a turn is
    /// that of the user's text, and the language of a call is that of its arguments.
    #[must_use]
    pub fn language(mut self, tag: LanguageTag) -> Self {
        self.language = Some(tag);
        self
    }

    /// Adds a language in which the runtime can write its own sentences, in addition to English and
    /// Korean. A turn or call chooses it by its tag.
    #[must_use]
    pub fn add_language(mut self, language: &'static dyn Language) -> Self {
        self.languages.push(language);
        self
    }

    /// Sets the time zone of turns and calls that name none, if their user has none either. The
    /// name is an IANA name, such as `Asia/Seoul`. By default it is the machine's zone at the
    /// start, as `TZ` or the system's settings name it.
    #[must_use]
    pub fn time_zone(mut self, name: impl Into<Arc<str>>) -> Self {
        self.time_zones.of_all = Some(name.into());
        self
    }

    /// Sets the function that returns a user's own time zone. Its result takes precedence over
    /// [`time_zone`](Self::time_zone), and a zone that a turn or call names takes precedence over
    /// its result. It is called for each turn and call that names none, so it must not block.
    #[must_use]
    pub fn time_zone_of(
        mut self,
        of_user: impl Fn(&UserId) -> Option<Arc<str>> + Send + Sync + 'static,
    ) -> Self {
        self.time_zones.of_user = Some(Arc::new(of_user));
        self
    }

    /// Replaces the operating system's clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Adds a value that tools read by its type with `ToolContext::extension`. It replaces an
    /// earlier value of the same type.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.extensions.insert(TypeId::of::<T>(), Box::new(value));
        self
    }

    /// Replaces the process's panic hook when the runtime starts. The new hook logs panics through
    /// `tracing` with a backtrace, whatever `RUST_BACKTRACE` says. Unexpected failures of handlers
    /// are logged with a backtrace as well.
    #[must_use]
    pub fn panic_hook(mut self) -> Self {
        self.has_panic_hook = true;
        self
    }

    /// Starts the runtime on the current Tokio runtime. Dropping the future stops what it has
    /// started.
    ///
    /// # Errors
    /// [`BuildError`] says what is missing or does not fit.
    pub async fn start(self) -> Result<Runtime, BuildError> {
        let models = self.models.named()?;
        let store = self.store.ok_or(BuildError::NoStore)?;
        self.limits.check()?;
        let mut registry = ToolRegistry::new();
        registry.register_all(self.tools)?;
        for tool in registry.iter() {
            if store.only_reads() && tool.spec().effect != EffectPolicy::Read {
                return Err(BuildError::Writes { tool: tool.spec().name.clone() });
            }
            let lent = store.connection_type();
            let needed = tool.tool().needs().map(Need::connection);
            if let Some(needed) = needed.filter(|needed| *needed != lent) {
                return Err(BuildError::OtherConnection {
                    tool: tool.spec().name.clone(),
                    needed,
                    lent,
                });
            }
        }
        for tool in registry.iter().filter(|tool| tool.spec().name.len() > PORTABLE_NAME) {
            let (tool, bytes) = (&tool.spec().name, tool.spec().name.len());
            warn!(%tool, bytes, "other programs take names of tools of at most {PORTABLE_NAME} bytes");
        }
        let specs: Vec<_> = registry.iter().map(|tool| tool.spec().clone()).collect();
        for NamedModel { name, model } in &models {
            let name = name.as_ref().map(ModelName::as_str);
            for Unconstrained { tool, pointer, keyword } in model.unconstrained(&specs) {
                warn!(
                    model = name, %tool, pointer, keyword,
                    "the model's calls may break this part of a schema: they are checked by the dispatcher only"
                );
            }
        }
        if self.has_panic_hook {
            telemetry::install_panic_hook();
        }
        let time_zones = self.time_zones.started()?;
        let config = RuntimeConfig {
            models,
            weights: self.weights,
            store,
            occupied: None,
            registry: Arc::new(registry),
            limits: Arc::new(self.limits),
            languages: Languages::new(self.languages, self.language),
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            extensions: Extensions::new(self.extensions),
        };
        Runtime::start(config, self.system, self.has_temporary_chats, self.model_choice, time_zones)
            .await
    }
}

impl fmt::Debug for Builder {
    /// Leaves out the application's texts and the schemas of its tools.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("models", &self.models)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
