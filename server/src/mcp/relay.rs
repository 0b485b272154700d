//! Passes an answer of the endpoint on as a stream of the server. The stream has a permit, and ends
//! with its credential or with the server.

use std::time::Duration;

use axum::{
    http::{Response as HttpResponse, header},
    response::Response,
};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use madang_mcp::{EndpointBody, EndpointRefusal};
use tokio::time::{Instant, interval_at, sleep};

use crate::stream::{
    body::{OpenStream, first_cut, respond},
    mapper::Cut,
    outlet::{BrokenOff, Outlet, WrittenBody},
};

/// The time for sending answers that came at the end of the runtime.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);

/// An answer of the endpoint.
type Answer = Result<HttpResponse<EndpointBody>, EndpointRefusal>;

/// A request's permit, and what may end its answer from outside.
#[derive(Debug)]
pub(super) struct Relay {
    pub(super) stream: OpenStream,
    /// Whether it answers no request. It then ends when the server shuts down.
    pub(super) is_stream_alone: bool,
}

impl Relay {
    /// Passes on an answer that is a stream.
    pub(super) fn pass_on(self, answer: HttpResponse<EndpointBody>) -> Response {
        let (head, body) = answer.into_parts();
        let mut response = self.write(|outlet| async move { pass(body, &outlet).await });
        for (name, value) in head.headers {
            if let Some(name) = name.filter(|name| name.as_str().starts_with("mcp-")) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }

    /// Answers with a stream at once. The answer follows in it as soon as it is there.
    pub(super) fn pass_on_later<F>(self, answering: F) -> Response
    where
        F: Future<Output = Answer> + Send + Unpin + 'static,
    {
        let silence = self.stream.shared.limits.keep_alive;
        self.write(move |outlet| async move {
            outlet.send(Bytes::from_static(b":\n\n")).await?;
            let answer = wait(answering, silence, &outlet).await;
            let Ok(answer) = answer else { return Err(BrokenOff) };
            if is_of_type(&answer, "text/event-stream") {
                return pass(answer.into_body(), &outlet).await;
            }
            // The status was sent already, and the message says the same.
            outlet.send(Bytes::from_static(b"data: ")).await?;
            pass(answer.into_body(), &outlet).await?;
            outlet.send(Bytes::from_static(b"\n\n")).await
        })
    }

    fn write<F>(self, passes: impl FnOnce(Outlet) -> F + Send + 'static) -> Response
    where
        F: Future<Output = Result<(), BrokenOff>> + Send + 'static,
    {
        let reader = self.stream.reader.clone();
        let body = WrittenBody::new(reader, move |outlet| async move {
            let Self { stream, is_stream_alone } = self;
            let ends = async {
                let cut = first_cut(&stream.shared, stream.credential).await;
                if let (Cut::Draining { .. }, false) = (cut, is_stream_alone) {
                    sleep(LAST_WORDS).await;
                }
            };
            tokio::select! {
                biased;
                passed = passes(outlet) => passed,
                // An answer that is cut off must not look complete.
                () = ends => if is_stream_alone { Ok(()) } else { Err(BrokenOff) },
            }
        });
        respond(body)
    }
}

/// Returns whether an answer is of this media type.
pub(super) fn is_of_type(answer: &HttpResponse<EndpointBody>, media_type: &str) -> bool {
    answer.headers().get(header::CONTENT_TYPE).is_some_and(|name| name == media_type)
}

/// Passes a body on to its end.
async fn pass(mut body: EndpointBody, outlet: &Outlet) -> Result<(), BrokenOff> {
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            outlet.send(data).await?;
        }
    }
    Ok(())
}

/// Waits for an answer, and keeps the connection open meanwhile.
async fn wait<F>(mut answering: F, silence: Duration, outlet: &Outlet) -> Answer
where
    F: Future<Output = Answer> + Unpin,
{
    let mut ticks = interval_at(Instant::now() + silence, silence);
    loop {
        tokio::select! {
            biased;
            answer = &mut answering => return answer,
            // These few bytes need no room.
            _ = ticks.tick() => outlet.send_in(None, Bytes::from_static(b":\n\n")).await,
        }
    }
}
