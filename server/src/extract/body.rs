//! The JSON body of a request: of the right type, not too long, not too slow, and of the form that its handler takes.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::header::CONTENT_LENGTH,
};
use bytes::BytesMut;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use super::values::ValueCount;
use crate::{
    guard::csrf::is_json,
    problem::{Problem, ProblemName, Words},
    state::Shared,
};

/// A JSON body. Where nothing is sent, it is an empty object.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

/// How many bytes the bodies of a route may have. An extension of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaxBodyBytes(pub(crate) usize);

/// The bytes of a JSON body, for surfaces that read it themselves.
#[derive(Debug)]
pub(crate) struct Bytes(pub(crate) bytes::Bytes);

impl<T: DeserializeOwned> FromRequest<Arc<Shared>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let Bytes(bytes) = Bytes::from_request(request, shared).await?;
        parse(if bytes.is_empty() { b"{}" } else { &bytes }).map(Self)
    }
}

impl FromRequest<Arc<Shared>> for Bytes {
    type Rejection = Problem;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let MaxBodyBytes(max_bytes) =
            *request.extensions().get().unwrap_or(&MaxBodyBytes(shared.limits.max_body_bytes));
        let patience = shared.limits.body_timeout;
        let (head, body) = request.into_parts();
        let announced = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        if let Some(bytes) = announced.and_then(|text| text.parse::<usize>().ok())
            && bytes > max_bytes
        {
            return Err(Problem::too_long(Some(bytes), max_bytes));
        }
        let bytes =
            tokio::time::timeout(patience, read(body, max_bytes, shared.limits.max_body_values))
                .await;
        let bytes = bytes.map_err(|_| {
            Problem::new(
                ProblemName::TooSlow,
                "본문이 제때 오지 않았습니다.",
                "The body did not come in time.",
            )
        })??;
        let has_type = head.headers.contains_key(axum::http::header::CONTENT_TYPE);
        if !is_json(&head.headers) && (has_type || !bytes.is_empty()) {
            return Err(Problem::new(
                ProblemName::UnsupportedMediaType,
                "본문은 UTF-8 application/json이어야 합니다.",
                "The body must be application/json in UTF-8.",
            ));
        }
        Ok(Self(bytes))
    }
}

/// Reads a body into one piece. Each frame is copied and dropped at once, because a kept frame would keep the whole
/// buffer behind it. With kept frames, a body of single bytes would cost far more than its bound.
async fn read(body: Body, max_bytes: usize, max_values: usize) -> Result<bytes::Bytes, Problem> {
    let (mut body, mut bytes) = (Limited::new(body, max_bytes), BytesMut::new());
    let mut values = ValueCount::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<LengthLimitError>() {
                return Problem::too_long(None, max_bytes);
            }
            Problem::malformed("본문이 도중에 끊겼습니다.", "The body broke off.")
        })?;
        if let Ok(data) = frame.into_data() {
            if values.read(&data) > max_values {
                return Err(Problem::many_values(max_values));
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.freeze())
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut reader);
    let read = read.map_err(|error| (pointer(error.path()), error.into_inner()));
    let read = read.and_then(|value| match reader.end() {
        Ok(()) => Ok(value),
        Err(error) => Err((String::new(), error)),
    });
    read.map_err(|(pointer, error)| {
        let misfit = misfit(&error);
        let words =
            Words::new(format!("맞지 않습니다: {misfit}"), format!("It does not fit: {misfit}."));
        Problem::malformed("본문이 맞지 않습니다.", "The body does not fit.").at(pointer, words)
    })
}

/// Says why a body does not fit, and repeats nothing of it: problems are logged by clients.
pub(crate) fn misfit(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => text,
    }
}

/// Writes a path as a JSON Pointer (RFC 6901).
fn pointer(path: &Path) -> String {
    path.iter().fold(String::new(), |mut pointer, segment| {
        let part = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                key.replace('~', "~0").replace('/', "~1")
            }
            Segment::Unknown => return pointer,
        };
        pointer.push('/');
        pointer.push_str(&part);
        pointer
    })
}

#[cfg(test)]
mod tests {
    use madang::language::Locale;
    use std::{
        convert::Infallible,
        pin::Pin,
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        task::{Context, Poll},
    };

    use http_body::Frame;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read counts")]
    struct Form {
        text: String,
        list: Option<Vec<u8>>,
    }

    /// A byte in a buffer of its own, which lives until the byte is dropped.
    struct Piece(Arc<AtomicUsize>);

    impl AsRef<[u8]> for Piece {
        fn as_ref(&self) -> &[u8] {
            b" "
        }
    }

    impl Drop for Piece {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }

    /// A body of so many frames of one byte each.
    struct Pieces {
        left: usize,
        kept: Arc<AtomicUsize>,
    }

    impl http_body::Body for Pieces {
        type Data = bytes::Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<bytes::Bytes>, Infallible>>> {
            assert_eq!(self.kept.load(SeqCst), 0, "the frame before was dropped");
            let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(None) };
            self.left = left;
            self.kept.fetch_add(1, SeqCst);
            let piece = bytes::Bytes::from_owner(Piece(self.kept.clone()));
            Poll::Ready(Some(Ok(Frame::data(piece))))
        }
    }

    #[tokio::test]
    async fn a_body_in_single_bytes_keeps_none_of_the_buffers_in_which_they_came() {
        let body = |left| Body::new(Pieces { left, kept: Arc::default() });
        assert_eq!(read(body(100), 100, 1).await.unwrap(), vec![b' '; 100]);
        assert!(read(body(101), 100, 1).await.is_err());
    }

    #[test]
    fn a_body_that_does_not_fit_is_told_where() {
        assert!(parse::<Form>(br#"{"text":"a","list":[1]}"#).is_ok());
        for (body, expected) in [
            (r#"{"text":7}"#, "/text"),
            (r#"{"text":"a","list":[1,"b"]}"#, "/list/1"),
            (r#"{"text":"a","more~/":1}"#, "/more~0~1"),
            (r"{}", ""),
            (r"[", ""),
            (r#"{"text":"a"} x"#, ""),
            (r#"{"text":"a","text":"b"}"#, ""),
            ("\"\u{0}\"", ""),
        ] {
            let problem = parse::<Form>(body.as_bytes()).unwrap_err();
            let body = problem.body(Locale::EN);
            assert_eq!(body["problems"][0]["pointer"], expected, "{body}");
        }
        for secret in [r#"{"text":"a","list":"secret, expected x"}"#, r#"{"text":"a","secret":1}"#]
        {
            let problem = parse::<Form>(secret.as_bytes()).unwrap_err().body(Locale::EN);
            let words = problem["problems"][0]["detail"].as_str().unwrap();
            assert!(words.contains("expected") && !words.contains("secret"), "{words}");
        }
        let deep = "[".repeat(10_000);
        assert!(parse::<serde_json::Value>(deep.as_bytes()).is_err());
        assert!(parse::<Form>(b"{\"text\":\"\xff\"}").is_err());
    }
}
