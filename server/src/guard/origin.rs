//! Finds the site that a request comes from, according to its browser.

use axum::http::{HeaderMap, Method, header::ORIGIN};

use super::site::{Site, WebOrigin};

/// The site that a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComesFrom {
    /// No browser states it: the request is from a program, or a navigation.
    Unsaid,
    /// A page of this server.
    Same,
    /// A page of a site that may call this server with a token.
    Allowed,
    /// A page of another site.
    Foreign,
}

/// Reads the origin of a request that reached this server as `own`. An origin that cannot be read,
/// such as `null`, is foreign.
pub(crate) fn comes_from(site: &Site, own: &WebOrigin, headers: &HeaderMap) -> ComesFrom {
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(origin), second) = (origins.next(), origins.next()) else {
        return ComesFrom::Unsaid;
    };
    let origin = origin.to_str().ok().and_then(|text| text.parse::<WebOrigin>().ok());
    match origin.filter(|_| second.is_none()) {
        Some(origin) if origin == *own => ComesFrom::Same,
        Some(origin) if site.allowed.contains(&origin) => ComesFrom::Allowed,
        Some(_) | None => ComesFrom::Foreign,
    }
}

/// The relation between the requesting page and this server, according to the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchSite {
    /// The browser states nothing.
    Unsaid,
    /// The person asked, by a bookmark or the address bar.
    Person,
    /// A page of this server.
    SameOrigin,
    /// A page of another site, or one that the browser describes in an unknown way.
    Other,
}

impl FetchSite {
    /// Reads what the browser states.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all("sec-fetch-site").iter();
        match (values.next().map(|value| value.as_bytes()), values.next()) {
            (None, _) => Self::Unsaid,
            (Some(b"none"), None) => Self::Person,
            (Some(b"same-origin"), None) => Self::SameOrigin,
            (Some(_), _) => Self::Other,
        }
    }
}

/// Returns whether a request opens the page itself in a tab, which a link of any site may do.
pub(crate) fn opens_the_page(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let says = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    (method == Method::GET || method == Method::HEAD)
        && path == "/"
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_our_own_origin_and_allowed_ones_are_not_foreign() {
        let own: WebOrigin = "http://localhost:8137".parse().unwrap();
        let allowed = vec!["https://app.example.org".parse().unwrap()];
        let site = Site { allowed, ..Site::default() };
        let comes = |origins: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for origin in origins {
                headers.append(ORIGIN, HeaderValue::from_static(origin));
            }
            comes_from(&site, &own, &headers)
        };
        assert_eq!(comes(&[]), ComesFrom::Unsaid);
        assert_eq!(comes(&["http://localhost:8137"]), ComesFrom::Same);
        assert_eq!(comes(&["https://app.example.org"]), ComesFrom::Allowed);
        for foreign in [
            "null",
            "",
            "https://localhost:8137",
            "http://localhost",
            "http://127.0.0.1:8137",
            "http://app.example.org",
            "https://app.example.org.evil.example",
            "https://evil.example",
        ] {
            assert_eq!(comes(&[foreign]), ComesFrom::Foreign, "{foreign}");
        }
        let twice = comes(&["http://localhost:8137", "http://localhost:8137"]);
        assert_eq!(twice, ComesFrom::Foreign);
    }

    #[test]
    fn what_a_browser_says_in_words_unknown_to_us_is_another_site() {
        let says = |value: Option<&'static str>| {
            let value = value.map(|value| ("sec-fetch-site", HeaderValue::from_static(value)));
            let headers = value.into_iter().map(|(name, value)| (name.parse().unwrap(), value));
            FetchSite::of(&headers.collect())
        };
        assert_eq!(says(None), FetchSite::Unsaid);
        assert_eq!(says(Some("none")), FetchSite::Person);
        assert_eq!(says(Some("same-origin")), FetchSite::SameOrigin);
        for other in ["same-site", "cross-site", "", "SAME-ORIGIN", "new"] {
            assert_eq!(says(Some(other)), FetchSite::Other, "{other}");
        }
    }
}
