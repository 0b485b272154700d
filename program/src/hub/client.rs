//! Asks a hub for listings, and for the bytes of a file from a position on.

use std::{
    fmt,
    io::{self, Read},
    time::Duration,
};

use ureq::{Agent, Body, BodyReader, http::Response};
use url::Url;

use super::{
    address::{below, host, next},
    error::HubError,
    listing::{Content, HubFile, Listing},
    name::HubName,
};

/// The most redirects; a hub uses one or two: to the file's new name, and to its storage.
const MAX_REDIRECTS: u32 = 10;
/// The largest listing; a repository of ten thousand files needs some 4 MiB.
const MAX_LISTING_BYTES: u64 = 32 << 20;

/// The time limits of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// For finding the host, and for connecting; each.
    pub(super) connect: Duration,
    /// For the head of an answer, and between two pieces of it. A whole file has no limit.
    pub(super) silence: Duration,
    /// For a whole listing, once it has begun.
    pub(super) listing: Duration,
}

impl Bounds {
    /// Far more than a slow line needs, and less than a person waits for a bar that stands still.
    pub(super) const USUAL: Self = Self {
        connect: Duration::from_secs(10),
        silence: Duration::from_secs(30),
        listing: Duration::from_secs(60),
    };
}

/// The user's token. It is sent only to the hub itself, never to a redirect's host, and never shown.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn new(token: &str) -> Result<Self, HubError> {
        let is_one = token.bytes().all(|b| b.is_ascii_graphic());
        if is_one { Ok(Self(token.to_owned())) } else { Err(HubError::Token) }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The kind of a request.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Listing,
    BytesFrom(u64),
}

/// A client of one hub.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    bounds: Bounds,
    endpoint: Url,
    token: Option<Token>,
}

/// The bytes of a file from a position on.
pub(super) struct Bytes {
    pub(super) from: u64,
    pub(super) body: BodyReader<'static>,
}

impl Client {
    /// Prepares the client, with the proxies of `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`. Does not connect.
    pub(super) fn new(endpoint: Url, token: Option<Token>, bounds: Bounds) -> Self {
        let config = Agent::config_builder()
            .user_agent(concat!("madang/", env!("CARGO_PKG_VERSION")))
            // Uncompressed: compression would change lengths and positions.
            .accept_encoding("identity")
            .http_status_as_error(false)
            // Redirects are followed here, where it is known which host may get the token.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(bounds.connect))
            .timeout_connect(Some(bounds.connect))
            .timeout_send_request(Some(bounds.silence))
            .timeout_recv_response(Some(bounds.silence))
            .timeout_per_read(Some(bounds.silence))
            .build();
        Self { agent: config.into(), bounds, endpoint, token }
    }

    /// Lists the repository with checksums, at the wanted commit or in its main branch.
    pub(super) fn listing(&self, name: &HubName) -> Result<Listing, HubError> {
        let revision = name.commit().unwrap_or("main");
        let mut url = below(
            &self.endpoint,
            &["api", "models", name.owner(), name.repository(), "revision", revision],
        );
        url.set_query(Some("blobs=true"));
        let (answer, url) = self.get(url, name, Wanted::Listing)?;
        let host = host(&url);
        if answer.status() != 200 {
            return Err(HubError::Status { host, status: answer.status().as_u16() });
        }
        let mut json = Vec::new();
        let mut body = answer.into_body().into_reader().take(MAX_LISTING_BYTES + 1);
        body.read_to_end(&mut json)
            .map_err(|cause| HubError::Unreachable { host: host.clone(), cause: cause.into() })?;
        if json.len() as u64 > MAX_LISTING_BYTES {
            return Err(HubError::TooLong { name: name.clone(), max_bytes: MAX_LISTING_BYTES });
        }
        let listing = Listing::read(&json)
            .map_err(|cause| HubError::Listing { host: host.clone(), cause })?;
        match name.commit() {
            Some(wanted) if wanted != listing.commit => {
                Err(HubError::OtherCommit { host, name: name.clone() })
            }
            Some(_) | None => Ok(listing),
        }
    }

    /// Reads a file's bytes from this position on, or from the beginning if the hub can do only that.
    pub(super) fn bytes(
        &self,
        name: &HubName,
        commit: &str,
        (file, content): (&HubFile, &Content),
        from: u64,
    ) -> Result<Bytes, HubError> {
        let mut path = vec![name.owner(), name.repository(), "resolve", commit];
        path.extend(file.name.split('/'));
        let (answer, url) =
            self.get(below(&self.endpoint, &path), name, Wanted::BytesFrom(from))?;
        let length =
            header(&answer, "content-length").and_then(|length| length.parse::<u64>().ok());
        let starts = header(&answer, "content-range").and_then(range);
        let (from, has) = match (answer.status().as_u16(), starts) {
            (200, _) => (0, length),
            (206, Some((starts, all))) if starts == from => {
                (from, all.or(length.map(|length| from.saturating_add(length))))
            }
            // The file ends before this position.
            (416, _) => (from, Some(starts.and_then(|(_, all)| all).unwrap_or(from))),
            (status, _) => return Err(HubError::Status { host: host(&url), status }),
        };
        if let Some(has) = has.filter(|has| *has != content.bytes) {
            let (file, should) = (file.name.clone(), content.bytes);
            return Err(HubError::Length { host: host(&url), file, has, should });
        }
        Ok(Bytes { from, body: answer.into_body().into_reader() })
    }

    /// Returns the hub's name for display.
    pub(super) fn host(&self) -> String {
        host(&self.endpoint)
    }

    /// Sends a request, follows redirects, and returns the answer with its address.
    fn get(
        &self,
        mut url: Url,
        name: &HubName,
        wanted: Wanted,
    ) -> Result<(Response<Body>, Url), HubError> {
        for _ in 0..=MAX_REDIRECTS {
            let is_hub = url.origin() == self.endpoint.origin();
            let mut request = self.agent.get(url.as_str());
            if let Some(Token(token)) = self.token.as_ref().filter(|_| is_hub) {
                request = request.header("Authorization", format!("Bearer {token}"));
            }
            request = match wanted {
                Wanted::Listing => {
                    request.config().timeout_recv_body(Some(self.bounds.listing)).build()
                }
                Wanted::BytesFrom(0) => request,
                Wanted::BytesFrom(from) => request.header("Range", format!("bytes={from}-")),
            };
            let answer = request.call().map_err(|cause| unanswered(host(&url), cause))?;
            let status = answer.status().as_u16();
            match status {
                301 | 302 | 303 | 307 | 308 => {
                    url = next(&url, header(&answer, "location").unwrap_or_default())?
                }
                401 | 403 | 404 if is_hub => return Err(self.refused(status, name)),
                // The hub signs a fresh address for another attempt.
                403 | 408 | 429 | 500..=599 => {
                    let after = header(&answer, "retry-after").and_then(|after| after.parse().ok());
                    let after = after.map(Duration::from_secs);
                    return Err(HubError::Busy { host: host(&url), status, after });
                }
                _ => return Ok((answer, url)),
            }
        }
        Err(HubError::Circle { host: self.host() })
    }

    fn refused(&self, status: u16, name: &HubName) -> HubError {
        let name = name.clone();
        match status {
            404 => HubError::NotFound { name, host: self.host() },
            _ if self.token.is_some() => HubError::Forbidden { name },
            _ => HubError::NeedsToken { name },
        }
    }
}

/// Explains a missing answer.
fn unanswered(host: String, cause: ureq::Error) -> HubError {
    // A failed handshake comes as this kind of error.
    let is_handshake = |cause: &ureq::Error| matches!(cause, ureq::Error::Io(io) if io.kind() == io::ErrorKind::InvalidData);
    let is_unsafe =
        matches!(cause, ureq::Error::Tls(_) | ureq::Error::Rustls(_)) || is_handshake(&cause);
    if is_unsafe {
        return HubError::Unsafe { host, cause };
    }
    HubError::Unreachable { host, cause: cause.into() }
}

fn header<'a>(answer: &'a Response<Body>, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// Reads `bytes 5-9/10`: the first position and the whole length; also `bytes */10`, without a position.
fn range(text: &str) -> Option<(u64, Option<u64>)> {
    let (positions, all) = text.strip_prefix("bytes ")?.split_once('/')?;
    let first = positions.split('-').next()?;
    let first = if first == "*" { u64::MAX } else { first.parse().ok()? };
    Some((first, all.parse().ok()))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Write},
        net::TcpListener,
        thread,
    };

    use super::*;

    const BRIEF: Bounds = Bounds {
        connect: Duration::from_secs(5),
        silence: Duration::from_millis(50),
        listing: Duration::from_millis(200),
    };

    /// Serves these pieces to a client while it reads, and then stays silent.
    fn client_of(pieces: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let head = BufReader::new(connection.try_clone().unwrap()).lines();
            let lines = head.map_while(Result::ok).take_while(|line| !line.is_empty()).count();
            assert!(lines > 0);
            for piece in pieces {
                if connection.write_all(&piece).is_err() {
                    return;
                }
            }
            // Waits until the client has left.
            let _ = connection.read(&mut [0]);
        });
        Client::new(endpoint.parse().unwrap(), None, BRIEF)
    }

    fn head(length: u64) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes()
    }

    fn name() -> HubName {
        "a/b".parse().unwrap()
    }

    #[test]
    fn a_hub_that_says_nothing_is_waited_for_no_longer_than_is_set() {
        let silent = client_of(std::iter::empty());
        let found = silent.listing(&name());
        assert!(matches!(found, Err(HubError::Unreachable { .. })), "{found:?}");

        let content = Content { sha256: "a".repeat(64), bytes: 10 };
        let file = HubFile { name: "m.gguf".to_owned(), content: Some(content.clone()) };
        let stops = client_of([head(10), b"one".to_vec()].into_iter());
        let mut bytes = stops.bytes(&name(), "c", (&file, &content), 0).unwrap();
        let mut came = Vec::new();
        assert!(bytes.body.read_to_end(&mut came).is_err());
        assert_eq!((bytes.from, came.as_slice()), (0, &b"one"[..]));
    }

    #[test]
    fn a_listing_that_drips_is_not_waited_for_without_end() {
        let drops = std::iter::repeat_with(|| {
            std::thread::park_timeout(Duration::from_millis(10));
            vec![b' ']
        });
        let drips = client_of([head(1_000_000)].into_iter().chain(drops));
        let found = drips.listing(&name());
        assert!(matches!(found, Err(HubError::Unreachable { .. })), "{found:?}");
    }

    #[test]
    fn a_listing_that_goes_on_and_on_is_not_read_on_and_on() {
        let endless = std::iter::once(head(u64::MAX)).chain(std::iter::repeat(vec![b' '; 1 << 20]));
        let endpoint = client_of(endless).endpoint;
        let patient = Client::new(endpoint, None, Bounds::USUAL);
        let found = patient.listing(&name());
        assert!(matches!(found, Err(HubError::TooLong { .. })), "{found:?}");
    }

    #[test]
    fn the_places_of_a_part_are_read() {
        for (text, positions) in [
            ("bytes 5-9/10", Some((5, Some(10)))),
            ("bytes 5-9/*", Some((5, None))),
            ("bytes */10", Some((u64::MAX, Some(10)))),
            ("lines 5-9/10", None),
            ("bytes x-9/10", None),
            ("bytes", None),
        ] {
            assert_eq!(range(text), positions, "{text}");
        }
    }
}
