//! HTTP/1.1, one request a connection, read byte by byte: a body that broke off is told from a
//! whole one.

use std::{future::Future, io, net::SocketAddr};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};

/// A port on which connections are served. Dropping it closes it, and ends all of them.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    accepts: AbortHandle,
}

impl Port {
    /// Serves each connection to a port of its own so.
    pub(crate) async fn serve<F>(
        connection: impl Fn(BufReader<TcpStream>) -> F + Send + 'static,
    ) -> io::Result<Self>
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let accepts = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(connection(BufReader::new(client)));
                // A connection that breaks is broken for the client as well.
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, accepts: accepts.abort_handle() })
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.accepts.abort();
    }
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct HttpRequest {
    /// The method and the path.
    pub(crate) target: String,
    /// The fields of its head.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// The head of an answer, and the body that follows.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    /// The fields of its head, with names in small letters.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: HttpBody,
}

/// A body that is still read.
#[derive(Debug)]
pub(crate) struct HttpBody {
    connection: BufReader<TcpStream>,
    left: BodyLeft,
}

/// The rest of a body.
#[derive(Debug, Clone, Copy)]
enum BodyLeft {
    Bytes(usize),
    Chunks,
}

impl HttpRequest {
    /// Makes a request without a body.
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { target: format!("{method} {path}"), fields: Vec::new(), body: Vec::new() }
    }

    /// Adds a field.
    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a body of JSON.
    pub(crate) fn json(mut self, body: &serde_json::Value) -> Self {
        self.body = body.to_string().into_bytes();
        self.field("content-type", "application/json")
    }

    /// Reads a request; `None` where the peer has gone.
    ///
    /// # Errors
    /// An error of the connection.
    pub(crate) async fn read(peer: &mut BufReader<TcpStream>) -> io::Result<Option<Self>> {
        let Some(first) = line(peer).await? else { return Ok(None) };
        let target = first.trim_end_matches(" HTTP/1.1").to_owned();
        let fields = fields(peer).await?;
        let mut body = vec![0; length(&fields).unwrap_or(0)];
        peer.read_exact(&mut body).await?;
        Ok(Some(Self { target, fields, body }))
    }

    /// Sends the request over a connection of its own, and reads the head of the answer.
    ///
    /// # Errors
    /// An error of the connection: the request may have arrived.
    pub(crate) async fn send(&self, address: SocketAddr) -> io::Result<HttpAnswer> {
        let mut connection = BufReader::new(TcpStream::connect(address).await?);
        connection.write_all(&self.bytes()).await?;
        let first = line(&mut connection).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let fields = fields(&mut connection).await?;
        let is_chunked = find(&fields, "transfer-encoding") == Some("chunked");
        let left = match length(&fields) {
            None if is_chunked => BodyLeft::Chunks,
            length => BodyLeft::Bytes(length.unwrap_or(0)),
        };
        Ok(HttpAnswer { status, fields, body: HttpBody { connection, left } })
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} HTTP/1.1\r\n", self.target);
        for (name, value) in self.fields.iter().filter(|(name, _)| name != "content-length") {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", self.body.len()));
        [head.as_bytes(), &self.body].concat()
    }
}

impl HttpAnswer {
    /// Finds a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        find(&self.fields, name)
    }
}

impl HttpBody {
    /// Reads the next piece; `None` at the end of a whole body.
    ///
    /// # Errors
    /// An error of the connection: the body broke off.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = match self.left {
            BodyLeft::Bytes(count) => {
                self.left = BodyLeft::Bytes(0);
                count
            }
            BodyLeft::Chunks => {
                let size = line(&mut self.connection).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
                usize::from_str_radix(&size, 16).map_err(|_| io::ErrorKind::InvalidData)?
            }
        };
        let mut piece = vec![0; size];
        self.connection.read_exact(&mut piece).await?;
        if let BodyLeft::Chunks = self.left {
            line(&mut self.connection).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        }
        Ok((size > 0).then_some(piece))
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// An error of the connection: the body broke off.
    pub(crate) async fn whole(mut self) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        while let Some(piece) = self.next().await? {
            whole.extend(piece);
        }
        Ok(whole)
    }
}

/// Finds a field by its name in small letters.
fn find<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    fields.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
}

fn length(fields: &[(String, String)]) -> Option<usize> {
    find(fields, "content-length")?.parse().ok()
}

/// Reads a line without its end; `None` at the end of the connection.
async fn line(from: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = String::new();
    from.read_line(&mut line).await?;
    match line.strip_suffix("\r\n") {
        Some(whole) => Ok(Some(whole.to_owned())),
        None if line.is_empty() => Ok(None),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

async fn fields(from: &mut BufReader<TcpStream>) -> io::Result<Vec<(String, String)>> {
    let mut fields = Vec::new();
    loop {
        let field = line(from).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if field.is_empty() {
            return Ok(fields);
        }
        let (name, value) = field.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
        fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}
