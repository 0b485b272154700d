//! A server that is asked over HTTP: TLS as the remote models have it, no redirects, bounded answers.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, Url, header::HeaderMap, redirect::Policy};
use rmcp::transport::{
    StreamableHttpClientTransport, common::client_side_sse::SseRetryPolicy,
    streamable_http_client::StreamableHttpClientTransportConfig,
};

use super::limits::{CONNECT_TIMEOUT, MAX_MESSAGE_BYTES, MAX_REFUSAL_BYTES};

/// Makes the transport of a server. Nothing is sent yet.
pub(super) fn transport(
    url: &Url,
    headers: &HeaderMap,
) -> reqwest::Result<StreamableHttpClientTransport<Client>> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .max_sse_event_size(MAX_MESSAGE_BYTES)
        .max_json_response_size(MAX_MESSAGE_BYTES)
        .max_error_response_size(MAX_REFUSAL_BYTES)
        // A call would be sent a second time behind an expired session. The keeper makes a new one instead.
        .reinit_on_expired_session(false);
    // A stream that broke off is a lost answer, unless its server has said when to ask for the rest.
    config.retry_config = Arc::new(Never);
    Ok(StreamableHttpClientTransport::with_client(client(headers)?, config))
}

/// A stream is not asked for again by our own wish. The library follows the server's.
#[derive(Debug)]
struct Never;

impl SseRetryPolicy for Never {
    fn retry(&self, _: usize) -> Option<Duration> {
        None
    }
}

/// Makes a client with rustls, ring and Mozilla's roots. It follows no redirect, which could take the headers along, and
/// sends nothing twice.
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
