//! Finds the chat of a request, and the key under which its turn begins.

use std::sync::Arc;

use axum::http::HeaderMap;
use madang::{
    IdempotencyKey, Session, SessionId, approval::Digest, error::TurnError, model::ModelError,
    turn::TurnEnd, turn::TurnPhase,
};
use tracing::warn;
use uuid::Uuid;

use super::{
    client_memory::{MemoryError, TRY_LIFE, Tried},
    digests::RequestDigests,
    known_chat::{BegunBefore, KnownChat},
    request::ChatRequest,
};
use crate::{
    auth::caller::{Caller, session_id},
    extract::Wishes,
    problem::Problem,
    state::Shared,
    surface::takeover::import,
};

/// The chat of a request, and what begins in it.
#[derive(Debug)]
pub(super) struct FoundChat {
    pub(super) session: Session,
    /// The key of the turn.
    pub(super) key: IdempotencyKey,
    /// The text that is new to the chat.
    pub(super) text: Arc<str>,
    /// Whether it is the chat that the client names.
    pub(super) is_named: bool,
}

/// The header by which Madang's own clients name a chat. They may leave its history to this server.
const OWN_NAME: &str = "madang-session";
/// The headers by which other clients name a chat. The first that is there counts. Such clients
/// send the whole chat each time.
const OTHER_NAMES: [&str; 2] = ["x-openwebui-chat-id", "x-conversation-id"];
/// The header in which OpenAI's clients count the tries that they make on their own.
const RETRY_COUNT: &str = "x-stainless-retry-count";

/// Finds the chat of a request and stores the try, before anything begins.
///
/// # Errors
/// Returns a problem if the chat cannot be opened, or if the try cannot be stored. Without it, a
/// repeated request could begin a second turn.
pub(super) async fn find_chat(
    shared: &Shared,
    caller: &Caller,
    wishes: &Wishes,
    headers: &HeaderMap,
    digests: RequestDigests,
    request: &Arc<ChatRequest>,
) -> Result<FoundChat, Problem> {
    let name_in = |header: &str| headers.get(header)?.to_str().ok();
    let own = headers.get(OWN_NAME).map(|name| str::from_utf8(name.as_bytes()).unwrap_or_default());
    // A repeated request is answered without opening the chat that it names.
    own.map(session_id).transpose()?;
    let others = OTHER_NAMES.into_iter().find_map(name_in);
    let named = own.or(others).or(request.session.as_deref());
    // A client that sends only its last text leaves the history to this server.
    let sends_all = own.is_none() && others.is_some();
    let name = digests.name;
    let now = shared.now();
    let mut put_off = None;
    if may_repeat(wishes, headers)
        && let Some(tried) = shared.memory.tried(caller.user.clone(), name, now).await?
    {
        let (found, begun) = join(shared, caller, request, named, &tried).await?;
        if wishes.key.is_some() || !was_put_off(&found.session, begun.as_ref()).await? {
            return Ok(found);
        }
        put_off = Some(tried);
    }
    let found = match named {
        Some(name) => named_chat(shared, caller, name, request, sends_all).await?,
        None => None,
    };
    let is_named = found.is_some();
    let (chat, text) = match found {
        Some((session, text)) => (TurnSession::Known(session), text),
        None => (unnamed_chat(shared, caller, digests.asked, request).await?, request.text.clone()),
    };
    let key = wishes.key.clone().unwrap_or_else(random_key);
    let until = wishes.key.is_none().then(|| now.after(TRY_LIFE));
    let mine = Tried { session: chat.id().clone(), key, until };
    if may_repeat(wishes, headers) {
        // Another request with the same name may have come at the same moment. One of them is the
        // first.
        let user = caller.user.clone();
        let first = shared.memory.claim_try(user, name, mine.clone(), put_off, now).await?;
        if first != mine {
            return Ok(join(shared, caller, request, named, &first).await?.0);
        }
    } else {
        shared.memory.add_try(caller.user.clone(), name, mine.clone(), now).await?;
    }
    let session = match chat {
        TurnSession::Known(session) => session,
        TurnSession::New(id) => new_chat(shared, caller, &id, request).await?,
    };
    Ok(FoundChat { session, key: mine.key, text, is_named })
}

/// The chat in which a turn is to begin.
enum TurnSession {
    /// A chat that exists.
    Known(Session),
    /// A chat that is made after the try was stored under its id.
    New(SessionId),
}

impl TurnSession {
    fn id(&self) -> &SessionId {
        match self {
            Self::Known(session) => session.id(),
            Self::New(id) => id,
        }
    }
}

/// Finds the chat of another try of this request, and the turn that it has begun there. The other
/// request may be running. What it has not yet done to make the chat is done here, with the same
/// result.
async fn join(
    shared: &Shared,
    caller: &Caller,
    request: &Arc<ChatRequest>,
    named: Option<&str>,
    tried: &Tried,
) -> Result<(FoundChat, Option<BegunBefore>), Problem> {
    let session =
        match shared.runtime.user_with_id(&caller.user).find_session(&tried.session).await? {
            Some(session) => session,
            None => new_chat(shared, caller, &tried.session, request).await?,
        };
    let mut chat = known(shared, &session, request).await?;
    if chat.is_empty() && import(shared, &session, &request.history).await? {
        chat = known(shared, &session, request).await?;
    }
    let begun = chat.begun_under(&tried.key);
    let text = match &begun {
        Some(begun) => Some(begun.text.clone()),
        None => chat.new_text(request).await,
    };
    let text = text.filter(|text| request.text.ends_with(&**text));
    let text = text.unwrap_or_else(|| request.text.clone());
    let is_named = named == Some(session.id().as_str());
    Ok((FoundChat { session, key: tried.key.clone(), text, is_named }, begun))
}

/// Returns whether the model was too busy for a turn, which then did nothing. Its client was asked
/// to retry, and would get the same end each time.
async fn was_put_off(session: &Session, begun: Option<&BegunBefore>) -> Result<bool, Problem> {
    let Some(BegunBefore { turn, did_nothing: true, .. }) = begun else { return Ok(false) };
    let phase = session.turn_status(*turn).await?.map(|status| status.phase);
    Ok(match phase {
        Some(TurnPhase::Ended(TurnEnd { error: Some(TurnError::Model { kind, .. }), .. })) => {
            kind == ModelError::OVERLOADED
        }
        Some(TurnPhase::Running | TurnPhase::Waiting { .. } | TurnPhase::Ended(_)) | None => false,
    })
}

impl FoundChat {
    /// Remembers that the chat ends at this chain now. If that fails, the next request begins a
    /// chat of its own.
    pub(super) async fn remember(&self, shared: &Shared, caller: &Caller, chain: Digest) {
        if self.is_named {
            return;
        }
        let user = caller.user.clone();
        let session = self.session.id().clone();
        if let Err(error) = shared.memory.add_chat(user, chain, session, shared.now()).await {
            warn!(%error, "the end of a client's chat was not stored");
        }
    }
}

/// Returns whether an earlier try may be the same request. Without a key, the client states that it
/// retries. Otherwise the same body may be a new request.
fn may_repeat(wishes: &Wishes, headers: &HeaderMap) -> bool {
    let count = headers.get(RETRY_COUNT).and_then(|count| count.to_str().ok()?.parse::<u32>().ok());
    wishes.key.is_some() || count.is_some_and(|count| count > 0)
}

/// Reads a chat that may be the client's.
async fn known(
    shared: &Shared,
    session: &Session,
    request: &ChatRequest,
) -> Result<KnownChat, Problem> {
    KnownChat::read(session, request, shared.limits.max_page_bytes).await
}

/// Opens the chat that the client names, and returns the text that is new to it. Returns `None` if
/// its texts are not the client's. The client has then edited or branched its own, and the chat is
/// left as it is.
async fn named_chat(
    shared: &Shared,
    caller: &Caller,
    name: &str,
    request: &Arc<ChatRequest>,
    sends_all: bool,
) -> Result<Option<(Session, Arc<str>)>, Problem> {
    let session = shared.open_session(&caller.user, name).await?;
    let ChatRequest { history, text, .. } = &**request;
    let chat = known(shared, &session, request).await?;
    let is_empty = chat.is_empty();
    if let Some(text) = chat.new_text(request).await {
        return Ok(Some((session, text)));
    }
    let leaves_it = history.is_empty() && !sends_all;
    let is_its = leaves_it || is_empty && import(shared, &session, history).await?;
    Ok(is_its.then(|| (session, text.clone())))
}

/// Finds the chat that has the client's history, or chooses the name of a new one.
async fn unnamed_chat(
    shared: &Shared,
    caller: &Caller,
    asked: Option<Digest>,
    request: &Arc<ChatRequest>,
) -> Result<TurnSession, Problem> {
    let new =
        || TurnSession::New(SessionId::new(Uuid::new_v4().to_string()).expect("a UUID is short"));
    let Some(chain) = asked else { return Ok(new()) };
    for session in shared.memory.chats(caller.user.clone(), chain).await? {
        let Some(session) =
            shared.runtime.user_with_id(&caller.user).find_session(&session).await?
        else {
            continue;
        };
        if known(shared, &session, request).await?.has_history_of(request).await {
            return Ok(TurnSession::Known(session));
        }
    }
    Ok(new())
}

/// Makes a chat that begins with the client's history.
async fn new_chat(
    shared: &Shared,
    caller: &Caller,
    id: &SessionId,
    request: &ChatRequest,
) -> Result<Session, Problem> {
    let session = shared.open_session(&caller.user, id.as_str()).await?;
    if !request.history.is_empty() {
        import(shared, &session, &request.history).await?;
    }
    Ok(session)
}

fn random_key() -> IdempotencyKey {
    IdempotencyKey::new(Uuid::new_v4().to_string()).expect("a UUID is a short text")
}

impl From<MemoryError> for Problem {
    fn from(error: MemoryError) -> Self {
        Self::store(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_another_try_where_it_has_a_key_or_counts_its_tries() {
        let wishes = |key: Option<&str>| Wishes {
            key: key.map(|key| IdempotencyKey::new(key).unwrap()),
            ..Wishes::default()
        };
        let headers = |count: Option<&'static str>| {
            let pairs = count.map(|count| (RETRY_COUNT.parse().unwrap(), count.parse().unwrap()));
            pairs.into_iter().collect::<HeaderMap>()
        };
        for (key, count, may) in [
            (None, None, false),
            (None, Some("0"), false),
            (None, Some("x"), false),
            (None, Some("2"), true),
            (Some("k"), None, true),
            (Some("k"), Some("0"), true),
        ] {
            assert_eq!(may_repeat(&wishes(key), &headers(count)), may, "{key:?} {count:?}");
        }
    }
}
