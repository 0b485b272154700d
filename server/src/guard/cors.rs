//! Answers the preflight requests of browsers, so that pages of allowed sites may call with a
//! token. Their requests are never authenticated by a cookie.

use axum::http::{HeaderMap, HeaderValue, Method, header};

/// The headers that such a page may send: the server's own, and those of the protocols that it
/// serves.
const HEADERS: [&str; 8] = [
    "accept-language",
    "authorization",
    "content-type",
    "idempotency-key",
    "last-event-id",
    "prefer",
    "traceparent",
    "x-conversation-id",
];
/// The prefix of further such headers.
const PREFIXES: [&str; 3] = ["madang-", "mcp-", "x-stainless-"];
/// The headers of answers that such a page may read.
const EXPOSED: &str = "location, madang-ignored, madang-session, madang-turn, mcp-session-id, preference-applied, \
                       retry-after, retry-after-ms, x-should-retry";
/// The methods that such a page may use.
const METHODS: &str = "GET, POST, PATCH, DELETE";
/// How many seconds a browser remembers the answer.
const MAX_AGE: &str = "600";

/// Returns whether a browser asks in advance if its page may send a request.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Writes the answer to such a question of an allowed site.
pub(crate) fn answer_preflight(asked: &HeaderMap, answer: &mut HeaderMap) {
    let wanted = asked.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let wanted = wanted.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    let may_send = |name: &str| {
        HEADERS.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let allowed = wanted.map(|name| name.trim().to_ascii_lowercase());
    let allowed: Vec<_> = allowed.filter(|name| may_send(name)).collect();
    if let Ok(value) = HeaderValue::from_str(&allowed.join(", ")) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, value);
    }
    let fixed = HeaderValue::from_static;
    answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, fixed(METHODS));
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, fixed(MAX_AGE));
}

/// Lets an allowed site read an answer.
pub(crate) fn expose(origin: &HeaderValue, answer: &mut HeaderMap) {
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_send_our_headers_and_no_others() {
        let asked = [(
            header::ACCESS_CONTROL_REQUEST_HEADERS,
            HeaderValue::from_static("Authorization, X-Evil, madang-ask,  mcp-session-id, cookie"),
        )];
        let mut answer = HeaderMap::new();
        answer_preflight(&asked.into_iter().collect(), &mut answer);
        let allowed = &answer[header::ACCESS_CONTROL_ALLOW_HEADERS];
        assert_eq!(allowed, "authorization, madang-ask, mcp-session-id");
        assert!(!answer.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
    }

    #[test]
    fn only_a_question_with_a_method_is_a_preflight() {
        let asks = HeaderMap::from_iter([(
            header::ACCESS_CONTROL_REQUEST_METHOD,
            HeaderValue::from_static("POST"),
        )]);
        assert!(is_preflight(&Method::OPTIONS, &asks));
        assert!(!is_preflight(&Method::OPTIONS, &HeaderMap::new()));
        assert!(!is_preflight(&Method::POST, &asks));
    }
}
