//! The site that a server is: the origins under which it is reached, and those that may call it
//! from a browser.

use std::{fmt, str::FromStr, sync::OnceLock};

use axum::http::{
    Uri,
    uri::{Authority, PathAndQuery},
};

/// A scheme, a host and a port, as browsers compare them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebOrigin {
    is_https: bool,
    host: String,
    port: u16,
}

/// A text is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give a scheme, a host and perhaps a port, such as https://chat.example.org")]
pub struct InvalidOrigin;

/// The names of loopback. No other site can point them at another machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl WebOrigin {
    fn new(is_https: bool, authority: &Authority) -> Option<Self> {
        // A port that does not fit 16 bits counts as none there, and must not count as the usual
        // one.
        let is_bare = authority.port().is_some() || authority.as_str() == authority.host();
        if authority.as_str().contains('@') || !is_bare {
            return None;
        }
        let host = authority.host().to_ascii_lowercase();
        let port = match authority.port() {
            Some(port) => port.as_str().parse().ok()?,
            None if is_https => 443,
            None => 80,
        };
        (!host.is_empty()).then_some(Self { is_https, host, port })
    }

    /// Returns whether browsers send to it over TLS.
    #[must_use]
    pub const fn is_https(&self) -> bool {
        self.is_https
    }

    fn is_loopback(&self) -> bool {
        LOOPBACK.contains(&&*self.host)
    }

    /// Returns the host, with its port unless that is the usual one.
    fn authority(&self) -> String {
        let usual = if self.is_https { 443 } else { 80 };
        if self.port == usual { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

impl FromStr for WebOrigin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        let uri: Uri = text.parse().map_err(|_| InvalidOrigin)?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) | None => return Err(InvalidOrigin),
        };
        let is_bare =
            uri.path_and_query().is_none_or(|rest| *rest == PathAndQuery::from_static("/"));
        let authority = uri.authority().filter(|_| is_bare).ok_or(InvalidOrigin)?;
        Self::new(is_https, authority).ok_or(InvalidOrigin)
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

/// The port of a listener, and whether it speaks TLS itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnPort {
    pub(crate) port: u16,
    pub(crate) is_https: bool,
}

/// The origins of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Site {
    /// The public address, such as that of a proxy in front of the server.
    pub(crate) public: Option<WebOrigin>,
    /// Its own listeners. They are not set if another program listens for it.
    pub(crate) listeners: OnceLock<Vec<OwnPort>>,
    /// The origins whose pages may call it with a token.
    pub(crate) allowed: Vec<WebOrigin>,
}

impl Site {
    /// Returns the server's origin under this host, or `None` if the host is another's. Only names
    /// that no other site can point at this server are accepted: loopback names with its ports, and
    /// the public host.
    pub(crate) fn own(&self, authority: &Authority) -> Option<WebOrigin> {
        if let Some(public) = &self.public
            && WebOrigin::new(public.is_https, authority).as_ref() == Some(public)
        {
            return Some(public.clone());
        }
        let Some(listeners) = self.listeners.get() else {
            return WebOrigin::new(false, authority).filter(WebOrigin::is_loopback);
        };
        let mut ours = listeners.iter().filter_map(|own| {
            let origin = WebOrigin::new(own.is_https, authority)?;
            (origin.is_loopback() && origin.port == own.port).then_some(origin)
        });
        ours.next()
    }

    /// Returns the hosts and the origins of this server, and the origins that may call it.
    #[cfg(feature = "mcp")]
    pub(crate) fn names(&self) -> madang_mcp::EndpointSite {
        let listeners = self.listeners.get();
        let ours = listeners.into_iter().flatten().flat_map(|own| {
            LOOPBACK.map(|host| WebOrigin {
                is_https: own.is_https,
                host: host.to_owned(),
                port: own.port,
            })
        });
        let own: Vec<_> = self.public.iter().cloned().chain(ours).collect();
        let mut hosts: Vec<_> = own.iter().map(WebOrigin::authority).collect();
        let with_port = |origin: &WebOrigin| {
            let scheme = if origin.is_https { "https" } else { "http" };
            format!("{scheme}://{}:{}", origin.host, origin.port)
        };
        let mut origins: Vec<_> = own.iter().chain(&self.allowed).map(with_port).collect();
        if listeners.is_none() {
            // Another program listens, so any port of loopback is ours.
            hosts.extend(LOOPBACK.map(str::to_owned));
            origins.extend(LOOPBACK.map(|host| format!("http://{host}:*")));
        }
        madang_mcp::EndpointSite { hosts, origins }
    }

    /// Notes its own listeners, once.
    pub(crate) fn listens_on(&self, listeners: Vec<OwnPort>) {
        let noted = self.listeners.set(listeners);
        debug_assert!(noted.is_ok(), "a server listens once");
    }

    /// Returns whether cookies are sent only over TLS, as the browser sees it.
    pub(crate) fn has_secure_cookies(&self) -> bool {
        let speaks_tls = || {
            let listeners = self.listeners.get();
            listeners.is_some_and(|own| !own.is_empty() && own.iter().all(|own| own.is_https))
        };
        self.public.as_ref().map_or_else(speaks_tls, WebOrigin::is_https)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> WebOrigin {
        text.parse().unwrap()
    }

    #[test]
    fn an_origin_has_a_scheme_a_host_and_a_port_and_nothing_else() {
        assert_eq!(origin("https://Example.org"), origin("https://example.org:443/"));
        assert_eq!(origin("http://[::1]:8137").to_string(), "http://[::1]:8137");
        assert_eq!(origin("https://example.org").to_string(), "https://example.org");
        for text in [
            "null",
            "",
            "example.org",
            "ftp://example.org",
            "https://a@example.org",
            "https://example.org/path",
            "https://example.org?x",
            "https://example.org:",
            "https://example.org:99999",
            "file:///etc",
        ] {
            assert_eq!(text.parse::<WebOrigin>(), Err(InvalidOrigin), "{text}");
        }
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn its_names_are_of_listeners_and_the_public_url_and_its_origins_also_those_allowed() {
        let site = Site {
            public: Some(origin("https://chat.example.org")),
            listeners: vec![OwnPort { port: 8_137, is_https: false }].into(),
            allowed: vec![origin("http://app.example.org")],
        };
        let madang_mcp::EndpointSite { hosts, origins } = site.names();
        let own = ["localhost:8137", "127.0.0.1:8137", "[::1]:8137"];
        assert_eq!(hosts, [&["chat.example.org"], &own[..]].concat());
        let own = own.map(|host| format!("http://{host}"));
        let mut expected = vec!["https://chat.example.org:443".to_owned()];
        expected.extend(own);
        expected.push("http://app.example.org:80".to_owned());
        assert_eq!(origins, expected);
        let anywhere = Site::default().names();
        assert_eq!(anywhere.hosts, LOOPBACK);
        assert_eq!(anywhere.origins, LOOPBACK.map(|host| format!("http://{host}:*")));
    }

    #[test]
    fn ours_are_loopback_names_with_our_ports_and_the_public_host() {
        let site = Site {
            public: Some(origin("https://chat.example.org")),
            listeners: vec![OwnPort { port: 8_137, is_https: false }].into(),
            ..Site::default()
        };
        let own = |host: &str| site.own(&host.parse().unwrap()).map(|origin| origin.to_string());
        assert_eq!(own("localhost:8137").as_deref(), Some("http://localhost:8137"));
        assert_eq!(own("LOCALHOST:8137").as_deref(), Some("http://localhost:8137"));
        assert_eq!(own("127.0.0.1:8137").as_deref(), Some("http://127.0.0.1:8137"));
        assert_eq!(own("[::1]:8137").as_deref(), Some("http://[::1]:8137"));
        assert_eq!(own("chat.example.org").as_deref(), Some("https://chat.example.org"));
        assert_eq!(own("chat.example.org:443").as_deref(), Some("https://chat.example.org"));
        for host in [
            "evil.example",
            "localhost",
            "localhost:80",
            "127.0.0.2:8137",
            "127.0.0.1.evil.example:8137",
            "chat.example.org:80",
            "a@localhost:8137",
            "localhost.:8137",
            "localhost:08137x",
            "chat.example.org:99999",
        ] {
            assert_eq!(own(host), None, "{host}");
        }
        let encrypted = Site {
            listeners: vec![OwnPort { port: 443, is_https: true }].into(),
            ..Site::default()
        };
        let own = |host: &str| encrypted.own(&host.parse().unwrap());
        assert_eq!(own("localhost"), Some(origin("https://localhost")));
        assert_eq!(own("localhost:80"), None);
        assert!(encrypted.has_secure_cookies() && !Site::default().has_secure_cookies());
        let any = Site::default();
        assert!(any.own(&"localhost:1".parse().unwrap()).is_some());
        assert!(any.own(&"evil.example:1".parse().unwrap()).is_none());
    }
}
