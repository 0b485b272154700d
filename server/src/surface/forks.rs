//! Chats in which a person has changed an earlier message, or wants another answer to it. Each such message begins a
//! fork, a chat of its own. It has the texts before the message, and no consent, no key and no open call of theirs. The
//! client's name stands for its newest fork from then on, and the chat before it is left as it is.

use std::sync::Arc;

use madang::{Error, Session, SessionId, TurnOptions, approval::Digest, event::ChatMessage};
use sha2::{Digest as _, Sha256};

use super::{
    body::Said,
    history::{said_in, text_bytes},
    look_back::{Found, LookBack},
    takeover::import,
};
use crate::{
    auth::caller::Caller,
    heavy,
    problem::Problem,
    state::Shared,
    turns::{self, BegunTurn, Supersede},
};

/// What a client says of the message that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Nothing: it is new, was sent before, or has another text than before.
    Plain,
    /// It names the message: it was edited, or is sent again because no answer came.
    Named,
    /// It wants another answer.
    Again,
}

/// Finds the chat that a client's name stands for now.
///
/// # Errors
/// A problem where there is none of this user.
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

/// Begins a turn with a message, or finds the one that it began before; in a fork where it changes an earlier message.
/// Dropping the future breaks off nothing.
///
/// # Errors
/// A problem where none began.
pub(crate) async fn begin(
    shared: &Arc<Shared>,
    caller: &Caller,
    name: &SessionId,
    (said, sent): (Said, Sent),
    (options, supersede): (TurnOptions, Supersede),
) -> Result<(Session, BegunTurn), Problem> {
    let options = TurnOptions { key: Some(said.key.clone()), ..options };
    let (shared, caller, name) = (shared.clone(), caller.clone(), name.clone());
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
                let (user, id) = (caller.user.clone(), fork.id().clone());
                shared.memory.add_fork(user, name, id).await?;
                // A question that was answered in this moment was answered first.
                let superseded = turns::dismiss_waiting(&shared, &newest).await?;
                Ok((fork, BegunTurn { superseded, ..begun }))
            }
        }
    })
    .await
}

/// Where a message belongs.
enum Belongs {
    /// Into this chat, in which it is new or told again.
    In(Session),
    /// Into a fork.
    Fork(Cut),
}

/// The beginning of a fork.
struct Cut {
    /// The chat that is forked.
    from: SessionId,
    /// The texts before the message that is changed, the newest of them.
    before: Vec<ChatMessage>,
    /// That message as it is stored.
    message: ChatMessage,
}

/// Finds the newest fork, and where a message belongs. It is looked for in the newest fork first, then in those before.
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
        let (message, before) = found.into_parts();
        let before = pages.before(before, &shared.limits).await?;
        let from = chat.id().clone();
        return Ok((newest, Belongs::Fork(Cut { from, before, message })));
    }
    match sent {
        Sent::Named | Sent::Again if is_cut => {
            Err(Problem::malformed("The message stands too far back in its chat to be changed."))
        }
        Sent::Plain | Sent::Named | Sent::Again => Ok((newest.clone(), Belongs::In(newest))),
    }
}

/// Tells whether the turn of the message is told once more: nothing of it is changed, or the same request came twice.
const fn is_told(found: &Found, sent: Sent, in_newest: bool) -> bool {
    found.is_same
        && match sent {
            Sent::Plain => true,
            Sent::Named => in_newest && found.is_last,
            Sent::Again => in_newest && found.is_running,
        }
}

/// Makes the chat that begins with the texts before a message. The same message finds it where it was made before.
async fn fork(
    shared: &Shared,
    caller: &Caller,
    Cut { from, before, message }: Cut,
    text: &str,
) -> Result<Session, Problem> {
    let id = fork_id(&from, &message, text);
    let history = heavy::run(text_bytes(&before), move || said_in(&before)).await;
    let session = shared.open_session(&caller.user, id.as_str()).await?;
    import(shared, &session, &history).await?;
    Ok(session)
}

/// Gives the id of a fork. Of two equal requests at once, both find the same.
fn fork_id(from: &SessionId, message: &ChatMessage, text: &str) -> SessionId {
    let mut hash = Sha256::new().chain_update("fork\0");
    for part in [from.as_str(), &message.turn.to_string(), &message.seq.to_string(), text] {
        hash = hash.chain_update((part.len() as u64).to_be_bytes()).chain_update(part);
    }
    SessionId::new(Digest::new(hash.finalize().into()).to_string()).expect("a digest is short")
}

/// Gives the forks of a chat, the newest first.
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
