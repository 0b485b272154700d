use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};

use super::*;

/// A key of an issuer, and the JWK of its public half.
enum Signer {
    Ed(Ed25519KeyPair),
    Ec(EcdsaKeyPair),
}

impl Signer {
    fn ed() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
    }

    fn ec() -> Self {
        let random = SystemRandom::new();
        let by = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(by, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(by, pkcs8.as_ref(), &random).unwrap())
    }

    fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Ed(key) => {
                let x = base64(key.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "x": x})
            }
            Self::Ec(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": base64(x), "y": base64(y)})
            }
        }
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let [header, claims] = [header, claims].map(|part| base64(part.to_string().as_bytes()));
        let message = format!("{header}.{claims}");
        let signature = match self {
            Self::Ed(key) => base64(key.sign(message.as_bytes()).as_ref()),
            Self::Ec(key) => {
                let signed = key.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
                base64(signed.as_ref())
            }
        };
        format!("{message}.{signature}")
    }

    fn jwt(&self, claims: &Value) -> String {
        let alg = match self {
            Self::Ed(_) => "EdDSA",
            Self::Ec(_) => "ES256",
        };
        self.sign(&json!({"alg": alg, "typ": "JWT"}), claims)
    }
}

fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

const ISSUER: &str = "https://login.example.org";

fn claims() -> Value {
    json!({"iss": ISSUER, "aud": "madang", "sub": "kim", "exp": 2_000})
}

/// The claims, with this one changed or, by null, left out.
fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    let fields = claims.as_object_mut().unwrap();
    fields.remove(name);
    if !value.is_null() {
        fields.insert(name.to_owned(), value);
    }
    claims
}

/// Checks against the keys in a file of this text.
fn jwts(text: &str) -> Result<(tempfile::TempDir, Jwts), JwtFileError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, text).unwrap();
    let prefix = ServicePrefix::new("sso").unwrap();
    let jwts = Jwts::open(JwtIssuer::new(path, ISSUER, "madang", prefix))?;
    Ok((folder, jwts))
}

fn set(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

/// Signed by a key of 2,048 bits that exists no more.
const SIGNED_BY_RSA: &str = concat!(
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.",
    "eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUub3JnIiwiYXVkIjoibWFkYW5nIiwic3ViIjoia2ltIiwiZXhwIjoyMDAwLCJzY29wZSI6ImNoYXQgb3BlbmlkIGRlY2lkZSJ9.",
    "ieIvmHTZlMM1JuK2sV1Y83a5Bjd7m11Bm8Gxkm-cEeIjL3nM100dBUZch3fAmFlxo8dggljw_W9G7f_bhz4zsCsOYmYq5YVGP42LIaJ2G736ZlY2Kszq1f8n5OSMmACOsooYe1oQ1WmtI3G6ddPdnvQtJ_evCcMBHo5VH8Zxd1eEY4zJcRmFEoi6ouSSDeQTiQ6NG1qHgZOpk_4Fn_n92D6CWQLJQpFzTWtOVCDBXSrEmmCZc6wVqnx4nYl4FUxBLF0JjMkWW4kU5yRD2aKIUEwgqfNS7GKTYOGo4WNvd4R2d2BqRwiMC6ilFddXToSQfIuGjURaMOOH8k04zWI-ag",
);
const RSA_KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA9YJWT6IjlUeCffTVK9n2
9Wydubf7lhm7ke/QyKcrS4Z88oqhcfe/N1sHAUjxQ36GnzNzIpm8qYOUUSosqP5l
yWP83DcNqxPVYgj+Z53CM9sNgyMOPs10XN4t2CB/H8S1RbOla1thNxHP510h5lRv
AxO5QfJKm1oQF9LnMFIfOM87AG1Yo3DtyHX2iBy+Ea8LumtxPG/mJEj9X0786V7R
mvfoEcF+hD+yydslBQ6nLv3VFYAjyWQI9O4hYmTx/reqtVpid2PiGQlkgSVEpPxu
6EqZ3meSe2v5md6ndAdAYAce1W165DbME9/At3I0N8mU/KSX99MsHVwQ4Qc1zdP7
wwIDAQAB
-----END PUBLIC KEY-----
";

#[test]
fn a_jwt_of_each_algorithm_speaks_for_its_subject_below_the_prefix() {
    for signer in [Signer::ed(), Signer::ec()] {
        let (_folder, jwts) = jwts(&set(&[signer.jwk("1")])).unwrap();
        let login = jwts.check(&signer.jwt(&claims()), at(1_999)).unwrap();
        assert_eq!(login.user.as_str(), "sso/kim");
        assert_eq!((login.scopes, login.until), (TokenScopes::OF_SERVICE, at(2_000)));
        assert!(jwts.has_key(&login.key));
    }
    let (_folder, jwts) = jwts(RSA_KEY).unwrap();
    let login = jwts.check(SIGNED_BY_RSA, at(1_999)).unwrap();
    assert_eq!(login.scopes.to_string(), "chat,decide", "openid is of another service");
}

#[test]
fn a_jwt_counts_for_this_audience_from_its_beginning_to_its_end() {
    let signer = Signer::ed();
    let (_folder, jwts) = jwts(&set(&[signer.jwk("1")])).unwrap();
    let counts = |claims: &Value| jwts.check(&signer.jwt(claims), at(1_000)).is_some();
    for (name, value) in [
        ("aud", json!(["other", "madang"])),
        ("exp", json!(1_000.5)),
        ("nbf", json!(1_060)),
        ("scope", json!("")),
    ] {
        assert!(counts(&with(name, value)), "{name}");
    }
    for (name, value) in [
        ("iss", json!("https://evil.example")),
        ("aud", json!("other")),
        ("exp", json!(1_000)),
        ("exp", json!("2000")),
        ("exp", json!(-1)),
        ("nbf", json!(1_061)),
        ("sub", json!("")),
        ("sub", json!(7)),
        ("iss", Value::Null),
        ("aud", Value::Null),
        ("exp", Value::Null),
        ("sub", Value::Null),
    ] {
        assert!(!counts(&with(name, value.clone())), "{name}: {value}");
    }
}

#[test]
fn only_the_key_decides_how_a_jwt_is_checked() {
    let signer = Signer::ed();
    let other = Signer::ec();
    let (_folder, jwts) = jwts(&set(&[signer.jwk("1"), other.jwk("2")])).unwrap();
    let counts = |jwt: &str| jwts.check(jwt, at(1_000)).is_some();
    let good = signer.jwt(&claims());
    assert!(counts(&good));
    let (signed, signature) = good.rsplit_once('.').unwrap();
    assert!(!counts(&format!("{signed}.")), "no signature");
    let unsigned = base64(json!({"alg": "none"}).to_string().as_bytes());
    assert!(!counts(&format!("{unsigned}.{}.", base64(claims().to_string().as_bytes()))));
    let forged = base64(with("sub", json!("lee")).to_string().as_bytes());
    let header = signed.split_once('.').unwrap().0;
    assert!(!counts(&format!("{header}.{forged}.{signature}")));
    for header in [
        json!({"alg": "ES256"}),
        json!({"alg": "HS256"}),
        json!({"alg": "EdDSA", "kid": "2"}),
        json!({"alg": "EdDSA", "crit": ["b64"], "b64": false}),
    ] {
        assert!(!counts(&signer.sign(&header, &claims())), "{header}");
    }
    assert!(counts(&signer.sign(&json!({"alg": "EdDSA", "kid": "1"}), &claims())));
    assert!(!counts(&Signer::ed().jwt(&claims())), "another's key");
    for rubbish in ["", ".", "..", "...", "mdg_x", "a.b.c", &"x.".repeat(10_000)] {
        assert!(!counts(rubbish), "{rubbish:.20}");
    }
}

#[test]
fn a_public_key_is_no_shared_secret() {
    let header = base64(json!({"alg": "HS256"}).to_string().as_bytes());
    let message = format!("{header}.{}", base64(claims().to_string().as_bytes()));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, RSA_KEY.as_bytes());
    let signature = base64(ring::hmac::sign(&key, message.as_bytes()).as_ref());
    let (_folder, jwts) = jwts(RSA_KEY).unwrap();
    assert_eq!(jwts.check(&format!("{message}.{signature}"), at(1_000)), None);
}

#[test]
fn keys_count_from_their_addition_to_their_removal() {
    let first = Signer::ed();
    let second = Signer::ed();
    let (folder, jwts) = jwts(&set(&[first.jwk("1")])).unwrap();
    let counts = |signer: &Signer| jwts.check(&signer.jwt(&claims()), at(0)).is_some();
    assert!(counts(&first) && !counts(&second));
    let write = |text: &str| {
        let (path, fresh) = (folder.path().join("keys"), folder.path().join("fresh"));
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(fresh, path).unwrap();
        jwts.refresh()
    };
    assert!(write(&set(&[second.jwk("2")])));
    assert!(!counts(&first) && counts(&second));
    assert!(!write("a slip"));
    assert!(counts(&second), "a slip locks out no caller");
    assert!(write(&set(&[])));
    assert!(!counts(&second), "the issuer has taken its keys back");
    assert!(write(&set(&[second.jwk("2")])) && counts(&second));
    std::fs::remove_file(folder.path().join("keys")).unwrap();
    assert!(jwts.refresh() && !counts(&second), "a file that is gone has none");
    assert!(write(&set(&[first.jwk("1")])) && counts(&first));
}

#[test]
fn the_word_admin_of_any_issuer_is_not_ours_without_our_name_before_it() {
    let signer = Signer::ed();
    let (_folder, jwts) = jwts(&set(&[signer.jwk("1")])).unwrap();
    for (list, scopes) in [
        ("chat admin", "chat"),
        ("madang:chat madang:admin", "chat,admin"),
        ("decide tools madang:tools", "decide,tools"),
        ("madang: madang:root madang:madang:admin MADANG:admin other:admin", ""),
    ] {
        let jwt = signer.jwt(&with("scope", json!(list)));
        assert_eq!(jwts.check(&jwt, at(0)).unwrap().scopes.to_string(), scopes, "{list}");
    }
}

#[test]
fn a_file_without_a_usable_key_is_refused() {
    let error = |text: &str| jwts(text).err().unwrap().to_string();
    let secret = json!({"kty": "oct", "k": base64(b"a secret of some bytes")});
    let mut encrypts = Signer::ec().jwk("1");
    encrypts["use"] = json!("enc");
    let other = json!({"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"});
    let mut of_another = Signer::ec().jwk("1");
    of_another["alg"] = json!("ES384");
    for keys in [vec![], vec![secret], vec![encrypts], vec![other], vec![of_another]] {
        assert!(error(&set(&keys)).contains("no public key for EdDSA, ES256 or RS256"));
    }
    for text in ["", "{}", "nonsense", "-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----"]
    {
        assert!(error(text).contains("neither a JWK set nor a public key"), "{text}");
    }
    assert!(error(&" ".repeat(300_000)).contains("failed to read"));
}
