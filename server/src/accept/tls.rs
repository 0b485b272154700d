//! TLS of a listener: its certificate and key, and the handshake of a connection.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject as _},
    },
    server::TlsStream,
};

/// A certificate with its private key, by which a [`Listener`](crate::Listener) speaks TLS 1.2
/// and 1.3.
///
/// It carries HTTP/1.1, with the same limits on heads and connections as clear text.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificates could not be read.
    #[error("failed to read certificates as PEM from {}", path.display())]
    Certificates {
        /// The path of the file of certificates.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: pem::Error,
    },
    /// The private key could not be read.
    #[error("failed to read a private key as PEM from {}", path.display())]
    Key {
        /// The path of the file of the key.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: pem::Error,
    },
    /// The key does not belong to the certificate, or is of an unknown kind.
    #[error("the key in {} does not fit the certificate in {}", key.display(), certificates.display())]
    Misfit {
        /// The file of certificates.
        certificates: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What does not fit.
        #[source]
        cause: rustls::Error,
    },
}

impl Tls {
    /// Reads the certificate, followed by those that lead to its root, and its private key, both as
    /// PEM.
    ///
    /// A certificate that is renewed later is read by the next process. This blocks the calling
    /// thread.
    ///
    /// # Errors
    /// Returns [`TlsError`], which names the file.
    pub fn open(certificates: &Path, key: &Path) -> Result<Self, TlsError> {
        let of_certificates =
            |cause| TlsError::Certificates { path: certificates.to_owned(), cause };
        let chain = CertificateDer::pem_file_iter(certificates).map_err(of_certificates)?;
        let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(of_certificates)?;
        if chain.is_empty() {
            return Err(of_certificates(pem::Error::NoItemsFound));
        }
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|cause| TlsError::Key { path: key.to_owned(), cause })?;
        let configured = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private));
        let mut config = configured.map_err(|cause| TlsError::Misfit {
            certificates: certificates.to_owned(),
            key: key.to_owned(),
            cause,
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Performs the handshake within the time of a head, so a silent client keeps no permit.
    pub(super) async fn shake_hands(
        &self,
        stream: TcpStream,
        patience: Duration,
    ) -> io::Result<TlsStream<TcpStream>> {
        timeout(patience, self.0.accept(stream)).await.map_err(io::Error::from)?
    }
}
