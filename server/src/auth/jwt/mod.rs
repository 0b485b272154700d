//! Checks JWTs of an issuer by the public keys of a file. Nothing is fetched.
//!
//! `file` reads the keys, and `signatures` checks what they have signed for the library that reads
//! JWTs.
//!
//! Invariants:
//! - The key determines the algorithm, and the JWT never does. A key of one family cannot be used
//!   as that of another.
//! - A JWT must have an issuer, an audience, a subject and an end. One for another service is not
//!   accepted.
//! - A user's name begins with the issuer's prefix, so no issuer can act for users of tokens or of
//!   services.

mod file;
mod signatures;

use std::{
    collections::HashSet,
    fmt,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use jsonwebtoken::{Header, Validation, decode, decode_header};
use madang::{Timestamp, UserId, approval::Digest};
use serde::Deserialize;

pub use self::file::JwtFileError;
use self::file::{JwtKey, read};
use super::{
    holder::ServicePrefix,
    scope::{TokenScope, TokenScopes},
    watched::Watched,
};

/// An issuer of JWTs for whose users requests are accepted.
///
/// A JWT is checked by the public keys of a file: a JWK set, or one key as PEM. The server reads
/// the file again when it changes. The algorithm is EdDSA, ES256 or RS256. The claim `scope` lists
/// what the JWT may do, and `admin` is accepted only as `madang:admin`. Without the claim, the JWT
/// has only the scope `chat`.
#[derive(Debug, Clone)]
pub struct JwtIssuer {
    keys: PathBuf,
    issuer: Arc<str>,
    audience: Arc<str>,
    prefix: ServicePrefix,
}

impl JwtIssuer {
    /// Accepts JWTs whose `iss` is the issuer and whose `aud` is, or contains, the audience. The
    /// user is `prefix/sub`.
    #[must_use]
    pub fn new(
        keys: impl Into<PathBuf>,
        issuer: impl Into<Arc<str>>,
        audience: impl Into<Arc<str>>,
        prefix: ServicePrefix,
    ) -> Self {
        let keys = keys.into();
        let issuer = issuer.into();
        let audience = audience.into();
        Self { keys, issuer, audience, prefix }
    }

    /// Reads the keys, to see whether they can be used before a server is made.
    ///
    /// # Errors
    /// Returns [`JwtFileError`] if they cannot be read, or if none can be used.
    pub fn try_keys(&self) -> Result<(), JwtFileError> {
        read(&self.keys).map(drop)
    }
}

/// Checks JWTs.
pub(crate) struct Jwts {
    keys: Watched<Vec<JwtKey>, JwtFileError>,
    /// What each claim must be, except for the times. Those are compared with the server's clock.
    validation: Validation,
    prefix: ServicePrefix,
}

impl fmt::Debug for Jwts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwts").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// The content of a valid JWT.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JwtLogin {
    pub(crate) user: UserId,
    pub(crate) scopes: TokenScopes,
    /// The moment from which it no longer counts.
    pub(crate) until: Timestamp,
    /// The hash of the key that has signed it.
    pub(crate) key: Digest,
}

/// How far the clock of the issuer may be ahead of ours.
const CLOCK_SKEW_SECONDS: f64 = 60.0;

#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    scope: Option<String>,
}

impl Jwts {
    /// Reads the keys for the first time.
    ///
    /// # Errors
    /// Returns [`JwtFileError`] if they cannot be read, or if none can be used.
    pub(crate) fn open(issuer: JwtIssuer) -> Result<Self, JwtFileError> {
        signatures::install();
        let JwtIssuer { keys: path, issuer, audience, prefix } = issuer;
        read(&path)?;
        let keys = Watched::open("the keys of JWTs", Some(path.clone()), move || read_left(&path))?;
        let mut validation = Validation::default();
        validation.required_spec_claims =
            HashSet::from(["exp", "iss", "aud", "sub"].map(str::to_owned));
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        validation.validate_exp = false;
        Ok(Self { keys, validation, prefix })
    }

    /// Returns the login of a JWT, or `None` if it does not count at this moment.
    pub(crate) fn check(&self, jwt: &str, now: Timestamp) -> Option<JwtLogin> {
        let header = decode_header(jwt).ok()?;
        // A header that must be understood and is not makes the whole JWT unreadable (RFC
        // 7515, 4.1.11).
        if header.crit.is_some() {
            return None;
        }
        let keys = self.keys.current();
        let mut fitting = keys.iter().filter(|key| key.may_be_named(&header));
        let (claims, key) = fitting.find_map(|key| self.claims(jwt, key))?;
        let Claims { sub, exp, nbf, scope } = claims;
        let until = moment(exp);
        let is_early = nbf.is_some_and(|from| moment(from - CLOCK_SKEW_SECONDS) > now);
        if is_early || until <= now {
            return None;
        }
        let user = self.prefix.user(&sub)?;
        let scopes = scope.map_or(TokenScopes::OF_SERVICE, |list| known_scopes(&list));
        Some(JwtLogin { user, scopes, until, key: key.digest })
    }

    fn claims<'a>(&self, jwt: &str, key: &'a JwtKey) -> Option<(Claims, &'a JwtKey)> {
        let mut validation = self.validation.clone();
        // A header of another algorithm is refused.
        validation.algorithms = vec![key.algorithm];
        let decoded = decode::<Claims>(jwt, &key.key, &validation).ok()?;
        Some((decoded.claims, key))
    }

    /// Returns whether this key still counts.
    pub(crate) fn has_key(&self, digest: &Digest) -> bool {
        self.keys.current().iter().any(|key| key.digest == *digest)
    }

    /// Reads the keys again if their file has changed, and returns whether they are different now.
    pub(crate) fn refresh(&self) -> bool {
        self.keys.refresh()
    }
}

impl JwtKey {
    /// Returns whether a header may name this key.
    fn may_be_named(&self, header: &Header) -> bool {
        match (&header.kid, &self.id) {
            (Some(wanted), Some(id)) => wanted == id,
            (_, None) | (None, _) => true,
        }
    }
}

/// Converts seconds since 1970, which may have a fraction (RFC 7519, `NumericDate`). The cast stays
/// within the range.
#[expect(clippy::cast_possible_truncation, reason = "it saturates")]
const fn moment(seconds: f64) -> Timestamp {
    Timestamp::from_millis((seconds * 1_000.0) as i64)
}

/// Reads the keys that are left in a file that had some. A missing file and a set without a usable
/// key have none, so in this way an issuer can take back all its keys.
fn read_left(path: &Path) -> Result<Vec<JwtKey>, JwtFileError> {
    match read(path) {
        Err(JwtFileError::NoUsableKey { .. }) => Ok(Vec::new()),
        Err(JwtFileError::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
            Ok(Vec::new())
        }
        read => read,
    }
}

/// The prefix of scopes that are meant for this server.
const OUR_SCOPES: &str = "madang:";

/// Reads a list with spaces in between. An issuer also lists names of other services, and many have
/// an `admin`. It is accepted only with this server's prefix.
fn known_scopes(list: &str) -> TokenScopes {
    let known = |name: &str| {
        let (name, is_ours) =
            name.strip_prefix(OUR_SCOPES).map_or((name, false), |name| (name, true));
        let scope = TokenScope::ALL.into_iter().find(|scope| scope.name() == name)?;
        (is_ours || scope != TokenScope::Admin).then_some(scope)
    };
    list.split(' ').filter_map(known).collect()
}

#[cfg(test)]
mod tests;
