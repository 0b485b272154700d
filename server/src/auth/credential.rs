//! The credential of a request, as its head has it. Pure.

use axum::http::{HeaderMap, HeaderName, header};

use super::cookie;

/// The credential that a request brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credential<'a> {
    /// None at all.
    None,
    /// A token in `Authorization`. It goes before a cookie, also where it is wrong.
    Bearer(&'a str),
    /// The page's cookie, which a browser adds by itself.
    Cookie(&'a str),
    /// Something that is neither.
    Unreadable,
}

impl<'a> Credential<'a> {
    /// Reads the credential of a head. No query has one: it would stand in logs.
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
        let mut cookies = cookies.filter_map(|text| cookie::find(text, has_secure_cookies));
        cookies.next().map_or(Self::None, Self::Cookie)
    }
}

/// The headers in which a service names its user, the first that is there.
const USER_HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("madang-user"), HeaderName::from_static("x-openwebui-user-id")];

/// Gives the name of the user that a service speaks for.
pub(crate) fn named_user(headers: &HeaderMap) -> Option<&str> {
    let named = USER_HEADERS.iter().find_map(|name| headers.get(name))?;
    str::from_utf8(named.as_bytes()).ok()
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
        let (bearer, cookie) = (("authorization", "Bearer t"), ("cookie", "a=b; madang=c"));
        assert_eq!(of(&[]), "None");
        assert_eq!(of(&[bearer]), "Bearer(\"t\")");
        assert_eq!(of(&[("authorization", "bearer  t ")]), "Bearer(\"t\")");
        assert_eq!(of(&[cookie]), "Cookie(\"c\")");
        assert_eq!(of(&[cookie, bearer]), "Bearer(\"t\")");
        assert_eq!(of(&[("authorization", "Basic dDp0"), cookie]), "Unreadable");
        assert_eq!(of(&[bearer, bearer]), "Unreadable");
        assert_eq!(of(&[("authorization", "Bearer"), cookie]), "Unreadable");
        assert_eq!(of(&[("cookie", "a=b"), ("cookie", "madang=c")]), "Cookie(\"c\")");
    }
}
