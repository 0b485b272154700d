//! Authorization: finds the user and the scopes of a request.
//!
//! The guard reads a [`Credential`] from the head of a request, and [`Auth`] finds its [`Caller`].
//! A credential is a token of the file or of the program, a JWT of another issuer, or a login by
//! cookie. An open server accepts requests without a credential, for its one user.
//!
//! - `tokens` finds the tokens that count by their hashes. `token_file` and `token_entry` keep them
//!   on the disk.
//! - `jwt` checks tokens of other issuers. `cookie` seals a `login` of the page in two halves, and
//!   `secret` makes and keeps secrets. `ended_logins` keeps which logins were ended before their
//!   time. `private_file` opens no file that others could have made or read.
//! - `holder` distinguishes users from services, which name their users, and `scope` defines what a
//!   token may do.
//! - `watched` reads files again after they changed.
//!
//! **Invariants.**
//! - Only the client has a token's secret. Files and cookies have its hash.
//! - A removed token or key is refused after the next look at its file. Streams that depend on it
//!   end then.

pub(crate) mod caller;
pub(crate) mod cookie;
pub(crate) mod credential;
mod ended_logins;
pub(crate) mod holder;
#[cfg(feature = "jwt")]
pub(crate) mod jwt;
mod login;
pub(crate) mod private_file;
pub(crate) mod scope;
pub(crate) mod secret;
pub(crate) mod token_entry;
pub(crate) mod token_file;
pub(crate) mod tokens;
mod watched;

use std::{io, time::Duration};

use axum::http::HeaderMap;
use madang::{Timestamp, UserId, approval::Digest, language::Locale};
use tokio::sync::watch;

use self::{
    caller::{Caller, CallerCredential},
    cookie::Halves,
    credential::{Credential, named_user},
    holder::{TokenHolder, UserHeader},
    login::Login,
    scope::TokenScopes,
    secret::{CookieKey, digest_of},
    token_entry::TokenEntry,
    tokens::Tokens,
};

/// Finds the caller of a credential.
#[derive(Debug)]
pub(crate) struct Auth {
    /// The tokens that count.
    pub(crate) tokens: Tokens,
    /// Checks JWTs. `None` if the users of no issuer are accepted.
    #[cfg(feature = "jwt")]
    pub(crate) jwts: Option<jwt::Jwts>,
    /// Seals the cookies.
    pub(crate) key: CookieKey,
    /// The user of requests without a credential, and what they may do. `None` if the server asks
    /// for one.
    pub(crate) open: Option<(UserId, TokenScopes)>,
    /// Notifies streams that tokens or keys have changed.
    pub(crate) changes: watch::Sender<()>,
}

/// Why a request has no caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotIdentified {
    /// It brings no credential.
    Missing,
    /// It brings one that does not count.
    Wrong,
    /// It brings cookies, and none of them is a login that counts. These do not count as attempts,
    /// because a browser sends what it has.
    NoLogin,
    /// Its token is a service's, and it does not name exactly one user in this header.
    NoUser(UserHeader),
}

impl NotIdentified {
    /// Returns the name in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Wrong => "wrong",
            Self::NoLogin => "no_login",
            Self::NoUser(_) => "no_user",
        }
    }
}

impl Auth {
    /// Finds the caller of a request at this moment.
    ///
    /// # Errors
    /// Returns why the request has no caller.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        credential: &Credential<'_>,
        now: Timestamp,
        named: Option<Locale>,
    ) -> Result<Caller, NotIdentified> {
        let tokens = self.tokens.current();
        let (entry, until) = match credential {
            Credential::Bearer(secret) => match tokens.get(&digest_of(secret)) {
                Some(entry) => (entry, None),
                None => return self.by_jwt(secret, now, named).ok_or(NotIdentified::Wrong),
            },
            Credential::Cookies { values, proof } => {
                let mut logins = values.iter().filter_map(|value| {
                    let login = Login::open(value, (*proof)?, &self.key, now)?;
                    let counts = !self.key.ended.has(login);
                    Some((tokens.get(&login.token).filter(|_| counts)?, Some(login.until)))
                });
                match logins.next() {
                    Some(login) => login,
                    // Another server of this host has set them. To an open server that is the same
                    // as no cookie.
                    None => return self.of_no_one(named).ok_or(NotIdentified::NoLogin),
                }
            }
            Credential::Unreadable => return Err(NotIdentified::Wrong),
            Credential::None => return self.of_no_one(named).ok_or(NotIdentified::Missing),
        };
        let user = match &entry.holder {
            TokenHolder::User(user) => user.clone(),
            TokenHolder::Service { prefix, user_header } => named_user(headers, *user_header)
                .and_then(|name| prefix.user(name))
                .ok_or(NotIdentified::NoUser(*user_header))?,
        };
        let TokenEntry { name, scopes, ask, sha256, .. } = &**entry;
        Ok(Caller {
            user,
            scopes: *scopes,
            token: (**name).into(),
            is_of_service: matches!(entry.holder, TokenHolder::Service { .. }),
            ask: *ask,
            named,
            credential: CallerCredential {
                rests_on: Some(*sha256),
                until,
                is_login: matches!(credential, Credential::Cookies { .. }),
            },
        })
    }

    /// Returns the caller without a credential, if the server asks for none.
    fn of_no_one(&self, named: Option<Locale>) -> Option<Caller> {
        let (user, scopes) = self.open.clone()?;
        Some(Caller {
            user,
            scopes,
            token: "open".into(),
            is_of_service: false,
            ask: None,
            named,
            credential: CallerCredential::default(),
        })
    }

    /// Makes a login of a token, for this long.
    pub(crate) fn log_in(&self, token: Digest, now: Timestamp, life: Duration) -> Halves {
        let until = self.key.ended.unused(now.after(life));
        Login { token, until }.seal(&self.key)
    }

    /// Ends the login that a credential is, if it is one, and the streams that depend on it. Blocks
    /// for as long as the disk takes.
    ///
    /// # Errors
    /// Returns an error if the end could not be written. A restart would forget it.
    pub(crate) fn end_login(&self, credential: CallerCredential, now: Timestamp) -> io::Result<()> {
        let Some(login) = login_of(credential) else { return Ok(()) };
        let written = self.key.ended.add(login, now);
        self.changes.send_replace(());
        written
    }

    #[cfg(feature = "jwt")]
    fn by_jwt(&self, jwt: &str, now: Timestamp, named: Option<Locale>) -> Option<Caller> {
        let jwt::JwtLogin { user, scopes, until, key } = self.jwts.as_ref()?.check(jwt, now)?;
        let credential =
            CallerCredential { rests_on: Some(key), until: Some(until), is_login: false };
        // The issuer knows its users, so all have one name.
        let token = "jwt".into();
        let is_of_service = false;
        Some(Caller { user, scopes, token, is_of_service, ask: None, named, credential })
    }

    #[cfg(not(feature = "jwt"))]
    #[expect(clippy::unused_self, reason = "with the feature, it is used")]
    const fn by_jwt(&self, _: &str, _: Timestamp, _: Option<Locale>) -> Option<Caller> {
        None
    }

    /// Returns whether a credential still counts.
    pub(crate) fn counts(&self, credential: CallerCredential, now: Timestamp) -> bool {
        let CallerCredential { rests_on, until, .. } = credential;
        until.is_none_or(|until| now < until)
            && rests_on.is_none_or(|digest| self.has(&digest))
            && login_of(credential).is_none_or(|login| !self.key.ended.has(login))
    }

    /// Returns whether a token, or a key of JWTs, still counts.
    fn has(&self, digest: &Digest) -> bool {
        #[cfg(feature = "jwt")]
        if self.jwts.as_ref().is_some_and(|jwts| jwts.has_key(digest)) {
            return true;
        }
        self.tokens.current().contains_key(digest)
    }

    /// Returns whether what counts is read from files, which may change.
    pub(crate) fn may_change(&self) -> bool {
        #[cfg(feature = "jwt")]
        if self.jwts.is_some() {
            return true;
        }
        self.tokens.may_change()
    }

    /// Reads the files again if they have changed, and notifies streams. Blocks for as long as the
    /// disk takes.
    pub(crate) fn refresh(&self) {
        let has_changed = self.tokens.refresh();
        #[cfg(feature = "jwt")]
        let has_changed = self.jwts.as_ref().is_some_and(jwt::Jwts::refresh) || has_changed;
        if has_changed {
            self.changes.send_replace(());
        }
    }
}

/// Returns the login by cookie that a credential is, or `None` if it is not one.
fn login_of(CallerCredential { rests_on, until, is_login }: CallerCredential) -> Option<Login> {
    Some(Login { token: rests_on?, until: until? }).filter(|_| is_login)
}

#[cfg(test)]
mod tests;
