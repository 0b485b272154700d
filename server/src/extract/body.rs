//! Reads the JSON body of a request, if it has the right type, is not too long or too slow, and has
//! the form that its handler expects. No number in it is rounded.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::header::CONTENT_LENGTH,
};
use bytes::BytesMut;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use madang::{
    UserId,
    tool::{ValueCount, has_rounded_number},
};
use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeOwned, Error as _, Unexpected},
};
use serde_json::Number;
use serde_path_to_error::{Path, Segment};

use crate::{
    auth::caller::Caller,
    byte_budget::{ByteBudget, BytePermit},
    guard::csrf::is_json,
    heavy,
    problem::{Problem, ProblemName},
    state::Shared,
};

/// A JSON body. If nothing is sent, it is an empty object.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

/// How many bytes the bodies of a route may have. It is an extension of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaxBodyBytes(pub(crate) usize);

/// The bytes of a JSON body, for surfaces that read it themselves.
#[derive(Debug)]
pub(crate) struct Bytes(pub(crate) bytes::Bytes);

impl<T: DeserializeOwned> FromRequest<Arc<Shared>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let Bytes(bytes) = Bytes::from_request(request, shared).await?;
        // Serde takes a list for the members of a struct in their order.
        if bytes.trim_ascii_start().starts_with(b"[") {
            let detail = "It does not fit: it is a list, and must be an object.";
            return Err(Problem::malformed("The body does not fit.").at("", detail));
        }
        parse(if bytes.is_empty() { b"{}" } else { &bytes }).map(Self)
    }
}

impl FromRequest<Arc<Shared>> for Bytes {
    type Rejection = Problem;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let body = Self::with_any_numbers(request, shared).await?;
        let bytes = body.0.clone();
        let is_rounded = move || str::from_utf8(&bytes).is_ok_and(has_rounded_number);
        if heavy::run(body.0.len(), is_rounded).await {
            return Err(Problem::many_digits());
        }
        Ok(body)
    }
}

impl Bytes {
    /// Takes a body for a protocol that checks its numbers itself, and refuses them in its own
    /// form.
    ///
    /// # Errors
    /// Returns a problem if the body cannot be taken.
    pub(crate) async fn with_any_numbers(
        request: Request,
        shared: &Arc<Shared>,
    ) -> Result<Self, Problem> {
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
        let mut bound = BodyBound {
            max_bytes,
            max_values: shared.limits.max_body_values,
            budget: shared.incoming.clone(),
            user: head.extensions.get::<Caller>().map(|caller| caller.user.clone()),
            room: Vec::new(),
        };
        let bytes = tokio::time::timeout(patience, read(body, &mut bound)).await;
        let bytes = bytes
            .map_err(|_| Problem::new(ProblemName::TooSlow, "The body did not come in time."))??;
        let has_type = head.headers.contains_key(axum::http::header::CONTENT_TYPE);
        if !is_json(&head.headers) && (has_type || !bytes.is_empty()) {
            return Err(Problem::new(
                ProblemName::UnsupportedMediaType,
                "The body must be application/json in UTF-8.",
            ));
        }
        Ok(Self(bytes))
    }
}

/// Reads a body into one piece. Each frame is copied and dropped at once, because a kept frame
/// would keep the whole buffer that it is part of. A body of single bytes would then cost far more
/// than its bound.
async fn read(body: Body, bound: &mut BodyBound) -> Result<bytes::Bytes, Problem> {
    let max_bytes = bound.max_bytes;
    let mut body = Limited::new(body, max_bytes);
    let mut bytes = BytesMut::new();
    let mut values = ValueCount::default();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<LengthLimitError>() {
                return Problem::too_long(None, max_bytes);
            }
            Problem::malformed("The body broke off.")
        })?;
        if let Ok(data) = frame.into_data() {
            if values.read(&data) > bound.max_values {
                return Err(Problem::many_values(bound.max_values));
            }
            bound.has_room(bytes.len() + data.len())?;
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bound.room.drain(..).fold(bytes.freeze(), |bytes, room| room.hold(bytes)))
}

/// What a body may have, and the room that is taken for it as it comes.
struct BodyBound {
    max_bytes: usize,
    max_values: usize,
    budget: ByteBudget,
    /// The user that sends it. `None` for a login, which is short.
    user: Option<UserId>,
    room: Vec<Arc<BytePermit>>,
}

/// How many bytes of a body need no room, and the least that is taken for one that does.
const SHORT_BODY: usize = 16 * 1024;

impl BodyBound {
    /// Takes room for a body of this many bytes. It does so in steps that double, so a long body
    /// takes few.
    fn has_room(&mut self, bytes: usize) -> Result<(), Problem> {
        let Some(user) = &self.user else { return Ok(()) };
        while bytes > SHORT_BODY << self.room.len() {
            let step = SHORT_BODY << self.room.len();
            let room = self.budget.try_take(user, step.min(self.max_bytes)).map_err(|full| {
                full.problem(
                    "incoming_bytes",
                    "Too many bytes of bodies are on their way. Send it again in a moment.",
                )
            })?;
            self.room.push(room);
        }
        Ok(())
    }
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
        Problem::malformed("The body does not fit.")
            .at(pointer, format!("It does not fit: {misfit}."))
    })
}

/// Reads a whole number, or none. JSON Schema takes `3.0` for whole, and some clients write it.
///
/// # Errors
/// Returns an error for any other number.
pub(crate) fn whole_number<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(reader)? else { return Ok(None) };
    let from_float = || {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        format!("{float:.0}").parse().ok()
    };
    let whole = number.as_u64().or_else(from_float);
    whole.map(Some).ok_or_else(|| {
        D::Error::invalid_type(Unexpected::Other("another number"), &"a whole number from 0 on")
    })
}

/// Returns why a body does not fit. It repeats nothing of the body, because clients log problems.
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
    struct Whole {
        #[serde(default, deserialize_with = "whole_number")]
        number: Option<u64>,
    }

    #[test]
    fn a_whole_number_may_have_a_point_and_no_other_number_is_whole() {
        for (number, expected) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("7e2", Some(700)),
            ("18446744073709551615", Some(u64::MAX)),
            ("null", None),
        ] {
            let body = format!(r#"{{"number":{number}}}"#);
            assert_eq!(parse::<Whole>(body.as_bytes()).unwrap().number, expected, "{number}");
        }
        for number in ["7.5", "-1", "-0.5", "1e30", "\"7\"", "[7]"] {
            let body = format!(r#"{{"number":{number}}}"#);
            let problem = parse::<Whole>(body.as_bytes()).unwrap_err().body();
            assert_eq!(problem["problems"][0]["pointer"], "/number", "{number}");
        }
    }

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

    /// A body of this many frames of one byte each.
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
        let mut bound = kims(100, &ByteBudget::new(1, 1));
        assert_eq!(read(body(100), &mut bound).await.unwrap(), vec![b' '; 100]);
        assert!(read(body(101), &mut bound).await.is_err());
    }

    fn kims(max_bytes: usize, budget: &ByteBudget) -> BodyBound {
        let user = UserId::new("kim").ok();
        let budget = budget.clone();
        BodyBound { max_bytes, max_values: 1, budget, user, room: Vec::new() }
    }

    #[tokio::test]
    async fn bodies_of_a_user_count_while_they_come_and_until_they_are_read() {
        let budget = ByteBudget::new(1_000_000, 80_000);
        let long = async || {
            let body = Body::from(vec![b' '; 60_000]);
            read(body, &mut kims(1_000_000, &budget)).await
        };
        let first = long().await.unwrap();
        assert_eq!(first.len(), 60_000);
        assert_eq!(long().await.unwrap_err().name(), ProblemName::TooMany);
        let short = Body::from(vec![b' '; SHORT_BODY]);
        assert!(read(short, &mut kims(1_000_000, &budget)).await.is_ok());
        drop(first);
        assert!(long().await.is_ok());
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
            let body = problem.body();
            assert_eq!(body["problems"][0]["pointer"], expected, "{body}");
        }
        for secret in [r#"{"text":"a","list":"secret, expected x"}"#, r#"{"text":"a","secret":1}"#]
        {
            let problem = parse::<Form>(secret.as_bytes()).unwrap_err().body();
            let words = problem["problems"][0]["detail"].as_str().unwrap();
            assert!(words.contains("expected") && !words.contains("secret"), "{words}");
        }
        let deep = "[".repeat(10_000);
        assert!(parse::<serde_json::Value>(deep.as_bytes()).is_err());
        assert!(parse::<Form>(b"{\"text\":\"\xff\"}").is_err());
    }
}
