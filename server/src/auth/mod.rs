//! Authorization: which user a request speaks for, and what it may do.
//!
//! The guard reads a [`Credential`] from the head of a request, and [`Auth`] finds the [`Caller`] behind it. A
//! credential is a token of the file or of the program, a JWT of another issuer, or a login by cookie. An open server
//! takes requests without one for its one user.
//!
//! - `tokens` finds the tokens that count by their hashes; `token_file` and `token_entry` keep them on disk.
//! - `jwt` checks tokens of other issuers. `cookie` seals a login of the page in two halves, and `secret` makes and keeps secrets.
//!   `private_file` takes no file that others could have made or read.
//! - `holder` tells a user from a service that names users, and `scope` says what a token may do.
//! - `watched` reads files again when they change.
//!
//! **Invariants.**
//! - A token's secret is kept nowhere but with its client; files and cookies have its hash.
//! - A removed token or key counts no more after one look at its file. Streams that rest on it end then.

pub(crate) mod caller;
pub(crate) mod cookie;
pub(crate) mod credential;
pub(crate) mod holder;
#[cfg(feature = "jwt")]
pub(crate) mod jwt;
pub(crate) mod private_file;
pub(crate) mod scope;
pub(crate) mod secret;
pub(crate) mod token_entry;
pub(crate) mod token_file;
pub(crate) mod tokens;
mod watched;

use axum::http::HeaderMap;
use madang::{Timestamp, UserId, approval::Digest, language::Locale};
use tokio::sync::watch;

use self::{
    caller::{Caller, CallerCredential},
    cookie::Login,
    credential::{Credential, named_user},
    holder::{TokenHolder, UserHeader},
    scope::TokenScopes,
    secret::{CookieKey, digest_of},
    token_entry::TokenEntry,
    tokens::Tokens,
};

/// Finds the caller behind a credential.
#[derive(Debug)]
pub(crate) struct Auth {
    /// The tokens that count.
    pub(crate) tokens: Tokens,
    /// Checks JWTs, where their users are taken.
    #[cfg(feature = "jwt")]
    pub(crate) jwts: Option<jwt::Jwts>,
    /// Seals the cookies.
    pub(crate) key: CookieKey,
    /// The user of requests without a credential, where the server asks for none.
    pub(crate) open: Option<UserId>,
    /// Tells streams that tokens or keys have changed.
    pub(crate) changes: watch::Sender<()>,
}

/// A reason why a request has no caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotIdentified {
    /// It brings no credential.
    Missing,
    /// It brings one that does not count.
    Wrong,
    /// Its token is a service's, and it does not name one user in this header, once.
    NoUser(UserHeader),
}

impl NotIdentified {
    /// Gives the name in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Wrong => "wrong",
            Self::NoUser(_) => "no_user",
        }
    }
}

impl Auth {
    /// Finds the caller of a request at this moment.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        credential: &Credential<'_>,
        now: Timestamp,
        locale: Locale,
    ) -> Result<Caller, NotIdentified> {
        let tokens = self.tokens.current();
        let (entry, until) = match credential {
            Credential::Bearer(secret) => match tokens.get(&digest_of(secret)) {
                Some(entry) => (Some(entry), None),
                None => return self.by_jwt(secret, now, locale).ok_or(NotIdentified::Wrong),
            },
            Credential::Cookies { values, proof } => {
                let mut logins = values.iter().filter_map(|value| {
                    let Login { token, until } = Login::open(value, (*proof)?, &self.key, now)?;
                    Some((tokens.get(&token)?, until))
                });
                logins.next().map_or((None, None), |(entry, until)| (Some(entry), Some(until)))
            }
            Credential::Unreadable => return Err(NotIdentified::Wrong),
            Credential::None => {
                let user = self.open.clone().ok_or(NotIdentified::Missing)?;
                return Ok(Caller {
                    user,
                    scopes: TokenScopes::ALL,
                    token: "open".into(),
                    ask: None,
                    locale,
                    credential: CallerCredential::default(),
                });
            }
        };
        let entry = entry.ok_or(NotIdentified::Wrong)?;
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
            ask: *ask,
            locale,
            credential: CallerCredential { rests_on: Some(*sha256), until },
        })
    }

    #[cfg(feature = "jwt")]
    fn by_jwt(&self, jwt: &str, now: Timestamp, locale: Locale) -> Option<Caller> {
        let jwt::JwtLogin { user, scopes, until, key } = self.jwts.as_ref()?.check(jwt, now)?;
        let credential = CallerCredential { rests_on: Some(key), until: Some(until) };
        // The issuer knows its users: all have one name.
        let token = "jwt".into();
        Some(Caller { user, scopes, token, ask: None, locale, credential })
    }

    #[cfg(not(feature = "jwt"))]
    #[expect(clippy::unused_self, reason = "with the feature, it is used")]
    const fn by_jwt(&self, _: &str, _: Timestamp, _: Locale) -> Option<Caller> {
        None
    }

    /// Tells whether a credential still counts.
    pub(crate) fn counts(&self, credential: CallerCredential, now: Timestamp) -> bool {
        let CallerCredential { rests_on, until } = credential;
        until.is_none_or(|until| now < until) && rests_on.is_none_or(|digest| self.has(&digest))
    }

    /// Tells whether a token, or a key of JWTs, still counts.
    fn has(&self, digest: &Digest) -> bool {
        #[cfg(feature = "jwt")]
        if self.jwts.as_ref().is_some_and(|jwts| jwts.has_key(digest)) {
            return true;
        }
        self.tokens.current().contains_key(digest)
    }

    /// Tells whether what counts is read from files, which may change.
    pub(crate) fn may_change(&self) -> bool {
        #[cfg(feature = "jwt")]
        if self.jwts.is_some() {
            return true;
        }
        self.tokens.may_change()
    }

    /// Reads the files again where they have changed, and tells it to streams. Blocks for as long as the disk takes.
    pub(crate) fn refresh(&self) {
        let has_changed = self.tokens.refresh();
        #[cfg(feature = "jwt")]
        let has_changed = self.jwts.as_ref().is_some_and(jwt::Jwts::refresh) || has_changed;
        if has_changed {
            self.changes.send_replace(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{cookie::Halves, holder::ServicePrefix, secret::TokenSecret};

    struct Scene {
        auth: Auth,
        kim: TokenSecret,
        service: TokenSecret,
        webui: TokenSecret,
    }

    fn scene(open: Option<&str>) -> Scene {
        let [kim, service, webui] = [(); 3].map(|()| TokenSecret::random().unwrap());
        let user = TokenHolder::User(UserId::new("kim").unwrap());
        let prefix = TokenHolder::service(ServicePrefix::new("webui").unwrap());
        let open_webui = TokenHolder::Service {
            prefix: ServicePrefix::new("openwebui").unwrap(),
            user_header: UserHeader::OpenWebUi,
        };
        let entries = vec![
            TokenEntry::new("openwebui", open_webui, TokenScopes::OF_SERVICE, &webui),
            TokenEntry::new("laptop", user, TokenScopes::OF_PERSON, &kim),
            TokenEntry::new("webui", prefix, TokenScopes::OF_SERVICE, &service),
        ];
        let tokens = tokens::open(entries, None).unwrap();
        let open = open.map(|user| UserId::new(user).unwrap());
        let auth = Auth {
            tokens,
            #[cfg(feature = "jwt")]
            jwts: None,
            key: CookieKey::random().unwrap(),
            open,
            changes: watch::Sender::new(()),
        };
        Scene { auth, kim, service, webui }
    }

    fn user(found: Result<Caller, NotIdentified>) -> Result<String, NotIdentified> {
        found.map(|caller| caller.user.as_str().to_owned())
    }

    #[test]
    fn a_token_speaks_for_its_user_and_a_services_for_those_below_its_prefix() {
        let Scene { auth, kim, service, .. } = scene(None);
        let now = Timestamp::from_millis(0);
        let of = |secret: &str, headers: &[(&'static str, &str)]| {
            let headers = headers.iter();
            let headers =
                headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            user(auth.identify(&headers.collect(), &Credential::Bearer(secret), now, Locale::EN))
        };
        let (kim, service) = (kim.reveal(), service.reveal());
        assert_eq!(of(kim, &[]).unwrap(), "kim");
        assert_eq!(of(kim, &[("madang-user", "lee")]).unwrap(), "kim", "it is no service");
        assert_eq!(of(service, &[("madang-user", "lee")]).unwrap(), "webui/lee");
        assert_eq!(of("mdg_x", &[]), Err(NotIdentified::Wrong));
        assert_eq!(of("", &[]), Err(NotIdentified::Wrong));
        let none = auth.identify(&HeaderMap::new(), &Credential::None, now, Locale::EN);
        assert_eq!(user(none), Err(NotIdentified::Missing));
    }

    #[test]
    fn a_service_names_its_user_once_and_only_in_the_header_of_its_token() {
        let Scene { auth, service, webui, .. } = scene(None);
        let (ours, theirs) = ("madang-user", "x-openwebui-user-id");
        for (token, wanted, own, other) in [
            (&service, UserHeader::Madang, ours, theirs),
            (&webui, UserHeader::OpenWebUi, theirs, ours),
        ] {
            let of = |named: &[&'static str]| {
                let mut headers = HeaderMap::new();
                for (number, name) in named.iter().enumerate() {
                    headers.append(*name, format!("u{number}").parse().unwrap());
                }
                let credential = Credential::Bearer(token.reveal());
                let found =
                    auth.identify(&headers, &credential, Timestamp::from_millis(0), Locale::EN);
                user(found)
            };
            assert!(of(&[own]).unwrap().ends_with("/u0"));
            for refused in [&[][..], &[other], &[own, own], &[own, other], &[other, own]] {
                assert_eq!(of(refused), Err(NotIdentified::NoUser(wanted)), "{own}: {refused:?}");
            }
        }
    }

    #[test]
    fn an_open_server_knows_one_user_and_still_refuses_a_wrong_token() {
        let Scene { auth, .. } = scene(Some("me"));
        let (headers, now) = (HeaderMap::new(), Timestamp::from_millis(0));
        let of = |credential| user(auth.identify(&headers, &credential, now, Locale::EN));
        assert_eq!(of(Credential::None).unwrap(), "me");
        assert_eq!(of(Credential::Bearer("mdg_x")), Err(NotIdentified::Wrong));
        let cookies = Credential::Cookies { values: vec!["x"], proof: Some("x") };
        assert_eq!(of(cookies), Err(NotIdentified::Wrong));
    }

    #[test]
    fn a_login_counts_until_its_end_with_its_token_and_behind_a_foreign_cookie() {
        let Scene { auth, kim, .. } = scene(None);
        let (headers, at) = (HeaderMap::new(), Timestamp::from_millis);
        let halves = |token| Login { token, until: at(1_000) }.seal(&auth.key);
        let of = |Halves { cookie, proof }: &Halves, now| {
            let values = vec!["foreign", cookie];
            let credential = Credential::Cookies { values, proof: Some(proof) };
            auth.identify(&headers, &credential, at(now), Locale::EN)
        };
        let of_kim = halves(kim.digest());
        let found = of(&of_kim, 0).unwrap();
        let alone = Credential::Cookies { values: vec![&of_kim.cookie], proof: None };
        assert!(auth.identify(&headers, &alone, at(0), Locale::EN).is_err());
        assert_eq!(found.user.as_str(), "kim");
        let credential = found.credential;
        assert!(auth.counts(credential, at(999)) && !auth.counts(credential, at(1_000)));
        assert!(of(&of_kim, 1_000).is_err());
        assert!(of(&halves(TokenSecret::random().unwrap().digest()), 0).is_err());
    }
}
