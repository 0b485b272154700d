//! A server with its usual bounds under attack, and another user who asks it meanwhile.
//!
//! The attackers do all of this at once, again and again. They ask for a long chat and read
//! nothing. Without a token they open idle connections and half-sent logins. They send the longest
//! bodies of the most values, and let short requests be compared with a long chat.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{client::ServerAccess, host::Host, parts::Sizes, report::Report};

/// The chat of 24 MiB, and its texts.
const LONG_CHAT: usize = 0;
const TEXTS: usize = 400;
const TEXT_BYTES: usize = 64_000;
/// Chats of the attackers that send bodies, of a user each, and of the one who is not to feel it.
const SENDERS: [usize; 2] = [50, 100];
const OTHER: usize = 150;
/// Answers and streams of the long chat that nobody reads.
const UNREAD: usize = 90;
const UNREAD_STREAMS: usize = 200;
/// Bodies that come at once, of each sender.
const BODIES: usize = 8;
/// The longest body that the server takes.
const BODY_BYTES: usize = 8 * 1024 * 1024 - 200;
/// The time between two requests of the other user, and how long each may take.
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(10);

/// Attacks a server in every way for a while, and measures its memory and the answers of another
/// user.
pub(crate) async fn attacked(sizes: &Sizes, report: &mut Report) {
    let mut host = Host::start("defended");
    let access = ServerAccess { address: host.address, secret: host.secret.clone() };
    let texts = TEXTS.min(sizes.turns * 2);
    host.order(&format!("long {LONG_CHAT} {texts} {TEXT_BYTES}"));
    host.order(&format!("open {OTHER} {}", OTHER + 1));
    let before = host.resident_kb();
    let mut attacks = JoinSet::new();
    unread(&access, &mut attacks);
    idle(&access, sizes.idle_connections, &mut attacks);
    bodies(&access, &mut attacks);
    let mut times = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < sizes.attack {
        times.push(asks(&access).await);
        sleep(PAUSE).await;
    }
    let peak = host.peak_kb();
    attacks.shutdown().await;
    let before = before / 1024.0;
    let peak = peak / 1024.0;
    report.told(&format!("{} answers; {before:.0} MiB resident before", times.len()));
    report.goal("G8 most memory under attack", peak, 512.0, "MiB");
    report.times("G8 answer to another user under attack", times, [50.0, 250.0]);
}

/// Asks for the other user's chat on a new connection, and measures the answer.
async fn asks(access: &ServerAccess) -> Duration {
    let begin = Instant::now();
    let answer = async {
        let target = "GET /v1/sessions/chat150";
        let mut connection = access.request(target, OTHER, "connection: close\r\n", b"").await?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    match timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) if answer.starts_with(b"HTTP/1.1 200") => begin.elapsed(),
        // What is refused or broken off counts as the longest.
        Ok(Ok(_) | Err(_)) | Err(_) => PATIENCE,
    }
}

/// Asks for the long chat and reads nothing, until the server lets go.
fn unread(access: &ServerAccess, attacks: &mut JoinSet<()>) {
    let pages = std::iter::repeat_n("GET /v1/sessions/chat0", UNREAD);
    let streams = std::iter::repeat_n("GET /v1/sessions/chat0/events", UNREAD_STREAMS);
    for target in pages.chain(streams) {
        let access = access.clone();
        attacks.spawn(async move {
            loop {
                let connection = access.request(target, LONG_CHAT, "", b"").await;
                sleep(Duration::from_secs(5)).await;
                drop(connection);
            }
        });
    }
}

/// Opens connections without a token, that send nothing or half a login.
fn idle(access: &ServerAccess, count: usize, attacks: &mut JoinSet<()>) {
    let address = access.address;
    attacks.spawn(async move {
        let login =
            format!("POST /v1/login HTTP/1.1\r\nhost: {address}\r\ncontent-length: 900\r\n");
        let login = format!("{login}content-type: application/json\r\n\r\n{{");
        let mut open = std::collections::VecDeque::new();
        for number in 0_usize.. {
            if let Ok(mut connection) = TcpStream::connect(address).await {
                if number % 2 == 0 {
                    let _ = connection.write_all(login.as_bytes()).await;
                }
                open.push_back(connection);
            }
            if open.len() > count {
                open.pop_front();
                sleep(Duration::from_millis(5)).await;
            }
        }
    });
}

/// Sends bodies of the most bytes and values, and short requests about the long chat.
fn bodies(access: &ServerAccess, attacks: &mut JoinSet<()>) {
    let values = many("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"x\":[", "0,", "0]}");
    let texts = "{\"role\":\"user\",\"content\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"},";
    let texts = many("{\"messages\":[", texts, "{\"role\":\"user\",\"content\":\"a\"}]}");
    for (sender, body) in SENDERS.into_iter().zip([values, texts]) {
        for _ in 0..BODIES {
            let access = access.clone();
            let body = body.clone();
            attacks.spawn(async move { sends(&access, sender, "", &body).await });
        }
    }
    let short = Arc::from(
        &br#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"b"}]}"#[..],
    );
    for _ in 0..BODIES {
        let access = access.clone();
        let short = Arc::clone(&short);
        attacks.spawn(async move {
            sends(&access, LONG_CHAT, "madang-session: chat0\r\n", &short).await;
        });
    }
}

/// Makes the longest body of one piece again and again.
fn many(begin: &str, piece: &str, end: &str) -> Arc<[u8]> {
    let count = (BODY_BYTES - begin.len() - end.len()) / piece.len();
    [begin, &piece.repeat(count), end].concat().into_bytes().into()
}

/// Sends a completion again and again.
async fn sends(access: &ServerAccess, chat: usize, headers: &str, body: &[u8]) {
    loop {
        let length = body.len();
        let headers = format!(
            "{headers}content-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n"
        );
        let sent = access.request("POST /v1/chat/completions", chat, &headers, body).await;
        if let Ok(mut connection) = sent {
            let _ = timeout(PATIENCE, connection.read_to_end(&mut Vec::new())).await;
        }
        sleep(Duration::from_millis(100)).await;
    }
}
