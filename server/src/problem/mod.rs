//! Says what went wrong with a request, as RFC 9457 does it, and as OpenAI's clients read it.
//!
//! A handler gives a [`Problem`] as its error. It answers in English; the outermost layer writes it anew in the
//! request's language and in the form that clients of the path read ([`Form::of`]). `name` has the names of problems
//! with status and title, and `from` turns errors of the library into problems.
//!
//! ```text
//! Problem::malformed(ko, en).at("/text", words)  ->  400 {"type":"/problems/malformed","detail":..}
//! ```
//!
//! **Invariants.**
//! - The causes of errors go into the log and into no answer.
//! - Each problem has its sentence in both languages.
//! - An answer never says a longer wait than `MAX_RETRY_AFTER`.

mod from;
mod name;

use std::{borrow::Cow, time::Duration};

use axum::{
    Extension,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use madang::language::Locale;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) use name::ProblemName;

/// The longest time after which a client is told to try again: some clients ignore a longer one.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    name: ProblemName,
    detail: Words,
    members: Map<String, Value>,
    problems: Vec<(String, Words)>,
    retry_after: Option<Duration>,
    may_be_repeated: bool,
}

/// A sentence in both languages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    ko: Cow<'static, str>,
    en: Cow<'static, str>,
}

impl Words {
    /// Takes the Korean and the English sentence.
    pub(crate) fn new(ko: impl Into<Cow<'static, str>>, en: impl Into<Cow<'static, str>>) -> Self {
        Self { ko: ko.into(), en: en.into() }
    }

    /// Takes what a function says in each language.
    pub(crate) fn of(say: impl Fn(Locale) -> String) -> Self {
        Self::new(say(Locale::KO), say(Locale::EN))
    }

    /// Gives the sentence in a language.
    pub(crate) fn in_locale(&self, locale: Locale) -> &str {
        locale.pick(&self.ko, &self.en)
    }
}

/// The form of a problem's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// RFC 9457.
    Rfc9457,
    /// The same under the type `application/json`: clients of AG-UI show any other body as raw text.
    PlainJson,
    /// OpenAI's error object.
    OpenAi,
}

impl Form {
    /// Gives the form that clients of this path read.
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
    pub(crate) fn new(
        name: ProblemName,
        ko: impl Into<Cow<'static, str>>,
        en: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::with_words(name, Words::new(ko, en))
    }

    /// Makes a problem of this kind with a sentence about this request.
    pub(crate) fn with_words(name: ProblemName, detail: Words) -> Self {
        Self(Box::new(Inner {
            name,
            detail,
            members: Map::new(),
            problems: Vec::new(),
            retry_after: None,
            may_be_repeated: name.may_be_repeated(),
        }))
    }

    /// Makes the problem of a request that cannot be read.
    pub(crate) fn malformed(
        ko: impl Into<Cow<'static, str>>,
        en: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(ProblemName::Malformed, ko, en)
    }

    /// Makes the problem of a number that would be rounded: a call would run with another one.
    pub(crate) fn many_digits() -> Self {
        Self::malformed(
            "본문에 64비트를 넘는 정수가 있습니다. 문자열로 보내세요.",
            "The body has a whole number with more digits than 64 bits hold. Send it as a text.",
        )
    }

    /// Makes the problem of a thing that is missing or another user's: one text for both, so that nothing can be probed.
    pub(crate) fn not_found() -> Self {
        Self::new(
            ProblemName::NotFound,
            "없거나 이 사용자의 것이 아닙니다.",
            "There is no such thing, or it is not this user's.",
        )
    }

    /// Makes the problem of a request without a valid credential.
    pub(crate) fn unauthorized() -> Self {
        Self::new(
            ProblemName::Unauthorized,
            "유효한 토큰이 필요합니다.",
            "The request needs a valid token.",
        )
    }

    /// Makes the problem of a request that would begin something while the server is about to end.
    pub(crate) fn draining() -> Self {
        let problem = Self::new(
            ProblemName::Draining,
            "서버가 곧 다시 시작합니다. 같은 키로 다시 보내도 안전합니다.",
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
    pub(crate) fn at(mut self, pointer: impl Into<String>, words: Words) -> Self {
        self.0.problems.push((pointer.into(), words));
        self
    }

    /// Sets after which time the same request may succeed.
    #[must_use]
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Says that the very same request cannot succeed later.
    #[must_use]
    pub(crate) fn not_again(mut self) -> Self {
        (self.0.may_be_repeated, self.0.retry_after) = (false, None);
        self
    }

    /// Gives the kind.
    pub(crate) fn name(&self) -> ProblemName {
        self.0.name
    }

    /// Tells whether the body has a member.
    pub(crate) fn has(&self, member: &str) -> bool {
        self.0.members.contains_key(member)
    }

    /// Gives the status of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        self.name().status()
    }

    /// Gives the sentence about this request in a language.
    pub(crate) fn detail(&self, locale: Locale) -> &str {
        self.0.detail.in_locale(locale)
    }

    /// Gives the body that RFC 9457 describes.
    pub(crate) fn body(&self, locale: Locale) -> Value {
        let mut body = Map::new();
        body.insert("type".into(), format!("/problems/{}", self.name().name()).into());
        body.insert("title".into(), self.name().title(locale).into());
        body.insert("status".into(), self.status().as_u16().into());
        body.insert("detail".into(), self.detail(locale).into());
        if !self.0.problems.is_empty() {
            let problem = |(pointer, words): &(String, Words)| json!({ "pointer": pointer, "detail": words.in_locale(locale) });
            body.insert("problems".into(), self.0.problems.iter().map(problem).collect());
        }
        body.extend(self.0.members.clone());
        body.into()
    }

    /// Gives the body that OpenAI's clients read.
    pub(crate) fn openai(&self, locale: Locale) -> Value {
        let kind = match self.status().as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "server_error",
        };
        let param = self.0.members.get("param").cloned().unwrap_or_default();
        // The kind of a failure where it is known, as in a stream.
        let code = self.0.members.get("kind").cloned();
        let code = code.unwrap_or_else(|| self.name().name().into());
        json!({ "error": { "message": self.detail(locale), "type": kind, "code": code, "param": param } })
    }

    /// Answers with this problem in a language and a form. Members come only with forms that have room for them.
    pub(crate) fn answer(&self, locale: Locale, form: Form) -> Response {
        let (media_type, body) = match form {
            Form::Rfc9457 => ("application/problem+json", self.body(locale)),
            Form::PlainJson => ("application/json", self.body(locale)),
            Form::OpenAi => ("application/json", self.openai(locale)),
        };
        let headers = [
            (header::CONTENT_TYPE, media_type),
            (header::CACHE_CONTROL, "no-store"),
            (header::CONTENT_LANGUAGE, locale.pick("ko", "en")),
        ];
        let (problem, text) = (Extension(self.clone()), body.to_string());
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
        // Also for forms that have no room for it: the turn goes on, and can be asked for.
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

/// Names the turn of an answer.
pub(crate) const MADANG_TURN: HeaderName = HeaderName::from_static("madang-turn");
/// The time to wait in milliseconds, which OpenAI's clients read.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
/// Keeps OpenAI's clients from repeating what cannot succeed.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.answer(Locale::EN, Form::Rfc9457)
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
            assert_ne!(name.title(Locale::KO), name.title(Locale::EN));
        }
    }

    #[test]
    fn a_problem_speaks_the_language_and_the_form_of_its_reader() {
        let problem = Problem::malformed("나쁨", "bad")
            .with("bytes", 7)
            .at("/text", Words::new("글", "a text"));
        let expected = json!({
            "type": "/problems/malformed", "title": "The request cannot be read", "status": 400,
            "detail": "bad", "problems": [{ "pointer": "/text", "detail": "a text" }], "bytes": 7,
        });
        assert_eq!(problem.body(Locale::EN), expected);
        assert_eq!(problem.body(Locale::KO)["problems"][0]["detail"], "글");
        let openai = problem.openai(Locale::KO);
        assert_eq!(openai["error"]["message"], "나쁨");
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
        let waits =
            |wait| Problem::new(ProblemName::TooMany, "", "").retry_after(wait).into_response();
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
        let full = Problem::new(ProblemName::TooMany, "", "").not_again().into_response();
        assert_eq!(header(&full, "x-should-retry"), Some("false"));
    }
}
