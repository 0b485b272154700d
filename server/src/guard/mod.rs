//! The guard before every handler. It makes pure decisions about the head of a request, in a fixed
//! order.
//!
//! 1. Host: only names that no other site can point at this server.
//! 2. Origin: the server's own pages, and those of allowed sites.
//! 3. `Sec-Fetch-Site`: a page of another site may only open ours in a tab.
//! 4. Credential, and the rates of wrong ones ([`auth`](crate::auth)).
//! 5. For a cookie, the proof that a page of this server sent it.
//! 6. The rates of the user and of a service that speaks for users, and the scope of the route.
//!
//! `layer` carries the decisions out, and `cors` answers browsers what pages of allowed sites may
//! send and read. `rate` counts how often a caller comes, and `site` has the origins of the server
//! and of the allowed sites.
//!
//! **Invariants.**
//! - The first three decisions hold for each path except `/healthz`, which returns nothing but the
//!   fact that the process is alive.
//! - A refused request reaches no handler, and the guard reads no body.
//! - A cookie never authenticates a page of an allowed site. Such a page sends a token.

pub(crate) mod cors;
pub(crate) mod csrf;
pub(crate) mod host;
pub(crate) mod layer;
pub(crate) mod origin;
pub(crate) mod rate;
pub(crate) mod site;

use axum::http::{HeaderMap, Method, Uri};

use self::{
    origin::{ComesFrom, FetchSite},
    site::Site,
};
use crate::problem::{Problem, ProblemName};

/// Checks the host, the origin and what the browser says about the page that asks. Returns the site
/// from which the request comes, which may call this host.
pub(crate) fn admit(
    site: &Site,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<ComesFrom, Problem> {
    let Some(own) = host::named(site, uri, headers) else {
        return Err(Problem::new(
            ProblemName::Host,
            "The request names a host that this server is not. Behind a proxy, name its address by the public URL.",
        ));
    };
    let from = origin::comes_from(site, &own, headers);
    let is_foreign = match (from, FetchSite::of(headers)) {
        (ComesFrom::Foreign, _) => true,
        (ComesFrom::Allowed, _)
        | (
            ComesFrom::Unsaid | ComesFrom::Same,
            FetchSite::Unsaid | FetchSite::Person | FetchSite::SameOrigin,
        ) => false,
        (ComesFrom::Unsaid | ComesFrom::Same, FetchSite::Other) => {
            !origin::opens_the_page(method, uri.path(), headers)
        }
    };
    if is_foreign {
        return Err(Problem::new(
            ProblemName::Origin,
            "The request comes from a page of a site that is not allowed here.",
        ));
    }
    Ok(from)
}

#[cfg(test)]
mod tests {
    use super::{site::OwnPort, *};

    /// Returns the decision about a GET of this path with these headers.
    fn verdict(path: &str, pairs: &[(&'static str, &'static str)]) -> &'static str {
        let site = Site {
            listeners: vec![OwnPort { port: 8_137, is_https: false }].into(),
            allowed: vec!["https://app.example.org".parse().unwrap()],
            ..Site::default()
        };
        let pairs = pairs.iter().chain(&[("host", "localhost:8137")]);
        let headers = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        match admit(&site, &Method::GET, &path.parse().unwrap(), &headers.collect()) {
            Ok(_) => "ok",
            Err(problem) => problem.name().name(),
        }
    }

    #[test]
    fn a_page_of_another_site_may_only_open_ours_in_a_tab() {
        let navigate = ("sec-fetch-mode", "navigate");
        let document = ("sec-fetch-dest", "document");
        let allowed = ("origin", "https://app.example.org");
        for other in ["cross-site", "same-site", "unheard-of"] {
            let site = ("sec-fetch-site", other);
            assert_eq!(verdict("/", &[site, navigate, document]), "ok", "{other}");
            assert_eq!(verdict("/", &[site, navigate, ("sec-fetch-dest", "iframe")]), "origin");
            assert_eq!(verdict("/", &[site, ("sec-fetch-mode", "no-cors"), document]), "origin");
            assert_eq!(verdict("/v1/sessions", &[site, navigate, document]), "origin");
            assert_eq!(verdict("/v1/sessions", &[site, allowed]), "ok");
            assert_eq!(
                verdict("/v1/sessions", &[site, ("origin", "http://localhost:8137")]),
                "origin"
            );
        }
        for ours in ["none", "same-origin"] {
            assert_eq!(verdict("/v1/sessions", &[("sec-fetch-site", ours)]), "ok", "{ours}");
        }
        assert_eq!(verdict("/v1/sessions", &[("origin", "null")]), "origin");
        assert_eq!(
            verdict("/", &[("origin", "https://evil.example"), navigate, document]),
            "origin"
        );
    }
}
