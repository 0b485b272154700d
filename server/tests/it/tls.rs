//! A listener with a certificate speaks TLS and nothing else.

use std::{path::PathBuf, sync::Arc};

use madang::{Runtime, UserId};
use madang_server::{Listener, Server, ServerLimits, ServerOptions, Tls, TlsError};
use madang_testing::MemoryStore;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::{Duration, timeout},
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName},
};

use crate::{http::PATIENCE, support::says};

/// A certificate for `localhost`, in files, with a client that trusts it.
struct Certificate {
    folder: TempDir,
    connector: TlsConnector,
}

impl Certificate {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { folder, connector: TlsConnector::from(Arc::new(config)) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tls(&self) -> Tls {
        Tls::open(&self.path("cert.pem"), &self.path("key.pem")).unwrap()
    }

    async fn connect(&self, port: u16) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        timeout(PATIENCE, self.connector.connect(name, stream)).await.unwrap().unwrap()
    }
}

async fn server(limits: ServerLimits) -> Server {
    let builder = Runtime::builder().model(says("hello")).store(MemoryStore::new());
    let options = ServerOptions::default().limits(limits).open(UserId::new("me").unwrap());
    Server::new(builder.start().await.unwrap(), options).unwrap()
}

async fn rest(mut stream: impl tokio::io::AsyncRead + Unpin) -> String {
    let mut read = Vec::new();
    // How a peer closes is its own affair.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut read)).await.expect("it closes in time");
    String::from_utf8_lossy(&read).into_owned()
}

#[tokio::test]
async fn a_listener_with_a_certificate_serves_https_and_no_clear_text() {
    let certificate = Certificate::new();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    let listener = Listener::from(socket).with_tls(certificate.tls());
    assert_eq!(listener.address(), format!("https://127.0.0.1:{port}"));
    let mut limits = ServerLimits::default();
    limits.head_timeout = Duration::from_millis(300);
    let (stop, stopped) = oneshot::channel::<()>();
    let serves = tokio::spawn(server(limits).await.serve(vec![listener], async move {
        drop(stopped.await);
    }));

    let request =
        format!("GET /v1/me HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n");
    let mut stream = certificate.connect(port).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = rest(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""user":"me""#), "{answer}");

    let mut clear = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    clear.write_all(request.as_bytes()).await.unwrap();
    let answer = rest(clear).await;
    assert!(!answer.contains("HTTP"), "{answer}");

    // A client that never shakes hands is let go as one that never ends its head.
    let silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    assert_eq!(rest(silent).await, "");

    stop.send(()).unwrap();
    timeout(PATIENCE, serves).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn an_address_has_a_bound_on_connections_where_it_is_that_of_the_client() {
    let certificate = Certificate::new();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    let listener = Listener::from(socket).with_tls(certificate.tls());
    let mut limits = ServerLimits::default();
    limits.max_connections_per_address = 1;
    let (stop, stopped) = oneshot::channel::<()>();
    let serves = tokio::spawn(server(limits).await.serve(vec![listener], async move {
        drop(stopped.await);
    }));
    let greets = async || {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        certificate.connector.connect(name, stream).await
    };
    let first = certificate.connect(port).await;
    assert!(greets().await.is_err(), "it is closed before it is greeted");
    drop(first);
    let request =
        format!("GET /v1/me HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n");
    crate::support::until(async || {
        let Ok(mut stream) = greets().await else { return false };
        stream.write_all(request.as_bytes()).await.is_ok()
            && rest(stream).await.starts_with("HTTP/1.1 200")
    })
    .await;
    stop.send(()).unwrap();
    timeout(PATIENCE, serves).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_refused_by_its_file() {
    let certificate = Certificate::new();
    let other = Certificate::new();
    let open = |chain: &PathBuf, key: &PathBuf| Tls::open(chain, key).unwrap_err();
    let chain = certificate.path("cert.pem");
    let key = certificate.path("key.pem");
    assert!(matches!(open(&certificate.path("none"), &key), TlsError::Certificates { .. }));
    assert!(matches!(open(&key, &key), TlsError::Certificates { .. }), "a key is no certificate");
    assert!(matches!(open(&chain, &chain), TlsError::Key { .. }));
    assert!(matches!(open(&chain, &other.path("key.pem")), TlsError::Misfit { .. }));
}

#[tokio::test]
async fn an_address_that_others_reach_needs_tls_on_each_listener() {
    use madang_server::{ServeError, TokenFile};

    let certificate = Certificate::new();
    let builder = Runtime::builder().model(says("hello")).store(MemoryStore::new());
    let file = TokenFile::new(certificate.path("tokens"));
    let options = ServerOptions::default().token_file(file);
    let server = Server::new(builder.start().await.unwrap(), options).unwrap();
    let bind = async || Listener::from(TcpListener::bind("0.0.0.0:0").await.unwrap());
    let both = vec![bind().await.with_tls(certificate.tls()), bind().await];
    let served = server.clone().serve(both, std::future::pending());
    let refused = timeout(PATIENCE, served).await.expect("it is refused at once").unwrap_err();
    assert!(matches!(refused, ServeError::ClearText { .. }), "{refused}");
    let encrypted = vec![bind().await.with_tls(certificate.tls())];
    server.serve(encrypted, std::future::ready(())).await.unwrap();
}
