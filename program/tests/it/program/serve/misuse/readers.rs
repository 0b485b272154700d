//! Tests many readers that come back at once to a server that ends meanwhile: each hears each event
//! once.
//!
//! `make soak` has ten thousand of them, `make test` fewer.

use std::{
    collections::HashSet,
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    thread,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::time::Instant;

use super::{PROMISED, request::Request, stage::free_port};
use crate::program::{Home, PATIENCE, serve::RunningServer, signal};

/// The readers where the environment names no number.
const READERS: usize = 400;
/// The chats of one user: three requests for each are what a user may send at once.
const OF_A_USER: usize = 30;
/// The events of a chat.
const EVENTS: [&str; 3] = ["user_message 1", "model_message 2", "turn_ended 2.2"];

/// A reader of a chat of its own.
struct Reader {
    chat: usize,
    /// The cursor of the last event.
    cursor: Option<String>,
    /// The events that were heard, each with its cursor.
    heard: Vec<String>,
    stream: Option<BufReader<TcpStream>>,
}

impl Reader {
    /// Connects and asks for what is behind the cursor. False where no server listens.
    fn comes(&mut self, address: SocketAddr, token: &str) -> bool {
        // What an earlier connection left unread is no part of the next answer.
        self.stream = None;
        let path = format!("/v1/sessions/chat{}/events", self.chat);
        let mut request = Request::get(&path, token).field("madang-user", &user(self.chat));
        if let Some(cursor) = &self.cursor {
            request = request.field("last-event-id", cursor);
        }
        let Ok(mut stream) = TcpStream::connect_timeout(&address, PATIENCE) else { return false };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let is_sent = stream.write_all(&request.bytes(address)).is_ok();
        self.stream = Some(BufReader::new(stream));
        is_sent
    }

    /// Waits until the server says something.
    fn until_answered(&self) {
        let stream = self.stream.as_ref().unwrap().get_ref();
        assert!(stream.peek(&mut [0]).unwrap() > 0, "the server closed the connection");
    }

    /// Hears events until it has so many, or the stream ends. A server that ends may send it away.
    fn hears(&mut self, most: usize) {
        let Some(stream) = &mut self.stream else { return };
        let mut id = String::new();
        let mut name = String::new();
        let mut line = String::new();
        if !matches!(stream.read_line(&mut line), Ok(1..)) {
            return;
        }
        assert!(line.contains(" 200 ") || line.contains(" 503 "), "{line}");
        line.clear();
        while self.heard.len() < most && matches!(stream.read_line(&mut line), Ok(1..)) {
            match line.trim_end().split_once(": ") {
                Some(("id", text)) => text.clone_into(&mut id),
                Some(("event", text)) => text.clone_into(&mut name),
                None if line == "\n" && !id.is_empty() => {
                    let cursor = id.split('@').next().unwrap();
                    self.heard.push(format!("{name} {cursor}"));
                    self.cursor = Some(std::mem::take(&mut id));
                }
                Some(_) | None => {}
            }
            line.clear();
        }
    }

    /// Forgets what it has heard once that is all, so that there is something to hear at the next
    /// server.
    fn begins_anew_at_the_end(&mut self) -> bool {
        let has_all = self.heard.len() == EVENTS.len();
        if has_all {
            assert_eq!(std::mem::take(&mut self.heard), EVENTS, "chat {}", self.chat);
            self.cursor = None;
        }
        has_all
    }
}

fn user(chat: usize) -> String {
    format!("user{}", chat / OF_A_USER)
}

/// Lets this process have as many open files as it may, of which each reader is one.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

#[test]
fn readers_that_come_back_at_once_to_a_server_that_ends_hear_each_event_once() {
    raise_open_files();
    let count = std::env::var("MADANG_READERS").map_or(READERS, |count| count.parse().unwrap());
    let home = Home::new();
    let token = home.added(&["--service", "web", "--scope", "chat"]);
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let start = || {
        let script = vec![json!({ "text": "Here I am." }); count];
        RunningServer::of(home.serve(&script, &["--listen", &address.to_string()]), "open ")
    };
    let server = start();
    speak(count, address, &token);
    let reader = |chat| Reader { chat, cursor: None, heard: Vec::new(), stream: None };
    let mut readers: Vec<_> = (0..count).map(reader).collect();
    for reader in &mut readers {
        assert!(reader.comes(address, &token));
    }
    readers.iter_mut().for_each(|reader| reader.hears(1));
    let ledger = || home.run(&["ledger", "--verify"], "").out;
    let before = ledger();
    signal("KILL", server.id());
    server.program.ended();

    for name in ["TERM", "KILL"] {
        let server = start();
        let mut begin = None;
        for number in 0..count {
            if number == count / 2 {
                // Some have heard all by then, and the others come.
                readers[count / 4].until_answered();
                begin = Some(Instant::now());
                signal(name, server.id());
            }
            readers[number].comes(address, &token);
        }
        let mut all = 0;
        for reader in &mut readers {
            reader.hears(EVENTS.len());
            all += usize::from(reader.begins_anew_at_the_end());
        }
        let ended = server.program.ended();
        assert_eq!(ended.code, (name == "TERM").then_some(0), "{ended:?}");
        let took = begin.unwrap().elapsed();
        assert!(name == "KILL" || took < PROMISED, "{took:?}");
        println!("{name} among {count} readers: {all} had heard all; the end took {took:?}");
    }

    let server = start();
    let begin = Instant::now();
    // The server may send some of them away, to come again.
    let mut waits: HashSet<usize> = (0..count).collect();
    while !waits.is_empty() {
        assert!(begin.elapsed() < 2 * PATIENCE, "{} readers hear nothing", waits.len());
        for chat in &waits {
            assert!(readers[*chat].comes(address, &token));
        }
        waits.retain(|chat| {
            readers[*chat].hears(EVENTS.len());
            readers[*chat].heard.len() < EVENTS.len()
        });
    }
    for reader in &readers {
        assert_eq!(reader.heard, EVENTS, "chat {}", reader.chat);
    }
    signal("TERM", server.id());
    assert_eq!(server.program.ended().code, Some(0));
    assert_eq!(ledger(), before);
}

/// Takes a turn in each chat.
fn speak(count: usize, address: SocketAddr, token: &str) {
    thread::scope(|scope| {
        for first in 0..8 {
            scope.spawn(move || {
                for chat in (first..count).step_by(8) {
                    let name = format!("chat{chat}");
                    let user = user(chat);
                    let post = |path: &str, body| {
                        let request = Request::post(path, token, &body);
                        request
                            .field("madang-user", &user)
                            .field("prefer", "wait=30")
                            .answer(address)
                    };
                    assert_eq!(post("/v1/sessions", json!({ "id": name })).status, 201);
                    let turn = post(&format!("/v1/sessions/{name}/turns"), json!({ "text": "hi" }));
                    assert_eq!(turn.status, 200, "{turn:?}");
                }
            });
        }
    });
}
