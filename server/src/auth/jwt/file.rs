//! Reads the file of an issuer's public keys: a JWK set, or one key as PEM.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse},
};
use madang::approval::Digest;
use sha2::{Digest as _, Sha256};

/// The most bytes of a file, enough for some hundred keys with their certificates.
const MAX_BYTES: u64 = 256 * 1024;

/// A public key, and the one algorithm that it is for.
pub(super) struct JwtKey {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
    /// The hash of the key's bytes.
    pub(super) digest: Digest,
}

/// Why a file of public keys could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JwtFileError {
    /// The file could not be read.
    #[error("failed to read the keys of JWTs in {}", path.display())]
    Io {
        /// The path of the file of keys.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// The file is neither a JWK set nor a public key as PEM.
    #[error("{} is neither a JWK set nor a public key as PEM", path.display())]
    NoKeys {
        /// The path of the file of keys.
        path: PathBuf,
    },
    /// The file has no key that this server can use.
    #[error("{} has no public key for EdDSA, ES256 or RS256", path.display())]
    NoUsableKey {
        /// The path of the file of keys.
        path: PathBuf,
    },
}

/// Reads the public keys that the file has now. There is at least one.
pub(super) fn read(path: &Path) -> Result<Vec<JwtKey>, JwtFileError> {
    let failed = |cause| JwtFileError::Io { path: path.to_owned(), cause };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, "it is too long")));
    }
    let keys: Vec<_> = if let Ok(set) = serde_json::from_slice::<JwkSet>(&bytes) {
        set.keys.iter().filter_map(JwtKey::of_jwk).collect()
    } else {
        let key = JwtKey::of_pem(&bytes);
        vec![key.ok_or_else(|| JwtFileError::NoKeys { path: path.to_owned() })?]
    };
    if keys.is_empty() {
        return Err(JwtFileError::NoUsableKey { path: path.to_owned() });
    }
    Ok(keys)
}

impl JwtKey {
    fn new(id: Option<String>, algorithm: Algorithm, key: DecodingKey) -> Self {
        let hash = match key.kind() {
            DecodingKeyKind::SecretOrDer(bytes) => Sha256::digest(bytes),
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                Sha256::new().chain_update(n).chain_update([0]).chain_update(e).finalize()
            }
        };
        Self { id, algorithm, key, digest: Digest::new(hash.into()) }
    }

    /// Takes a key for signatures with an algorithm that we know. A set may have others, such as
    /// keys for encryption.
    fn of_jwk(jwk: &Jwk) -> Option<Self> {
        let (algorithm, name) = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                (Algorithm::ES256, KeyAlgorithm::ES256)
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
            }
            _ => return None, // a shared secret, too: each server that checks could sign as well
        };
        let common = &jwk.common;
        let is_for_another = common.key_algorithm.is_some_and(|named| named != name);
        let is_for_signatures =
            common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature);
        if is_for_another || !is_for_signatures {
            return None;
        }
        let key = DecodingKey::from_jwk(jwk).ok()?;
        Some(Self::new(common.key_id.clone(), algorithm, key))
    }

    fn of_pem(pem: &[u8]) -> Option<Self> {
        let keys = [
            (Algorithm::EdDSA, DecodingKey::from_ed_pem(pem)),
            (Algorithm::ES256, DecodingKey::from_ec_pem(pem)),
            (Algorithm::RS256, DecodingKey::from_rsa_pem(pem)),
        ];
        let mut usable =
            keys.into_iter().filter_map(|(algorithm, key)| Some((algorithm, key.ok()?)));
        usable.next().map(|(algorithm, key)| Self::new(None, algorithm, key))
    }
}
