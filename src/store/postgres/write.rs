//! Writes facts: those in a row that rest on the book at once, and others one by one.

use std::collections::BTreeSet;

use madang_actors::{
    ledger::Transition,
    port::{LedgerFilter, StoreError, Write},
};

use super::{book::Book, calls, claim::Claim, delete, erase, error::of_write, own::Own};
use crate::store::rows::facts::describe;

/// What the statements of a transaction have done to it.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The users whose rows are locked under the claim.
    pub(super) users: BTreeSet<String>,
    /// An error aborted it, until the part around the error is undone.
    pub(super) is_aborted: bool,
}

/// Writes facts in order, up to the first refusal. Notes what becomes of the transaction.
///
/// If PostgreSQL itself refuses a fact, the transaction is aborted until the savepoint around it is
/// undone.
pub(super) async fn write(
    mut own: Own<'_>,
    claim: &Claim,
    writes: &[Write],
    scope: &mut Scope,
) -> Result<(), StoreError> {
    let own = &mut own;
    let mut rest = writes;
    while let Some(first) = rest.first() {
        let together = rest.iter().take_while(|fact| goes_with_others(fact)).count();
        if together > 0 {
            let (facts, later) = rest.split_at(together);
            write_together(own, claim, facts, scope).await?;
            rest = later;
            continue;
        }
        // Its user's row is locked like those of the others.
        drop(open(own, claim, std::slice::from_ref(first), scope).await?);
        match first {
            Write::Revoke { session, tool, by, at } => {
                let filter = LedgerFilter::standing_approvals().in_session(session);
                let given = calls::read(own, &filter).await?;
                let of_tool = given
                    .into_iter()
                    .filter(|row| tool.as_ref().is_none_or(|tool| row.name == *tool));
                let revokes = of_tool.map(|row| Write::Call {
                    session: session.clone(),
                    call: row.call,
                    at: *at,
                    transition: Transition::Revoked { by: by.clone() },
                });
                let revokes: Vec<_> = revokes.collect();
                write_together(own, claim, &revokes, scope).await?;
            }
            Write::Erased { session } => erase::erase(own, session).await?,
            Write::Deleted { session, user, at } => {
                delete::delete(own, session, user, *at).await?;
            }
            _ => unreachable!("all others go together"),
        }
        rest = &rest[1..];
    }
    Ok(())
}

/// Opens the book of these facts, and notes the users whose rows are locked.
async fn open<'a, 'k: 'a>(
    own: &mut Own<'k>,
    claim: &Claim,
    facts: &'a [Write],
    scope: &mut Scope,
) -> Result<Book<'a>, StoreError> {
    let keys = own.keys;
    let opened = Book::open(own, keys, claim, facts).await;
    match &opened {
        Ok(book) => scope.users.extend(book.users().cloned()),
        Err(_) => scope.is_aborted = true,
    }
    opened
}

/// Returns whether a fact is applied to the book, and written with those before and after it.
const fn goes_with_others(fact: &Write) -> bool {
    !matches!(fact, Write::Revoke { .. } | Write::Erased { .. } | Write::Deleted { .. })
}

async fn write_together(
    own: &mut Own<'_>,
    claim: &Claim,
    facts: &[Write],
    scope: &mut Scope,
) -> Result<(), StoreError> {
    if facts.is_empty() {
        return Ok(());
    }
    let mut book = open(own, claim, facts, scope).await?;
    let mut applied = 0;
    let mut refusal = None;
    for fact in facts {
        match book.apply(fact) {
            Ok(()) => applied += 1,
            Err(refused) => {
                refusal = Some(refused);
                break;
            }
        }
    }
    // The tables may refuse an earlier fact, and the first refusal counts.
    let written = book.into_changes().write(own, claim.claim).await;
    written.map_err(|cause| {
        scope.is_aborted = true;
        of_write(cause, || describe(&facts[..applied]))
    })?;
    refusal.map_or(Ok(()), Err)
}
