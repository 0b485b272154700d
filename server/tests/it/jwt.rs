//! The users of an issuer come in by JWTs, and a stream ends with what its JWT rests on.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use madang_server::{JwtIssuer, ServicePrefix};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    http::{EventReader, Request},
    support::{Setup, TestServer, says},
};

const ISSUER: &str = "https://login.example.org";

/// An issuer with the file of its keys.
struct Issuer {
    key: Ed25519KeyPair,
    folder: TempDir,
}

impl Issuer {
    fn new() -> Self {
        let issuer = Self { key: key(), folder: tempfile::tempdir().unwrap() };
        issuer.publish(&issuer.key);
        issuer
    }

    /// Replaces the file of keys by one with this key.
    fn publish(&self, key: &Ed25519KeyPair) {
        let x = URL_SAFE_NO_PAD.encode(key.public_key().as_ref());
        let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x}]});
        let (path, fresh) = (self.folder.path().join("keys"), self.folder.path().join("fresh"));
        std::fs::write(&fresh, set.to_string()).unwrap();
        std::fs::rename(fresh, path).unwrap();
    }

    /// Signs a JWT of a subject that counts for so many seconds, with these claims beside the usual
    /// ones.
    fn jwt(&self, subject: &str, seconds: i64, more: &Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let end = now.checked_add_signed(seconds).unwrap();
        let mut claims = json!({"iss": ISSUER, "aud": "madang", "sub": subject, "exp": end});
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let parts = [json!({"alg": "EdDSA"}), claims];
        let [header, claims] = parts.map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(message.as_bytes()).as_ref());
        format!("{message}.{signature}")
    }

    async fn server(&self) -> TestServer {
        let prefix = ServicePrefix::new("sso").unwrap();
        let issuer = JwtIssuer::new(self.folder.path().join("keys"), ISSUER, "madang", prefix);
        let setup = Setup::new(says("hello")).options(|options| options.jwt(issuer));
        let setup = setup.limits(|limits| limits.token_poll = Duration::from_millis(20));
        setup.start().await
    }
}

fn key() -> Ed25519KeyPair {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap()
}

/// Opens a chat and its stream by a JWT.
async fn stream(server: &TestServer, jwt: &str) -> EventReader {
    let open = Request::post("/v1/sessions", &json!({"id": "s"})).bearer(jwt);
    open.send(server.address).await.ok(201);
    Request::get("/v1/sessions/s/events").bearer(jwt).stream(server.address).await
}

#[tokio::test]
async fn a_user_of_the_issuer_has_chats_of_its_own_and_the_scopes_of_its_jwt() {
    let issuer = Issuer::new();
    let server = issuer.server().await;
    let me = async |jwt: &str| Request::get("/v1/me").bearer(jwt).send(server.address).await;
    let kim = issuer.jwt("kim", 60, &json!({"scope": "chat decide"}));
    let said = me(&kim).await.ok(200);
    assert_eq!((&said["user"], &said["scopes"]), (&json!("sso/kim"), &json!(["chat", "decide"])));
    assert_eq!(said["token"], "jwt");
    assert_eq!(me(&issuer.jwt("lee", 60, &json!({}))).await.ok(200)["scopes"], json!(["chat"]));
    let open = Request::post("/v1/sessions", &json!({"id": "s"})).bearer(&kim);
    open.send(server.address).await.ok(201);
    // The user of the same name that has a token is another one.
    assert_eq!(server.get("/v1/sessions/s").await.status, 404);
    for wrong in [issuer.jwt("kim", -1, &json!({})), Issuer::new().jwt("kim", 60, &json!({}))] {
        assert_eq!(me(&wrong).await.problem(), "unauthorized");
    }
    let login = Request::post("/v1/login", &json!({"token": kim})).send(server.address).await;
    assert_eq!(login.problem(), "unauthorized", "a cookie would outlive it");
    server.shutdown().await;
}

#[tokio::test]
async fn a_stream_ends_with_the_jwt_that_opened_it() {
    let issuer = Issuer::new();
    let server = issuer.server().await;
    let jwt = issuer.jwt("kim", 8, &json!({}));
    let mut stream = stream(&server, &jwt).await;
    let (told, _) = stream.end().await;
    assert_eq!(told.last().unwrap().data["reason"], "token_expired");
    server.shutdown().await;
}

#[tokio::test]
async fn a_stream_ends_with_the_key_that_its_jwt_was_signed_by() {
    let issuer = Issuer::new();
    let server = issuer.server().await;
    let jwt = issuer.jwt("kim", 3_600, &json!({}));
    let mut stream = stream(&server, &jwt).await;
    issuer.publish(&key());
    let (told, _) = stream.end().await;
    assert_eq!(told.last().unwrap().data["reason"], "token_expired");
    let after = Request::get("/v1/me").bearer(&jwt).send(server.address).await;
    assert_eq!(after.problem(), "unauthorized");
    server.shutdown().await;
}
