//! Checks whether a request with a cookie proves that a page of this server sent it. A browser adds
//! the cookie to any request.

use axum::http::{HeaderMap, Method, header};

use super::origin::{ComesFrom, FetchSite};
use crate::problem::{Problem, ProblemName};

/// Judges a request that has only a cookie.
///
/// # Errors
/// Returns a problem if it does not prove that it comes from a page of this server, or if a form of
/// another site could send its body.
pub(crate) fn check(method: &Method, from: ComesFrom, headers: &HeaderMap) -> Result<(), Problem> {
    let has_proof = match from {
        ComesFrom::Same => true,
        ComesFrom::Unsaid => method.is_safe() || FetchSite::of(headers) == FetchSite::SameOrigin,
        // Cookies are only for our own pages.
        ComesFrom::Allowed | ComesFrom::Foreign => false,
    };
    if !has_proof {
        return Err(Problem::new(
            ProblemName::Origin,
            "A cookie is accepted only with proof that a page of this server sent the request. Programs use a token.",
        ));
    }
    if !method.is_safe() && has_body(headers) && !is_json(headers) {
        return Err(Problem::new(
            ProblemName::UnsupportedMediaType,
            "The body must be application/json.",
        ));
    }
    Ok(())
}

/// Returns whether the body is JSON in UTF-8, by its head.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(Ok(text)), None) = (types.next().map(|value| value.to_str()), types.next()) else {
        return false;
    };
    let mut parts = text.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("application/json"));
    is_json
        && parts.all(|parameter| {
            let charset = parameter.split_once('=');
            charset.is_none_or(|(name, value)| {
                !name.eq_ignore_ascii_case("charset")
                    || value.trim_matches('"').eq_ignore_ascii_case("utf-8")
            })
        })
}

/// Returns whether a request announces a body, or the type of one.
fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH);
    headers.contains_key(header::CONTENT_TYPE)
        || headers.contains_key(header::TRANSFER_ENCODING)
        || length.is_some_and(|length| length != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_cookie_needs_proof_of_its_page_wherever_something_changes() {
        let json = ("content-type", "application/json");
        let fetch = |site| ("sec-fetch-site", site);
        let get = Method::GET;
        let post = Method::POST;
        for (method, from, pairs, expected) in [
            (&get, ComesFrom::Unsaid, vec![], Ok(())),
            (&get, ComesFrom::Same, vec![], Ok(())),
            (&get, ComesFrom::Allowed, vec![], Err(ProblemName::Origin)),
            (&get, ComesFrom::Foreign, vec![], Err(ProblemName::Origin)),
            (&post, ComesFrom::Unsaid, vec![json], Err(ProblemName::Origin)),
            (&post, ComesFrom::Unsaid, vec![json, fetch("none")], Err(ProblemName::Origin)),
            (&post, ComesFrom::Unsaid, vec![json, fetch("same-site")], Err(ProblemName::Origin)),
            (&post, ComesFrom::Unsaid, vec![json, fetch("same-origin")], Ok(())),
            (&post, ComesFrom::Same, vec![json], Ok(())),
            (&post, ComesFrom::Same, vec![], Ok(())),
            (&post, ComesFrom::Same, vec![("content-length", "0")], Ok(())),
            (
                &post,
                ComesFrom::Same,
                vec![("content-length", "7")],
                Err(ProblemName::UnsupportedMediaType),
            ),
            (
                &post,
                ComesFrom::Same,
                vec![("content-type", "text/plain")],
                Err(ProblemName::UnsupportedMediaType),
            ),
            (&Method::DELETE, ComesFrom::Unsaid, vec![], Err(ProblemName::Origin)),
        ] {
            let checked = check(method, from, &headers(&pairs));
            let checked = checked.map_err(|problem| problem.name());
            assert_eq!(checked, expected, "{method} {from:?} {pairs:?}");
        }
    }

    #[test]
    fn json_is_one_type_in_utf_8() {
        let is = |text: &'static str| is_json(&headers(&[("content-type", text)]));
        assert!(is("application/json") && is("Application/JSON; charset=UTF-8"));
        assert!(is("application/json; charset=\"utf-8\"") && is("application/json;"));
        assert!(!is("application/json; charset=latin1") && !is("application/jsonl"));
        assert!(!is("text/plain") && !is("application/json, text/plain"));
        assert!(!is_json(&headers(&[])));
        assert!(!is_json(&headers(&[
            ("content-type", "application/json"),
            ("content-type", "text/plain")
        ])));
    }
}
