//! Streams a session's events, from the beginning or after a cursor.

use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::Response};
use madang::{
    Session,
    event::{EventCursor, FeedCursor},
    session::ViewPage,
};

use super::mapper::NativeMapper;
use crate::{
    auth::{caller::Caller, scope::TokenScope},
    extract::{Ids, Query},
    forms::EventPlace,
    metrics,
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
    stream::body::{Items, OpenStream},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/sessions/{session}/events", Access::Scope(TokenScope::Chat), events)
            .id("streamSessionEvents")
            .says("Streams the events of a chat, from the beginning or after a cursor.")
            .query::<EventPlace>("after", "The cursor after which to resume.")
            .header::<EventPlace>("Last-Event-ID", "The same; it takes precedence over the query.")
            .gives_text("text/event-stream", "The events, each with its cursor as the id.")
            .refuses(&[ProblemName::CursorAhead]),
    ]
}

async fn events(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(session): Ids<String>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = cursor(&headers, &query)?;
    let session = caller.session(&shared.runtime, &session).await?;
    let stream = OpenStream::new(&shared, &caller, "native")?;
    if after.stored == EventCursor::START {
        // The first bytes are sent before the session has woken.
        let items = async move {
            let items = session.subscribe_after(after).await?;
            Ok(Items::Session(Box::new(items)))
        };
        return Ok(stream.write_later(items, NativeMapper::default()));
    }
    let items = subscribed_after(&session, after).await?;
    Ok(stream.write(items, NativeMapper::default()))
}

/// Subscribes after a cursor that the session has. A reader with a cursor of another database would
/// wait forever.
async fn subscribed_after(session: &Session, after: FeedCursor) -> Result<Items, Problem> {
    let items = session.subscribe_after(after).await?;
    if after.published.is_some_and(|(epoch, _)| epoch == items.epoch()) {
        metrics::resumed("memory", "goes_on"); // this very feed has published it
    } else {
        let end = session.view(ViewPage::NONE).await?.cursor.stored;
        if end < after.stored {
            metrics::resumed("store", "cursor_ahead");
            let problem = Problem::new(
                ProblemName::CursorAhead,
                "The chat has no event at this cursor, which is of another database. Read the chat from the beginning.",
            );
            return Err(problem.with("cursor", end));
        }
        metrics::resumed("store", "goes_on");
    }
    Ok(Items::Session(Box::new(items)))
}

/// Reads the cursor from which a reader resumes, or that of the beginning if it has none.
fn cursor(headers: &HeaderMap, query: &Query) -> Result<FeedCursor, Problem> {
    let wrong = |pointer: &str| {
        let detail = "This is not a cursor: send one as the server returned it.";
        Problem::malformed("The cursor cannot be read.").at(pointer, detail)
    };
    if let Some(id) = headers.get("last-event-id").filter(|id| !id.is_empty()) {
        let cursor = id.to_str().ok().and_then(|text| text.parse().ok());
        return cursor.ok_or_else(|| wrong("Last-Event-ID"));
    }
    match query.get("after") {
        Some(text) => text.parse().map_err(|_| wrong("?after")),
        None => Ok(FeedCursor::default()),
    }
}
