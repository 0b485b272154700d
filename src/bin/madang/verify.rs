//! `madang ledger --verify`: whether the ledger is what was written, and what nobody can tell from the file alone.

use madang::{Audited, SessionId, store::SqliteStore};
use serde_json::json;

use crate::{
    args::Ledger,
    failure::Failure,
    ledger::{no_session, unreadable},
    output,
    texts::Text,
};

/// Prints a line of JSON for each session whose ledger holds, with its head; then says what was not checked. Each
/// session whose ledger does not hold is told in one sentence.
pub(crate) async fn run(store: &SqliteStore, wanted: &Ledger) -> Result<(), Failure> {
    let sessions = match &wanted.session {
        Some(session) => vec![session.clone()],
        None => store.recorded_sessions().await.map_err(unreadable)?,
    };
    let mut broken = Vec::new();
    let mut vouched_for = 0;
    for session in &sessions {
        match audit(store, session, wanted).await? {
            Ok(audited) => {
                vouched_for += audited.vouched_for;
                output::foreign(&line(session, &audited))?;
            }
            Err(sentence) => broken.push(sentence),
        }
    }
    if broken.len() > 1 {
        for sentence in &broken {
            output::complain(sentence);
        }
        return Err(Failure::new(format!(
            "{} of {} sessions do not hold: restore them from a backup",
            broken.len(),
            sessions.len()
        )));
    }
    if let Some(sentence) = broken.pop() {
        return Err(Failure::new(sentence));
    }
    let not_checked = Text::NotChecked { has_head: wanted.head.is_some(), vouched_for };
    output::remark(&not_checked.in_locale(wanted.locale()));
    Ok(())
}

/// What the audit says; the sentence for the person where the ledger does not hold.
async fn audit(
    store: &SqliteStore,
    session: &SessionId,
    wanted: &Ledger,
) -> Result<Result<Audited, String>, Failure> {
    let name = session.as_str();
    let Some(ledger) = store.session_ledger(session).await.map_err(unreadable)? else {
        return match wanted.head {
            Some(_) => Ok(Err(format!(
                "there is nothing of session {name:?} in this database although a head of it was kept: it was removed"
            ))),
            None => Err(no_session(session)),
        };
    };
    let broken = |error| format!("the ledger of session {name:?} does not hold: {error}");
    Ok(ledger.audit(wanted.head.as_ref()).map_err(broken))
}

fn line(session: &SessionId, audited: &Audited) -> String {
    let Audited { end, calls, vouched_for } = audited;
    json!({
        "session": session,
        "calls": calls,
        "transitions": end.length,
        "vouched_for": vouched_for,
        "head": end.head,
    })
    .to_string()
}
