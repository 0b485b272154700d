//! Asks a hub for listings, and for the bytes of a file from a position on.

use std::{error::Error, fmt, io, sync::Arc, time::Duration};

use reqwest::{
    Response,
    header::{self, HeaderName, HeaderValue},
    redirect::Policy,
};
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
const MAX_LISTING_BYTES: usize = 32 << 20;

/// The time limits of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// For finding and greeting a host.
    pub(super) connect: Duration,
    /// For the head of an answer, and between two pieces of it. A whole file has no limit.
    pub(super) silence: Duration,
    /// For a whole listing.
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

/// The user's token. It is sent only to the hub itself, never to a redirect's host, and never
/// shown.
#[derive(Clone)]
pub(super) struct Token(HeaderValue);

impl Token {
    pub(super) fn new(token: &str) -> Result<Self, HubError> {
        let wrong = || {
            HubError::new("the token for the hub has letters that no token has: set HF_TOKEN anew")
        };
        if !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(wrong());
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok(Self(value))
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
    client: reqwest::Client,
    bounds: Bounds,
    endpoint: Url,
    token: Option<Token>,
}

/// The bytes of a file from a position on.
#[derive(Debug)]
pub(super) struct Bytes {
    pub(super) from: u64,
    body: Response,
}

impl Bytes {
    /// Returns the next bytes; `None` at the end.
    pub(super) async fn next(
        &mut self,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, Box<dyn Error + Send + Sync>> {
        // The address of the storage has a signature.
        Ok(self.body.chunk().await.map_err(reqwest::Error::without_url)?)
    }
}

impl Client {
    /// Prepares the client, with the proxies of `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`. Does not
    /// connect.
    ///
    /// TLS is rustls with ring and Mozilla's roots, as remote models have it.
    pub(super) fn new(
        endpoint: Url,
        token: Option<Token>,
        bounds: Bounds,
    ) -> Result<Self, HubError> {
        let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring knows the versions that rustls has by default")
            .with_root_certificates(rustls::RootCertStore::from_iter(roots))
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            // Redirects are followed here, where it is known which host may get the token.
            .redirect(Policy::none())
            .connect_timeout(bounds.connect)
            .read_timeout(bounds.silence)
            .user_agent(concat!("madang/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|cause| HubError::new("failed to prepare a connection").because(cause))?;
        Ok(Self { client, bounds, endpoint, token })
    }

    /// Lists the repository with checksums, at the wanted commit or in its main branch.
    pub(super) async fn listing(&self, name: &HubName) -> Result<Listing, HubError> {
        let revision = name.commit().unwrap_or("main");
        let mut url = below(
            &self.endpoint,
            &["api", "models", name.owner(), name.repository(), "revision", revision],
        );
        url.set_query(Some("blobs=true"));
        let (mut answer, url) = self.get(url, name, Wanted::Listing).await?;
        let host = host(&url);
        if answer.status() != 200 {
            return Err(no_hubs_status(&host, answer.status().as_u16()));
        }
        let mut json = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|cause| unanswered(&host, cause))? {
            json.extend_from_slice(&piece);
            if json.len() > MAX_LISTING_BYTES {
                let max = MAX_LISTING_BYTES >> 20;
                return Err(HubError::new(format!(
                    "the listing of {name} has more than {max} MiB: give a smaller repository"
                )));
            }
        }
        let listing = Listing::read(&json).map_err(|cause| {
            HubError::new(format!(
                "{host} answers with something that is not a hub's listing: check HF_ENDPOINT, and use no repository that you do not trust"
            ))
            .because(cause)
        })?;
        match name.commit() {
            Some(wanted) if wanted != listing.commit => Err(HubError::new(format!(
                "{host} answers with another commit than the one in {name}: give another, or leave it out"
            ))),
            Some(_) | None => Ok(listing),
        }
    }

    /// Reads a file's bytes from this position on, or from the beginning if the hub can do only
    /// that.
    pub(super) async fn bytes(
        &self,
        name: &HubName,
        commit: &str,
        (file, content): (&HubFile, &Content),
        from: u64,
    ) -> Result<Bytes, HubError> {
        let mut path = vec![name.owner(), name.repository(), "resolve", commit];
        path.extend(file.name.split('/'));
        let (answer, url) =
            self.get(below(&self.endpoint, &path), name, Wanted::BytesFrom(from)).await?;
        let host = host(&url);
        let length =
            text(&answer, header::CONTENT_LENGTH).and_then(|text| text.parse::<u64>().ok());
        let starts = text(&answer, header::CONTENT_RANGE).and_then(range);
        let (from, has) = match (answer.status().as_u16(), starts) {
            (200, _) => (0, length),
            (206, Some((starts, all))) if starts == from => {
                (from, all.or(length.map(|length| from.saturating_add(length))))
            }
            // The file ends before this position.
            (416, _) => (from, Some(starts.and_then(|(_, all)| all).unwrap_or(from))),
            (status, _) => return Err(no_hubs_status(&host, status)),
        };
        if let Some(has) = has.filter(|has| *has != content.bytes) {
            let file = &file.name;
            let should = content.bytes;
            return Err(HubError::new(format!(
                "{host} has {file} in another length than its own listing says ({has} instead of {should} bytes): try again later, or give another model"
            )));
        }
        Ok(Bytes { from, body: answer })
    }

    /// Sends a request, follows redirects, and returns the answer with its address.
    async fn get(
        &self,
        mut url: Url,
        name: &HubName,
        wanted: Wanted,
    ) -> Result<(Response, Url), HubError> {
        for _ in 0..=MAX_REDIRECTS {
            let is_hub = url.origin() == self.endpoint.origin();
            // Uncompressed: compression would change lengths and positions.
            let mut request =
                self.client.get(url.clone()).header(header::ACCEPT_ENCODING, "identity");
            if let Some(Token(token)) = self.token.as_ref().filter(|_| is_hub) {
                request = request.header(header::AUTHORIZATION, token);
            }
            request = match wanted {
                Wanted::Listing => request.timeout(self.bounds.listing),
                Wanted::BytesFrom(0) => request,
                Wanted::BytesFrom(from) => request.header(header::RANGE, format!("bytes={from}-")),
            };
            let answer = request.send().await.map_err(|cause| unanswered(&host(&url), cause))?;
            let status = answer.status().as_u16();
            match status {
                301 | 302 | 303 | 307 | 308 => {
                    url = next(&url, text(&answer, header::LOCATION).unwrap_or_default())?;
                }
                401 | 403 | 404 if is_hub => return Err(self.refused(status, name)),
                // The hub signs a fresh address for another attempt.
                403 | 408 | 429 | 500..=599 => {
                    let after =
                        text(&answer, header::RETRY_AFTER).and_then(|text| text.parse().ok());
                    return Err(busy(&host(&url), status, after.map(Duration::from_secs)));
                }
                _ => return Ok((answer, url)),
            }
        }
        let host = host(&self.endpoint);
        Err(HubError::new(format!(
            "{host} sends from address to address without end: check HF_ENDPOINT, or try again later"
        )))
    }

    fn refused(&self, status: u16, name: &HubName) -> HubError {
        HubError::new(match status {
            404 => format!("there is no {name} on {}: check its name", host(&self.endpoint)),
            _ if self.token.is_some() => format!(
                "the hub refuses {name} to this token: ask for access on the page of the model, or give another token in HF_TOKEN"
            ),
            _ => format!(
                "{name} does not exist or is not public: check its name, or give a token that may read it in HF_TOKEN"
            ),
        })
    }
}

fn busy(host: &str, status: u16, after: Option<Duration>) -> HubError {
    let later =
        after.map_or_else(|| "later".to_owned(), |after| format!("in {} s", after.as_secs()));
    HubError::new(format!(
        "{host} cannot serve this now ({status}): try again {later}; what has come is kept"
    ))
    .retry(after)
}

fn no_hubs_status(host: &str, status: u16) -> HubError {
    HubError::new(format!(
        "{host} answers with status {status}, which no hub does: check HF_ENDPOINT"
    ))
}

/// Explains a missing answer.
fn unanswered(host: &str, cause: reqwest::Error) -> HubError {
    let cause = cause.without_url();
    if is_of_tls(&cause) {
        return HubError::new(format!(
            "no safe connection to {host}: check the clock of this machine and its way to the network"
        ))
        .because(cause);
    }
    HubError::unreachable(host, cause)
}

/// Tells whether a handshake failed. An error of input and output does not name the one inside of
/// it as its source.
fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>()
        || inside.is_some_and(|error| is_of_tls(error))
        || error.source().is_some_and(is_of_tls)
}

fn text(answer: &Response, name: HeaderName) -> Option<&str> {
    answer.headers().get(name)?.to_str().ok()
}

/// Reads `bytes 5-9/10`: the first position and the whole length; also `bytes */10`, without a
/// position.
fn range(text: &str) -> Option<(u64, Option<u64>)> {
    let (positions, all) = text.strip_prefix("bytes ")?.split_once('/')?;
    let first = positions.split('-').next()?;
    let first = if first == "*" { u64::MAX } else { first.parse().ok()? };
    Some((first, all.parse().ok()))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Read, Write},
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
        Client::new(endpoint.parse().unwrap(), None, BRIEF).unwrap()
    }

    fn head(length: u64) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes()
    }

    fn name() -> HubName {
        "a/b".parse().unwrap()
    }

    /// Requires an error that another attempt may help against.
    fn passes(found: Result<Listing, HubError>) {
        let error = found.unwrap_err();
        assert!(error.passes() && error.to_string().contains("failed to reach"), "{error:?}");
    }

    #[tokio::test]
    async fn a_hub_that_says_nothing_is_waited_for_no_longer_than_is_set() {
        let silent = client_of(std::iter::empty());
        passes(silent.listing(&name()).await);

        let content = Content { sha256: "a".repeat(64), bytes: 10 };
        let file = HubFile { name: "m.gguf".to_owned(), content: Some(content.clone()) };
        let stops = client_of([head(10), b"one".to_vec()].into_iter());
        let mut bytes = stops.bytes(&name(), "c", (&file, &content), 0).await.unwrap();
        let mut came = Vec::new();
        let ended = loop {
            match bytes.next().await {
                Ok(Some(piece)) => came.extend_from_slice(piece.as_ref()),
                ended => break ended.map(|_| ()),
            }
        };
        assert_eq!((bytes.from, came.as_slice(), ended.is_err()), (0, &b"one"[..], true));
    }

    #[tokio::test]
    async fn a_listing_that_drips_is_not_waited_for_without_end() {
        let drops = std::iter::repeat_with(|| {
            std::thread::park_timeout(Duration::from_millis(10));
            vec![b' ']
        });
        let drips = client_of([head(1_000_000)].into_iter().chain(drops));
        passes(drips.listing(&name()).await);
    }

    #[tokio::test]
    async fn a_listing_that_goes_on_and_on_is_not_read_on_and_on() {
        let endless = std::iter::once(head(1 << 40)).chain(std::iter::repeat(vec![b' '; 1 << 20]));
        let endpoint = client_of(endless).endpoint;
        let patient = Client::new(endpoint, None, Bounds::USUAL).unwrap();
        let found = patient.listing(&name()).await.unwrap_err();
        assert!(found.to_string().contains("has more than 32 MiB"), "{found}");
        assert!(!found.leaves_the_older());
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
