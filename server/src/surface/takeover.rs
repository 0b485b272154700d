//! Begins a chat with texts: those of another chat, or the newest part of a client's history that
//! fits.

use std::time::Duration;

use madang::{
    Error, Session, SessionId, UserId,
    session::{Imported, ImportedRole},
};
use tokio::time::{Instant, sleep};

use crate::{ServerLimits, problem::Problem, state::Shared};

/// How long to wait before looking again at a chat whose beginning another request writes.
const PAUSE: Duration = Duration::from_millis(2);

/// Writes the beginning of a chat. Waits for another try of the same request that is writing it, and
/// then tries again. Returns `None` if the chat has begun meanwhile.
///
/// # Errors
/// Returns a problem if it cannot be written.
pub(crate) async fn begins<T, W: Future<Output = Result<T, Error>>>(
    shared: &Shared,
    user: &UserId,
    id: &SessionId,
    write: impl Fn() -> W,
) -> Result<Option<T>, Problem> {
    let until = Instant::now() + shared.limits.supersede_wait;
    loop {
        match write().await {
            Ok(done) => return Ok(Some(done)),
            Err(Error::HasBegun) => return Ok(None),
            // A turn that began now would be refused.
            Err(Error::Busy)
                if Instant::now() < until && is_being_written(shared, user, id).await? =>
            {
                sleep(PAUSE).await;
            }
            Err(Error::Busy) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns whether a chat is there and busy with something else than a turn.
async fn is_being_written(shared: &Shared, user: &UserId, id: &SessionId) -> Result<bool, Error> {
    match shared.runtime.user_with_id(user).find_session(id).await? {
        Some(session) => Ok(session.turn().await?.is_none()),
        None => Ok(false),
    }
}

/// Imports the newest part of a history that fits. Returns false if the chat has begun meanwhile.
///
/// # Errors
/// Returns a problem if the history cannot be stored.
pub(crate) async fn import(
    shared: &Shared,
    session: &Session,
    history: &[Imported],
) -> Result<bool, Problem> {
    let newest = newest(history, &shared.limits);
    if newest.is_empty() {
        return Ok(true);
    }
    let import = || session.import(newest.clone());
    Ok(begins(shared, session.user(), session.id(), import).await?.is_some())
}

/// Returns the newest messages of a history within the bounds, beginning with a text of the user.
fn newest(history: &[Imported], limits: &ServerLimits) -> Vec<Imported> {
    let mut bytes = 0;
    let said = history.iter().filter(|message| !message.text.trim().is_empty());
    let kept = said.rev().take(limits.max_import_messages).take_while(|message| {
        bytes += message.text.len();
        bytes <= limits.max_import_bytes
    });
    let mut kept: Vec<_> = kept.cloned().collect();
    kept.reverse();
    let begins = kept.iter().position(|message| message.role == ImportedRole::User);
    kept.split_off(begins.unwrap_or(kept.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_part_of_a_history_begins_with_a_text_of_the_user() {
        let mut limits = ServerLimits::default();
        (limits.max_import_messages, limits.max_import_bytes) = (3, 10);
        let user = Imported::user;
        let model = Imported::model;
        let history = [user("a"), model("b"), user("c"), model(" "), model("d"), user("e")];
        assert_eq!(newest(&history, &limits), [user("c"), model("d"), user("e")]);
        assert_eq!(
            newest(&history[..5], &limits),
            [user("c"), model("d")],
            "not from the model on"
        );
        assert_eq!(newest(&[user("x"), model("a long answer"), user("y")], &limits), [user("y")]);
        assert_eq!(newest(&[model("x")], &limits), []);
    }
}
