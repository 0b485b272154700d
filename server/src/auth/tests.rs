//! Tests which caller a credential has.

use super::*;
use crate::auth::{holder::ServicePrefix, secret::TokenSecret};

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
    let open = open.map(|user| (UserId::new(user).unwrap(), TokenScopes::OF_PERSON));
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
        let headers = headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        user(auth.identify(&headers.collect(), &Credential::Bearer(secret), now, None))
    };
    let kim = kim.reveal();
    let service = service.reveal();
    assert_eq!(of(kim, &[]).unwrap(), "kim");
    assert_eq!(of(kim, &[("madang-user", "lee")]).unwrap(), "kim", "it is no service");
    assert_eq!(of(service, &[("madang-user", "lee")]).unwrap(), "webui/lee");
    assert_eq!(of("mdg_x", &[]), Err(NotIdentified::Wrong));
    assert_eq!(of("", &[]), Err(NotIdentified::Wrong));
    let none = auth.identify(&HeaderMap::new(), &Credential::None, now, None);
    assert_eq!(user(none), Err(NotIdentified::Missing));
}

#[test]
fn a_service_names_its_user_once_and_only_in_the_header_of_its_token() {
    let Scene { auth, service, webui, .. } = scene(None);
    let ours = "madang-user";
    let theirs = "x-openwebui-user-id";
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
            let found = auth.identify(&headers, &credential, Timestamp::from_millis(0), None);
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
    let headers = HeaderMap::new();
    let now = Timestamp::from_millis(0);
    let of = |credential| user(auth.identify(&headers, &credential, now, None));
    assert_eq!(of(Credential::None).unwrap(), "me");
    assert_eq!(of(Credential::Bearer("mdg_x")), Err(NotIdentified::Wrong));
    // A cookie of another server on this host locks out no one.
    let cookies = || Credential::Cookies { values: vec!["x"], proof: Some("x") };
    assert_eq!(of(cookies()).unwrap(), "me");
    let closed = scene(None).auth;
    let now = Timestamp::from_millis(0);
    let found = closed.identify(&HeaderMap::new(), &cookies(), now, None);
    assert_eq!(user(found), Err(NotIdentified::NoLogin));
}

#[test]
fn a_login_counts_until_its_end_with_its_token_and_behind_a_foreign_cookie() {
    let Scene { auth, kim, .. } = scene(None);
    let headers = HeaderMap::new();
    let at = Timestamp::from_millis;
    let halves = |token| Login { token, until: at(1_000) }.seal(&auth.key);
    let of = |Halves { cookie, proof }: &Halves, now| {
        let values = vec!["foreign", cookie];
        let credential = Credential::Cookies { values, proof: Some(proof) };
        auth.identify(&headers, &credential, at(now), None)
    };
    let of_kim = halves(kim.digest());
    let found = of(&of_kim, 0).unwrap();
    let alone = Credential::Cookies { values: vec![&of_kim.cookie], proof: None };
    assert!(auth.identify(&headers, &alone, at(0), None).is_err());
    assert_eq!(found.user.as_str(), "kim");
    let credential = found.credential;
    assert!(auth.counts(credential, at(999)) && !auth.counts(credential, at(1_000)));
    assert!(of(&of_kim, 1_000).is_err());
    assert!(of(&halves(TokenSecret::random().unwrap().digest()), 0).is_err());
}
