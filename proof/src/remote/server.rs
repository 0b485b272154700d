//! The server of the remote tools: it is in the driver's process, outlives each kill, and keeps a
//! book of the calls that it received.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    sync::Notify,
    time::sleep,
};
use tokio_util::task::TaskTracker;

use super::plan::RemoteTool;
use crate::{
    dice::Dice,
    http::{HttpRequest, Port},
};

/// What the server does about a call, drawn from the call's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// It does the work and answers, after this long.
    Answers(Duration),
    /// It reports an error, and has done nothing.
    Refuses,
    /// It closes the connection, with or without having done the work.
    Breaks { did: bool },
    /// It does the work, and closes the connection in mid-answer.
    BreaksOff,
    /// It never answers, with or without having done the work.
    Hangs { did: bool },
    /// It does the work, and fails then.
    Fails,
}

/// A call that the server received.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// The number of the client's process.
    pub(super) life: u64,
    /// The id that came with the call.
    pub(super) call: String,
    pub(super) tool: Option<RemoteTool>,
    pub(super) token: String,
    pub(super) course: Course,
    /// Whether it did the work.
    pub(super) did: bool,
}

/// The moment at which the server lets its client be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerMoment {
    /// A call was received, and is not answered before the client is dead.
    Received,
    /// A call was answered.
    Answered,
}

/// A server. Dropping it closes its port.
#[derive(Debug)]
pub(crate) struct ToolServer {
    port: Port,
    inside: Arc<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    receipts: Mutex<Receipts>,
    /// Wakes a driver that waits to kill the client. It keeps no permit: a moment that comes late
    /// kills no other process.
    kills: Notify,
    connections: TaskTracker,
}

#[derive(Debug, Default)]
struct Receipts {
    received: Vec<Received>,
    life: u64,
    /// Whether every call is answered at once.
    is_calm: bool,
    deadly: Option<(ServerMoment, u64)>,
}

/// The time within which most calls that are not answered at once are answered; some are answered
/// behind their deadline.
const DAWDLING: u64 = 30;

impl Course {
    fn of(token: &str) -> Self {
        let seed = token.bytes().fold(7_u64, |seed, byte| {
            seed.wrapping_mul(0x100_0000_01B3).wrapping_add(u64::from(byte))
        });
        let mut dice = Dice::new(seed);
        match dice.below(24) {
            0..10 => Self::Answers(Duration::ZERO),
            10..14 => Self::Answers(Duration::from_millis(dice.below(DAWDLING))),
            14 => Self::Answers(super::DEADLINE + Duration::from_millis(dice.below(DAWDLING))),
            15 | 16 => Self::Refuses,
            17 => Self::Breaks { did: false },
            18 | 19 => Self::Breaks { did: true },
            20 => Self::BreaksOff,
            21 => Self::Hangs { did: false },
            22 => Self::Hangs { did: true },
            _ => Self::Fails,
        }
    }

    const fn does(self) -> bool {
        match self {
            Self::Answers(_) | Self::BreaksOff | Self::Fails => true,
            Self::Refuses => false,
            Self::Breaks { did } | Self::Hangs { did } => did,
        }
    }

    /// Tells whether the client may hear what became of the call.
    pub(super) const fn is_told(self) -> bool {
        matches!(self, Self::Answers(_) | Self::Refuses)
    }
}

impl ToolServer {
    /// Listens on a port of its own.
    pub(crate) async fn start() -> io::Result<Self> {
        let inside = Arc::new(Inside::default());
        inside.connections.close();
        let server = inside.clone();
        let connection =
            move |client| server.connections.track_future(server.clone().serve(client));
        Ok(Self { port: Port::serve(connection).await?, inside })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.port.address
    }

    /// Begins with the next process of its client, which is to be killed at the given moment of the
    /// call of this number. Answers every call at once, if it is calm, or as drawn.
    pub(crate) fn begins(&self, life: u64, deadly: Option<(ServerMoment, u64)>, is_calm: bool) {
        let mut receipts = self.inside.receipts();
        (receipts.life, receipts.deadly, receipts.is_calm) = (life, deadly, is_calm);
    }

    /// Waits for the moment at which its client is to be killed.
    pub(crate) async fn deadly_moment(&self) {
        self.inside.kills.notified().await;
    }

    /// Waits until everything that a dead client had sent is in the book.
    ///
    /// # Errors
    /// An error of the machine's network.
    pub(crate) async fn comes_to_rest(&self) -> io::Result<()> {
        // This connection is accepted behind those that the dead client had opened.
        let _ = HttpRequest::new("GET", "/").send(self.address()).await?;
        self.inside.connections.wait().await;
        Ok(())
    }

    /// Returns the calls that were received, in their order.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.inside.receipts().received.clone()
    }
}

impl Inside {
    fn receipts(&self) -> MutexGuard<'_, Receipts> {
        self.receipts.lock().expect("no code under this lock panics")
    }

    /// Answers the requests of a connection until one of the two closes it.
    async fn serve(self: Arc<Self>, mut client: BufReader<TcpStream>) -> io::Result<()> {
        while let Some(request) = HttpRequest::read(&mut client).await? {
            if let Some(call) = request.target.strip_prefix("GET /calls/") {
                let did = self.did(call);
                answer(&mut client, if did.is_some() { 200 } else { 404 }, &json!(did)).await?;
                continue;
            }
            if !request.target.starts_with("POST ") {
                answer(&mut client, 405, &Value::Null).await?;
                continue;
            }
            let message: Value = serde_json::from_slice(&request.body)?;
            if message["method"] != "tools/call" {
                let (status, said) = reply(&message);
                answer(&mut client, status, &said).await?;
                continue;
            }
            let (received, deadly) = self.receive(&message["params"]);
            if deadly == Some(ServerMoment::Received) {
                self.kills.notify_waiters();
                return hang(&mut client).await;
            }
            let is_answered = self.ends(&mut client, &message["id"], &received).await?;
            if deadly == Some(ServerMoment::Answered) {
                self.kills.notify_waiters();
            }
            if !is_answered {
                return client.shutdown().await;
            }
        }
        Ok(())
    }

    /// Tells whether the work of a call was done; `None` for one that may still come.
    fn did(&self, call: &str) -> Option<bool> {
        let receipts = self.receipts();
        let mut of_call =
            receipts.received.iter().filter(|received| received.call == call).peekable();
        let is_known = of_call.peek().is_some() || receipts.is_calm;
        is_known.then(|| of_call.any(|received| received.did))
    }

    /// Writes a call into the book and does its work, both before it is answered.
    fn receive(&self, params: &Value) -> (Received, Option<ServerMoment>) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let token = text(&params["arguments"]["token"]);
        let tool = params["name"].as_str().and_then(RemoteTool::named);
        let mut receipts = self.receipts();
        let course =
            if receipts.is_calm { Course::Answers(Duration::ZERO) } else { Course::of(&token) };
        let did = tool != Some(RemoteTool::Look) && course.does();
        let call = text(&params["_meta"]["io.madang/call"]);
        let received = Received { life: receipts.life, call, tool, token, course, did };
        receipts.received.push(received.clone());
        let Some((moment, left)) = &mut receipts.deadly else { return (received, None) };
        *left = left.saturating_sub(1);
        let deadly = (*left == 0).then_some(*moment);
        if deadly.is_some() {
            receipts.deadly = None;
        }
        (received, deadly)
    }

    /// Ends a call as drawn. False where the connection is to be closed.
    async fn ends(
        &self,
        client: &mut BufReader<TcpStream>,
        id: &Value,
        received: &Received,
    ) -> io::Result<bool> {
        let says = |text: &str, is_error: bool| {
            let content = json!([{ "type": "text", "text": text }]);
            complete(id, json!({ "content": content, "isError": is_error }))
        };
        match received.course {
            Course::Answers(wait) => {
                sleep(wait).await;
                answer(client, 200, &says("done", false)).await?;
            }
            Course::Refuses => answer(client, 200, &says("not today", true)).await?,
            Course::Breaks { .. } => return Ok(false),
            Course::BreaksOff => {
                let whole = whole(200, &says("done", false));
                client.write_all(&whole[..whole.len() - 9]).await?;
                return Ok(false);
            }
            Course::Hangs { .. } => hang(client).await?,
            Course::Fails => answer(client, 500, &Value::Null).await?,
        }
        Ok(true)
    }
}

/// Waits until the client has gone.
async fn hang(client: &mut BufReader<TcpStream>) -> io::Result<()> {
    client.fill_buf().await.map(|_| ())
}

/// Answers a message that is no call.
fn reply(message: &Value) -> (u16, Value) {
    let id = &message["id"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({
            "supportedVersions": [super::VERSION], "capabilities": { "tools": {} },
            "ttlMs": 0, "cacheScope": "private"
        }),
        "tools/list" => json!({
            "tools": RemoteTool::ALL.map(RemoteTool::listed), "ttlMs": 0, "cacheScope": "private"
        }),
        _ if id.is_null() => return (202, Value::Null),
        _ => {
            let error = json!({ "code": -32_601, "message": "unknown" });
            return (200, json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    (200, complete(id, result))
}

fn complete(id: &Value, mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

async fn answer(client: &mut BufReader<TcpStream>, status: u16, body: &Value) -> io::Result<()> {
    client.write_all(&whole(status, body)).await
}

/// Writes an answer with its head.
fn whole(status: u16, body: &Value) -> Vec<u8> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    let length = body.len();
    format!("HTTP/1.1 {status} \r\n{kind}content-length: {length}\r\n\r\n{body}").into_bytes()
}
