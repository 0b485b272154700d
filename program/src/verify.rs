//! `madang ledger --verify`: checks that the ledger is unchanged, and reports what the file alone
//! cannot prove.

use madang::{
    SessionId,
    ledger::{Audited, ErasedChain},
    store::{SqliteStore, Store as _},
};
use serde_json::json;

use crate::{args::Ledger, failure::Failure, output, texts::Text};

/// Prints a line of JSON with the head for each session whose ledger holds, then the limits of the
/// check. Each fault is one sentence: in triggers and indexes, in approvals and owners without a
/// fitting seal, and in the ledgers.
pub(crate) async fn run(store: &SqliteStore, wanted: &Ledger) -> Result<(), Failure> {
    let sessions = match &wanted.session {
        Some(session) => vec![session.clone()],
        None => store.recorded_sessions().await.map_err(Failure::of_ledger)?,
    };
    let faults = store.schema_faults().await.map_err(Failure::of_ledger)?;
    let mut broken: Vec<_> =
        faults.into_iter().map(|fault| format!("the tables do not hold: {fault}")).collect();
    let mut vouched_for = 0;
    let erased = store.erased().await.map_err(Failure::of_ledger)?;
    let vouched = |chain: &&ErasedChain| wanted.head.and_then(|head| chain.vouched_for(&head));
    let with_head = erased.iter().find(|chain| vouched(chain).is_some());
    let asked_for = match &wanted.session {
        Some(_) => with_head.into_iter().collect(),
        None => erased.iter().collect::<Vec<_>>(),
    };
    for chain in asked_for {
        match chain.check(store.keys()) {
            Err(cause) if !store.keys().is_empty() => broken.push(format!(
                "the record of the erased session {id} does not hold: {cause}",
                id = chain.id
            )),
            Ok(()) | Err(_) => {
                vouched_for += vouched(&chain).unwrap_or(0);
                output::foreign(&erased_line(chain))?;
            }
        }
    }
    for session in &sessions {
        if with_head.is_some() && store.owner(session).await.is_ok_and(|owner| owner.is_none()) {
            continue;
        }
        match audit(store, session, wanted, with_head.is_none()).await? {
            Ok(audited) => {
                vouched_for += audited.vouched_for;
                output::foreign(&line(session, &audited))?;
            }
            Err(sentences) => broken.extend(sentences),
        }
    }
    if store.keys().is_empty() {
        output::notice(&Text::NoSealKeys.in_locale(wanted.locale));
    }
    if broken.len() > 1 {
        for sentence in &broken {
            output::complain(sentence);
        }
        return Err(Failure::new(format!(
            "{} things do not hold: restore the database from a backup",
            broken.len()
        )));
    }
    if let Some(sentence) = broken.pop() {
        return Err(Failure::new(sentence));
    }
    let not_checked = Text::NotChecked { has_head: wanted.head.is_some(), vouched_for };
    output::notice(&not_checked.in_locale(wanted.locale));
    Ok(())
}

/// Audits a session; the error has sentences for the person.
async fn audit(
    store: &SqliteStore,
    session: &SessionId,
    wanted: &Ledger,
    has_head: bool,
) -> Result<Result<Audited, Vec<String>>, Failure> {
    let name = session.as_str();
    let Some(ledger) = store.session_ledger(session).await.map_err(Failure::of_ledger)? else {
        return match wanted.head.filter(|_| has_head) {
            Some(_) => Ok(Err(vec![format!(
                "there is nothing of session {name:?} in this database although a head of it was kept: it was removed"
            )])),
            None => Err(Failure::no_session(session)),
        };
    };
    let keys = Some(store.keys()).filter(|keys| !keys.is_empty());
    let unsealed: Vec<_> = keys.iter().flat_map(|keys| ledger.seal_faults(keys)).collect();
    let audited = if unsealed.is_empty() {
        ledger.audit(wanted.head.as_ref().filter(|_| has_head), keys).map_err(|error| vec![error])
    } else {
        // Names each of them; the audit would name only the first.
        Err(unsealed)
    };
    let broken = |error| format!("the ledger of session {name:?} does not hold: {error}");
    Ok(audited.map_err(|errors| errors.into_iter().map(broken).collect()))
}

/// Describes an erased session. Its seal was checked before, if the keys are known.
fn erased_line(chain: &ErasedChain) -> String {
    json!({
        "erased": chain.id,
        "by": chain.by,
        "at": chain.at,
        "calls": chain.calls,
        "messages": chain.messages,
        "transitions": chain.hashes.len(),
        "head": chain.head(),
    })
    .to_string()
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
