//! Checks signatures of JWTs with `ring`, for the library that reads JWTs. Nothing is signed here.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind},
    signature::{self, Verifier},
};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use tracing::debug;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: sign_nothing,
    verifier_factory: verifier,
    // It is called only if keys are written.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes this the way in which the process checks signatures, unless the application has another.
pub(super) fn install() {
    if PROVIDER.install_default().is_err() {
        debug!("signatures of JWTs are checked by what this process has installed before");
    }
}

fn sign_nothing(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let by: &'static dyn VerificationAlgorithm = match algorithm {
        Algorithm::EdDSA => &ED25519,
        Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
        Algorithm::RS256 => &RSA_PKCS1_2048_8192_SHA256,
        _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
    };
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(RingVerifier { algorithm: *algorithm, by, key: key.clone() }))
}

struct RingVerifier {
    algorithm: Algorithm,
    by: &'static dyn VerificationAlgorithm,
    key: DecodingKey,
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let checked =
            match self.key.kind() {
                DecodingKeyKind::SecretOrDer(key) => {
                    UnparsedPublicKey::new(self.by, key).verify(message, signature)
                }
                DecodingKeyKind::RsaModulusExponent { n, e } => RsaPublicKeyComponents { n, e }
                    .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            };
        checked.map_err(|_| signature::Error::new())
    }
}
