//! The options of a server: credentials, origins, limits, and what the program adds to the runtime.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use madang::{
    SessionId, UserId,
    approval::Digest,
    language::Locale,
    ledger::{AuditError, Audited},
    store::StoreError,
    tool::BoxFuture,
};

#[cfg(feature = "jwt")]
use crate::auth::jwt::JwtIssuer;
use crate::{
    ClientMemory, ServerLimits,
    auth::{scope::TokenScopes, secret::CookieKey, token_entry::TokenEntry, token_file::TokenFile},
    guard::site::WebOrigin,
};

/// The options with which a [`Server`](crate::Server) is made.
///
/// ```
/// use madang_server::{ServerOptions, TokenEntry, TokenHolder, TokenScopes, TokenSecret};
/// # use madang::UserId;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
///
/// let secret = TokenSecret::random()?;
/// let kim = TokenHolder::User(UserId::new("kim")?);
/// let options = ServerOptions::default()
///     .token(TokenEntry::new("laptop", kim, TokenScopes::ALL, &secret))
///     .public_url("https://chat.example.org".parse()?);
/// # drop(options);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    pub(crate) limits: ServerLimits,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) tokens: Vec<TokenEntry>,
    pub(crate) token_file: Option<TokenFile>,
    #[cfg(feature = "jwt")]
    pub(crate) jwt: Option<JwtIssuer>,
    pub(crate) open: Option<UserId>,
    pub(crate) open_scopes: Option<TokenScopes>,
    pub(crate) cookie_key: Option<CookieKey>,
    pub(crate) public_url: Option<WebOrigin>,
    pub(crate) allowed_origins: Vec<WebOrigin>,
    pub(crate) on_disconnect: OnDisconnect,
    pub(crate) memory: Option<Arc<dyn ClientMemory>>,
    pub(crate) extras: Extras,
}

/// The most sentences of a language that are suggested: an empty chat has room for no more.
const MAX_SUGGESTIONS: usize = 8;

/// What happens to a turn if the client that began it closes the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnDisconnect {
    /// The turn continues, and the client may reconnect. A lost connection does not mean that the
    /// user wants to stop.
    #[default]
    Continue,
    /// The turn is dismissed.
    Dismiss,
}

/// What the program adds to the runtime.
#[derive(Clone, Default)]
pub(crate) struct Extras {
    pub(crate) audit: Option<Arc<Audit>>,
    pub(crate) metrics: Option<Arc<RenderMetrics>>,
    pub(crate) hides_page: bool,
    pub(crate) assets: Option<PathBuf>,
    /// What a new chat says of the model, by language.
    pub(crate) about_model: Vec<(Locale, String)>,
    pub(crate) suggestions: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

/// Checks the ledger of a session.
pub(crate) type Audit =
    dyn Fn(SessionId, Option<Digest>) -> BoxFuture<'static, AuditResult> + Send + Sync;
/// The result of an audit. `None` if the ledger has nothing of the session.
pub type AuditResult = Result<Option<Result<Audited, AuditError>>, StoreError>;
/// Writes all metrics as text.
pub(crate) type RenderMetrics = dyn Fn() -> String + Send + Sync;

impl ServerOptions {
    /// Sets limits other than the defaults.
    #[must_use]
    pub fn limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the name under which clients of OpenAI's protocol find the model that the runtime
    /// chooses. The default is `madang`. Other models of the runtime have their own names.
    #[must_use]
    pub fn model(mut self, name: impl Into<Arc<str>>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Adds a sentence to what the page says in a new chat, in the page's language: what a person
    /// should know of the model, such as that it is a demonstration. The page is in Korean and
    /// English.
    #[must_use]
    pub fn about_model(mut self, language: Locale, sentence: impl Into<String>) -> Self {
        self.extras.about_model.push((language, sentence.into()));
        self
    }

    /// Accepts a token whose secret the program keeps itself.
    #[must_use]
    pub fn token(mut self, token: TokenEntry) -> Self {
        self.tokens.push(token);
        self
    }

    /// Accepts the tokens of a file. The file is read again after it changed.
    #[must_use]
    pub fn token_file(mut self, file: TokenFile) -> Self {
        self.token_file = Some(file);
        self
    }

    /// Accepts the users of an issuer of JWTs.
    #[cfg(feature = "jwt")]
    #[must_use]
    pub fn jwt(mut self, issuer: impl Into<Option<JwtIssuer>>) -> Self {
        self.jwt = issuer.into();
        self
    }

    /// Accepts requests without a credential, for this user. Such a server listens only on loopback
    /// and on Unix sockets.
    #[must_use]
    pub fn open(mut self, user: UserId) -> Self {
        self.open = Some(user);
        self
    }

    /// Sets what requests without a credential may do on an open server. By default they have the
    /// scopes of a person's token: all except `admin`.
    #[must_use]
    pub const fn open_scopes(mut self, scopes: TokenScopes) -> Self {
        self.open_scopes = Some(scopes);
        self
    }

    /// Sets the key that seals cookies and the states of questions that MCP clients return. By
    /// default logins and such questions end with the process.
    #[must_use]
    pub fn cookie_key(mut self, key: CookieKey) -> Self {
        self.cookie_key = Some(key);
        self
    }

    /// Sets the public address of this server, such as that of a proxy with TLS in front of it.
    #[must_use]
    pub fn public_url(mut self, url: WebOrigin) -> Self {
        self.public_url = Some(url);
        self
    }

    /// Lets pages of another site call this server with a token. Their requests are never
    /// authenticated by a cookie.
    #[must_use]
    pub fn allow_origin(mut self, origin: WebOrigin) -> Self {
        self.allowed_origins.push(origin);
        self
    }

    /// Sets what happens to a turn if the client that began it closes the stream. By default the
    /// turn continues.
    #[must_use]
    pub fn on_disconnect(mut self, policy: OnDisconnect) -> Self {
        self.on_disconnect = policy;
        self
    }

    /// Sets the memory for clients that name no chat, such as those of OpenAI's protocol: it
    /// records which chats are theirs, and which requests were sent before. By default it ends with
    /// the process.
    #[must_use]
    pub fn client_memory(mut self, memory: impl ClientMemory) -> Self {
        self.memory = Some(Arc::new(memory));
        self
    }

    /// Sets how the ledger of a session is checked against the head that a client has kept. A store
    /// has its own way, such as `SqliteStore::session_ledger`.
    #[must_use]
    pub fn audit<F>(
        mut self,
        audit: impl Fn(SessionId, Option<Digest>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = AuditResult> + Send + 'static,
    {
        self.extras.audit = Some(Arc::new(move |session, head| Box::pin(audit(session, head))));
        self
    }

    /// Sets how the metrics are written for `/metrics`, which a token with the scope `admin` reads.
    /// Without this there is no such path. [`Server::serve_metrics`](crate::Server::serve_metrics)
    /// serves them to a collector without a token.
    #[must_use]
    pub fn metrics(mut self, render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.extras.metrics = Some(Arc::new(render));
        self
    }

    /// Sets sentences with which a newcomer may begin a chat in this language, such as `en`. The page
    /// offers them in an empty chat. At most eight of a language are kept.
    ///
    /// ```
    /// # use madang_server::ServerOptions;
    /// let options = ServerOptions::default().suggestions("en", ["Show my habits"]);
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn suggestions<T: Into<Arc<str>>>(
        mut self,
        language: impl Into<Arc<str>>,
        sentences: impl IntoIterator<Item = T>,
    ) -> Self {
        let sentences = sentences.into_iter().take(MAX_SUGGESTIONS).map(Into::into).collect();
        self.extras.suggestions.insert(language.into(), sentences);
        self
    }

    /// Serves no page.
    #[must_use]
    pub fn without_page(mut self) -> Self {
        self.extras.hides_page = true;
        self
    }

    /// Serves the page's files from this folder instead of those in the program, for development.
    #[must_use]
    pub fn assets(mut self, folder: impl Into<PathBuf>) -> Self {
        self.extras.assets = Some(folder.into());
        self
    }
}

impl fmt::Debug for Extras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extras")
            .field("has_audit", &self.audit.is_some())
            .field("has_metrics", &self.metrics.is_some())
            .field("hides_page", &self.hides_page)
            .field("assets", &self.assets)
            .field("about_model", &self.about_model)
            .field("suggestions", &self.suggestions)
            .finish()
    }
}
