//! From which site, with which credential, for which scope, in whose session: every cell of the
//! table.

use std::net::SocketAddr;

use madang::UserId;
use madang_server::{TokenEntry, TokenHolder, TokenScope, TokenScopes, TokenSecret};
use serde_json::json;

use crate::{
    http::{Answer, Request},
    support::{Setup, TestServer, says},
};

/// The site of an application that may call with a token.
const APP: &str = "https://app.example.org";
/// A site that may not.
const EVIL: &str = "https://evil.example";

/// The ways in which a request comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// A program.
    NoOrigin,
    /// Our own page.
    Same,
    /// A page of the application.
    Allowed,
    /// A page of another site.
    Foreign,
    /// A page that has no origin of its own, such as a sandboxed frame.
    Null,
    /// A page of a site whose name points at us: its browser takes us for it.
    Rebound,
    /// A form of another site.
    Form,
    /// A picture in a page of another site.
    Picture,
    /// A script of another site that asks for no answer.
    NoCors,
    /// A subdomain of the same site.
    SameSite,
}

const ALL: [From; 10] = [
    From::NoOrigin,
    From::Same,
    From::Allowed,
    From::Foreign,
    From::Null,
    From::Rebound,
    From::Form,
    From::Picture,
    From::NoCors,
    From::SameSite,
];

impl From {
    fn headers(self, address: SocketAddr) -> Vec<(&'static str, String)> {
        let own = format!("http://{address}");
        let fetch = |site: &str| ("sec-fetch-site", site.to_owned());
        match self {
            Self::NoOrigin => vec![],
            Self::Same => vec![("origin", own), fetch("same-origin")],
            Self::Allowed => vec![("origin", APP.to_owned()), fetch("cross-site")],
            Self::Foreign => vec![("origin", EVIL.to_owned()), fetch("cross-site")],
            Self::Null => vec![("origin", "null".to_owned())],
            Self::Rebound => vec![
                ("host", format!("evil.example:{}", address.port())),
                ("origin", format!("http://evil.example:{}", address.port())),
                fetch("same-origin"),
            ],
            Self::Form => vec![
                ("origin", EVIL.to_owned()),
                fetch("cross-site"),
                ("sec-fetch-mode", "navigate".to_owned()),
                ("sec-fetch-dest", "document".to_owned()),
            ],
            Self::Picture => vec![
                fetch("cross-site"),
                ("sec-fetch-mode", "no-cors".to_owned()),
                ("sec-fetch-dest", "image".to_owned()),
            ],
            Self::NoCors => vec![
                ("origin", EVIL.to_owned()),
                fetch("cross-site"),
                ("sec-fetch-mode", "no-cors".to_owned()),
            ],
            Self::SameSite => vec![fetch("same-site")],
        }
    }

    /// The status of a GET and of a POST with no credential, a cookie, a token.
    fn expected(self) -> [(u16, u16); 3] {
        match self {
            Self::NoOrigin => [(401, 401), (200, 403), (200, 201)],
            Self::Same => [(401, 401), (200, 201), (200, 201)],
            // A browser that comes from there has no cookie of ours; one that has is refused.
            Self::Allowed => [(401, 401), (403, 403), (200, 201)],
            Self::Foreign
            | Self::Null
            | Self::Rebound
            | Self::Form
            | Self::Picture
            | Self::NoCors
            | Self::SameSite => [(403, 403); 3],
        }
    }
}

async fn server() -> TestServer {
    let setup = Setup::new(says("a")).limits(|limits| {
        limits.wrong_credentials_per_minute = 10_000;
        (limits.requests_per_second, limits.request_burst) = (10_000, 10_000);
    });
    setup.options(|options| options.allow_origin(APP.parse().unwrap())).start().await
}

/// What a request can bring: nothing, both halves of a login, a token.
async fn credentials(test: &TestServer) -> [Vec<(&'static str, String)>; 3] {
    let login = test.login(&test.kim).await;
    [vec![], login.to_vec(), vec![("authorization", format!("Bearer {}", test.kim.reveal()))]]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_cell_answers_as_the_table_says() {
    let test = server().await;
    let credentials = credentials(&test).await;
    for from in ALL {
        for (credential, (get, post)) in credentials.iter().zip(from.expected()) {
            for (mut request, expected) in
                [(Request::get("/v1/me"), get), (Request::post("/v1/sessions", &json!({})), post)]
            {
                request = request.headers(&from.headers(test.address)).headers(credential);
                let answer = request.clone().send(test.address).await;
                assert_eq!(answer.status, expected, "{from:?} {request:?}: {}", answer.text());
                let allows = answer.header("access-control-allow-origin");
                assert_eq!(allows, (from == From::Allowed).then_some(APP), "{from:?}");
                assert_eq!(answer.header("access-control-allow-credentials"), None);
                assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
                if expected == 401 {
                    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
                }
            }
        }
    }
    test.shutdown().await;
}

/// The routes that the server describes: method, path with some names in place of ids, and the
/// scope; `None` where all may come.
async fn described(test: &TestServer) -> Vec<(String, String, Option<String>)> {
    let text = Request::get("/openapi.json").send(test.address).await.ok(200);
    let mut routes = Vec::new();
    for (path, operations) in text["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let needs = operation["description"].as_str().unwrap_or_default();
            let scope =
                needs.strip_prefix("Needs the scope `").and_then(|rest| rest.strip_suffix("`."));
            let is_public = operation["security"] == json!([]);
            let scope = scope.map_or_else(
                || (!is_public).then(|| "any".to_owned()),
                |name| Some(name.to_owned()),
            );
            routes.push((method.to_uppercase(), path.replace(['{', '}'], ""), scope));
        }
    }
    routes
}

#[tokio::test(flavor = "multi_thread")]
async fn each_route_stands_behind_each_cell_of_the_table() {
    let test = server().await;
    let routes = described(&test).await;
    assert!(routes.len() > 35, "{}", routes.len());
    for (method, path, scope) in routes {
        for from in ALL {
            // Anew, because one of the routes ends a login.
            let credentials = credentials(&test).await;
            for (credential, (get, other)) in credentials.iter().zip(from.expected()) {
                let mut request = Request::new(&method, &path);
                if method != "GET" {
                    request = request.header("content-type", "application/json").body("[]");
                }
                request = request.headers(&from.headers(test.address)).headers(credential);
                let from_elsewhere = from.expected() == [(403, 403); 3];
                let expected = match (if method == "GET" { get } else { other }, &scope) {
                    _ if path == "/healthz" => None,
                    (_, None) => from_elsewhere.then_some(403),
                    (status @ (401 | 403), Some(_)) => Some(status),
                    (_, Some(_)) => None,
                };
                let status = request.head(test.address).await.status;
                match expected {
                    Some(expected) => {
                        assert_eq!(status, expected, "{method} {path} {from:?} {credential:?}")
                    }
                    None => {
                        assert!(![401, 403].contains(&status), "{method} {path} {from:?}: {status}")
                    }
                }
            }
        }
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_another_site_changes_nothing_even_where_its_browser_says_little() {
    let test = server().await;
    let login = test.login(&test.kim).await;
    let form = |media_type: &str| {
        let request = Request::new("POST", "/v1/sessions").headers(&login);
        request.header("content-type", media_type).body("{}")
    };
    // An old browser, which says neither a site nor an origin.
    let answer = form("text/plain").send(test.address).await;
    assert_eq!((answer.status, &*answer.problem()), (403, "origin"));
    // Our own page, but not as our own page sends it.
    let own = form("text/plain").header("origin", &format!("http://{}", test.address));
    let answer = own.send(test.address).await;
    assert_eq!((answer.status, &*answer.problem()), (415, "unsupported-media-type"));
    // Also where the route reads no body.
    let logout = Request::new("POST", "/v1/logout").headers(&login);
    let logout = logout.header("origin", &format!("http://{}", test.address));
    let form = logout.clone().header("content-type", "text/plain").body("{}");
    let answer = form.send(test.address).await;
    assert_eq!((answer.status, &*answer.problem()), (415, "unsupported-media-type"));
    assert_eq!(logout.send(test.address).await.status, 204);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_site_may_ask_what_it_may_send_and_another_may_not() {
    let test = server().await;
    let asks = |origin: &str| {
        Request::new("OPTIONS", "/v1/sessions")
            .header("origin", origin)
            .header("sec-fetch-site", "cross-site")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type,x-evil")
    };
    let answer = asks(APP).send(test.address).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some(APP));
    assert_eq!(answer.header("access-control-allow-headers"), Some("authorization, content-type"));
    assert_eq!(answer.header("access-control-max-age"), Some("600"));
    assert_eq!(answer.header("vary"), Some("origin"));
    assert_eq!(asks(EVIL).send(test.address).await.status, 403);
    assert_eq!(asks("null").send(test.address).await.status, 403);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_names_one_host_and_that_is_ours() {
    let test = server().await;
    let port = test.address.port();
    for (host, expected) in [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        (format!("127.0.0.1.evil.example:{port}"), 403),
        ("127.0.0.1".to_owned(), 403),
        (format!("evil.example:{port}"), 403),
        (String::new(), 403),
        ("(none)".to_owned(), 403),
    ] {
        let answer = test.send(Request::get("/v1/me").header("host", &host)).await;
        assert_eq!(answer.status, expected, "{host}");
        if expected == 403 {
            assert_eq!(answer.problem(), "host");
        }
        // The one path that tells nothing needs none.
        let health = Request::get("/healthz").header("host", &host).send(test.address).await;
        assert_eq!(health.status, 200, "{host}");
    }
    let twice = Request::get("/v1/me")
        .header("host", &format!("localhost:{port}"))
        .header("host", "evil.example");
    assert_eq!(test.send(twice).await.status, 403);
    let absolute = Request::get("http://evil.example/v1/me");
    assert_eq!(test.send(absolute.header("host", &format!("localhost:{port}"))).await.status, 403);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_is_wrong_counts_less_than_none() {
    let test = server().await;
    let [(_, cookie), proof] = test.login(&test.kim).await;
    let wrong = TokenSecret::random().unwrap();
    for (name, value) in [
        ("authorization", format!("Bearer {}", wrong.reveal())),
        ("authorization", format!("Basic {}", test.kim.reveal())),
        ("authorization", test.kim.reveal().to_owned()),
        ("authorization", "Bearer".to_owned()),
        ("authorization", "Bearer ".to_owned()),
        ("cookie", format!("{cookie}0")),
        ("cookie", "madang=x".to_owned()),
        ("cookie", cookie.replace("madang=", "__Host-madang=")),
    ] {
        let answer = Request::get("/v1/me").header(name, &value).header(proof.0, &proof.1);
        let answer = answer.send(test.address).await;
        assert_eq!((answer.status, &*answer.problem()), (401, "unauthorized"), "{name}: {value}");
    }
    // A wrong token is not made good by a cookie, and two are none.
    let both = Request::get("/v1/me").bearer(wrong.reveal()).headers(&[("cookie", cookie), proof]);
    assert_eq!(both.send(test.address).await.status, 401);
    let two = Request::get("/v1/me").bearer(test.kim.reveal()).bearer(test.kim.reveal());
    assert_eq!(two.send(test.address).await.status, 401);
    // A token in the address is none.
    let query = format!("/v1/me?token={}", test.kim.reveal());
    assert_eq!(Request::get(&query).send(test.address).await.status, 401);
    test.shutdown().await;
}

/// Each route with the scope that it needs; `None`: any credential.
const ROUTES: [(&str, &str, Option<TokenScope>); 39] = [
    ("POST", "/v1/sessions", Some(TokenScope::Chat)),
    ("GET", "/v1/sessions", Some(TokenScope::Chat)),
    ("GET", "/v1/sessions/session", Some(TokenScope::Chat)),
    ("PATCH", "/v1/sessions/session", Some(TokenScope::Chat)),
    ("DELETE", "/v1/sessions/session", Some(TokenScope::Chat)),
    ("GET", "/v1/sessions/session/export", Some(TokenScope::Chat)),
    ("POST", "/v1/sessions/session/forks", Some(TokenScope::Chat)),
    ("POST", "/v1/search", Some(TokenScope::Chat)),
    ("GET", "/v1/sessions/session/events", Some(TokenScope::Chat)),
    ("POST", "/v1/sessions/session/turns", Some(TokenScope::Chat)),
    ("GET", "/v1/sessions/session/turns/turn", Some(TokenScope::Chat)),
    ("POST", "/v1/sessions/session/turns/turn/dismiss", Some(TokenScope::Chat)),
    ("POST", "/v1/sessions/session/clear", Some(TokenScope::Chat)),
    ("GET", "/v1/sessions/session/standing-approvals", Some(TokenScope::Chat)),
    ("DELETE", "/v1/sessions/session/standing-approvals/tool", Some(TokenScope::Decide)),
    ("GET", "/v1/sessions/session/unresolved", Some(TokenScope::Chat)),
    ("GET", "/v1/sessions/session/ledger/verify", Some(TokenScope::Chat)),
    ("GET", "/v1/inbox", Some(TokenScope::Decide)),
    ("GET", "/v1/inbox/events", Some(TokenScope::Decide)),
    ("POST", "/v1/approvals/call/decision", Some(TokenScope::Decide)),
    ("GET", "/v1/calls/call", Some(TokenScope::Chat)),
    ("POST", "/v1/calls/call/resolve", Some(TokenScope::Decide)),
    ("GET", "/v1/ledger", Some(TokenScope::Chat)),
    ("GET", "/v1/tools", Some(TokenScope::Chat)),
    ("GET", "/v1/suggestions", Some(TokenScope::Chat)),
    ("POST", "/v1/tools/tool/calls", Some(TokenScope::Tools)),
    ("GET", "/v1/models", Some(TokenScope::Chat)),
    ("GET", "/v1/models/model", Some(TokenScope::Chat)),
    ("POST", "/v1/chat/completions", Some(TokenScope::Chat)),
    ("GET", "/ag-ui", Some(TokenScope::Chat)),
    ("POST", "/ag-ui", Some(TokenScope::Chat)),
    ("POST", "/api/chat", Some(TokenScope::Chat)),
    ("GET", "/api/chat/session/stream", Some(TokenScope::Chat)),
    ("POST", "/api/chat/session/stop", Some(TokenScope::Chat)),
    ("GET", "/api/chat/session/messages", Some(TokenScope::Chat)),
    ("GET", "/metrics", Some(TokenScope::Admin)),
    ("GET", "/v1/ledger?all=true", Some(TokenScope::Admin)),
    ("GET", "/v1/me", None),
    ("POST", "/v1/logout", None),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_route_needs_its_scope_and_no_other() {
    let secrets = TokenScope::ALL.map(|scope| (scope, TokenSecret::random().unwrap()));
    let mut setup = Setup::new(says("a"));
    for (scope, secret) in &secrets {
        // The route for all ledgers asks for two scopes.
        let also = (*scope == TokenScope::Admin).then_some(TokenScope::Chat);
        let scopes: TokenScopes = [*scope].into_iter().chain(also).collect();
        let user = TokenHolder::User(UserId::new(scope.name()).unwrap());
        let token = TokenEntry::new(scope.name(), user, scopes, secret);
        setup = setup.options(|options| options.token(token));
    }
    let test = setup.start().await;
    let mut routes = ROUTES.to_vec();
    if cfg!(feature = "mcp") {
        routes.extend(
            ["POST", "GET", "DELETE"].map(|method| (method, "/mcp", Some(TokenScope::Tools))),
        );
    }
    for (method, path, scope) in described(&test).await {
        let Some(scope) = scope else { continue };
        let is_it = |route: &&(&str, &str, _)| (route.0, route.1) == (&*method, &*path);
        let (.., needed) = routes.iter().find(is_it).unwrap_or_else(|| panic!("{method} {path}"));
        assert_eq!(needed.map_or("any", TokenScope::name), scope, "{method} {path}");
    }
    for (method, path, needed) in routes {
        for (scope, secret) in &secrets {
            let has = needed.is_none_or(|needed| needed == *scope)
                || *scope == TokenScope::Admin && needed == Some(TokenScope::Chat);
            let mut request = Request::new(method, path).bearer(secret.reveal());
            if matches!(method, "POST" | "PATCH") {
                request = request.header("content-type", "application/json").body("[]");
            }
            let answer = if path.ends_with("/events") && has && needed == Some(TokenScope::Decide) {
                let _ = request.stream(test.address).await;
                continue;
            } else {
                request.send(test.address).await
            };
            let is_refused = answer.status == 403;
            assert_eq!(is_refused, !has, "{method} {path} with {scope}: {}", answer.text());
            if is_refused {
                assert_eq!(answer.problem(), "scope");
            }
            assert_ne!(answer.status, 401, "{method} {path}");
        }
        let without = Request::new(method, path).send(test.address).await;
        assert_eq!(without.status, 401, "{method} {path}");
    }
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_another_user_answers_as_one_that_is_not_there() {
    let test = server().await;
    let body = json!({ "id": "lees" });
    let opened = Request::post("/v1/sessions", &body).bearer(test.lee.reveal());
    opened.send(test.address).await.ok(201);
    test.open("kims").await;
    let turn = "00000000-0000-0000-0000-000000000000";
    let told = |answer: &Answer| {
        let mut body = answer.ok(answer.status);
        body.as_object_mut().map(|body| body.remove("trace"));
        (answer.status, body)
    };
    let said = json!([{ "id": "m1", "role": "user", "content": "hi", "parts": [{ "type": "text", "text": "hi" }] }]);
    let decided = json!({
        "id": "a", "role": "assistant",
        "parts": [{ "state": "approval-responded", "approval": { "id": "x", "approved": true } }],
    });
    let resume = json!([{ "interruptId": "x", "status": "cancelled" }]);
    for (method, path, body) in [
        ("GET", "/v1/sessions/ID".to_owned(), None),
        ("PATCH", "/v1/sessions/ID".to_owned(), Some(json!({ "title": "mine" }))),
        ("DELETE", "/v1/sessions/ID".to_owned(), None),
        ("GET", "/v1/sessions/ID/export".to_owned(), None),
        ("POST", "/v1/sessions/ID/forks".to_owned(), Some(json!({}))),
        ("GET", "/v1/sessions/ID/events".to_owned(), None),
        ("GET", "/v1/sessions/ID/events?after=1".to_owned(), None),
        ("POST", "/v1/sessions/ID/turns".to_owned(), Some(json!({ "text": "hi" }))),
        ("GET", format!("/v1/sessions/ID/turns/{turn}"), None),
        ("POST", format!("/v1/sessions/ID/turns/{turn}/dismiss"), Some(json!({}))),
        ("POST", "/v1/sessions/ID/clear".to_owned(), Some(json!({}))),
        ("GET", "/v1/sessions/ID/standing-approvals".to_owned(), None),
        ("DELETE", "/v1/sessions/ID/standing-approvals/t".to_owned(), None),
        ("GET", "/v1/sessions/ID/unresolved".to_owned(), None),
        ("GET", "/v1/sessions/ID/ledger/verify".to_owned(), None),
        (
            "POST",
            "/ag-ui".to_owned(),
            Some(json!({ "threadId": "ID", "runId": "r", "messages": [] })),
        ),
        (
            "POST",
            "/ag-ui".to_owned(),
            Some(json!({ "threadId": "ID", "runId": "r", "messages": [], "resume": resume })),
        ),
        ("POST", "/api/chat".to_owned(), Some(json!({ "id": "ID", "message": decided }))),
        ("POST", "/api/chat/ID/stop".to_owned(), Some(json!({}))),
        ("GET", "/api/chat/ID/messages".to_owned(), None),
        ("GET", "/api/chat/ID/stream".to_owned(), None),
    ] {
        let of = async |id: &str| {
            let mut request = Request::new(method, &path.replace("ID", id));
            if let Some(body) = &body {
                let json = request.header("content-type", "application/json");
                request = json.body(body.to_string().replace("ID", id));
            }
            test.send(request).await
        };
        let foreign = told(&of("lees").await);
        let unknown = told(&of("nowhere").await);
        assert_eq!(foreign, unknown, "{method} {path}");
        if path == "/api/chat/ID/stream" {
            // Clients ask before their first message, and take an error for a broken chat.
            assert_eq!(foreign, (204, json!(null)));
        } else {
            assert_eq!((foreign.0, &foreign.1["type"]), (404, &json!("/problems/not-found")));
        }
    }
    for (path, body) in [
        ("/v1/sessions", json!({ "id": "lees" })),
        ("/v1/sessions/kims/forks", json!({ "id": "lees" })),
        ("/v1/chat/completions", json!({ "messages": said, "metadata": { "session": "lees" } })),
        ("/ag-ui", json!({ "threadId": "lees", "runId": "r", "messages": said })),
        ("/api/chat", json!({ "id": "lees", "messages": said })),
    ] {
        let taken = test.post(path, body).await;
        assert_eq!((taken.status, &*taken.problem()), (404, "not-found"), "{path}");
    }
    let tools = test.post("/v1/tools/t/calls", json!({ "session": "lees" })).await;
    let unknown = test.post("/v1/tools/t/calls", json!({ "session": "nowhere" })).await;
    assert_eq!(told(&tools), told(&unknown));
    test.shutdown().await;
}
