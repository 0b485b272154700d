//! Seals a login of the page in two halves. A cookie contains the hash of a user's token, a moment,
//! and a seal over both. The proof is another seal over the same.
//!
//! Browsers send a cookie to every port of its host, so another server there reads it. The proof is
//! kept in the storage of the page, which belongs to one origin, and is sent in a header. Neither
//! half is accepted without the other.

use hmac::{Hmac, Mac as _};
use madang::{Timestamp, approval::Digest};
use sha2::Sha256;

use super::{login::Login, secret::CookieKey};

/// The header with the second half.
pub(crate) const PROOF: &str = "madang-proof";

/// The two halves of a login, as a browser keeps them.
pub(crate) struct Halves {
    /// The value of the cookie.
    pub(crate) cookie: String,
    /// The value of the header.
    pub(crate) proof: String,
}

impl Login {
    /// Writes both halves.
    pub(crate) fn seal(self, key: &CookieKey) -> Halves {
        let said = format!("{}.{}", self.token, self.until.millis());
        let seal = |mac: Hmac<Sha256>| Digest::new(mac.finalize().into_bytes().into()).to_string();
        let proof = seal(of_proof(key, &said));
        Halves { cookie: format!("{said}.{}", seal(of_cookie(key, &said))), proof }
    }

    /// Reads the two halves. Returns `None` if one of them was not sealed with this key, or if the
    /// login is over.
    pub(crate) fn open(cookie: &str, proof: &str, key: &CookieKey, now: Timestamp) -> Option<Self> {
        let (said, seal) = cookie.rsplit_once('.')?;
        let is_sealed = |mac: Hmac<Sha256>, seal: &str| {
            let seal = Digest::try_from(seal.to_owned()).ok()?;
            mac.verify_slice(seal.bytes()).ok() // in constant time
        };
        is_sealed(of_cookie(key, said), seal)?;
        is_sealed(of_proof(key, said), proof)?;
        let (token, until) = said.split_once('.')?;
        let login = Self {
            token: Digest::try_from(token.to_owned()).ok()?,
            until: Timestamp::from_millis(until.parse().ok()?),
        };
        (now < login.until).then_some(login)
    }
}

fn of_cookie(key: &CookieKey, said: &str) -> Hmac<Sha256> {
    key.seal(format!("madang cookie 1\0{said}").as_bytes())
}

fn of_proof(key: &CookieKey, said: &str) -> Hmac<Sha256> {
    key.seal(format!("madang proof 1\0{said}").as_bytes())
}

/// Returns the name of the cookie. The prefix `__Host-` binds it to this very host, and browsers
/// accept it only over TLS.
pub(crate) const fn name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-madang" } else { "madang" }
}

/// Writes the header that sets the cookie for this many seconds. 0 removes the cookie.
pub(crate) fn set(value: &str, seconds: u64, is_secure: bool) -> String {
    let name = name(is_secure);
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
}

/// Finds the values of all cookies of the name in a header.
pub(crate) fn find(header: &str, is_secure: bool) -> impl Iterator<Item = &str> {
    header.split(';').filter_map(move |pair| {
        let (found, value) = pair.trim().split_once('=')?;
        (found == name(is_secure)).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_counts_with_both_halves_and_until_its_end() {
        let key = CookieKey::random().unwrap();
        let other = CookieKey::random().unwrap();
        let at = Timestamp::from_millis;
        let login = Login { token: Digest::new([7; 32]), until: at(2_000) };
        let Halves { cookie, proof } = login.seal(&key);
        assert_eq!(Login::open(&cookie, &proof, &key, at(1_999)), Some(login));
        assert_eq!(Login::open(&cookie, &proof, &key, at(2_000)), None);
        assert_eq!(Login::open(&cookie, &proof, &other, at(0)), None);
        let longer = cookie.replace(".2000.", ".9000.");
        assert_ne!(longer, cookie);
        let another = cookie.replacen("07", "08", 1);
        for forged in [&longer, &another, "", "..", &cookie[..cookie.len() - 2]] {
            assert_eq!(Login::open(forged, &proof, &key, at(0)), None, "{forged}");
        }
        let seal = cookie.rsplit_once('.').unwrap().1;
        let of_another = Login { until: at(3_000), ..login }.seal(&key).proof;
        for forged in ["", seal, &of_another, &proof[..proof.len() - 2]] {
            assert_eq!(Login::open(&cookie, forged, &key, at(0)), None, "{forged}");
        }
    }

    #[test]
    fn the_cookie_goes_to_no_script_and_no_other_site() {
        assert_eq!(
            set("v", 60, true),
            "__Host-madang=v; HttpOnly; SameSite=Strict; Path=/; Max-Age=60; Secure"
        );
        assert_eq!(set("", 0, false), "madang=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
        let found = |header, is_secure| find(header, is_secure).collect::<Vec<_>>();
        assert_eq!(found("a=b; madang=v; c=d; madang=w", false), ["v", "w"]);
        assert!(found("madang=v", true).is_empty());
        assert!(found("xmadang=v; madang2=w", false).is_empty());
    }
}
