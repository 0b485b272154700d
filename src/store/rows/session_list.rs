//! Reads a page of a user's chats, newest first, without those that cannot be read.

use madang_actors::{
    ledger::SealKeys,
    port::{SessionPage, SessionSummary, StoreError},
};
use tracing::error;

use super::{chat::summary, columns::Columns, search::Place};

/// The chats of one user, as a database has them.
pub(crate) trait ListedChats: Send {
    type Row: Columns + Send + Sync;

    /// Reads the first `limit` chats, or those that come behind a place.
    fn chats_behind(
        &mut self,
        place: Option<Place>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;
}

/// Reads a page of the user's chats.
pub(crate) async fn read(
    its: &mut impl ListedChats,
    keys: &SealKeys,
    page: &SessionPage,
) -> Result<Vec<SessionSummary>, StoreError> {
    let mut summaries = Vec::new();
    let mut behind = page
        .position()
        .map(|position| (position.last_at().millis(), position.session().as_str().to_owned()));
    // Runs once, unless sessions are left out: older ones then fill the page.
    loop {
        let missing = page.limit() - summaries.len();
        let rows = its.chats_behind(behind.take(), missing).await?;
        for row in &rows {
            behind = Some((row.integer("last_at")?, row.text("session")?.to_owned()));
            match summary(row, keys) {
                Ok(summary) => summaries.push(summary),
                Err(cause) => {
                    let session = row.text("session");
                    let cause = &cause as &dyn std::error::Error;
                    error!(?session, cause, "a chat is not listed");
                }
            }
        }
        if rows.len() < missing || summaries.len() == page.limit() {
            return Ok(summaries);
        }
    }
}
