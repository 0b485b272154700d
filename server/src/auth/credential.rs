//! Reads the credential of a request from its head.

use axum::http::{HeaderMap, HeaderName, header};

use super::{cookie, holder::UserHeader};

/// The credential that a request brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential<'a> {
    /// None at all.
    None,
    /// A token in `Authorization`. It takes precedence over a cookie, even if it is wrong.
    Bearer(&'a str),
    /// The page's cookies, which a browser adds by itself.
    Cookies {
        /// Their values. There can be several, because another server of this host may have set one
        /// of the same name.
        values: Vec<&'a str>,
        /// The other half of the login, which the page adds. `None` if it comes twice.
        proof: Option<&'a str>,
    },
    /// Something that is neither.
    Unreadable,
}

impl<'a> Credential<'a> {
    /// Reads the credential of a head. A query never contains one, because it would appear in logs.
    pub(crate) fn of(headers: &'a HeaderMap, has_secure_cookies: bool) -> Self {
        let mut found = headers.get_all(header::AUTHORIZATION).iter();
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => return Self::Unreadable,
            (Some(value), None) => {
                let parts = value.to_str().ok().and_then(|text| text.trim().split_once(' '));
                return match parts {
                    Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                        Self::Bearer(token.trim())
                    }
                    Some(_) | None => Self::Unreadable,
                };
            }
            (None, _) => {}
        }
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let cookies = cookies.flat_map(|text| cookie::find(text, has_secure_cookies));
        let values: Vec<_> = cookies.collect();
        if values.is_empty() {
            return Self::None;
        }
        let mut proofs = headers.get_all(cookie::PROOF).iter();
        let proof = proofs.next().filter(|_| proofs.next().is_none());
        Self::Cookies { values, proof: proof.and_then(|value| value.to_str().ok()) }
    }
}

/// Returns the name of the user that a service acts for. The header is accepted only once: if there
/// are two, a proxy may have written one and a client the other.
pub(crate) fn named_user(headers: &HeaderMap, wanted: UserHeader) -> Option<&str> {
    let named = |header: UserHeader| {
        headers
            .get_all(HeaderName::from_static(header.lower_case()))
            .iter()
            .map(move |value| (header, value))
    };
    let mut named = UserHeader::ALL.into_iter().flat_map(named);
    match (named.next(), named.next()) {
        (Some((header, value)), None) if header == wanted => str::from_utf8(value.as_bytes()).ok(),
        (Some(_) | None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_goes_before_a_cookie_and_two_are_none() {
        let of = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.iter().map(|(name, value)| (*name, *value));
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(name, value.parse().unwrap());
            }
            format!("{:?}", Credential::of(&headers, false))
        };
        let bearer = ("authorization", "Bearer t");
        let cookie = ("cookie", "a=b; madang=c");
        assert_eq!(of(&[]), "None");
        assert_eq!(of(&[bearer]), "Bearer(\"t\")");
        assert_eq!(of(&[("authorization", "bearer  t ")]), "Bearer(\"t\")");
        let one = "Cookies { values: [\"c\"], proof: None }";
        assert_eq!(of(&[cookie]), one);
        assert_eq!(of(&[cookie, bearer]), "Bearer(\"t\")");
        assert_eq!(of(&[("authorization", "Basic dDp0"), cookie]), "Unreadable");
        assert_eq!(of(&[bearer, bearer]), "Unreadable");
        assert_eq!(of(&[("authorization", "Bearer"), cookie]), "Unreadable");
        assert_eq!(of(&[("cookie", "a=b"), ("cookie", "madang=c")]), one);
        let proof = ("madang-proof", "p");
        let whole = "Cookies { values: [\"c\"], proof: Some(\"p\") }";
        assert_eq!(of(&[cookie, proof]), whole);
        assert_eq!(of(&[cookie, proof, proof]), one);
        assert_eq!(of(&[proof]), "None");
        let two = "Cookies { values: [\"x\", \"c\"], proof: None }";
        assert_eq!(of(&[("cookie", "madang=x; madang=c")]), two);
        assert_eq!(of(&[("cookie", "madang=x"), cookie]), two);
    }
}
