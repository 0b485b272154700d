//! Waking a session: load its chat, start its actor.

use std::sync::Arc;

use ractor::Actor;
use tracing::{debug, error};

use super::{
    Door, SessionActor, SessionMsg, Wiring,
    awake::Waking,
    msg::{ClearError, TurnRefused},
    wiring::History,
};
use crate::{
    dispatcher::{DispatchRequest, settle},
    mailbox::answer,
    port::{LedgerFilter, ModelError, StoreError, StoredSession, Write},
    protocol::{Fault, SessionId, TurnEnding, TurnError, TurnId},
};

/// Why a session did not wake.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// The store could not be read.
    #[error("failed to load session {session}")]
    Store {
        /// The session.
        session: SessionId,
        /// The cause.
        #[source]
        cause: StoreError,
    },
    /// It was never opened.
    #[error("session {0} does not exist")]
    Unknown(SessionId),
    /// Its actor could not be started: the runtime has shut down.
    #[error("session {0} could not be started")]
    Closed(SessionId),
}

/// Wakes the session behind a door. Whatever waits there is delivered, or told why not.
pub async fn open(door: Arc<Door>, wiring: Arc<Wiring>) {
    let error = match start(&door, &wiring).await {
        Ok(()) => return,
        Err(error) => error,
    };
    error!(session = %door.session(), %error, "failed to wake a session");
    let cause = match error {
        OpenError::Store { cause, .. } => cause,
        OpenError::Unknown(_) | OpenError::Closed(_) => StoreError::refused(error.to_string()),
    };
    for msg in door.did_not_wake() {
        refuse(msg, &cause);
    }
}

async fn start(door: &Arc<Door>, wiring: &Arc<Wiring>) -> Result<(), OpenError> {
    let session = door.session();
    let unreadable = |cause| OpenError::Store { session: session.clone(), cause };
    // What an actor before this one began is still on its way to the store, with numbers of its own.
    door.settled().await;
    let mut stored = load(session, wiring).await?;
    if let Some(turn) = stored.open_turn {
        close_turn(&stored, turn, wiring).await.map_err(unreadable)?;
        stored = load(session, wiring).await?;
    }
    let last_seq = stored.row.last_seq;
    let messages = match wiring.history {
        History::Stored => stored.messages,
        History::InMemory => Vec::new(),
    };
    let waking = Waking { door: door.clone(), wiring: wiring.clone(), messages, last_seq };
    let (actor, _) =
        SessionActor::spawn_linked(None, SessionActor, waking, wiring.supervisor.clone())
            .await
            .map_err(|cause| {
                debug!(%session, %cause, "failed to start a session's actor");
                OpenError::Closed(session.clone())
            })?;
    door.woke(actor);
    Ok(())
}

async fn load(session: &SessionId, wiring: &Wiring) -> Result<StoredSession, OpenError> {
    let stored = wiring.store.store().session(session).await;
    let stored = stored.map_err(|cause| OpenError::Store { session: session.clone(), cause })?;
    stored.ok_or_else(|| OpenError::Unknown(session.clone()))
}

/// A turn that never ended, because its process or its actor died, is over; and so are its calls, which nobody runs any
/// more.
async fn close_turn(
    stored: &StoredSession,
    turn: TurnId,
    wiring: &Wiring,
) -> Result<(), StoreError> {
    let session = &stored.row.session;
    let open =
        LedgerFilter { session: Some(session.clone()), only_open: true, ..LedgerFilter::default() };
    for row in wiring.store.store().calls(&open).await? {
        let (call, request) = (row.call, DispatchRequest::of(row));
        if !settle(&wiring.around, request, &Fault::REPLY_LOST).await.is_recorded {
            // With its turn closed nobody would ever come back for it.
            return Err(StoreError::refused(format!("the end of call {call} was not recorded")));
        }
    }
    let ended = Write::TurnEnded {
        session: session.clone(),
        turn,
        at: wiring.around.clock.now(),
        ending: TurnEnding::Failed,
        error: Some(TurnError::Model { kind: ModelError::ENGINE_DIED.to_owned() }),
        usage: Default::default(),
    };
    wiring.store.write(vec![ended]).await
}

fn refuse(msg: SessionMsg, cause: &StoreError) {
    match msg {
        SessionMsg::Ask { began, .. } => answer(began, Err(TurnRefused::Store(cause.clone()))),
        SessionMsg::Clear { reply } => answer(reply, Err(ClearError::Store(cause.clone()))),
        // Dropping these tells the asker that the session is closed.
        SessionMsg::Dismiss { .. }
        | SessionMsg::State { .. }
        | SessionMsg::Close { .. }
        | SessionMsg::Stored { .. }
        | SessionMsg::Llm(_)
        | SessionMsg::Dispatcher(_)
        | SessionMsg::Idle => {}
    }
}
