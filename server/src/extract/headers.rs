//! Reads the headers that determine how to handle a request: the idempotency key, the preferred
//! answer, and who is asked.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, header::ACCEPT, request::Parts as Head},
};
use madang::IdempotencyKey;

use crate::{ask::Ask, problem::Problem, state::Shared};

/// How to handle a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    /// The key that makes the request safe to repeat.
    pub(crate) key: Option<IdempotencyKey>,
    /// Who is asked.
    pub(crate) ask: Option<Ask>,
    /// Whether the answer should be a stream of events.
    pub(crate) wants_stream: bool,
    /// How long the answer may wait for the end.
    pub(crate) wait: Option<Duration>,
}

impl FromRequestParts<Arc<Shared>> for Wishes {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Head, _: &Arc<Shared>) -> Result<Self, Problem> {
        Self::of(&head.headers)
    }
}

impl Wishes {
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let key = one(headers, &IDEMPOTENCY_KEY)?.map(|text| {
            let key = unquoted(text).and_then(|key| IdempotencyKey::new(key).ok());
            let expected = "It is a quoted text of 1 to 256 bytes without control characters.";
            key.ok_or_else(|| bad_header("Idempotency-Key", expected))
        });
        let ask = one(headers, &HeaderName::from_static(Ask::HEADER))?.map(|text| {
            let expected = "It is here, elsewhere or none.";
            Ask::read(text).ok_or_else(|| bad_header("Madang-Ask", expected))
        });
        Ok(Self {
            key: key.transpose()?,
            ask: ask.transpose()?,
            wants_stream: accepts(headers, "text/event-stream"),
            wait: preferred_wait(headers),
        })
    }
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Returns whether the client names this media type among those that it accepts.
pub(crate) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = values.flat_map(|text| text.split(','));
    types.any(|range| {
        range.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(media_type))
    })
}

/// Returns the one value of a header. Returns a problem if there are two.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    let second = values.next();
    let Some(value) = value else { return Ok(None) };
    match (str::from_utf8(value.as_bytes()), second) {
        (Ok(text), None) => Ok(Some(text.trim())),
        (Ok(_), Some(_)) | (Err(_), _) => Err(bad_header(name.as_str(), "Send it once, in UTF-8.")),
    }
}

/// Reads a quoted string, or a bare one.
fn unquoted(text: &str) -> Option<String> {
    let Some(rest) = text.strip_prefix('"') else { return Some(text.to_owned()) };
    let quoted = rest.strip_suffix('"')?;
    let mut key = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return None,
            '\\' => key.push(letters.next().filter(|next| matches!(next, '"' | '\\'))?),
            other => key.push(other),
        }
    }
    Some(key)
}

/// Reads `wait` of RFC 7240. Preferences that cannot be read are ignored.
fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut preferences = values.flat_map(|text| text.split([',', ';']));
    preferences.find_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        let seconds =
            name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"'))?;
        seconds.parse().ok().map(Duration::from_secs)
    })
}

fn bad_header(name: &str, expected: &'static str) -> Problem {
    Problem::malformed("A header does not fit.").at(name, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&'static str, &'static str)]) -> Result<Wishes, Problem> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, axum::http::HeaderValue::from_static(value));
        }
        Wishes::of(&headers)
    }

    #[test]
    fn a_key_is_quoted_or_bare() {
        let key = |text| {
            of(&[("idempotency-key", text)]).map(|wishes| wishes.key.unwrap().as_str().to_owned())
        };
        assert_eq!(key("\"9d5f\"").unwrap(), "9d5f");
        assert_eq!(key("9d5f").unwrap(), "9d5f");
        assert_eq!(key(r#""a\"b\\""#).unwrap(), r#"a"b\"#);
        for bad in ["\"", "\"a", "\"a\"b\"", "\"\"", r#""a\b""#, ""] {
            assert!(key(bad).is_err(), "{bad}");
        }
        assert!(of(&[("idempotency-key", "a"), ("idempotency-key", "a")]).is_err());
    }

    #[test]
    fn an_answer_is_a_stream_or_waits_where_that_is_asked_for() {
        let wishes = of(&[("accept", "application/json, text/event-stream;q=0.9")]).unwrap();
        assert!(wishes.wants_stream);
        assert!(!of(&[("accept", "*/*")]).unwrap().wants_stream, "only where it is named");
        let wait = |text| of(&[("prefer", text)]).unwrap().wait.map(|wait| wait.as_secs());
        assert_eq!(wait("wait=30"), Some(30));
        assert_eq!(wait("respond-async, wait=30"), Some(30));
        assert_eq!((wait("wait=soon"), wait("respond-async")), (None, None));
    }

    #[test]
    fn which_person_to_ask_is_one_of_three_words() {
        assert_eq!(of(&[("madang-ask", "none")]).unwrap().ask, Some(Ask::None));
        assert!(of(&[("madang-ask", "anyone")]).is_err());
    }
}
