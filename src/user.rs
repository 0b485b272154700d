//! A user of a runtime: opens and lists chats, decides about approval requests, reads the ledger.

use std::sync::Arc;

use madang_actors::{
    port::{
        LedgerFilter, LedgerRow, SearchPage, SearchQuery, SessionPage, SessionSummary, StoreError,
    },
    protocol::{Bound, CallId, Decision, DecisionError, Digest, SessionId, UserId},
};

use crate::{
    Runtime, Session,
    approval::Inbox,
    error::{Error, InvalidId},
    runtime::shared::SharedRuntime,
};

/// A handle to one user of a runtime, returned by [`Runtime::user`]. It reaches only what belongs
/// to this user. It is cheap to clone, and dropping it changes nothing.
#[derive(Debug, Clone)]
pub struct User {
    id: UserId,
    runtime: Arc<SharedRuntime>,
}

impl Runtime {
    /// Returns the handle of the user with this name. It reads and writes nothing.
    ///
    /// # Errors
    /// [`InvalidId`] if no user can have this name.
    pub fn user(&self, name: &str) -> Result<User, InvalidId> {
        Ok(self.user_with_id(&UserId::new(name)?))
    }

    /// Returns the handle of this user.
    #[must_use]
    pub fn user_with_id(&self, id: &UserId) -> User {
        User { id: id.clone(), runtime: self.shared().clone() }
    }
}

impl User {
    /// Returns the id of the user.
    #[must_use]
    pub const fn id(&self) -> &UserId {
        &self.id
    }

    /// Opens a session of the user, and creates it if it does not exist. The session sleeps until
    /// it is used. If the process ended during a turn of the session, the session wakes now and the
    /// turn continues.
    ///
    /// # Errors
    /// [`Error::Id`] if no session can have this name, and [`Error::Foreign`] if the session is
    /// another user's. [`Error::Store`] if the store cannot be read or written. [`Error::Closed`]
    /// after the runtime has shut down, or if the session does not exist and the runtime is
    /// shutting down.
    pub async fn session(&self, name: &str) -> Result<Session, Error> {
        Session::open(&self.runtime, &self.id, name).await
    }

    /// Opens a session of the user as [`session`](Self::session) does, but creates none. Returns
    /// `None` both if it does not exist and if it is another user's, so that the caller cannot
    /// distinguish the two.
    ///
    /// # Errors
    /// [`Error::Store`] if the store cannot be read, [`Error::Closed`] after the runtime has shut
    /// down.
    pub async fn find_session(&self, session: &SessionId) -> Result<Option<Session>, Error> {
        if self.runtime.is_closed() {
            return Err(Error::Closed);
        }
        let owner = self.runtime.store().owner(session).await?;
        if owner.as_ref() != Some(&self.id) {
            return Ok(None);
        }
        Ok(Session::opened(&self.runtime, &self.id, session))
    }

    /// Reads a page of the user's chats from the store, newest first, and wakes none. A session is
    /// listed if it has a message of the user: not if it was only opened, and not for a call
    /// without a model.
    ///
    /// A chat moves to the front with each message of the user and each end of a turn. Successive
    /// pages show no chat twice. A chat that moves between them is found on the first page.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub async fn sessions(&self, page: SessionPage) -> Result<Vec<SessionSummary>, StoreError> {
        self.runtime.store().sessions(&self.id, &page).await
    }

    /// Searches the texts of the user's chats: what the user and the models have said since the last
    /// clearing of each. The newest chat comes first, and no chat wakes.
    ///
    /// A page reads no more than its bounds allow, and may end before anything is found. The search
    /// goes on from [`SearchPage::next`].
    ///
    /// ```
    /// # use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
    /// use madang::store::{SearchQuery, SearchText};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([ScriptedCompletion::text("Go to bed at ten.")]);
    /// # let runtime = madang::Runtime::builder().model(model).store(MemoryStore::new()).start().await?;
    ///
    /// let user = runtime.user("kim")?;
    /// user.session("chat-1").await?.send("When shall I sleep?").await?.text().await?;
    /// let page = user.search(&SearchQuery::new(SearchText::new("BED")?)).await?;
    /// assert_eq!((&*page.hits[0].excerpt.found, page.next), ("bed", None));
    /// # Ok(runtime.shutdown().await?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    pub async fn search(&self, query: &SearchQuery) -> Result<SearchPage, StoreError> {
        self.runtime.store().search(&self.id, query).await
    }

    /// Opens an inbox of the user's approval requests. It is complete even after a start, because
    /// sessions of the user that were cut off with an open request wake first. The future waits for
    /// them, at most [`Limits::ask_timeout`](crate::Limits::ask_timeout). The request of a session
    /// that takes longer arrives later as a change.
    ///
    /// Dropping the future opens nothing. Sessions that woke stay awake.
    ///
    /// # Errors
    /// [`Error`] says why there is no inbox.
    pub async fn inbox(&self) -> Result<Inbox, Error> {
        if self.runtime.is_closing() {
            return Err(Error::Closed);
        }
        let calls = &self.runtime.handles.calls;
        let permit = calls.admission.admit(Bound::Inboxes, &self.id, 1);
        let permit = permit.map_err(Error::Overloaded)?;
        self.runtime.ask_again(&self.id).await;
        Ok(Inbox::new(calls.inboxes.watch(&self.id), permit))
    }

    /// Decides about the approval request of a call, from any device, as [`Session::decide`] does.
    /// The digest is that of the request.
    ///
    /// # Errors
    /// [`DecisionError`] says why the decision was not accepted.
    pub async fn decide(
        &self,
        call: CallId,
        digest: Digest,
        decision: Decision,
    ) -> Result<(), DecisionError> {
        self.runtime.decide(&self.id, call, digest, decision).await
    }

    /// Reads the tool calls of the user that match the filter, in the order in which they were
    /// proposed. A filter without a limit returns all of them.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read. [`StoreError::Refused`] if the filter begins
    /// [after a call](LedgerFilter::after) that the user does not have.
    pub async fn ledger(&self, filter: LedgerFilter) -> Result<Vec<LedgerRow>, StoreError> {
        self.runtime.store().calls(&filter.of_user(&self.id)).await
    }
}
