//! Forks chats in which a person has changed an earlier message, or wants another answer to it.
//! Each such message begins a fork, which is a chat of its own. It has the texts before the
//! message, and none of their consents, keys or open calls. From then on, the client's name refers
//! to the newest fork, and the earlier chat is left as it is.

use std::sync::Arc;

use madang::{Error, Session, SessionId, TurnOptions, event::ChatMessage};

use super::{
    body::Said,
    look_back::{Found, LookBack},
    takeover,
};
use crate::{
    auth::caller::Caller,
    fork_id::fork_id,
    problem::Problem,
    state::Shared,
    turns::{self, BegunTurn, Supersede},
};

/// What a client states about the message that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Nothing. The message is new, was sent before, or has another text than before.
    Plain,
    /// It names the message, which was edited, or is sent again because no answer came.
    Named,
    /// It wants another answer.
    Again,
}

/// Returns the chat that a client's name refers to now.
///
/// # Errors
/// Returns a problem if this user has none.
pub(crate) async fn current(
    shared: &Shared,
    caller: &Caller,
    name: &SessionId,
) -> Result<Session, Problem> {
    match forks(shared, caller, name).await?.into_iter().next() {
        Some(newest) => Ok(newest),
        None => caller.session(&shared.runtime, name.as_str()).await,
    }
}

/// Begins a turn with a message, or finds the one that it began before. It begins in a fork if the
/// message changes an earlier one. If the future is dropped, the work still runs to its end.
///
/// # Errors
/// Returns a problem if none began.
pub(crate) async fn begin(
    shared: &Arc<Shared>,
    caller: &Caller,
    name: &SessionId,
    (said, sent): (Said, Sent),
    (options, supersede): (TurnOptions, Supersede),
) -> Result<(Session, BegunTurn), Problem> {
    let options = TurnOptions { key: Some(said.key.clone()), ..options };
    let shared = shared.clone();
    let caller = caller.clone();
    let name = name.clone();
    turns::unbroken(async move {
        let (newest, place) = find(&shared, &caller, &name, &said, sent).await?;
        let text: Arc<str> = said.text.into();
        match place {
            Belongs::In(session) => {
                let begun = turns::begin(&shared, &session, text, options, supersede).await?;
                Ok((session, begun))
            }
            Belongs::Fork(cut) => {
                if text.trim().is_empty() {
                    return Err(Error::Empty.into());
                }
                turns::must_rest(&newest, supersede).await?;
                let fork = fork(&shared, &caller, cut, &text).await?;
                let begun = turns::begin(&shared, &fork, text, options, Supersede::Never).await?;
                let user = caller.user.clone();
                let id = fork.id().clone();
                shared.memory.add_fork(user, name, id).await?;
                // A question that was answered at this moment was answered first.
                let superseded = turns::dismiss_waiting(&shared, &newest).await?;
                Ok((fork, BegunTurn { superseded, ..begun }))
            }
        }
    })
    .await
}

/// Where a message belongs.
enum Belongs {
    /// Into this chat. It is new there, or is streamed again.
    In(Session),
    /// Into a fork.
    Fork(Cut),
}

/// The beginning of a fork.
struct Cut {
    /// The chat that is forked.
    from: Session,
    /// The message that is changed, as it is stored.
    message: ChatMessage,
}

/// Finds the newest fork, and where a message belongs. Looks for it in the newest fork first, then
/// in those before.
async fn find(
    shared: &Shared,
    caller: &Caller,
    name: &SessionId,
    said: &Said,
    sent: Sent,
) -> Result<(Session, Belongs), Problem> {
    let mut chats = forks(shared, caller, name).await?;
    chats.push(shared.open_session(&caller.user, name.as_str()).await?);
    let newest = chats[0].clone();
    let mut is_cut = false;
    for (at, chat) in chats.into_iter().enumerate() {
        let mut pages = LookBack::new(&chat, &shared.limits);
        let Some(found) = pages.find(said).await? else {
            is_cut |= pages.is_cut();
            continue;
        };
        if is_told(&found, sent, at == 0) {
            return Ok((newest, Belongs::In(chat)));
        }
        return Ok((newest, Belongs::Fork(Cut { from: chat, message: found.message })));
    }
    match sent {
        Sent::Named | Sent::Again if is_cut => {
            Err(Problem::malformed("The message is too far back in its chat to be changed."))
        }
        Sent::Plain | Sent::Named | Sent::Again => Ok((newest.clone(), Belongs::In(newest))),
    }
}

/// Returns whether the turn of the message is streamed once more, because nothing of it is changed
/// or the same request came twice.
const fn is_told(found: &Found, sent: Sent, in_newest: bool) -> bool {
    found.is_same
        && match sent {
            Sent::Plain => true,
            Sent::Named => in_newest && found.is_last,
            Sent::Again => in_newest && found.is_running,
        }
}

/// Makes the chat that begins with the texts before a message. If it was made before, the same
/// message finds it.
async fn fork(
    shared: &Shared,
    caller: &Caller,
    Cut { from, message }: Cut,
    text: &str,
) -> Result<Session, Problem> {
    let ChatMessage { turn, seq, .. } = message;
    let id = fork_id("fork", &[from.id().as_str(), &turn.to_string(), &seq.to_string(), text]);
    shared.admit_opening(&caller.user, &id).await?;
    let fork = || from.fork(seq, id.as_str());
    match takeover::begins(shared, &caller.user, &id, fork).await? {
        Some(fork) => Ok(fork.session),
        None => caller.session(&shared.runtime, id.as_str()).await,
    }
}

/// Returns the forks of a chat, the newest first.
async fn forks(
    shared: &Shared,
    caller: &Caller,
    name: &SessionId,
) -> Result<Vec<Session>, Problem> {
    let mut found = Vec::new();
    for fork in shared.memory.forks(caller.user.clone(), name.clone()).await? {
        found.extend(shared.runtime.user_with_id(&caller.user).find_session(&fork).await?);
    }
    Ok(found)
}
