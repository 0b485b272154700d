//! Tests the metrics that a collector reads: which callers may read them, and that they name no
//! person and no text.

use std::{net::TcpStream, os::unix::net::UnixStream};

use serde_json::{Value, json};

use super::{Answer, Home, PATIENCE, RunningServer, ask, until_line};
use crate::program::add_habit;

/// Connects to the address of the metrics, and asks it as this host.
fn collect(server: &RunningServer, host: Option<&str>, path: &str) -> Answer {
    let address = server.said.lines().find_map(|line| line.strip_prefix("metrics http://"));
    let address = address.and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    ask(stream, host.unwrap_or(address), ("GET", path), "", "")
}

#[test]
fn metrics_count_what_was_done_and_name_no_user_no_session_and_no_text() {
    let home = Home::new();
    let mut call = add_habit();
    call["tool_calls"][0]["arguments"]["framed_text"] = json!("나는 canary-argument");
    let script = [call, json!({ "text": "canary-answer" })];
    let options = ["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--user", "canary-user"];
    let server = RunningServer::of(home.serve(&script, &options), "open ");
    assert!(server.said.starts_with("listening "), "{}", server.said);
    server.begin("canary-session", "canary-text");
    let mut events = server.events("canary-session");
    let asked = until_line(&mut events, "approval_requested\"");
    let request: Value = serde_json::from_str(asked.trim_start_matches("data: ")).unwrap();
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    let decision = json!({
        "digest": request["digest"], "decision": "deny_with", "message": "canary-denial",
    });
    assert_eq!(server.post(&path, &decision).status, 200);
    until_line(&mut events, "turn_ended\"");
    assert_eq!(server.get("/v1/sessions/canary-unknown").status, 404);
    assert_eq!(server.get("/canary-path").status, 404);

    let told = collect(&server, None, "/metrics");
    assert_eq!(told.status, 200, "{told:?}");
    for wanted in [
        "# TYPE http_server_request_duration_seconds histogram",
        "route=\"/v1/sessions/{session}/turns\"",
        "madang_turns_total{",
        "madang_server_connections ",
        "madang_server_streams{surface=\"native\"} 1",
        // Tokens are counted in other steps than seconds.
        "le=\"262144\"",
        "le=\"0.0005\"",
    ] {
        assert!(told.text.contains(wanted), "{wanted:?} is missing in {}", told.text);
    }
    for secret in ["canary", "나는", server.token(), request["call"].as_str().unwrap()] {
        let line = told.text.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "they have {secret}: {line:?}");
    }
    // On the other addresses they are the same, for an admin.
    assert!(server.get("/metrics").text.contains("madang_turns_total{"));
}

#[test]
fn metrics_are_read_by_admins_and_at_an_address_of_their_own_which_has_nothing_else() {
    let home = Home::new();
    let ended = home.run(&["token", "add", "lee"], "");
    let lee = ended.out.trim_end();
    let options = ["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let server = RunningServer::of(home.serve(&[], &options), "open ");
    assert_eq!(server.ask(("GET", "/metrics"), "", "").status, 401);
    assert_eq!(server.ask(("GET", "/metrics"), server.token(), "").status, 200);
    assert_eq!(server.ask(("GET", "/metrics"), lee, "").status, 403);
    for path in ["/", "/v1/me", "/healthz", "/openapi.json", "/metrics/"] {
        assert_eq!(collect(&server, None, path).status, 404, "{path}");
    }
    // A page in a browser of this machine can point a name of its own at loopback.
    assert_eq!(collect(&server, Some("evil.example"), "/metrics").status, 403);
    assert_eq!(collect(&server, None, "/metrics").status, 200);
}

#[test]
fn without_the_option_there_are_no_metrics_also_for_an_admin() {
    let home = Home::new();
    let server = RunningServer::start(&home, &[]);
    assert_eq!(server.get("/metrics").status, 404);
    assert!(!server.said.contains("metrics"), "{}", server.said);
}

#[test]
fn other_machines_may_ask_under_any_name_where_the_address_is_theirs_to_reach() {
    let home = Home::new();
    let socket = home.path("metrics.sock");
    let unix = format!("unix:{}", socket.display());
    let options = ["--listen", "127.0.0.1:0", "--metrics", "0.0.0.0:0", "--metrics", &unix];
    let server = RunningServer::of(home.serve(&[], &options), "open ");
    let address = server.said.lines().find_map(|line| line.strip_prefix("metrics http://0.0.0.0:"));
    let port: u16 = address.unwrap().strip_suffix("/metrics").unwrap().parse().unwrap();
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    assert_eq!(ask(stream, "madang:9137", ("GET", "/metrics"), "", "").status, 200);
    let stream = UnixStream::connect(&socket).unwrap();
    assert_eq!(ask(stream, "localhost", ("GET", "/metrics"), "", "").status, 200);
}
