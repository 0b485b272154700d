//! Tests `madang serve` and `madang token` as their users run them: the built binary, spoken to
//! over sockets.
//!
//! `link` tests what the program prints and what that opens, `restarts` its ends and its next
//! starts, and `misuse` its ends while clients do wrong. `addresses` tests where it listens,
//! `tokens` what opens it, `metrics` what it measures, `mcp` the servers whose tools it calls, and
//! `mcp_clients` the clients of `/mcp`. `confined` tests what the model's process may have, and
//! `deleted` what is left of a deleted chat.

mod addresses;
mod confined;
mod deleted;
mod link;
mod mcp;
mod mcp_clients;
mod metrics;
mod misuse;
mod restarts;
mod tokens;

use std::{
    io::{BufRead as _, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::Command,
};

use serde_json::{Value, json};

use super::{Home, PATIENCE, RunningProgram};

/// A running server that has said where it listens.
struct RunningServer {
    program: RunningProgram,
    /// What it printed.
    said: String,
    address: SocketAddr,
}

/// The answer to a request.
#[derive(Debug)]
struct Answer {
    status: u16,
    text: String,
}

impl Home {
    /// Gives the command that serves this script, with these options.
    fn serve(&self, script: &[Value], options: &[&str]) -> Command {
        let script = self.script(script);
        let mut arguments = vec!["serve", "--script", script.to_str().unwrap()];
        arguments.extend(options);
        self.command(&arguments)
    }
}

impl RunningServer {
    /// Starts a server on a port that the system chooses.
    fn start(home: &Home, script: &[Value]) -> Self {
        Self::of(home.serve(script, &["--listen", "127.0.0.1:0"]), "open ")
    }

    /// Starts a server and reads what it prints, up to the line that begins so.
    fn of(command: Command, last: &str) -> Self {
        Self::once_up(RunningProgram::start(command), last)
    }

    /// Reads what a program prints once it serves.
    fn once_up(mut program: RunningProgram, last: &str) -> Self {
        let said = program.until(last);
        let address = said.lines().find_map(|line| line.strip_prefix("listening http://"));
        let address = address.unwrap_or_else(|| panic!("no address: {said:?}"));
        Self { program, address: address.parse().unwrap(), said }
    }

    /// Gives the token of the link that it printed.
    fn token(&self) -> &str {
        let link = self.said.lines().last().unwrap();
        link.split_once("/#token=").unwrap_or_else(|| panic!("no token: {link}")).1
    }

    fn id(&self) -> u32 {
        self.program.child.id()
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(("GET", path), self.token(), "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(("POST", path), self.token(), &body.to_string())
    }

    fn ask(&self, line: (&str, &str), token: &str, body: &str) -> Answer {
        ask(self.connect(), &self.address.to_string(), line, token, body)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Opens a chat and begins a turn with this text.
    fn begin(&self, session: &str, text: &str) -> Answer {
        assert!([200, 201].contains(&self.post("/v1/sessions", &json!({ "id": session })).status));
        self.post(&format!("/v1/sessions/{session}/turns"), &json!({ "text": text }))
    }

    /// Opens the stream of a chat's events from its beginning.
    fn events(&self, session: &str) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        let path = format!("/v1/sessions/{session}/events");
        write(&mut stream, &self.address.to_string(), ("GET", &path), self.token(), "");
        BufReader::new(stream)
    }

    /// Waits until the chat's transcript has a message with this text.
    fn until_said(&self, session: &str, text: &str) {
        // A piece of the text comes before the message is there.
        let mut events = self.events(session);
        while !until_line(&mut events, "_message\",").contains(text) {}
    }
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Reads a stream up to a line with this text, and gives that line.
fn until_line(stream: &mut BufReader<impl Read>, wanted: &str) -> String {
    let mut read = String::new();
    loop {
        let begin = read.len();
        let bytes = stream.read_line(&mut read).unwrap();
        assert!(bytes > 0, "the stream ended before {wanted:?}: {read}");
        if read[begin..].contains(wanted) {
            return read[begin..].to_owned();
        }
    }
}

/// Asks a host over a fresh connection, and reads the whole answer.
fn ask(
    mut stream: impl Read + Write,
    host: &str,
    line: (&str, &str),
    token: &str,
    body: &str,
) -> Answer {
    write(&mut stream, host, line, token, body);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (_, text) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    Answer { status: status.unwrap(), text: text.to_owned() }
}

fn write(
    stream: &mut impl Write,
    host: &str,
    (method, path): (&str, &str),
    token: &str,
    body: &str,
) {
    let credential = match token {
        "" => String::new(),
        token => format!("authorization: Bearer {token}\r\n"),
    };
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{credential}\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
}
