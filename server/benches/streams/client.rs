//! A client over raw connections: it reads the names of events, and nothing else, so that it costs
//! little.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpSocket, TcpStream},
};

use crate::chats;

/// Where the server is, and the secret that lets this client in.
#[derive(Debug, Clone)]
pub(crate) struct ServerAccess {
    pub(crate) address: SocketAddr,
    pub(crate) secret: String,
}

/// A stream of events that is open.
#[derive(Debug)]
pub(crate) struct EventStream {
    connection: BufReader<TcpStream>,
    line: Vec<u8>,
}

/// A connection for one request after the other.
#[derive(Debug)]
pub(crate) struct Requests {
    connection: BufReader<TcpStream>,
    access: ServerAccess,
}

/// Bytes that are read at once: ten thousand streams have such a buffer.
const BUFFER: usize = 1_024;

impl ServerAccess {
    fn head(&self, target: &str, chat: usize) -> String {
        let Self { address, secret } = self;
        let user = chats::user(chat);
        format!(
            "{target} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {secret}\r\nmadang-user: {user}\r\n"
        )
    }

    /// Opens the stream of a chat, from its beginning or behind a cursor; an error where that is
    /// refused.
    pub(crate) async fn stream(&self, chat: usize, after: Option<&str>) -> io::Result<EventStream> {
        let mut connection = TcpStream::connect(self.address).await?;
        let target = format!("GET /v1/sessions/{}/events", chats::name(chat));
        let mut head = self.head(&target, chat);
        if let Some(after) = after {
            head.push_str(&format!("last-event-id: {after}\r\n"));
        }
        connection.write_all(format!("{head}\r\n").as_bytes()).await?;
        let connection = BufReader::with_capacity(BUFFER, connection);
        let mut stream = EventStream { connection, line: Vec::new() };
        let status = stream.line().await?;
        if !status.starts_with("HTTP/1.1 200") {
            return Err(io::Error::other(status.to_owned()));
        }
        // The first byte of the body.
        while !stream.line().await?.starts_with(": madang") {}
        Ok(stream)
    }

    /// Opens the stream of a chat behind a cursor, and never reads it. The kernel of this side
    /// takes little.
    pub(crate) async fn unread(&self, chat: usize, after: &str) -> io::Result<TcpStream> {
        let target = format!("GET /v1/sessions/{}/events", chats::name(chat));
        self.request(&target, chat, &format!("last-event-id: {after}\r\n"), b"").await
    }

    /// Sends a request on a connection of its own, of which the kernel of this side takes little,
    /// and reads nothing.
    pub(crate) async fn request(
        &self,
        target: &str,
        chat: usize,
        headers: &str,
        body: &[u8],
    ) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4_096)?;
        let mut connection = socket.connect(self.address).await?;
        let head = format!("{}{headers}\r\n", self.head(target, chat));
        connection.write_all(head.as_bytes()).await?;
        connection.write_all(body).await?;
        Ok(connection)
    }

    /// Opens a connection for requests.
    pub(crate) async fn requests(&self) -> Requests {
        let connection = TcpStream::connect(self.address).await.unwrap();
        connection.set_nodelay(true).unwrap();
        Requests { connection: BufReader::new(connection), access: self.clone() }
    }
}

impl EventStream {
    /// Reads until the next event, and returns its name.
    pub(crate) async fn event(&mut self) -> io::Result<&str> {
        while !self.line().await?.starts_with("event: ") {}
        let name = str::from_utf8(&self.line["event: ".len()..]).map_err(io::Error::other)?;
        Ok(name.trim_end())
    }

    /// Reads until this event.
    pub(crate) async fn until(&mut self, name: &str) -> io::Result<()> {
        while self.event().await? != name {}
        Ok(())
    }

    async fn line(&mut self) -> io::Result<&str> {
        self.line.clear();
        match self.connection.read_until(b'\n', &mut self.line).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => str::from_utf8(&self.line).map_err(io::Error::other),
        }
    }
}

impl Requests {
    /// Sends a text to a chat; it must be accepted.
    pub(crate) async fn send(&mut self, chat: usize, text: &str) {
        let target = format!("POST /v1/sessions/{}/turns", chats::name(chat));
        let body = format!("{{\"text\":\"{text}\"}}");
        let head = self.access.head(&target, chat);
        let length = body.len();
        let request = format!(
            "{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.connection.write_all(request.as_bytes()).await.unwrap();
        let mut length = 0;
        let mut line = String::new();
        self.connection.read_line(&mut line).await.unwrap();
        assert!(line.starts_with("HTTP/1.1 202"), "{line}");
        while line != "\r\n" {
            line.clear();
            self.connection.read_line(&mut line).await.unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body).await.unwrap();
    }
}
