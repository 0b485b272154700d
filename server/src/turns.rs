//! Begins turns for all surfaces: reports why a session is busy, and replaces an open question with
//! a new text.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use madang::{
    CallId, Error, Session, Turn, TurnId, TurnOptions,
    approval::Digest,
    session::{SessionView, ViewPage},
    turn::{TurnPhase, When},
};
use tokio::time::timeout;
use tracing::{Instrument as _, Span, field::display};

use crate::{
    problem::{MADANG_TURN, Problem},
    state::Shared,
};

/// Runs work of several steps to its end, even if this future is dropped because the client left.
pub(crate) async fn unbroken<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    match tokio::spawn(work.in_current_span()).await {
        Ok(done) => done,
        Err(broken) => match broken.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The process ends, and this future with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// The field of a request's span that names the turn, as the span of the turn itself does.
pub(crate) const TURN_ID: &str = "madang.turn.id";

/// A turn that began or was found, and the one whose question it replaced.
#[derive(Debug)]
pub(crate) struct BegunTurn {
    pub(crate) turn: Turn,
    pub(crate) superseded: Option<TurnId>,
}

/// What happens to a turn that waits for a person if a new text comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Supersede {
    /// It continues to wait, and the new text is refused.
    Never,
    /// It is dismissed. Its call does not run, and the new text replaces it.
    Waiting,
}

/// Begins a turn, or returns the one that began under its key. If the future is dropped, the work
/// still runs to its end, because a question that was dismissed for a new text would otherwise
/// leave neither.
///
/// # Errors
/// Returns a problem if none began. The problem of a busy session says which turn runs, and what it
/// asks.
pub(crate) async fn begin(
    shared: &Arc<Shared>,
    session: &Session,
    text: Arc<str>,
    options: TurnOptions,
    supersede: Supersede,
) -> Result<BegunTurn, Problem> {
    let shared = shared.clone();
    let session = session.clone();
    let begins = async move { begin_now(&shared, &session, text, options, supersede).await };
    let begun = unbroken(begins).await?;
    // The turn has a span of its own, which outlives that of the request.
    Span::current().record(TURN_ID, display(begun.turn.id()));
    Ok(begun)
}

async fn begin_now(
    shared: &Shared,
    session: &Session,
    text: Arc<str>,
    options: TurnOptions,
    supersede: Supersede,
) -> Result<BegunTurn, Problem> {
    match session.send_with(text.clone(), options.clone()).await {
        Ok(turn) => return Ok(BegunTurn { turn, superseded: None }),
        Err(Error::Busy) => {}
        Err(refused) => return Err(refused.into()),
    }
    let superseded = match supersede {
        Supersede::Waiting => dismiss_waiting(shared, session).await?,
        Supersede::Never => None,
    };
    if superseded.is_none() {
        return Err(busy(session).await);
    }
    match session.send_with(text, options).await {
        Ok(turn) => Ok(BegunTurn { turn, superseded }),
        // The question was answered meanwhile, or another text came first.
        Err(Error::Busy) => Err(busy(session).await),
        Err(refused) => Err(refused.into()),
    }
}

/// Returns a chat with its last entries, as many as one answer may have.
///
/// # Errors
/// Returns a problem if the session cannot be reached.
pub(crate) async fn last_page(shared: &Shared, session: &Session) -> Result<SessionView, Problem> {
    Ok(session.view(ViewPage::of(shared.limits.max_page_bytes)).await?)
}

/// Dismisses a turn, and returns whether this did it. If this returns true, a restart does not undo
/// the dismissal.
///
/// # Errors
/// Returns a problem if the session cannot be reached.
pub(crate) async fn dismiss(session: &Session, turn: TurnId) -> Result<bool, Problem> {
    let Some(dismissed) = session.dismiss_turn(turn, When::Any).await? else { return Ok(false) };
    dismissed.stored().await?;
    Ok(true)
}

/// Adds the name of the turn to an answer.
pub(crate) fn named(response: Response, turn: TurnId) -> Response {
    ([(MADANG_TURN, turn.to_string())], response).into_response()
}

/// Returns a problem if a turn of the session runs, or waits for a person and may not be dismissed
/// for that.
///
/// # Errors
/// Returns the problem of a busy session.
pub(crate) async fn must_rest(session: &Session, supersede: Supersede) -> Result<(), Problem> {
    let Some(running) = session.turn().await? else { return Ok(()) };
    let status = session.turn_status(running.id()).await?;
    match (status.map(|status| status.phase), supersede) {
        (Some(TurnPhase::Waiting { .. }), Supersede::Waiting) => Ok(()),
        (Some(TurnPhase::Ended(_)) | None, _) => Ok(()),
        (Some(TurnPhase::Running | TurnPhase::Waiting { .. }), _) => Err(busy(session).await),
    }
}

/// Dismisses the turn that waits for a person, and waits for its end. Returns `None` if none waits.
///
/// # Errors
/// Returns a problem if the session cannot be reached.
pub(crate) async fn dismiss_waiting(
    shared: &Shared,
    session: &Session,
) -> Result<Option<TurnId>, Problem> {
    let Some(running) = session.turn().await? else { return Ok(None) };
    let turn = running.id();
    let is_dismissed = dismiss_and_wait(shared, session, running).await?;
    Ok(is_dismissed.then_some(turn))
}

/// Dismisses the turn that waits for a decision about this very request, and waits for its end.
/// Returns false if none does.
///
/// # Errors
/// Returns a problem if the session cannot be reached.
pub(crate) async fn dismiss_request(
    shared: &Shared,
    session: &Session,
    call: CallId,
    digest: Digest,
) -> Result<bool, Problem> {
    let Some(running) = session.turn().await? else { return Ok(false) };
    let Some(status) = session.turn_status(running.id()).await? else { return Ok(false) };
    let request = match status.phase {
        TurnPhase::Waiting { approval_request } => approval_request,
        TurnPhase::Running | TurnPhase::Ended(_) => return Ok(false),
    };
    if request.call != call || request.digest != digest {
        return Ok(false);
    }
    dismiss_and_wait(shared, session, running).await
}

async fn dismiss_and_wait(
    shared: &Shared,
    session: &Session,
    running: Turn,
) -> Result<bool, Problem> {
    if session.dismiss_turn(running.id(), When::Waits).await?.is_none() {
        return Ok(false);
    }
    // If the end is not stored in time, the next text is refused as busy.
    let _ = timeout(shared.limits.supersede_wait, running.ended()).await;
    Ok(true)
}

/// Makes the problem of a busy session. It says which turn runs, and what it asks.
async fn busy(session: &Session) -> Problem {
    let problem = Problem::busy();
    let Ok(Some(running)) = session.turn().await else { return problem };
    let turn = running.id();
    let problem = problem.with("turn", turn);
    let Ok(Some(status)) = session.turn_status(turn).await else { return problem };
    match status.phase {
        TurnPhase::Waiting { approval_request } => {
            problem.with("approval_request", approval_request)
        }
        TurnPhase::Running | TurnPhase::Ended(_) => problem,
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_that_began_goes_on_though_its_client_leaves() {
        let ((go, may_go), (tell, told)) = (oneshot::channel::<()>(), oneshot::channel());
        let mut work = Box::pin(unbroken(async move {
            may_go.await.unwrap();
            tell.send("done").unwrap();
        }));
        assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(work);
        go.send(()).unwrap();
        assert_eq!(told.await.unwrap(), "done");
    }
}
