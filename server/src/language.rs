//! Reads the language that a request names for the chat, Korean or English.

use std::cmp::Ordering;

use axum::http::{HeaderMap, header::ACCEPT_LANGUAGE};
use madang::language::Locale;

/// Returns the one of the two languages that the client prefers, or `None` if it does not say. A
/// `*` prefers both alike, so it names none.
pub(crate) fn named(headers: &HeaderMap) -> Option<Locale> {
    let text = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let mut korean = None;
    let mut english = None;
    let mut any = 0.0;
    for range in text.unwrap_or_default().split(',') {
        let mut parts = range.split(';').map(str::trim);
        let language = parts.next().and_then(|tag| tag.split('-').next()).unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse);
        let weight: f32 = weight.unwrap_or(0.0);
        match language.to_ascii_lowercase().as_str() {
            "ko" => korean = Some(weight.max(korean.unwrap_or(0.0))),
            "en" => english = Some(weight.max(english.unwrap_or(0.0))),
            "*" => any = weight,
            _ => {}
        }
    }
    let korean = korean.unwrap_or(any);
    let english = english.unwrap_or(any);
    match korean.partial_cmp(&english)? {
        Ordering::Greater => Some(Locale::KO),
        Ordering::Less => Some(Locale::EN),
        Ordering::Equal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_the_better_liked_of_the_two_or_none() {
        for (header, expected) in [
            (None, None),
            (Some("ko"), Some("ko")),
            (Some("ko-KR,ko;q=0.9,en-US;q=0.8"), Some("ko")),
            (Some("en-US,en;q=0.9,ko;q=0.8"), Some("en")),
            (Some("fr, ko;q=0.3, en;q=0.2"), Some("ko")),
            (Some("ko;q=0"), None),
            (Some("ko;q=x"), None),
            (Some("korean"), None),
            (Some("fr"), None),
            // What Node sends with each request says nothing about its person.
            (Some("*"), None),
            (Some("ko, en"), None),
            (Some("*, ko;q=0.5"), Some("en")),
            (Some("ko, *;q=0.5"), Some("ko")),
        ] {
            let headers = header.map(|text| (ACCEPT_LANGUAGE, text.parse().unwrap()));
            let headers = headers.into_iter().collect();
            let named = named(&headers).map(|locale| locale.tag().to_string());
            assert_eq!(named.as_deref(), expected, "{header:?}");
        }
    }
}
