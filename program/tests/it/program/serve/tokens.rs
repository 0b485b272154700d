//! Tests the tokens that `madang token` makes: which requests they open, and what becomes of a bad
//! file.

use std::{fs, io::BufReader, os::unix::fs::MetadataExt as _, thread, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Home, PATIENCE, RunningProgram, RunningServer, until_line};
use crate::program::{Ended, signal};

impl Home {
    pub(super) fn token(&self, arguments: &[&str]) -> Ended {
        self.run(&[&["token"], arguments].concat(), "")
    }

    /// Makes a token and gives its secret.
    pub(super) fn added(&self, arguments: &[&str]) -> String {
        let ended = self.token(&[&["add"], arguments].concat());
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{ended:?}");
        let secret = ended.out.trim_end();
        assert!(secret.starts_with("mdg_") && secret.len() == 47, "{ended:?}");
        secret.to_owned()
    }
}

#[test]
fn a_token_is_printed_once_listed_without_its_secret_and_removed_by_its_name() {
    let home = Home::new();
    let kim = home.added(&["kim"]);
    let web = home.added(&["--service", "web", "--scope", "chat,tools"]);
    let phone = home.added(&["kim", "--name", "phone", "--scope", "decide"]);
    let listed = home.token(&["list"]);
    assert_eq!(
        listed.events(),
        [
            json!({ "name": "kim", "scopes": ["chat", "decide"], "user": "kim" }),
            json!({ "name": "web", "scopes": ["chat", "tools"], "service": "web", "user_header": "Madang-User" }),
            json!({ "name": "phone", "scopes": ["decide"], "user": "kim" }),
        ]
    );
    let file = home.path("data/madang/madang.db.tokens");
    let kept = fs::read_to_string(&file).unwrap();
    assert!([kim, web, phone].iter().all(|secret| !kept.contains(secret)));
    let mode = file.metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);

    let ended = home.token(&["remove", "web"]);
    assert_eq!((ended.code, &*ended.out), (Some(0), ""));
    home.token(&["remove", "web"]).failed_with(&["\"web\"", "madang token list"]);
    assert_eq!(home.token(&["list"]).events().len(), 2);
}

#[test]
fn a_token_counts_at_once_and_a_removed_one_ends_its_streams() {
    let home = Home::new();
    let server = RunningServer::start(&home, &[]);
    let lee = home.added(&["lee"]);
    let me = |token: &str| server.ask(("GET", "/v1/me"), token, "");
    // The server looks at the file once a second, and takes few wrong credentials a minute.
    let begin = Instant::now();
    while me(&lee).status != 200 && begin.elapsed() < PATIENCE {
        thread::park_timeout(Duration::from_millis(500));
    }
    assert_eq!(me(&lee).json()["user"], "lee");
    assert_eq!(me(server.token()).json()["user"], "kim", "the link's token counts beside it");
    assert_eq!(server.ask(("POST", "/v1/sessions"), &lee, r#"{"id":"one"}"#).status, 201);
    let path = "/v1/sessions/one/events";
    assert_eq!(server.ask(("GET", path), server.token(), "").status, 404, "it is another's");
    let mut stream = server.connect();
    super::write(&mut stream, &server.address.to_string(), ("GET", path), &lee, "");
    let mut stream = BufReader::new(stream);
    until_line(&mut stream, ": madang");
    assert_eq!(home.token(&["remove", "lee"]).code, Some(0));
    let bye = until_line(&mut stream, r#""type":"bye""#);
    assert!(bye.contains(r#""reason":"token_expired""#), "{bye}");
    assert_eq!(me(&lee).status, 401);
}

#[test]
fn with_a_file_of_its_own_only_the_tokens_there_count() {
    let home = Home::new();
    home.added(&["kim"]);
    let tokens = home.path("more tokens");
    let tokens = tokens.to_str().unwrap();
    let command = || home.serve(&[], &["--listen", "127.0.0.1:0", "--tokens", tokens]);
    let server = RunningServer::of(command(), "open ");
    assert!(server.said.ends_with("/\n"), "the link has no token: {}", server.said);
    signal("TERM", server.id());
    let ended = server.program.ended();
    assert!(ended.err.contains("has no token yet"), "{ended:?}");
    let lee = home.added(&["lee", "--tokens", tokens]);
    let server = RunningServer::of(command(), "open ");
    assert_eq!(server.ask(("GET", "/v1/me"), &lee, "").json()["user"], "lee");
    assert!(!home.path("data/madang/madang.db.token").exists());
}

#[test]
fn a_bad_file_is_told_by_its_line_and_starts_no_server() {
    let home = Home::new();
    let hash = "0".repeat(64);
    let kim = json!({ "name": "kim", "user": "kim", "scopes": ["chat"], "sha256": hash });
    let neither = json!({ "name": "kim", "scopes": ["chat"], "sha256": hash });
    for (text, words) in [
        ("hello".to_owned(), &["line 1 of", "is not a token", "madang token add"][..]),
        (format!("{kim}\n\n{neither}\n"), &["line 3 of", "is not a token"]),
        (format!("{kim}\n{kim}\n"), &["two tokens with the name kim", "take one"]),
    ] {
        let file = home.secret("tokens", text);
        let file = file.to_str().unwrap();
        let options = ["--listen", "127.0.0.1:0", "--tokens", file];
        RunningProgram::start(home.serve(&[], &options)).ended().failed_with(words);
        home.token(&["list", "--tokens", file]).failed_with(words);
        home.token(&["add", "lee", "--tokens", file]).failed_with(words);
    }
    home.token(&["add", "lee", "--tokens", "nowhere/tokens"]).failed_with(&["its folder"]);
    assert!(!home.path("data").exists());
}

#[test]
fn names_are_unique_and_plain_and_wrong_usage_makes_no_token() {
    let home = Home::new();
    home.added(&["kim"]);
    home.token(&["add", "kim"]).failed_with(&["already", "--name"]);
    home.token(&["add", "kim/phone"]).failed_with(&["\"kim/phone\"", "with --name"]);
    home.added(&["kim/phone", "--name", "phone"]);
    for arguments in [
        &["add"][..],
        &["add", "kim", "--service", "web"],
        &["add", "--service", "a/b"],
        &["add", "lee", "--scope", "root"],
        &["add", ""],
        &["remove"],
        &[],
    ] {
        let ended = home.token(arguments);
        assert_eq!((ended.code, &*ended.out), (Some(2), ""), "{arguments:?}: {ended:?}");
    }
    let listed: Vec<Value> = home.token(&["list"]).events();
    assert_eq!(listed.len(), 2, "{listed:?}");
}

#[test]
fn with_an_issuer_of_jwts_no_token_is_made_and_bad_keys_start_nothing() {
    let home = Home::new();
    let start = |keys: &str| {
        let keys = home.file("keys", keys);
        let of_issuer = ["--jwt-issuer", "https://login.example.org", "--jwt-audience", "madang"];
        let options = ["--listen", "127.0.0.1:0", "--jwt", keys.to_str().unwrap()];
        RunningProgram::start(home.serve(&[], &[&options[..], &of_issuer].concat()))
    };
    let ended = start(r#"{"keys":[]}"#).ended();
    assert_eq!((ended.code, &*ended.out), (Some(1), ""), "{ended:?}");
    assert!(ended.err.contains("has no public key for EdDSA, ES256 or RS256"), "{ended:?}");
    assert!(!home.path("data").exists(), "nothing was opened");
    // The key is that of RFC 8037, appendix A.2.
    let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let key = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#);
    let server = RunningServer::once_up(start(&key), "open ");
    assert!(!server.said.contains("token="), "{}", server.said);
    assert_eq!(server.ask(("GET", "/v1/me"), "a.b.c", "").status, 401);
}

#[test]
fn a_forgotten_user_does_not_come_back_by_a_token() {
    let home = Home::new();
    let file = home.path("more tokens");
    let tokens = file.to_str().unwrap();
    let kim = home.added(&["kim", "--name", "phone"]);
    let elsewhere = home.added(&["kim", "--tokens", tokens]);
    home.added(&["lee"]);
    home.added(&["kim", "--name", "desk", "--scope", "chat"]);
    let web = home.added(&["--service", "web"]);
    let running = RunningServer::start(&home, &[]);
    assert_eq!(running.ask(("POST", "/v1/sessions"), &kim, "{}").status, 201);
    home.run(&["forget", "kim", "--yes"], "").failed_with(&["in use by another process"]);
    assert_eq!(home.token(&["list"]).events().len(), 4, "nothing was removed");
    signal("TERM", running.id());
    running.program.ended();

    let told = home.run(&["forget", "kim", "--yes"], "");
    assert_eq!(told.events()[0]["tokens"], json!(["phone", "desk"]), "{told:?}");
    assert!(!told.err.contains("web"), "{told:?}");
    let names = |options: &[&str]| -> Vec<Value> {
        let listed = home.token(&[&["list"], options].concat()).events();
        listed.iter().map(|token| token["name"].clone()).collect()
    };
    assert_eq!(names(&[]), ["lee", "web"]);
    let server = RunningServer::start(&home, &[]);
    assert_eq!(server.ask(("POST", "/v1/sessions"), &kim, "{}").status, 401);
    let asks = |user: &str| {
        let web = format!("{web}\r\nmadang-user: {user}");
        server.ask(("POST", "/v1/sessions"), &web, "{}").status
    };
    assert_eq!(asks("kim"), 201);
    signal("TERM", server.id());
    server.program.ended();

    let told = home.run(&["forget", "web/kim", "--yes"], "");
    assert_eq!(
        (&told.events()[0]["tokens"], &told.events()[0]["sessions"]),
        (&json!([]), &json!(1))
    );
    assert!(told.err.contains("speak for this user stay (web)"), "{told:?}");
    let told = home.run(&["forget", "kim", "--yes", "--tokens", tokens], "");
    assert_eq!(told.events()[0]["tokens"], json!(["kim"]), "{told:?}");
    assert!(names(&["--tokens", tokens]).is_empty() && !elsewhere.is_empty());
    let bad = home.secret("bad tokens", "hello\n");
    let order = ["forget", "lee", "--yes", "--tokens", bad.to_str().unwrap()];
    home.run(&order, "").failed_with(&["line 1 of"]);
    assert_eq!(names(&[]), ["lee", "web"]);
}
