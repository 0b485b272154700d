//! The language in which a request wants to be answered: Korean or English.

use axum::http::{HeaderMap, header::ACCEPT_LANGUAGE};
use madang::language::Locale;

/// Picks the language that the client likes best of the two; English where it likes neither.
pub(crate) fn of(headers: &HeaderMap) -> Locale {
    let text = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let mut best = (Locale::EN, 0.0);
    for range in text.unwrap_or_default().split(',') {
        let mut parts = range.split(';').map(str::trim);
        let language = parts.next().and_then(|tag| tag.split('-').next()).unwrap_or_default();
        let locale = match language.to_ascii_lowercase().as_str() {
            "ko" => Locale::KO,
            "en" | "*" => Locale::EN,
            _ => continue,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse);
        let weight = weight.unwrap_or(0.0);
        if weight > best.1 {
            best = (locale, weight);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_the_best_liked_of_the_two() {
        for (header, expected) in [
            (None, "en"),
            (Some("ko"), "ko"),
            (Some("ko-KR,ko;q=0.9,en-US;q=0.8"), "ko"),
            (Some("en-US,en;q=0.9,ko;q=0.8"), "en"),
            (Some("fr, ko;q=0.3, en;q=0.2"), "ko"),
            (Some("ko;q=0"), "en"),
            (Some("ko;q=x"), "en"),
            (Some("korean"), "en"),
            (Some("fr"), "en"),
            (Some("*, ko;q=0.5"), "en"),
        ] {
            let headers = header.map(|text| (ACCEPT_LANGUAGE, text.parse().unwrap()));
            assert_eq!(of(&headers.into_iter().collect()).tag().as_str(), expected, "{header:?}");
        }
    }
}
