//! A client over a raw connection: it sends the bytes that a test wants, and reads answers and
//! streams as they come.

use std::{
    fmt::Write as _,
    io::ErrorKind::{BrokenPipe, ConnectionReset},
    net::SocketAddr,
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

/// How long a test waits for anything before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A request to send.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: None }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: &str, body: &Value) -> Self {
        Self::new("POST", path).header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn headers(self, pairs: &[(&'static str, String)]) -> Self {
        pairs.iter().fold(self, |request, (name, value)| request.header(name, value))
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// The bytes of the request. A `Host` of the test's own goes before the usual one.
    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            write!(head, "host: {address}\r\n").unwrap();
        }
        for (name, value) in self.headers.iter().filter(|(_, value)| value != "(none)") {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if let Some(body) = &self.body {
            write!(head, "content-length: {}\r\n", body.len()).unwrap();
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend(self.body.iter().flatten());
        bytes
    }

    /// Sends the request over a connection of its own, and reads the answer to its end.
    pub(crate) async fn send(self, address: SocketAddr) -> Answer {
        // In all: a stream that came in place of an answer would go on for ever.
        let answer = async {
            let mut connection = Connection::open(address).await;
            connection.write(&self.bytes(address)).await;
            connection.answer(&self.method).await
        };
        timeout(PATIENCE * 2, answer).await.expect("the answer ends in time")
    }

    /// Sends the request and reads the answer's head alone: the body may have no end.
    pub(crate) async fn head(self, address: SocketAddr) -> Answer {
        let mut connection = Connection::open(address).await;
        connection.write(&self.bytes(address)).await;
        let (status, headers) = connection.head().await;
        Answer { status, headers, body: Vec::new() }
    }

    /// Sends the request and reads nothing.
    #[cfg(feature = "mcp")]
    pub(crate) async fn sent(self, address: SocketAddr) -> Connection {
        let mut connection = Connection::open(address).await;
        connection.write(&self.bytes(address)).await;
        connection
    }

    /// Sends the request and reads the first bytes of the answer alone, over a connection that
    /// holds few.
    pub(crate) async fn unread(self, address: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        stream.write_all(&self.bytes(address)).await.unwrap();
        let mut first = [0; 16];
        stream.read_exact(&mut first).await.unwrap();
        assert!(first.starts_with(b"HTTP/1.1 200"));
        stream
    }

    /// Sends the request and reads the answer's head; the body is a stream of events.
    pub(crate) async fn stream(self, address: SocketAddr) -> EventReader {
        let mut connection = Connection::open(address).await;
        connection.write(&self.bytes(address)).await;
        let (status, headers) = connection.head().await;
        assert_eq!(status, 200, "{}", connection.rest().await);
        let is_stream = |(name, value): &(String, String)| {
            name == "content-type" && value == "text/event-stream"
        };
        assert!(headers.iter().any(is_stream), "{headers:?}");
        EventReader { connection, headers, text: String::new(), is_ended: None }
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.text()))
    }

    /// The JSON of an answer with this status.
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// The name of the problem that the answer is.
    pub(crate) fn problem(&self) -> String {
        let body = self.json();
        let name = body["type"].as_str().map(|kind| kind.trim_start_matches("/problems/"));
        name.or(body["error"]["code"].as_str()).unwrap_or_default().to_owned()
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
}

/// A connection with what was read of it and not used yet.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), read: Vec::new() }
    }

    /// Writes all, or as much as the server takes: one that refuses a long body closes before its end,
    /// and its answer says why.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        match self.stream.write_all(bytes).await {
            Err(error) if [BrokenPipe, ConnectionReset].contains(&error.kind()) => {}
            written => written.unwrap(),
        }
    }

    /// Reads more; false at the end of the connection, however it ended.
    async fn more(&mut self) -> bool {
        let mut buffer = vec![0; 64 * 1024];
        let read = timeout(PATIENCE, self.stream.read(&mut buffer)).await;
        let read = read.unwrap_or_else(|_| {
            panic!("waited too long; so far: {:?}", String::from_utf8_lossy(&self.read))
        });
        let count = read.unwrap_or(0);
        self.read.extend_from_slice(&buffer[..count]);
        count > 0
    }

    /// Waits until the server has closed the connection, and gives what came before.
    pub(crate) async fn rest(&mut self) -> String {
        while self.more().await {}
        String::from_utf8_lossy(&self.read).into_owned()
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.read.drain(..end + 2).collect();
                return Some(String::from_utf8(line[..end].to_vec()).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.read.len() < count {
            if !self.more().await {
                return None;
            }
        }
        Some(self.read.drain(..count).collect())
    }

    pub(crate) async fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let first = self.line().await.expect("the server answers");
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await.expect("the head has an end");
            if line.is_empty() {
                return (status, headers);
            }
            let (name, value) = line.split_once(':').unwrap();
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// Reads a whole answer to a request of this method.
    pub(crate) async fn answer(&mut self, method: &str) -> Answer {
        let (status, headers) = self.head().await;
        let has_none = method == "HEAD" || status == 204 || status == 304;
        let body = if has_none {
            Vec::new()
        } else if let Some(length) = find(&headers, "content-length") {
            self.exactly(length.parse().unwrap()).await.expect("the body is whole")
        } else if find(&headers, "transfer-encoding") == Some("chunked") {
            let mut body = Vec::new();
            while let Some(chunk) = self.chunk().await.expect("the body is whole") {
                body.extend(chunk);
            }
            body
        } else {
            Vec::new()
        };
        Answer { status, headers, body }
    }

    /// Reads a chunk; `Some(None)` behind the last, `None` where the body broke off.
    async fn chunk(&mut self) -> Option<Option<Vec<u8>>> {
        let size = usize::from_str_radix(self.line().await?.trim(), 16).unwrap();
        let chunk = self.exactly(size).await?;
        self.line().await?;
        Some((size > 0).then_some(chunk))
    }
}

/// A frame of a stream.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Value,
    /// Comments and times to come back.
    pub(crate) other: Vec<String>,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    Whole,
    BrokenOff,
}

/// Reads the frames of a stream.
#[derive(Debug)]
pub(crate) struct EventReader {
    connection: Connection,
    pub(crate) headers: Vec<(String, String)>,
    text: String,
    is_ended: Option<StreamEnd>,
}

impl EventReader {
    /// The next frame of any kind; `None` at the end.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let frame: String = self.text.drain(..end + 2).collect();
                return Some(parse(frame.trim_end()));
            }
            if self.is_ended.is_some() {
                return None;
            }
            match self.connection.chunk().await {
                Some(Some(chunk)) => self.text.push_str(str::from_utf8(&chunk).unwrap()),
                Some(None) => self.is_ended = Some(StreamEnd::Whole),
                None => self.is_ended = Some(StreamEnd::BrokenOff),
            }
        }
    }

    /// The next frame with data.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            let frame = self.frame().await?;
            if frame.data != Value::Null {
                return Some(frame);
            }
        }
    }

    /// Reads on until a frame of this event, and gives all until then, itself included.
    pub(crate) async fn until(&mut self, event: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let next = timeout(PATIENCE, self.next()).await;
            let next = next.unwrap_or_else(|_| panic!("waited too long for {event}: {frames:#?}"));
            let Some(frame) = next else {
                panic!("the stream ended without {event}; so far: {frames:#?}")
            };
            let is_it = frame.event.as_deref() == Some(event);
            frames.push(frame);
            if is_it {
                return frames;
            }
        }
    }

    /// Reads on until a frame whose data this selects, and gives all until then, itself included.
    pub(crate) async fn until_data(&mut self, is_it: impl Fn(&Value) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let next = timeout(PATIENCE, self.next()).await;
            let next = next.unwrap_or_else(|_| panic!("waited too long: {frames:#?}"));
            let Some(frame) = next else { panic!("the stream ended; so far: {frames:#?}") };
            let found = is_it(&frame.data);
            frames.push(frame);
            if found {
                return frames;
            }
        }
    }

    /// Reads on until this comment.
    pub(crate) async fn until_comment(&mut self, text: &str) {
        let comes = async {
            while let Some(frame) = self.frame().await {
                if frame.other.iter().any(|line| line.contains(text)) {
                    return;
                }
            }
            panic!("the stream ended without the comment {text}");
        };
        timeout(PATIENCE, comes).await.expect("the comment comes in time");
    }

    /// A header of the answer.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Reads to the end, and tells how that was.
    pub(crate) async fn end(&mut self) -> (Vec<Frame>, StreamEnd) {
        let mut frames = Vec::new();
        let all = async {
            while let Some(frame) = self.next().await {
                frames.push(frame);
            }
        };
        timeout(PATIENCE, all).await.expect("the stream ends in time");
        (frames, self.is_ended.unwrap())
    }
}

fn parse(text: &str) -> Frame {
    let mut frame = Frame::default();
    for line in text.lines() {
        match line.split_once(": ").unwrap_or((line, "")) {
            ("id", id) => frame.id = Some(id.to_owned()),
            ("event", event) => frame.event = Some(event.to_owned()),
            ("data", data) => {
                frame.data = serde_json::from_str(data).unwrap_or_else(|_| data.into());
            }
            _ => frame.other.push(line.to_owned()),
        }
    }
    frame
}
