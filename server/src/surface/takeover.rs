//! Begins a chat with a client's history, or with the newest part of it that fits.

use std::time::Duration;

use madang::{
    Error, Session,
    session::{Imported, ImportedRole},
};
use tokio::time::{sleep, timeout};

use crate::{ServerLimits, problem::Problem, state::Shared};

/// How long to wait before looking again at a chat into which another request writes a history.
const IMPORT_PAUSE: Duration = Duration::from_millis(2);

/// Imports the newest part of a history that fits. Returns false if the chat has begun meanwhile.
pub(crate) async fn import(
    shared: &Shared,
    session: &Session,
    history: &[Imported],
) -> Result<bool, Problem> {
    let newest = newest(history, &shared.limits);
    if newest.is_empty() {
        return Ok(true);
    }
    let imports = async {
        loop {
            match session.import(newest.clone()).await {
                Ok(_) => return Ok(true),
                Err(Error::HasBegun) => return Ok(false),
                // Another try of the request is writing the same. A turn that began now would be
                // refused.
                Err(Error::Busy) if session.turn().await?.is_none() => {
                    sleep(IMPORT_PAUSE).await;
                }
                Err(Error::Busy) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    };
    timeout(shared.limits.supersede_wait, imports).await.unwrap_or(Ok(false))
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
