//! Tests what `madang serve` prints: a line for programs and a link for a person, which opens the
//! page.

use std::{
    io::{Read as _, Write as _},
    mem,
    os::unix::fs::MetadataExt as _,
    process::Command,
};

use serde_json::{Value, json};

use super::{Answer, Home, RunningProgram, RunningServer};
use crate::program::signal;

#[test]
fn the_link_has_a_token_that_stays_the_same_and_speaks_for_the_user() {
    let home = Home::new();
    let server = RunningServer::start(&home, &[]);
    let me = server.get("/v1/me").json();
    assert_eq!(me["user"], "kim");
    assert_eq!(me["scopes"], json!(["chat", "decide", "tools", "admin"]));
    assert_eq!(server.ask(("GET", "/v1/me"), "", "").status, 401);
    assert_eq!(server.ask(("GET", "/healthz"), "", "").text, "ok");
    assert_eq!(server.ask(("GET", "/readyz"), "", "").json()["status"], "ready");
    let page = server.ask(("GET", "/"), "", "");
    assert!(page.status == 200 && page.text.contains("<!doctype html>"), "{page:?}");

    signal("KILL", server.id());
    let said = server.token().to_owned();
    server.program.ended();
    let again = RunningServer::start(&home, &[]);
    assert_eq!(again.token(), said);
    let file = home.path("data/madang/madang.db.token");
    let mode = file.metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o600, "others cannot read it");
}

#[test]
fn the_printed_link_and_its_logins_end_with_the_user_that_is_forgotten() {
    let home = Home::new();
    let server = RunningServer::start(&home, &[]);
    let said = server.token().to_owned();
    let send = |server: &RunningServer, line: &str, more: &str, body: &str| {
        let mut stream = server.connect();
        let host = server.address;
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let token = json!({ "token": said }).to_string();
    let login = send(&server, "POST /v1/login", "", &token);
    let (head, body) = login.split_once("\r\n\r\n").unwrap();
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let proof: Value = serde_json::from_str(body).unwrap();
    let proof = proof["proof"].as_str().unwrap();
    let halves = format!("cookie: {cookie}\r\nmadang-proof: {proof}\r\n");
    let me = |server: &RunningServer| send(server, "GET /v1/me", &halves, "")[9..12].to_owned();
    assert_eq!(me(&server), "200");
    signal("KILL", server.id());
    server.program.ended();

    let ended = home.run(&["forget", "kim", "--yes"], "");
    assert_eq!(ended.events().remove(0)["link"], true, "{ended:?}");
    let again = RunningServer::start(&home, &[]);
    assert_ne!(again.token(), said);
    assert_eq!(again.ask(("GET", "/v1/me"), &said, "").status, 401);
    assert_eq!(me(&again), "401");
}

#[test]
fn both_lines_name_the_address_and_the_link_speaks_the_language_of_the_environment() {
    let home = Home::new();
    let mut command = home.serve(&[], &["--listen", "127.0.0.1:0"]);
    command.env("LANG", "ko_KR.UTF-8");
    let server = RunningServer::of(command, "브라우저에서 여세요: http");
    let lines: Vec<_> = server.said.lines().collect();
    let link = format!("브라우저에서 여세요: http://{}/#token=mdg_", server.address);
    assert!(lines[1].starts_with(&link), "{lines:?}");
    assert_eq!(lines[0], format!("listening http://{}", server.address));
    signal("TERM", server.id());
    let ended = server.program.ended();
    assert_eq!((ended.code, &*ended.out), (Some(0), ""));
    assert!(ended.err.contains("서버를 끝냅니다"), "{ended:?}");
}

#[test]
fn behind_a_proxy_the_link_has_the_address_of_the_proxy() {
    let home = Home::new();
    let options = ["--listen", "127.0.0.1:0", "--public-url", "https://chat.example.org"];
    let server = RunningServer::of(home.serve(&[], &options), "open ");
    assert!(server.said.contains("open https://chat.example.org/#token=mdg_"), "{}", server.said);
}

#[test]
fn without_a_page_there_is_no_link_and_the_interface_is_as_it_was() {
    let home = Home::new();
    let server = RunningServer::start(&home, &[]);
    let token = server.token().to_owned();
    signal("TERM", server.id());
    server.program.ended();
    let command = home.serve(&[], &["--listen", "127.0.0.1:0", "--no-page"]);
    let server = RunningServer::of(command, "listening ");
    for path in ["/", "/assets/app.css"] {
        assert_eq!(server.ask(("GET", path), "", "").status, 404, "{path}");
    }
    assert_eq!(server.ask(("GET", "/v1/me"), &token, "").status, 200);
    signal("TERM", server.id());
    let ended = server.program.ended();
    assert_eq!(ended.out, "", "no link follows");
}

#[test]
fn an_open_server_asks_for_no_token_and_prints_none() {
    let home = Home::new();
    let command = home.serve(&[], &["--listen", "127.0.0.1:0", "--open"]);
    let server = RunningServer::of(command, "open ");
    assert!(server.said.ends_with("/\n"), "{}", server.said);
    let Answer { status, text } = server.ask(("GET", "/v1/me"), "", "");
    assert!(status == 200 && text.contains("\"kim\"") && !text.contains("admin"), "{text}");
    assert!(!home.path("data/madang/madang.db.token").exists());
    drop(server);
    let options = ["--listen", "127.0.0.1:0", "--open", "--open-scope", "chat,admin"];
    let server = RunningServer::of(home.serve(&[], &options), "open ");
    let asked = server.ask(("GET", "/v1/me"), "", "").text;
    assert!(asked.contains("\"admin\"") && !asked.contains("\"decide\""), "{asked}");
}

#[test]
fn the_server_ends_if_its_reader_left_before_the_address_and_not_if_it_left_later() {
    let home = Home::new();
    let mut server = RunningServer::start(&home, &[]);
    drop(server.program.child.stdout.take());
    assert_eq!(server.ask(("GET", "/healthz"), "", "").text, "ok");
    signal("TERM", server.id());
    assert_eq!(server.program.ended().code, Some(0));

    let mut program = RunningProgram::start(home.serve(&[], &["--listen", "127.0.0.1:0"]));
    drop(program.child.stdout.take());
    let ended = program.ended();
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
}

#[test]
fn a_low_limit_of_open_files_is_told() {
    let home = Home::new();
    let serve = home.serve(&[], &["--listen", "127.0.0.1:0"]);
    let mut command = home.command::<&str>(&[]);
    let program = mem::replace(&mut command, Command::new("/bin/sh"));
    command.args(["-c", "ulimit -n 600; exec \"$0\" \"$@\""]);
    command.arg(program.get_program()).args(serve.get_args()).current_dir(home.path("."));
    command.env_clear().envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let server = RunningServer::of(command, "open ");
    signal("TERM", server.id());
    let ended = server.program.ended();
    assert!(ended.err.contains("room for 88 connections"), "{ended:?}");
}
