//! Asks a server over HTTP, with the TLS of the remote models, without redirects, and with a pause
//! between streams.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::{
    Client, Method, RequestBuilder, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::{
        StreamableHttpClientTransport,
        common::client_side_sse::{BoxedSseResponse, NeverRetry},
        streamable_http_client::{
            StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpPostResponse,
        },
    },
};
use tokio::time::{Instant, sleep_until};

use super::{
    limits::{CONNECT_TIMEOUT, STREAM_PAUSE},
    pending::Pending,
    reply::{Answered, opened, posted},
};

/// Makes the transport of a server. Nothing is sent yet.
pub(super) fn transport(
    url: &Url,
    headers: &HeaderMap,
    pending: &Pending,
) -> reqwest::Result<StreamableHttpClientTransport<Paced>> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        // After the session expired, the library would send a call a second time. The supervisor
        // makes a new session instead.
        .reinit_on_expired_session(false);
    // A stream that broke off is a lost answer, unless its server has said when to ask for the
    // rest.
    config.retry_config = Arc::new(NeverRetry::default());
    let client = client(headers)?;
    let pending = pending.clone();
    let client = Paced { client, pending, next: Arc::new(Mutex::new(Instant::now())) };
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// A client that opens one stream after the other, with a pause in between. The library keeps to
/// the pause that a server names, even if that is none.
#[derive(Debug, Clone)]
pub(super) struct Paced {
    client: Client,
    pending: Pending,
    /// When the next stream may be opened.
    next: Arc<Mutex<Instant>>,
}

impl Paced {
    /// Waits for its turn to open a stream.
    async fn pause(&self) {
        let turn = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = (*next).max(Instant::now());
            *next = turn + STREAM_PAUSE;
            turn
        };
        sleep_until(turn).await;
    }

    /// Begins a request. It has the headers of the configuration as well, because the client adds
    /// them.
    fn request(
        &self,
        method: Method,
        uri: &str,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        let request = self.client.request(method, uri).headers(headers.into_iter().collect());
        let request = request.header(ACCEPT, "application/json, text/event-stream");
        match session {
            Some(session) => request.header("mcp-session-id", &*session),
            None => request,
        }
    }
}

impl StreamableHttpClient for Paced {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<StreamableHttpPostResponse> {
        let has_session = session.is_some();
        let request = self.request(Method::POST, &uri, session, headers);
        let body = serde_json::to_vec(&message)?;
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        posted(request.send().await?, &message, has_session, &self.pending).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<()> {
        self.client.delete_session(uri, session, authorization, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<BoxedSseResponse> {
        self.pause().await;
        let mut request = self.request(Method::GET, &uri, session, headers);
        if let Some(last_event) = last_event {
            request = request.header("last-event-id", last_event);
        }
        opened(request.send().await?, &self.pending)
    }
}

/// Makes a client with rustls, ring and Mozilla's roots. It follows no redirect, which could take
/// the headers along, and sends nothing twice.
fn client(headers: &HeaderMap) -> reqwest::Result<Client> {
    let roots = rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows the versions that rustls has by default")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .default_headers(headers.clone())
        .user_agent(concat!("madang/", env!("CARGO_PKG_VERSION")))
        .build()
}
