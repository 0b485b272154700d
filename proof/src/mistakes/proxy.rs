//! Makes the mistakes of a server: a proxy between it and its clients changes what goes by.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

use super::ProxyMistake;
use crate::http::{HttpAnswer, HttpRequest, Port};

/// What each connection needs.
#[derive(Debug)]
struct Way {
    mistake: ProxyMistake,
    server: SocketAddr,
    /// The secrets of tokens, by the session of their user.
    owners: HashMap<String, String>,
    /// The ids that were given in place of others.
    ids: AtomicU64,
}

/// Starts a proxy before this server that makes a mistake.
pub(crate) async fn proxy(
    mistake: ProxyMistake,
    server: SocketAddr,
    owners: HashMap<String, String>,
) -> io::Result<Port> {
    let way = Arc::new(Way { mistake, server, owners, ids: AtomicU64::new(0) });
    Port::serve(move |client| way.clone().passes(client)).await
}

impl Way {
    /// Passes one request on, and its answer back.
    async fn passes(self: Arc<Self>, mut client: BufReader<TcpStream>) -> io::Result<()> {
        let Some(mut request) = HttpRequest::read(&mut client).await? else { return Ok(()) };
        self.changes(&mut request);
        let answer = request.send(self.server).await?;
        let HttpAnswer { status, fields, mut body } = answer;
        let mut head = format!("HTTP/1.1 {status} \r\n");
        for (name, value) in fields.iter().filter(|(name, _)| !is_of_length(name)) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("transfer-encoding: chunked\r\n\r\n");
        client.write_all(head.as_bytes()).await?;
        loop {
            match body.next().await {
                Ok(Some(piece)) => {
                    let piece = self.changed(&piece);
                    client.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
                    client.write_all(&piece).await?;
                    client.write_all(b"\r\n").await?;
                }
                Ok(None) => break,
                Err(_) if self.mistake == ProxyMistake::EndsInOrder => break,
                Err(error) => return Err(error),
            }
        }
        client.write_all(b"0\r\n\r\n").await?;
        client.shutdown().await
    }

    fn changes(&self, request: &mut HttpRequest) {
        match self.mistake {
            ProxyMistake::TurnsCursorsBack => {
                change(request, "last-event-id", |cursor| by_one(cursor, false))
            }
            ProxyMistake::PushesCursorsOn => {
                change(request, "last-event-id", |cursor| by_one(cursor, true))
            }
            ProxyMistake::ForgetsEpochs => change(request, "last-event-id", |cursor| {
                cursor.split('@').next().unwrap_or_default().to_owned()
            }),
            ProxyMistake::DropsKeys => request.fields.retain(|(name, _)| name != "idempotency-key"),
            ProxyMistake::OpensToOthers => {
                let session = request.target.strip_prefix("GET /v1/sessions/");
                let session = session.and_then(|rest| rest.strip_suffix("/unresolved"));
                if let Some(secret) = session.and_then(|session| self.owners.get(session)) {
                    change(request, "authorization", |_| format!("Bearer {secret}"));
                }
            }
            ProxyMistake::ChangesMessageIds => {
                if let Ok(mut body) = serde_json::from_slice::<Value>(&request.body) {
                    let messages = body["messages"].as_array_mut().into_iter().flatten();
                    for message in messages.filter(|message| message.get("id").is_some()) {
                        message["id"] = json!(format!("id{}", self.ids.fetch_add(1, Relaxed)));
                    }
                    request.body = body.to_string().into_bytes();
                }
            }
            ProxyMistake::CountsEachDecision | ProxyMistake::EndsInOrder => {}
        }
    }

    /// Changes a piece of a body; a short answer comes in one.
    fn changed(&self, piece: &[u8]) -> Vec<u8> {
        match (self.mistake, std::str::from_utf8(piece)) {
            (ProxyMistake::CountsEachDecision, Ok(text)) => {
                text.replace(r#","already":true"#, "").into_bytes()
            }
            _ => piece.to_owned(),
        }
    }
}

fn is_of_length(name: &str) -> bool {
    matches!(name, "content-length" | "transfer-encoding")
}

fn change(request: &mut HttpRequest, name: &str, change: impl Fn(&str) -> String) {
    for (_, value) in request.fields.iter_mut().filter(|(found, _)| found == name) {
        *value = change(value);
    }
}

/// Moves a cursor by one event, in the store and in the feed.
fn by_one(cursor: &str, is_on: bool) -> String {
    let moved = |number: &str| {
        let number: u64 = number.parse().unwrap_or_default();
        if is_on { number + 1 } else { number.saturating_sub(1) }
    };
    let (stored, told) =
        cursor.split_once('@').map_or((cursor, None), |(stored, told)| (stored, Some(told)));
    // Behind the end of a turn comes the next entry, and before it the last of the turn.
    let stored = match stored.split_once('.') {
        Some((entry, _)) if is_on => moved(entry).to_string(),
        Some((entry, _)) => entry.to_owned(),
        None => moved(stored).to_string(),
    };
    match told.and_then(|told| told.split_once('.')) {
        Some((epoch, seq)) => format!("{stored}@{epoch}.{}", moved(seq)),
        None => stored,
    }
}
