//! A provider that follows a script: it keeps each request, and answers it as the test says.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang::model::remote::{Provider, RemoteModel, RemoteOptions};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Barrier, mpsc},
    time::{Instant, timeout},
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Its first line and headers, in small letters.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// How a request is answered.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A response with this first line and these headers, and a body; then the connection is
    /// closed.
    Whole(&'static str, String),
    /// A stream that ends in order.
    Stream(String),
    /// A stream whose connection breaks behind its last byte.
    Cut(String),
    /// A stream that says no more, and keeps its connection open.
    Hold(String),
    /// No response at all, on a connection that breaks.
    Nothing,
    /// A reply that waits until the other requests have come, too.
    Behind(Arc<Barrier>, Box<Self>),
}

#[derive(Debug)]
pub(crate) struct Mock {
    url: String,
    asked: mpsc::UnboundedReceiver<Asked>,
    /// The moments at which a held connection was closed by the other side.
    pub(crate) closed: mpsc::UnboundedReceiver<Instant>,
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream";

impl Mock {
    /// Answers the requests in order. One more than the script has is answered by 418.
    pub(crate) async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let ((asks, asked), (closes, closed)) =
            (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let script = script.clone();
                let asks = asks.clone();
                let closes = closes.clone();
                tokio::spawn(serve(connection, script, asks, closes));
            }
        });
        Self { url, asked, closed }
    }

    /// The options of a model that asks here, with a key.
    pub(crate) fn options(&self, provider: Provider) -> RemoteOptions {
        RemoteOptions::new(provider, "m").url(&self.url).key(KEY)
    }

    pub(crate) fn model(&self, provider: Provider) -> RemoteModel {
        RemoteModel::new(self.options(provider)).unwrap()
    }

    pub(crate) async fn asked(&mut self) -> Asked {
        timeout(PATIENCE, self.asked.recv()).await.expect("a request comes").unwrap()
    }

    /// Takes the requests that came and were not looked at.
    pub(crate) fn rest(&mut self) -> usize {
        std::iter::from_fn(|| self.asked.try_recv().ok()).count()
    }
}

pub(crate) const KEY: &str = "key-that-no-log-may-have";

async fn serve(
    mut connection: TcpStream,
    script: Arc<Mutex<VecDeque<Reply>>>,
    asks: mpsc::UnboundedSender<Asked>,
    closes: mpsc::UnboundedSender<Instant>,
) {
    let Some(asked) = read(&mut connection).await else { return };
    let reply = script.lock().unwrap().pop_front();
    let mut reply = reply.unwrap_or_else(|| Reply::Whole("HTTP/1.1 418 Teapot", String::new()));
    asks.send(asked).unwrap();
    while let Reply::Behind(others, then) = reply {
        others.wait().await;
        reply = *then;
    }
    let text = match &reply {
        Reply::Whole(head, body) => {
            let length = body.len();
            format!("{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
        }
        Reply::Stream(body) => chunked(body) + "0\r\n\r\n",
        Reply::Cut(body) | Reply::Hold(body) => chunked(body),
        Reply::Nothing | Reply::Behind(..) => String::new(),
    };
    if connection.write_all(text.as_bytes()).await.is_err() {
        return;
    }
    if matches!(reply, Reply::Hold(_)) {
        let mut rest = [0; 64];
        while connection.read(&mut rest).await.is_ok_and(|count| count > 0) {}
        // The test may be over.
        closes.send(Instant::now()).ok();
    }
}

fn chunked(body: &str) -> String {
    let chunk = format!("{:x}\r\n{body}\r\n", body.len());
    let chunk = if body.is_empty() { "" } else { &*chunk }; // an empty one is the end
    format!("{OK}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{chunk}")
}

pub(crate) async fn read(connection: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = head {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or_default();
                return Some(Asked { head, body });
            }
        }
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
