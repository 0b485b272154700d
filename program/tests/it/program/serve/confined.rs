//! Tests that the process that reads a model's file has neither the secrets, nor the files, nor the
//! rights of the program.

#![cfg(target_os = "linux")]

use std::{fs, net::TcpListener, os::fd::OwnedFd};

use super::{
    super::running::{RunningProgram, children, signal},
    Home, RunningServer,
    addresses::third_of,
};

/// Gives where each open file of this process leads.
fn open_files(process: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let led = files.map(|file| fs::read_link(file.unwrap().path()).unwrap());
    led.map(|path| path.display().to_string()).collect()
}

#[test]
fn the_models_process_has_no_socket_no_secret_and_no_way_to_more_rights() {
    let home = Home::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut serve = home.command(&["serve", "--engine", "child", "--listen", "fd:3"]);
    serve.env("OPENAI_API_KEY", "sk-of-a-test").env("HF_TOKEN", "hf-of-a-test");
    serve.env("LC_NUMERIC", "C");
    let third = OwnedFd::from(socket.try_clone().unwrap());
    let program = RunningProgram::spawned(third_of(&home, &serve, third.into()));
    let server = RunningServer::once_up(program, "open ");
    let [child] = children(server.id())[..] else { panic!("not one child") };

    let sockets = |process| {
        let files = open_files(process).into_iter();
        files.filter(|file| file.starts_with("socket:")).collect::<Vec<_>>()
    };
    let listened = sockets(server.id());
    assert!(!listened.is_empty());
    assert!(sockets(child).iter().all(|file| !listened.contains(file)), "{:?}", open_files(child));

    let variables = fs::read_to_string(format!("/proc/{child}/environ")).unwrap();
    assert!(!variables.contains("of-a-test"), "{variables:?}");
    assert!(variables.split('\0').any(|variable| variable == "LC_NUMERIC=C"), "{variables:?}");

    let threads = fs::read_dir(format!("/proc/{child}/task")).unwrap();
    for thread in threads {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
    }
    signal("TERM", server.id());
    assert_eq!(server.program.ended().code, Some(0));
}
