//! Tests where a server listens, and that no option opens it to other machines in an unsafe way.

use std::{
    net::TcpListener,
    os::{
        fd::OwnedFd,
        unix::{fs::MetadataExt as _, net::UnixStream},
    },
    process::{Command, Stdio},
};

use super::{Home, PATIENCE, RunningProgram, RunningServer, ask};
use crate::program::signal;

#[test]
fn what_would_be_open_to_other_machines_is_wrong_usage_and_touches_nothing() {
    let home = Home::new();
    for (options, words) in [
        (&["--open"][..], &["without a token", "--open"][..]),
        (&[], &["--tokens FILE", "madang token add"]),
        (&["--tokens", "tokens"], &["in clear text", "--public-url https://"]),
        (&["--tokens", "tokens", "--public-url", "http://chat.example.org"], &["in clear text"]),
        (
            &["--tokens", "tokens", "--tls-cert", "cert.pem", "--tls-key", "key.pem"],
            &["--public-url https://"],
        ),
        (
            &["--jwt", "keys", "--jwt-issuer", "https://login", "--jwt-audience", "madang"],
            &["in clear text"],
        ),
    ] {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
            let ended = RunningProgram::start(home.serve(
                &[],
                &[&["--listen", "127.0.0.1:0", "--listen", address], options].concat(),
            ))
            .ended();
            assert_eq!((ended.code, &*ended.out), (Some(2), ""), "{ended:?}");
            for word in [&[address, "madang serve"][..], words].concat() {
                assert!(ended.err.contains(word), "{word:?} is missing in {ended:?}");
            }
        }
    }
    assert!(!home.path("data").exists() && !home.path("tokens").exists());
}

#[test]
fn with_tokens_and_a_proxy_it_listens_on_any_address() {
    let home = Home::new();
    let tokens = home.secret("tokens", "");
    let options = ["--listen", "0.0.0.0:0", "--public-url", "https://chat.example.org", "--tokens"];
    let options = [&options[..], &[tokens.to_str().unwrap()]].concat();
    let server = RunningServer::of(home.serve(&[], &options), "open ");
    assert!(server.said.ends_with("open https://chat.example.org/\n"), "{}", server.said);
    let answer = ask(server.connect(), "chat.example.org", ("GET", "/v1/me"), "", "");
    assert_eq!(answer.status, 401, "{answer:?}");
    let answer = ask(server.connect(), "another.example.org", ("GET", "/"), "", "");
    assert_eq!(answer.status, 403, "{answer:?}");
}

#[test]
fn with_a_certificate_it_speaks_tls_and_a_bad_one_starts_nothing() {
    let home = Home::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = home.file("cert.pem", made.cert.pem());
    let key = home.file("key.pem", made.signing_key.serialize_pem());
    let start = |key: &std::path::Path| {
        let files = [certificate.to_str().unwrap(), key.to_str().unwrap()];
        let options = ["--listen", "127.0.0.1:0", "--tls-cert", files[0], "--tls-key", files[1]];
        RunningProgram::start(home.serve(&[], &options))
    };
    let ended = start(&certificate).ended();
    assert_eq!((ended.code, &*ended.out), (Some(1), ""), "{ended:?}");
    assert!(ended.err.contains("private key as PEM from") && ended.err.contains("cert.pem"));
    assert!(!home.path("data").exists(), "nothing was opened");
    let mut program = start(&key);
    let said = program.until("open ");
    let address = said.lines().find_map(|line| line.strip_prefix("listening https://")).unwrap();
    assert!(said.contains(&format!("open https://{address}/#token=mdg_")), "{said}");
    let mut clear = std::net::TcpStream::connect(address).unwrap();
    clear.set_read_timeout(Some(PATIENCE)).unwrap();
    std::io::Write::write_all(&mut clear, b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut clear, &mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "it answers in clear text");
}

#[test]
fn a_unix_socket_is_for_its_owner_and_goes_with_the_server() {
    let home = Home::new();
    let path = home.path("madang.sock");
    let address = format!("unix:{}", path.display());
    let start = || {
        let mut program = RunningProgram::start(home.serve(&[], &["--listen", &address, "--open"]));
        assert_eq!(program.until("listening "), format!("listening {address}\n"));
        program
    };
    let me = || {
        let stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        ask(stream, "localhost", ("GET", "/v1/me"), "", "").json()["user"].clone()
    };
    let server = start();
    assert_eq!(me(), "kim");
    let mode = path.metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    signal("KILL", server.child.id());
    server.ended();
    assert!(path.exists(), "a killed process leaves it");
    let server = start();
    assert_eq!(me(), "kim");
    signal("TERM", server.child.id());
    assert_eq!(server.ended().out, "", "there is no link for a socket");
    assert!(!path.exists());
}

/// Gives the command that has this as its file number 3.
fn with_third(home: &Home, third: Stdio) -> Command {
    third_of(home, &home.serve(&[], &["--listen", "fd:3"]), third)
}

/// Gives this command of the program with this as its file number 3.
pub(super) fn third_of(home: &Home, serve: &Command, third: Stdio) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" \"$@\" 3<&0 </dev/null"]).arg(serve.get_program());
    command.args(serve.get_args()).current_dir(home.path(".")).env_clear();
    command.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(third).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn an_inherited_socket_outlives_its_servers_and_keeps_the_requests_between_them() {
    let home = Home::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let start = || {
        let third = OwnedFd::from(socket.try_clone().unwrap());
        RunningProgram::spawned(with_third(&home, third.into()))
    };
    let server = RunningServer::once_up(start(), "open ");
    assert_eq!(server.address, socket.local_addr().unwrap());
    let token = server.token().to_owned();
    signal("KILL", server.id());
    let early = server.connect();
    server.program.ended();
    let server = start();
    let answer =
        ask(early, &socket.local_addr().unwrap().to_string(), ("GET", "/v1/me"), &token, "");
    assert_eq!(answer.status, 200, "{answer:?}");
    signal("TERM", server.child.id());
    assert_eq!(server.ended().code, Some(0));
}

#[test]
fn a_number_that_is_no_socket_and_an_address_of_another_machine_are_told() {
    let home = Home::new();
    let nothing = RunningProgram::spawned(with_third(&home, Stdio::null()));
    nothing.ended().failed_with(&["failed to listen on fd:3", "--listen"]);
    let options =
        ["--listen", "192.0.2.1:80", "--tokens", "none", "--public-url", "https://a.example"];
    let ended = RunningProgram::start(home.serve(&[], &options)).ended();
    assert!(ended.err.contains("failed to listen on 192.0.2.1:80 ("), "{ended:?}");
    assert_eq!((ended.code, &*ended.out), (Some(1), ""));
    for address in ["8137", "example.org:80", "unix:", "fd:2"] {
        let ended = RunningProgram::start(home.serve(&[], &["--listen", address])).ended();
        assert_eq!(ended.code, Some(2), "{address}");
    }
    assert!(!home.path("data").exists(), "nothing is left of what could not begin");
}
