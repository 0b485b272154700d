//! Checks the host that a request is addressed to. A page of another site whose name points at this
//! server is refused here.

use axum::http::{HeaderMap, Uri, header::HOST, uri::Authority};

use super::site::{Site, WebOrigin};

/// Returns the server's origin as the request names it. Returns `None` if it names another host,
/// none, or two.
pub(crate) fn named(site: &Site, uri: &Uri, headers: &HeaderMap) -> Option<WebOrigin> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next();
    let second = hosts.next();
    if second.is_some() {
        return None;
    }
    let host: Option<Authority> = match host {
        Some(host) => Some(host.to_str().ok()?.parse().ok()?),
        None => None,
    };
    match (host, uri.authority()) {
        (Some(host), Some(target)) if site.own(&host) != site.own(target) => None,
        (Some(host), _) => site.own(&host),
        (None, Some(target)) => site.own(target),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::{super::site::OwnPort, *};

    #[test]
    fn a_request_names_exactly_one_host_and_that_is_ours() {
        let site = Site {
            listeners: vec![OwnPort { port: 8_137, is_https: false }].into(),
            ..Site::default()
        };
        let is_ours = |uri: &str, hosts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(HOST, HeaderValue::from_static(host));
            }
            named(&site, &uri.parse().unwrap(), &headers).is_some()
        };
        assert!(is_ours("/", &["localhost:8137"]));
        assert!(is_ours("http://localhost:8137/", &[]));
        assert!(is_ours("http://localhost:8137/", &["localhost:8137"]));
        assert!(!is_ours("/", &[]));
        assert!(!is_ours("/", &[""]));
        assert!(!is_ours("/", &["evil.example"]));
        assert!(!is_ours("/", &["localhost:8137", "localhost:8137"]));
        assert!(!is_ours("/", &["localhost:8137", "evil.example"]));
        assert!(!is_ours("http://evil.example/", &["localhost:8137"]));
        assert!(!is_ours("http://localhost:8137/", &["evil.example"]));
        assert!(!is_ours("/", &["localhost:8137, evil.example"]));
    }
}
