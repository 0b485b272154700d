//! A request as its bytes, so that a client can send a part of it and leave it at that.

use std::{
    io::{BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;
use tokio::time::Instant;

use crate::program::{PATIENCE, serve::Answer};

/// A request on a connection of its own.
#[derive(Debug, Clone)]
pub(super) struct Request {
    head: String,
    body: Vec<u8>,
}

/// A connection on which a request was sent, but for its end.
#[derive(Debug)]
pub(super) struct Begun {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Request {
    /// Begins a request with this line and token.
    pub(super) fn new(line: &str, token: &str) -> Self {
        let head =
            format!("{line} HTTP/1.1\r\nconnection: close\r\nauthorization: Bearer {token}\r\n");
        Self { head, body: Vec::new() }
    }

    pub(super) fn get(path: &str, token: &str) -> Self {
        Self::new(&format!("GET {path}"), token)
    }

    pub(super) fn post(path: &str, token: &str, body: &Value) -> Self {
        Self::new(&format!("POST {path}"), token).typed("application/json", &body.to_string())
    }

    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// Adds a body of this media type.
    pub(super) fn typed(self, kind: &str, body: &str) -> Self {
        let length = body.len().to_string();
        self.field("content-type", kind).field("content-length", &length).raw(body.as_bytes())
    }

    /// Adds bytes behind the head, whatever the head says of them.
    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.body.extend_from_slice(bytes);
        self
    }

    pub(super) fn bytes(&self, host: SocketAddr) -> Vec<u8> {
        let head = format!("{}host: {host}\r\n\r\n", self.head);
        [head.as_bytes(), &self.body].concat()
    }

    /// Sends the request and reads the whole answer.
    pub(super) fn answer(&self, address: SocketAddr) -> Answer {
        let sent = self.begin(address, 0);
        sent.answer().unwrap_or_else(|| panic!("no answer to {:?}", self.head))
    }

    /// Sends the request but for so many bytes at its end.
    pub(super) fn begin(&self, address: SocketAddr, left: usize) -> Begun {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let mut sent = self.bytes(address);
        let rest = sent.split_off(sent.len() - left);
        // The server may have refused the request before its end.
        let _ = stream.write_all(&sent);
        Begun { stream, rest }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Begun {
    /// Sends the end of the request, if the server still takes it.
    pub(super) fn finish(&mut self) {
        let _ = self.stream.write_all(&self.rest);
    }

    /// Waits for the first byte of the answer.
    pub(super) fn until_answered(&self) {
        assert!(self.stream.peek(&mut [0]).unwrap() > 0, "the server closed the connection");
    }

    /// Gives the stream to read from.
    pub(super) fn reads(self) -> BufReader<TcpStream> {
        BufReader::new(self.stream)
    }

    /// Gives the ports of the client and of the server.
    pub(super) fn ports(&self) -> (u16, u16) {
        (self.stream.local_addr().unwrap().port(), self.stream.peer_addr().unwrap().port())
    }

    /// Reads what the server says until it closes the connection. `None` where that is no whole
    /// answer.
    pub(super) fn answer(mut self) -> Option<Answer> {
        let begin = Instant::now();
        let mut answer = Vec::new();
        let mut piece = [0; 16 * 1024];
        // An error says that the connection was cut.
        while let Ok(count @ 1..) = self.stream.read(&mut piece) {
            answer.extend_from_slice(&piece[..count]);
            assert!(begin.elapsed() < PATIENCE, "the connection stays open: {}", lossy(&answer));
        }
        assert!(begin.elapsed() < PATIENCE, "the connection stays open: {}", lossy(&answer));
        let answer = String::from_utf8(answer).ok()?;
        let (head, text) = answer.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let is_whole = length.is_none_or(|length| length == text.len().to_string());
        let status = head.split(' ').nth(1)?.parse().ok()?;
        is_whole.then(|| Answer { status, text: text.to_owned() })
    }
}
