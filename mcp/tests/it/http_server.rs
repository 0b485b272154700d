//! The scripted server over HTTP, in this process.

use std::sync::{Arc, Mutex};

use madang_mcp::McpConfig;
use madang_test_support::mcp_server::{Mind, Script, ServerReply};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::support::ConfigFolder;

/// The mode of a server that ends each stream at once and wants it to be asked for again without
/// any pause.
pub(crate) const HASTY: &str = "hasty";

/// A server over HTTP in this process, with the mind of the scripted one.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl HttpServer {
    pub(crate) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let mind = Arc::new(Mutex::new(Mind::new(script.0.clone())));
        // The mode is empty, that of a hasty server, or the address to which everything is sent on.
        let kept = Arc::clone(&heads);
        let mode = script.0["mode"].as_str().unwrap().to_owned();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&mind), Arc::clone(&kept), mode.clone()));
            }
        });
        Self { url, heads }
    }
}

/// Answers one connection until it ends or the mind lets it die.
async fn answer(
    stream: TcpStream,
    mind: Arc<Mutex<Mind>>,
    heads: Arc<Mutex<Vec<String>>>,
    mode: String,
) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let is_post = head.starts_with("POST");
        heads.lock().unwrap().push(head);
        let is_hasty = mode == HASTY;
        if !mode.is_empty() && !is_hasty {
            let moved =
                format!("HTTP/1.1 307 Moved\r\nlocation: {mode}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(moved.as_bytes()).await.unwrap();
            continue;
        }
        let is_call = || String::from_utf8_lossy(&body).contains("tools/call");
        if is_hasty && (!is_post || is_call()) {
            let event = "id: 1\nretry: 0\ndata: \n\n";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
            let answer = format!("{head} {}\r\n\r\n{event}", event.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
            continue;
        }
        if !is_post {
            stream.write_all(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            continue;
        }
        let message: Value = serde_json::from_slice(&body).unwrap();
        let replies = mind.lock().unwrap().hear(&message);
        let is_reply = |reply: &ServerReply| matches!(reply, ServerReply::Say(said) if said["id"] == message["id"]);
        let noise = replies.iter().any(|reply| matches!(reply, ServerReply::Noise(_)));
        if replies.iter().any(|reply| matches!(reply, ServerReply::Die)) {
            return;
        }
        let of_test = replies.iter().find_map(|reply| match reply {
            ServerReply::Said(bytes) => Some(bytes.clone()),
            ServerReply::Say(_) | ServerReply::Noise(_) | ServerReply::Die => None,
        });
        if let Some(said) = of_test {
            // A whole answer, or a body.
            if said.starts_with(b"HTTP/") {
                let _ = stream.write_all(&said).await;
                return;
            }
            let fields = [&b"data"[..], b"id", b"event", b":"];
            let is_stream = fields.iter().any(|field| said.starts_with(field));
            let kind = if is_stream { "text/event-stream" } else { "application/json" };
            // At this mark it goes on for some MiB.
            let (said, more) = match said.strip_suffix(b"$FILL") {
                Some(said) => (said, 9),
                None => (&*said, 0),
            };
            let length = said.len() + (more << 20);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all(&[head.as_bytes(), said].concat()).await.unwrap();
            let piece = vec![b' '; 1 << 20];
            for _ in 0..more {
                if stream.write_all(&piece).await.is_err() {
                    return;
                }
            }
            continue;
        }
        let said = replies.into_iter().find(is_reply);
        match said {
            _ if noise => {
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    100 << 20
                );
                stream.write_all(head.as_bytes()).await.unwrap();
                let piece = vec![b' '; 1 << 20];
                for _ in 0..100 {
                    if stream.write_all(&piece).await.is_err() {
                        return;
                    }
                }
            }
            Some(ServerReply::Say(said)) if !message["id"].is_null() => {
                let body = said.to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all((head + &body).as_bytes()).await.unwrap();
            }
            _ if message["id"].is_null() => {
                stream
                    .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
                    .await
                    .unwrap();
            }
            // It hangs.
            _ => {}
        }
    }
}

pub(crate) fn configured(folder: &ConfigFolder, url: &str, more: &Value) -> McpConfig {
    let mut entry = json!({ "url": url, "headers": { "Authorization": "Bearer ${SECRET}" } });
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let text = json!({ "mcpServers": { "s": entry } }).to_string();
    McpConfig::parse(&text, folder.file(), &|name| (name == "SECRET").then(|| "s3cret".to_owned()))
        .unwrap()
}
