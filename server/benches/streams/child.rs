//! The process that serves. It measures itself, because a client sees only the time.

use std::{
    fs,
    io::{BufRead as _, Write as _, stdin, stdout},
    path::Path,
    sync::Arc,
};

use cpu_time::ProcessTime;
use madang::{
    Limits, Runtime, Session,
    event::{EventKind, StreamItem},
    store::{SqliteStore, Store},
};
use madang_server::{
    ListenAddress, Listener, Server, ServerLimits, ServerOptions, ServicePrefix, TokenEntry,
    TokenHolder, TokenScopes, TokenSecret,
};
use madang_testing::MemoryStore;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use crate::{chats, speaker::Speaker};

/// Chats that are opened, or that take a turn, at once.
const AT_ONCE: usize = 256;

/// Serves on this port, with the database in a folder, or in memory. Until its standard input ends,
/// it does what is written there, and says when it is done.
pub(crate) async fn serve(folder: &Path, store: &str, port: u16) {
    let is_defended = store == "defended";
    if store == "memory" {
        serve_on(MemoryStore::new(), folder, port, is_defended).await;
    } else {
        let store = SqliteStore::open(folder.join("chats.db")).await.unwrap();
        serve_on(store, folder, port, is_defended).await;
    }
}

async fn serve_on(store: impl Store, folder: &Path, port: u16, is_defended: bool) {
    let builder = Runtime::builder().model(Speaker).store(store).limits(Limits::default());
    let runtime = builder.start().await.unwrap();
    let mut limits = ServerLimits::default();
    if !is_defended {
        // One user reads a chat a thousand times here, and asks as fast as a program can.
        (limits.requests_per_second, limits.request_burst) = (1_000_000, 1_000_000);
        (limits.service_requests_per_second, limits.service_request_burst) = (1_000_000, 1_000_000);
        (limits.new_chats_per_minute, limits.new_chat_burst) = (1_000_000, 1_000_000);
        limits.max_streams_per_user = limits.max_streams;
    }
    let service = TokenHolder::service(ServicePrefix::new(chats::SERVICE).unwrap());
    let secret = TokenSecret::open(folder.join("token")).unwrap();
    let token = TokenEntry::new("bench", service, TokenScopes::ALL, &secret);
    let options = ServerOptions::default().limits(limits).token(token).without_page();
    let server = Server::new(runtime.clone(), options).unwrap();
    let address = ListenAddress::Tcp(([127, 0, 0, 1], port).into());
    let listener = Listener::bind(&address).await.unwrap();
    say(&format!("{} {}", listener.address().trim_start_matches("http://"), secret.reveal()));
    let (orders, mut ordered) = mpsc::channel::<String>(1);
    std::thread::spawn(move || {
        for line in stdin().lock().lines() {
            if orders.blocking_send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    let stopped = async {
        while let Some(order) = ordered.recv().await {
            let words: Vec<&str> = order.split(' ').collect();
            let number = |at: usize| words[at].parse::<usize>().unwrap();
            match words[0] {
                "cpu" => say(&ProcessTime::now().as_duration().as_nanos().to_string()),
                "resident" => say(&memory_kb("VmRSS:").to_string()),
                "peak" => say(&memory_kb("VmHWM:").to_string()),
                "long" => {
                    let turns = number(2);
                    let text = &*"x".repeat(number(3)).leak();
                    each(&runtime, number(1)..number(1) + 1, move |chat| async move {
                        for _ in 0..turns {
                            chat.send(text).await.unwrap().ended().await.unwrap();
                        }
                    })
                    .await;
                    say("told");
                }
                "open" => {
                    each(&runtime, number(1)..number(2), async |_| ()).await;
                    say("opened");
                }
                "turns" => {
                    each(&runtime, number(1)..number(2), async |chat| {
                        chat.send("hi").await.unwrap().ended().await.unwrap();
                    })
                    .await;
                    say("ended");
                }
                "plain" => say(&plain(&runtime, number(1), number(2)).await.to_string()),
                other => panic!("no such order: {other}"),
            }
        }
    };
    server.serve(vec![listener], stopped).await.unwrap();
}

/// Does this in each of these chats, many at once.
async fn each<F: Future<Output = ()> + Send>(
    runtime: &Runtime,
    numbers: std::ops::Range<usize>,
    act: impl Fn(Session) -> F + Copy + Send + Sync + 'static,
) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut acting = JoinSet::new();
    for number in numbers {
        let runtime = runtime.clone();
        let permit = permits.clone().acquire_owned().await.unwrap();
        acting.spawn(async move {
            let user = format!("{}/{}", chats::SERVICE, chats::user(number));
            act(runtime.user(&user).unwrap().session(&chats::name(number)).await.unwrap()).await;
            drop(permit);
        });
    }
    acting.join_all().await;
}

/// Takes turns without HTTP, each chat one after the other, and returns the processor time of all
/// in nanoseconds.
async fn plain(runtime: &Runtime, chats: usize, turns: usize) -> u128 {
    let begin = ProcessTime::now();
    let mut talking = JoinSet::new();
    for number in 0..chats {
        let runtime = runtime.clone();
        talking.spawn(async move {
            let user = format!("{}/{}", chats::SERVICE, chats::user(number));
            let chat = runtime.user(&user).unwrap().session(&chats::name(number)).await.unwrap();
            let mut events = chat.subscribe();
            for _ in 0..turns {
                let _ = chat.send("hi").await.unwrap();
                while !is_end(&events.next().await.unwrap()) {}
            }
        });
    }
    talking.join_all().await;
    begin.elapsed().as_nanos()
}

fn is_end(item: &StreamItem) -> bool {
    matches!(item, StreamItem::Event(event) if matches!(event.kind, EventKind::TurnEnded { .. }))
}

/// Returns a figure of this process's memory.
fn memory_kb(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Says a line at once.
fn say(line: &str) {
    let mut out = stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}
