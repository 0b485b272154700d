//! A login of the page: whole with both halves alone, over when its person ends it, and in no one's
//! way.

use madang::UserId;
use madang_server::{CookieKey, TokenFile, TokenHolder, TokenScopes, TokenSecret};
use serde_json::json;

use crate::{
    http::Request,
    support::{Setup, TestServer, says},
};

async fn status(test: &TestServer, headers: &[(&'static str, String)]) -> u16 {
    Request::get("/v1/me").headers(headers).send(test.address).await.status
}

async fn log_out(test: &TestServer, headers: &[(&'static str, String)]) {
    let origin = format!("http://{}", test.address);
    let request = Request::new("POST", "/v1/logout").headers(headers).header("origin", &origin);
    assert_eq!(request.send(test.address).await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_goes_to_no_script_and_counts_with_its_proof_alone() {
    let test = Setup::new(says("a")).start().await;
    let login = Request::post("/v1/login", &json!({ "token": test.kim.reveal() }));
    let answer = login.send(test.address).await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"), "{cookie}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let [cookie, proof] = test.login(&test.kim).await;
    let [_, of_lee] = test.login(&test.lee).await;
    let foreign = ("cookie", "madang=of-another-port".to_owned());
    let me = async |headers: &[_]| Request::get("/v1/me").headers(headers).send(test.address).await;
    // A server on another port of the host reads the cookie, and no more.
    for stolen in [
        vec![cookie.clone()],
        vec![cookie.clone(), ("madang-proof", String::new())],
        vec![cookie.clone(), of_lee],
        vec![cookie.clone(), proof.clone(), proof.clone()],
        vec![proof.clone()],
        vec![foreign.clone(), proof.clone()],
    ] {
        let answer = me(&stolen).await;
        assert_eq!((answer.status, &*answer.problem()), (401, "unauthorized"), "{stolen:?}");
    }
    for whole in [vec![cookie.clone(), proof.clone()], vec![foreign, cookie, proof]] {
        assert_eq!(me(&whole).await.ok(200)["user"], "kim");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_that_login_on_the_server_and_its_streams() {
    let test = Setup::new(says("a")).start().await;
    test.open("s").await;
    let here = test.login(&test.kim).await;
    let elsewhere = test.login(&test.kim).await;
    let events = Request::get("/v1/sessions/s/events");
    let mut stream = events.headers(&here).stream(test.address).await;
    log_out(&test, &here).await;
    assert_eq!(stream.end().await.0.last().unwrap().data["reason"], "token_expired");
    assert_eq!(status(&test, &here).await, 401, "a copy of both halves is worth nothing");
    assert_eq!(status(&test, &elsewhere).await, 200, "other browsers stay signed in");
    // A token is no login, and is not ended by this.
    let token = [("authorization", format!("Bearer {}", test.kim.reveal()))];
    log_out(&test, &token).await;
    assert_eq!((status(&test, &token).await, status(&test, &elsewhere).await), (200, 200));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_login_of_a_browser_ends_the_one_that_it_had() {
    let test = Setup::new(says("a")).start().await;
    let before = test.login(&test.kim).await;
    let request = Request::post("/v1/login", &json!({ "token": test.lee.reveal() }));
    request.headers(&before).send(test.address).await.ok(200);
    assert_eq!(status(&test, &before).await, 401);
    // Half a login is none that could be ended.
    let [cookie, proof] = test.login(&test.kim).await;
    let request = Request::post("/v1/login", &json!({ "token": test.lee.reveal() }));
    request.header(cookie.0, &cookie.1).send(test.address).await.ok(200);
    assert_eq!(status(&test, &[cookie, proof]).await, 200);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_login_stays_ended_after_a_restart_and_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let file = TokenFile::new(path("tokens"));
    let kim = TokenHolder::User(UserId::new("kim").unwrap());
    let secret = file.add("laptop", kim, TokenScopes::OF_PERSON, None).unwrap();
    let start = async || {
        let key = CookieKey::open(path("cookies")).unwrap();
        let file = file.clone();
        Setup::new(says("a"))
            .options(|options| options.token_file(file).cookie_key(key))
            .start()
            .await
    };
    let test = start().await;
    let ended = test.login(&secret).await;
    let other = test.login(&secret).await;
    log_out(&test, &ended).await;
    test.shutdown().await;
    let test = start().await;
    assert_eq!((status(&test, &ended).await, status(&test, &other).await), (401, 200));
    test.shutdown().await;
}

/// Behind a proxy all callers have its address.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_of_others_keep_no_one_from_the_form() {
    let test = Setup::new(says("a"))
        .limits(|limits| limits.wrong_credentials_per_minute = 1)
        .start()
        .await;
    let wrong = TokenSecret::random().unwrap();
    let guess = async || Request::get("/v1/me").bearer(wrong.reveal()).send(test.address).await;
    guess().await;
    assert_eq!(guess().await.status, 429, "these are slowed down");
    let [cookie, proof] = test.login(&test.kim).await;
    let old = [("cookie", format!("{}0", cookie.1)), proof];
    for _ in 0..3 {
        assert_eq!(
            status(&test, &old).await,
            401,
            "a browser with an old cookie is asked to log in"
        );
    }
    assert_eq!(status(&test, &[]).await, 401);
    let again = test.login(&test.kim).await;
    assert_eq!(status(&test, &again).await, 200);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_server_gives_what_a_persons_token_may_do_unless_it_is_told_more() {
    let of_all = async |scopes: Option<TokenScopes>| {
        let kim = UserId::new("kim").unwrap();
        let test = Setup::new(says("a")).options(|options| {
            let options = options.open(kim).metrics(String::new);
            scopes.into_iter().fold(options, madang_server::ServerOptions::open_scopes)
        });
        let test = test.start().await;
        let me = Request::get("/v1/me").send(test.address).await.ok(200);
        let metrics = Request::get("/metrics").send(test.address).await.status;
        test.shutdown().await;
        (me["scopes"].clone(), metrics)
    };
    assert_eq!(of_all(None).await, (json!(["chat", "decide", "tools"]), 403));
    let all = json!(["chat", "decide", "tools", "admin"]);
    assert_eq!(of_all(Some(TokenScopes::ALL)).await, (all, 200));
}
