//! What all handlers of a server share.

use std::{
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use madang::{
    Clock as _, Runtime, Session, SessionId, SystemClock, Timestamp, UserId,
    ledger::{LedgerFilter, LedgerRow},
    tool::ToolRegistry,
};
use tokio::time::{Duration, Instant};

use crate::{
    ClientMemory, ServerLimits,
    accept::{drain::Drain, peer::Peer},
    auth::{Auth, caller::session_id},
    byte_budget::ByteBudget,
    guard::{rate::Rates, site::Site},
    options::{Extras, OnDisconnect},
    page::assets::Assets,
    problem::{Problem, ProblemName},
    stream::{outlet::OutletReader, permits::StreamPermits},
};

/// The state of the router. Handlers take it as `State<Arc<Shared>>`.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The runtime that is served.
    pub(crate) runtime: Runtime,
    /// The bounds of the server.
    pub(crate) limits: ServerLimits,
    /// The name under which clients of OpenAI's protocol find the model.
    pub(crate) model: Arc<str>,
    /// What happens to a turn if the client that began it closes the stream.
    pub(crate) on_disconnect: OnDisconnect,
    /// Finds callers.
    pub(crate) auth: Auth,
    /// The origins of the server.
    pub(crate) site: Site,
    /// How far the shutdown of the server is.
    pub(crate) drain: Drain,
    /// The permits of streams.
    pub(crate) streams: StreamPermits,
    /// The bytes of answers on their way to their readers.
    pub(crate) outgoing: ByteBudget,
    /// The bytes of bodies that arrived and are not parsed yet.
    pub(crate) incoming: ByteBudget,
    /// What the program adds to the runtime.
    pub(crate) extras: Extras,
    /// The files of the page.
    pub(crate) assets: Assets,
    /// Remembers for clients that name no chat.
    pub(crate) memory: Arc<dyn ClientMemory>,
    /// The tools, for streams that outlive their requests.
    pub(crate) tools: Arc<ToolRegistry>,
    /// The tools for MCP clients.
    #[cfg(feature = "mcp")]
    pub(crate) mcp: madang_mcp::ToolEndpoint,
    /// How often callers come.
    pub(crate) rates: CallerRates,
}

impl Shared {
    /// Returns the present moment.
    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// Opens a session of this user. Makes it if it does not exist.
    ///
    /// # Errors
    /// Returns a problem if the session is another user's, the same as for one that does not exist.
    /// Also returns one if the user creates too many sessions, or if the server is shutting down.
    pub(crate) async fn open_session(&self, user: &UserId, id: &str) -> Result<Session, Problem> {
        let session = session_id(id)?;
        match self.admit_opening(user, &session).await? {
            Some(session) => Ok(session),
            None => Ok(self.runtime.user_with_id(user).session(session.as_str()).await?),
        }
    }

    /// Admits that a user opens a session. Returns it if it exists.
    ///
    /// # Errors
    /// Returns the problems of [`open_session`](Self::open_session), but not that of another user's
    /// session.
    pub(crate) async fn admit_opening(
        &self,
        user: &UserId,
        session: &SessionId,
    ) -> Result<Option<Session>, Problem> {
        if self.drain.is_draining() {
            return Err(Problem::draining());
        }
        if let Some(session) = self.runtime.user_with_id(user).find_session(session).await? {
            return Ok(Some(session));
        }
        if let Err(wait) = self.rates.chat_is_made(user) {
            let problem = Problem::new(ProblemName::TooMany, "New chats are made too often.");
            let max = self.limits.new_chat_burst;
            return Err(problem.reached("new_chats", "user", max).retry_after(wait));
        }
        Ok(None)
    }

    /// Returns the user that a stream is written for.
    pub(crate) fn reader(&self, user: &UserId) -> OutletReader {
        let user = user.clone();
        let budget = self.outgoing.clone();
        OutletReader { user, budget, patience: self.limits.stall_timeout }
    }

    /// Reads the first row of the ledger that fits. Returns `None` if none does.
    pub(crate) async fn row(&self, filter: &LedgerFilter) -> Result<Option<LedgerRow>, Problem> {
        Ok(self.runtime.ledger(filter).await?.into_iter().next())
    }
}

/// How often users and services come with requests, users make chats and search them, and addresses
/// come with wrong credentials.
#[derive(Debug)]
pub(crate) struct CallerRates {
    since: Instant,
    users: Mutex<Rates<UserId>>,
    services: Mutex<Rates<Arc<str>>>,
    new_chats: Mutex<Rates<UserId>>,
    searches: Mutex<Rates<UserId>>,
    wrong: Mutex<Rates<Peer>>,
}

impl CallerRates {
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        let max = limits.max_remembered_rates;
        let second = Duration::from_secs(1);
        let minute = Duration::from_secs(60);
        let users = Rates::new(limits.requests_per_second, second, limits.request_burst, max);
        let (of_service, at_once) =
            (limits.service_requests_per_second, limits.service_request_burst);
        let services = Rates::new(of_service, second, at_once, max);
        let new_chats = Rates::new(limits.new_chats_per_minute, minute, limits.new_chat_burst, max);
        let searches = Rates::new(limits.searches_per_minute, minute, limits.search_burst, max);
        let wrong = limits.wrong_credentials_per_minute;
        let wrong = Rates::new(wrong, minute, wrong, max);
        Self {
            since: Instant::now(),
            users: Mutex::new(users),
            services: Mutex::new(services),
            new_chats: Mutex::new(new_chats),
            searches: Mutex::new(searches),
            wrong: Mutex::new(wrong),
        }
    }

    /// Admits a user's request.
    ///
    /// # Errors
    /// Returns how long the user must wait.
    pub(crate) fn user_comes(&self, user: &UserId) -> Result<(), Duration> {
        self.count(&self.users, user)
    }

    /// Admits a request of a service, which is known by the name of its token.
    ///
    /// # Errors
    /// Returns how long the service must wait.
    pub(crate) fn service_comes(&self, token: &Arc<str>) -> Result<(), Duration> {
        self.count(&self.services, token)
    }

    /// Admits that a user makes a chat.
    ///
    /// # Errors
    /// Returns how long the user must wait.
    pub(crate) fn chat_is_made(&self, user: &UserId) -> Result<(), Duration> {
        self.count(&self.new_chats, user)
    }

    /// Admits that a user searches.
    ///
    /// # Errors
    /// Returns how long the user must wait.
    pub(crate) fn search_begins(&self, user: &UserId) -> Result<(), Duration> {
        self.count(&self.searches, user)
    }

    /// Counts a wrong credential of an address.
    ///
    /// # Errors
    /// Returns how long the address must wait.
    pub(crate) fn wrong_credential(&self, peer: &Peer) -> Result<(), Duration> {
        self.count(&self.wrong, peer)
    }

    fn count<K: Clone + Ord + Hash>(
        &self,
        rates: &Mutex<Rates<K>>,
        who: &K,
    ) -> Result<(), Duration> {
        let mut rates = rates.lock().unwrap_or_else(PoisonError::into_inner);
        rates.come(who, self.since.elapsed())
    }
}
