//! Builds addresses below a hub's own, and follows redirects.

use url::Url;

use super::error::HubError;

/// Joins path segments to the endpoint, which may have a path of its own.
pub(super) fn below(endpoint: &Url, path: &[&str]) -> Url {
    let mut url = endpoint.clone();
    url.path_segments_mut()
        .expect("an address with http or https has a path, and others are refused")
        .pop_if_empty()
        .extend(path);
    url
}

/// Follows a redirect, but not from a safe connection to an open one, where another program could
/// forge the answer.
pub(super) fn next(url: &Url, location: &str) -> Result<Url, HubError> {
    let astray = || {
        let host = host(url);
        HubError::new(format!(
            "{host} sends to an address that is not safe to follow: check HF_ENDPOINT"
        ))
    };
    let next = url.join(location).map_err(|cause| astray().because(cause))?;
    match (url.scheme(), next.scheme()) {
        (_, "https") | ("http", "http") => Ok(next),
        _ => Err(astray()),
    }
}

/// Returns the host's name for display, without the rest, which may contain a signature.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_stays_below_the_hub_whatever_letters_it_has() {
        let hub = Url::parse("http://mirror.example/hf/").unwrap();
        let url = below(&hub, &["a", "b", "m ?#%2f.gguf"]);
        assert_eq!(url.as_str(), "http://mirror.example/hf/a/b/m%20%3F%23%252f.gguf");
        assert_eq!(
            host(&Url::parse("https://user:secret@h.example:8443/?Signature=x").unwrap()),
            "h.example:8443"
        );
    }

    #[test]
    fn no_redirect_leads_from_a_safe_connection_to_an_open_one() {
        let safe = Url::parse("https://hub.example/a/b?c").unwrap();
        for (location, to) in [
            ("https://bytes.example/x?y=z", Some("https://bytes.example/x?y=z")),
            ("/api/x", Some("https://hub.example/api/x")),
            ("//other.example/", Some("https://other.example/")),
            ("http://hub.example/a/b", None),
            ("file:///etc/passwd", None),
            ("https://", None),
        ] {
            assert_eq!(next(&safe, location).ok().as_ref().map(Url::as_str), to, "{location}");
        }
        let open = Url::parse("http://127.0.0.1:80/").unwrap();
        assert!(next(&open, "http://127.0.0.1:81/").is_ok());
    }
}
