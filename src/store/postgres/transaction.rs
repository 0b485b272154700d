//! Implements the writer's transaction.

use std::{any::Any, sync::Arc, time::Duration};

use madang_actors::{
    port::{BoxFuture, StoreError, Transaction, Write},
    protocol::{CallId, SessionId},
};
use uuid::Uuid;

use super::{
    error::{self, ABORTED, Fenced, is_of_an_aborted_transaction},
    managed,
    own::{Own, patiently, say, within},
    pool::Lent,
    shared::Shared,
    write::{self, Scope},
};

/// How long what a borrower left running may delay the end of its part. Then the connection is closed,
/// and the server ends the statement.
const LEFT_RUNNING: Duration = Duration::from_secs(1);

/// The open transaction. Unless it commits, its connection is closed, which rolls back.
pub(super) struct PostgresTransaction {
    /// `None` once it has failed or ended.
    lent: Option<Lent>,
    shared: Arc<Shared>,
    /// The prefix of the store's savepoints, which a handler can neither meet by accident nor guess.
    prefix: String,
    depth: usize,
    /// A kept part that the server learns of with the next savepoint, or never.
    kept: Option<usize>,
    /// Lent, with nothing said since: a statement of the borrower may still run.
    is_lent: bool,
    /// Lent since a part was ended: the borrower may have begun another transaction.
    is_doubtful: bool,
    scope: Scope,
}

/// The borrower ended the transaction, or left it unusable.
#[derive(Debug, thiserror::Error)]
#[error("the transaction was ended by its borrower or by the server")]
struct Ended(#[source] Option<sqlx::Error>);

impl PostgresTransaction {
    /// Begins on a lent connection.
    pub(super) async fn begin(mut lent: Lent, shared: Arc<Shared>) -> Result<Self, StoreError> {
        if let Err(cause) = begin(&mut lent).await {
            if !lent.was_idle {
                lent.give_up();
                return Err(StoreError::unavailable(cause));
            }
            // The server may have closed what was idle. Nothing was written yet.
            shared.claim.confirm().await?;
            lent.replace().await.map_err(StoreError::unavailable)?;
            begin(&mut lent).await.map_err(StoreError::unavailable)?;
        }
        Ok(Self {
            lent: Some(lent),
            shared,
            prefix: format!("madang_{}", Uuid::now_v7().simple()),
            depth: 0,
            kept: None,
            is_lent: false,
            is_doubtful: false,
            scope: Scope::default(),
        })
    }

    /// Returns the connection for the store's own statements.
    pub(super) fn own(&mut self) -> Result<Own<'_>, StoreError> {
        let lent = self.lent.as_mut().ok_or_else(ended)?;
        Ok(lent.own(&self.shared.keys))
    }

    /// Runs transaction control. A transaction whose control failed is over.
    async fn control(&mut self, sql: String) -> Result<(), StoreError> {
        let is_lent = self.is_lent;
        let lent = self.lent.as_mut().ok_or_else(ended)?;
        let db = &mut lent.connection().db;
        let said =
            if is_lent { within(LEFT_RUNNING, say(db, sql)).await } else { say(db, sql).await };
        said.map_err(|cause| self.fail(cause))
    }

    /// Closes the connection, whose state is unknown.
    fn fail(&mut self, cause: sqlx::Error) -> StoreError {
        if let Some(lent) = self.lent.take()
            && error::code(&cause).is_none()
        {
            lent.give_up();
        }
        StoreError::unavailable(Ended(Some(cause)))
    }

    /// Fails if the borrower left a part open that it began by itself.
    fn must_have_no_part(&mut self) -> Result<(), StoreError> {
        let lent = self.lent.as_mut().ok_or_else(ended)?;
        match managed::depth(&lent.connection().db) {
            1 => Ok(()),
            0 => Err(StoreError::refused("the borrower ended the transaction")),
            _ => Err(StoreError::refused("the borrower left a part of the transaction open")),
        }
    }

    /// Leaves the innermost part and returns its depth.
    fn leave(&mut self) -> Result<usize, StoreError> {
        let depth = self.depth;
        let outer = depth.checked_sub(1);
        self.depth = outer.ok_or_else(|| StoreError::unavailable("there is no savepoint"))?;
        Ok(depth)
    }

    /// Takes the connection back from the borrower: waits for what it left running, learns whether its
    /// statements stand, and sets the store's own settings again.
    async fn take_back(&mut self) -> Result<(), StoreError> {
        if !self.is_lent {
            return Ok(());
        }
        self.must_have_no_part()?;
        let lent = self.lent.as_mut().ok_or_else(ended)?;
        let again = format!("RESET ROLE; RESET ALL; {}", lent.settings());
        match within(LEFT_RUNNING, say(&mut lent.connection().db, again)).await {
            Ok(()) => {
                self.is_lent = false;
                Ok(())
            }
            Err(cause) if is_of_an_aborted_transaction(&cause) => {
                self.scope.is_aborted = true;
                Err(StoreError::refused(ABORTED))
            }
            Err(cause) => Err(self.fail(cause)),
        }
    }

    /// Makes sure that this process still may write, in a transaction that wrote for no user.
    async fn must_be_held(&mut self) -> Result<(), StoreError> {
        let node = self.shared.claim.node;
        let mut own = self.own()?;
        let row = own.query("SELECT 1 FROM madang.nodes WHERE node = $1 FOR SHARE").bind(node);
        match own.one(row).await? {
            Some(_) => Ok(()),
            None => Err(StoreError::unavailable(Fenced(None))),
        }
    }
}

/// Begins, after what an earlier borrower left was tidied up.
async fn begin(lent: &mut Lent) -> sqlx::Result<()> {
    if lent.connection().was_lent {
        patiently(lent.tidy()).await?;
    }
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
    patiently(managed::begin(&mut lent.connection().db, Some(begin))).await
}

fn ended() -> StoreError {
    StoreError::unavailable(Ended(None))
}

/// Returns the name of the savepoint of this depth.
fn part(prefix: &str, depth: usize) -> String {
    format!("{prefix}_{depth}")
}

impl Transaction for PostgresTransaction {
    fn savepoint<'a>(
        &'a mut self,
        _call: Option<(&'a SessionId, CallId)>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.depth += 1;
            let release =
                self.kept.take().map(|kept| format!("RELEASE {}; ", part(&self.prefix, kept)));
            let release = release.unwrap_or_default();
            self.control(format!("{release}SAVEPOINT {}", part(&self.prefix, self.depth))).await
        })
    }

    fn keep(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            if self.scope.is_aborted {
                return Err(StoreError::refused(ABORTED));
            }
            self.take_back().await?;
            let depth = self.leave()?;
            if self.is_doubtful {
                // Only this transaction has a part of this name.
                self.kept = None;
                self.control(format!("RELEASE {}", part(&self.prefix, depth))).await?;
                self.is_doubtful = false;
                return Ok(());
            }
            // No caller is answered before the commit, so the server may learn of it later. What was
            // kept inside of this part ends with it.
            self.kept = Some(depth);
            Ok(())
        })
    }

    fn undo(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            let depth = self.leave()?;
            self.kept = None;
            let name = part(&self.prefix, depth);
            self.control(format!("ROLLBACK TO {name}; RELEASE {name}")).await?;
            self.scope.is_aborted = false;
            self.is_lent = false;
            self.is_doubtful = false;
            // The name is gone in a transaction that the borrower ended; what it began is undone.
            self.must_have_no_part().map_err(|_| self.fail(error::io("a part is open")))
        })
    }

    fn write<'a>(&'a mut self, writes: &'a [Write]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if self.scope.is_aborted {
                return Err(StoreError::refused(ABORTED));
            }
            self.take_back().await?;
            let lent = self.lent.as_mut().ok_or_else(ended)?;
            let Shared { keys, claim, .. } = &*self.shared;
            let written = write::write(lent.own(keys), claim, writes, &mut self.scope).await;
            if written.as_ref().is_err_and(|cause| !is_refusal(cause)) {
                self.lent = None;
            }
            written
        })
    }

    fn connection(&mut self) -> &mut (dyn Any + Send) {
        self.is_lent = true;
        self.is_doubtful = true;
        let lent = self.lent.as_mut().expect("a transaction that failed is not lent");
        let connection = lent.connection();
        connection.was_lent = true;
        &mut connection.db
    }

    fn commit(mut self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            if self.scope.is_aborted || self.is_doubtful {
                return Err(StoreError::unavailable(Ended(None)));
            }
            if self.scope.users.is_empty() {
                self.must_be_held().await?;
            }
            let mut lent = self.lent.take().ok_or_else(ended)?;
            if let Err(cause) = patiently(managed::commit(&mut lent.connection().db)).await {
                let cause = error::of_commit(cause);
                if cause.may_have_happened() {
                    self.shared.doubt.add(std::mem::take(&mut self.scope.users));
                    lent.give_up();
                }
                return Err(cause);
            }
            lent.give_back();
            Ok(())
        })
    }
}

/// Returns whether the store refused, and the connection can be used again.
const fn is_refusal(error: &StoreError) -> bool {
    matches!(error, StoreError::Refused { .. } | StoreError::Illegal(_) | StoreError::TooMuchStored)
}
