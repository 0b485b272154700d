//! Tests that a server may end at any moment: by a signal or without one, and the next one goes on.

use std::{
    fs,
    io::{BufReader, Write as _},
    process::Command,
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Home, PATIENCE, RunningProgram, RunningServer, until_line};
use crate::program::{add_habit, signal};

/// The longest end that the program promises.
const PROMISED: Duration = Duration::from_secs(35);

fn slow() -> Value {
    json!({ "text": "an answer that takes long", "delay_ms": 2_400_000 })
}

/// Gives the command that serves on this server's port.
fn on_the_same_port(
    home: &Home,
    server: &RunningServer,
    script: &[Value],
    more: &[&str],
) -> Command {
    let address = server.address.to_string();
    home.serve(script, &[&["--listen", &address], more].concat())
}

/// Waits until the process would handle SIGTERM itself.
fn until_it_catches_signals(id: u32) {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 14 != 0 {
            return;
        }
        thread::yield_now();
    }
    panic!("the program catches no signals");
}

#[test]
fn a_killed_server_goes_on_with_its_turns_and_its_questions() {
    let home = Home::new();
    let server = RunningServer::start(&home, &[add_habit()]);
    assert_eq!(server.begin("asks", "add it").status, 202);
    let asked = until_line(&mut server.events("asks"), r#""type":"approval_requested""#);
    let asked: Value = serde_json::from_str(asked.trim_start_matches("data: ")).unwrap();
    let again = on_the_same_port(&home, &server, &[json!({ "text": "It is added." })], &[]);
    signal("KILL", server.id());
    server.program.ended();

    let server = RunningServer::of(again, "open ");
    // It is asked anew, and bound to the very same arguments.
    let asked_again = until_line(&mut server.events("asks"), r#""type":"approval_requested""#);
    assert!(asked_again.contains(asked["digest"].as_str().unwrap()), "{asked_again}");
    let path = format!("/v1/approvals/{}/decision", asked["call"].as_str().unwrap());
    let yes = json!({ "digest": asked["digest"], "decision": "approve" });
    for already in [Value::Null, json!(true)] {
        let answer = server.post(&path, &yes);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["already"], already);
    }
    server.until_said("asks", "It is added.");
    signal("TERM", server.id());
    assert_eq!(server.program.ended().code, Some(0));
    assert_eq!(home.habits(), 1);
}

#[test]
fn a_signal_ends_it_in_order_in_mid_turn_and_readers_hear_when_to_come_back() {
    for name in ["TERM", "HUP", "INT"] {
        let home = Home::new();
        let server = RunningServer::start(&home, &[slow()]);
        assert_eq!(server.begin("one", "go on").status, 202);
        let mut events = server.events("one");
        until_line(&mut events, "an a");
        let again = on_the_same_port(&home, &server, &[json!({ "text": "Here I am." })], &[]);
        let begin = Instant::now();
        signal(name, server.id());
        let bye = until_line(&mut events, r#""type":"bye""#);
        assert!(bye.contains(r#""reason":"draining","retry_ms":"#), "{bye}");
        let ended = server.program.ended();
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        assert!(begin.elapsed() < PROMISED, "{name}: {:?}", begin.elapsed());
        assert!(ended.err.contains("the server ends"), "{ended:?}");

        let server = RunningServer::of(again, "open ");
        server.until_said("one", "Here I am.");
        let view = server.get("/v1/sessions/one").json();
        let said: Vec<_> =
            view["messages"].as_array().unwrap().iter().map(|entry| &entry["text"]).collect();
        assert_eq!(said, ["go on", "Here I am."], "{name}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let home = Home::new();
    let mut server = RunningServer::start(&home, &[]);
    // A request whose body does not come holds up the end for as long as goodbyes may last.
    let mut request = server.connect();
    let host = server.address;
    let token = server.token();
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\ncontent-length: 2\r\n\r\n"
    );
    request.write_all(head.as_bytes()).unwrap();
    let mut request = BufReader::new(request);
    until_line(&mut request, "100 Continue");
    signal("TERM", server.id());
    let mut err = BufReader::new(server.program.child.stderr.take().unwrap());
    until_line(&mut err, "a second signal ends it at once");
    signal("INT", server.id());
    assert_eq!(server.program.ended().code, Some(1));
    assert_eq!(home.run(&["ledger"], "").code, Some(0), "the database is whole and free");
}

#[test]
fn one_process_writes_a_database_and_the_next_takes_it_over_with_the_address() {
    let home = Home::new();
    let server = RunningServer::start(&home, &[slow()]);
    assert_eq!(server.begin("one", "go on").status, 202);
    until_line(&mut server.events("one"), "an a");
    let script = [json!({ "text": "Taken over." })];

    let next = on_the_same_port(&home, &server, &script, &["--wait-for-lock", "60"]);
    let next = RunningProgram::start(next);
    let elsewhere = home.serve(&script, &["--listen", "127.0.0.1:0"]);
    let refused = RunningProgram::start(elsewhere).ended();
    refused.failed_with(&["is in use by another process", "--wait-for-lock SECONDS"]);
    let here = on_the_same_port(&home, &server, &script, &["--db", "other.db"]);
    let refused = RunningProgram::start(here).ended();
    refused.failed_with(&["another process listens on", "--listen"]);
    assert!(!home.path("other.db").exists(), "nothing is left of what could not begin");

    signal("TERM", server.id());
    assert_eq!(server.program.ended().code, Some(0));
    let next = RunningServer::once_up(next, "open ");
    next.until_said("one", "Taken over.");
}

#[test]
fn a_signal_ends_the_wait_for_the_process_before() {
    let home = Home::new();
    let server = RunningServer::start(&home, &[]);
    for listen in [server.address.to_string(), "127.0.0.1:0".to_owned()] {
        let waits = home.serve(&[], &["--listen", &listen, "--wait-for-lock", "600"]);
        let waits = RunningProgram::start(waits);
        until_it_catches_signals(waits.child.id());
        signal("TERM", waits.child.id());
        let begin = Instant::now();
        let ended = waits.ended();
        assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(0), "", ""), "{listen}");
        assert!(begin.elapsed() < PROMISED, "{listen}: {:?}", begin.elapsed());
    }
    assert_eq!(server.get("/healthz").text, "ok");
}
