//! Describes what went wrong with a request, in the form of RFC 9457 and in that of OpenAI's API.
//!
//! A handler returns a [`Problem`] as its error. The outermost layer writes it again in the form
//! that clients of the path read ([`Form::of`]). `name` has the names of problems with status and
//! title, and `rule` those of the rules that an argument can break. `from` turns errors of the
//! library into problems.
//!
//! Problems are in English. A page or program that shows them to a person makes its own sentence
//! from `type` and `rule`.
//!
//! ```text
//! Problem::malformed(detail).at("/text", detail)  ->  400 {"type":"/problems/malformed","detail":..}
//! ```
//!
//! **Invariants.**
//! - The causes of errors are logged and never returned.
//! - No answer names a longer wait than `MAX_RETRY_AFTER`.

mod from;
mod name;
#[cfg(test)]
mod page_texts;
mod rule;

use std::{borrow::Cow, time::Duration};

use axum::{
    Extension,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) use name::ProblemName;
use rule::BrokenRule;

/// The longest time to wait that an answer names. Some clients ignore a longer one.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    name: ProblemName,
    detail: Cow<'static, str>,
    members: Map<String, Value>,
    problems: Vec<Place>,
    retry_after: Option<Duration>,
    may_be_repeated: bool,
}

/// A place of the request where something is wrong.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    /// A JSON Pointer into the body, or the name of a header or a value of the query.
    pointer: String,
    detail: Cow<'static, str>,
    /// The rule of the tool's schema that is broken there. `None` if there is none.
    rule: Option<BrokenRule>,
}

/// The form of a problem's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// RFC 9457.
    Rfc9457,
    /// The same under the type `application/json`, because clients of AG-UI show any other body as
    /// raw text.
    PlainJson,
    /// OpenAI's error object.
    OpenAi,
}

impl Form {
    /// Returns the form that clients of this path read.
    pub(crate) fn of(path: &str) -> Self {
        let below = |root: &str| {
            path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if ["/v1/chat/completions", "/v1/responses", "/v1/models"].into_iter().any(below) {
            Self::OpenAi
        } else if below("/ag-ui") {
            Self::PlainJson
        } else {
            Self::Rfc9457
        }
    }
}

impl Problem {
    /// Makes a problem of this kind with a sentence about this request.
    pub(crate) fn new(name: ProblemName, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            name,
            detail: detail.into(),
            members: Map::new(),
            problems: Vec::new(),
            retry_after: None,
            may_be_repeated: name.may_be_repeated(),
        }))
    }

    /// Makes the problem of a request that cannot be read.
    pub(crate) fn malformed(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ProblemName::Malformed, detail)
    }

    /// Makes the problem of a value that fits its form and names nothing here.
    pub(crate) fn unknown_value(
        pointer: impl Into<String>,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        let detail = detail.into();
        Self::new(ProblemName::UnknownValue, detail.clone()).at(pointer, detail)
    }

    /// Makes the problem of a place in a list that the server did not return. Places are opaque, so
    /// no text is malformed as one.
    pub(crate) fn unknown_place(pointer: impl Into<String>) -> Self {
        Self::unknown_value(pointer, "It is the `next` value of the previous page.")
    }

    /// Makes the problem of a number that would be rounded, because a call would run with another
    /// one.
    pub(crate) fn many_digits() -> Self {
        Self::new(
            ProblemName::RoundedNumber,
            "The body has a whole number with more digits than 64 bits hold. Send it as a text.",
        )
    }

    /// Makes the problem of a thing that is missing or is another user's. The text is the same for
    /// both, so nothing can be probed.
    pub(crate) fn not_found() -> Self {
        Self::new(ProblemName::NotFound, "There is no such thing, or it is not this user's.")
    }

    /// Makes the problem of a request without a valid credential.
    pub(crate) fn unauthorized() -> Self {
        Self::new(ProblemName::Unauthorized, "The request needs a valid token.")
    }

    /// Makes the problem of a request that would begin something while the server shuts down.
    pub(crate) fn draining() -> Self {
        let problem = Self::new(
            ProblemName::Draining,
            "The server restarts soon. It is safe to send the request again with the same key.",
        );
        problem.retry_after(Duration::from_secs(5))
    }

    /// Adds a member to the body.
    #[must_use]
    pub(crate) fn with(mut self, member: &str, value: impl Serialize) -> Self {
        let value =
            serde_json::to_value(value).expect("a member is a value of ours with text keys");
        self.0.members.insert(member.to_owned(), value);
        self
    }

    /// Names the bound that the request has reached, whose it is, and how much it allows.
    #[must_use]
    pub(crate) fn reached(
        self,
        bound: impl Serialize,
        scope: impl Serialize,
        max: impl Serialize,
    ) -> Self {
        self.with("bound", bound).with("scope", scope).with("max", max)
    }

    /// Adds a JSON Pointer to what is wrong in the request, and what is wrong.
    #[must_use]
    pub(crate) fn at(
        self,
        pointer: impl Into<String>,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.place(pointer, detail, None)
    }

    /// Adds a JSON Pointer to an argument that breaks a rule of its tool.
    #[must_use]
    fn breaks(self, pointer: String, detail: String, rule: Option<BrokenRule>) -> Self {
        self.place(pointer, detail, rule)
    }

    fn place(
        mut self,
        pointer: impl Into<String>,
        detail: impl Into<Cow<'static, str>>,
        rule: Option<BrokenRule>,
    ) -> Self {
        self.0.problems.push(Place { pointer: pointer.into(), detail: detail.into(), rule });
        self
    }

    /// Sets how long the client should wait before the same request may succeed.
    #[must_use]
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// States that the same request cannot succeed later.
    #[must_use]
    pub(crate) fn not_again(mut self) -> Self {
        (self.0.may_be_repeated, self.0.retry_after) = (false, None);
        self
    }

    /// Returns the kind.
    pub(crate) fn name(&self) -> ProblemName {
        self.0.name
    }

    /// Returns whether the body has a member.
    pub(crate) fn has(&self, member: &str) -> bool {
        self.0.members.contains_key(member)
    }

    /// Returns the status of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        self.name().status()
    }

    /// Returns the sentence about this request.
    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Returns the body that RFC 9457 describes.
    pub(crate) fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("type".into(), format!("/problems/{}", self.name().name()).into());
        body.insert("title".into(), self.name().title().into());
        body.insert("status".into(), self.status().as_u16().into());
        body.insert("detail".into(), self.detail().into());
        if !self.0.problems.is_empty() {
            body.insert("problems".into(), self.0.problems.iter().map(Place::body).collect());
        }
        body.extend(self.0.members.clone());
        body.into()
    }

    /// Returns the body that OpenAI's clients read.
    pub(crate) fn openai(&self) -> Value {
        let kind = match self.status().as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "server_error",
        };
        let param = self.0.members.get("param").cloned().unwrap_or_default();
        // The kind of a failure, if it is known, as in a stream.
        let code = self.0.members.get("kind").cloned();
        let code = code.unwrap_or_else(|| self.name().name().into());
        json!({ "error": { "message": self.detail(), "type": kind, "code": code, "param": param } })
    }

    /// Answers with this problem in a form. Its members are only in forms that have room for them.
    pub(crate) fn answer(&self, form: Form) -> Response {
        let (media_type, body) = match form {
            Form::Rfc9457 => ("application/problem+json", self.body()),
            Form::PlainJson => ("application/json", self.body()),
            Form::OpenAi => ("application/json", self.openai()),
        };
        let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store")];
        let problem = Extension(self.clone());
        let text = body.to_string();
        let mut response = (self.status(), problem, headers, text).into_response();
        self.write_headers(response.headers_mut());
        response
    }

    fn write_headers(&self, headers: &mut HeaderMap) {
        if self.name() == ProblemName::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.0.retry_after {
            let wait = wait.min(MAX_RETRY_AFTER);
            let seconds = wait.as_millis().div_ceil(1_000).max(1);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds as u64));
            headers.insert(RETRY_AFTER_MS, HeaderValue::from(wait.as_millis() as u64));
        }
        // The turn is named even in forms that have no room for it, because it goes on and can be
        // asked for.
        if let Some(turn) = self.0.members.get("turn").and_then(Value::as_str)
            && let Ok(turn) = HeaderValue::from_str(turn)
        {
            headers.insert(MADANG_TURN, turn);
        }
        if !self.0.may_be_repeated {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
    }
}

/// The header that names the turn of an answer.
pub(crate) const MADANG_TURN: HeaderName = HeaderName::from_static("madang-turn");
/// The header with the time to wait in milliseconds, which OpenAI's clients read.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
/// The header that keeps OpenAI's clients from repeating what cannot succeed.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.answer(Form::Rfc9457)
    }
}

impl Place {
    fn body(&self) -> Value {
        let mut body = json!({ "pointer": self.pointer, "detail": self.detail });
        if let Some(rule) = &self.rule {
            rule.write(&mut body);
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn each_kind_has_its_own_name_and_an_error_for_status() {
        for (at, name) in ProblemName::ALL.iter().enumerate() {
            assert!(name.status().is_client_error() || name.status().is_server_error());
            assert!(ProblemName::ALL[..at].iter().all(|other| other.name() != name.name()));
        }
    }

    #[test]
    fn a_problem_has_the_form_that_its_reader_takes() {
        let problem = Problem::malformed("bad").with("bytes", 7).at("/text", "a text");
        let expected = json!({
            "type": "/problems/malformed", "title": "The request cannot be read", "status": 400,
            "detail": "bad", "problems": [{ "pointer": "/text", "detail": "a text" }], "bytes": 7,
        });
        assert_eq!(problem.body(), expected);
        let openai = problem.openai();
        assert_eq!(openai["error"]["message"], "bad");
        assert_eq!(openai["error"]["code"], "malformed");
        assert_eq!(openai["error"]["type"], "invalid_request_error");
        for (path, form) in [
            ("/v1/chat/completions", Form::OpenAi),
            ("/v1/models/x", Form::OpenAi),
            ("/v1/modelsx", Form::Rfc9457),
            ("/ag-ui", Form::PlainJson),
            ("/v1/sessions", Form::Rfc9457),
        ] {
            assert_eq!(Form::of(path), form, "{path}");
        }
    }

    #[test]
    fn what_can_succeed_later_says_when_and_what_cannot_says_so() {
        let waits = |wait| Problem::new(ProblemName::TooMany, "").retry_after(wait).into_response();
        let soon = waits(Duration::from_millis(2_400));
        assert_eq!(
            (header(&soon, "retry-after"), header(&soon, "retry-after-ms")),
            (Some("3"), Some("2400"))
        );
        assert_eq!(header(&soon, "x-should-retry"), None);
        assert_eq!(header(&waits(Duration::ZERO), "retry-after"), Some("1"));
        assert_eq!(header(&waits(Duration::from_secs(600)), "retry-after"), Some("60"));
        let missing = Problem::not_found().into_response();
        assert_eq!(
            (header(&missing, "retry-after"), header(&missing, "x-should-retry")),
            (None, Some("false"))
        );
        let full = Problem::new(ProblemName::TooMany, "").not_again().into_response();
        assert_eq!(header(&full, "x-should-retry"), Some("false"));
    }
}
