//! The parts of the bench, each with its goals.

use std::{
    collections::HashSet,
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    net::TcpStream,
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    client::ServerAccess,
    host::Host,
    readers::{Readers, until},
    report::Report,
    speaker::Speaker,
};

/// How much of everything.
#[derive(Debug)]
pub(crate) struct Sizes {
    pub(crate) streams: usize,
    /// First bytes that are measured.
    pub(crate) samples: usize,
    /// Texts that are sent one after the other.
    pub(crate) posts: usize,
    pub(crate) idle: Duration,
    /// Chats that speak at once.
    pub(crate) speakers: usize,
    /// Tokens of a spoken turn.
    pub(crate) tokens: u32,
    /// Readers of one chat.
    pub(crate) readers: usize,
    /// Readers of one chat that do not read.
    pub(crate) stalled: usize,
    /// Turns of each of the chats that compare HTTP with none.
    pub(crate) turns: usize,
    /// The time of an attack.
    pub(crate) attack: Duration,
    /// Connections of an attacker without a token.
    pub(crate) idle_connections: usize,
}

/// Fifty tokens a second.
const APART: Duration = Duration::from_millis(20);
/// Chats that compare HTTP with none.
const TALKING: usize = 32;
/// The time in which all readers must have come back at last.
const PATIENCE: Duration = Duration::from_secs(120);

fn access(host: &Host) -> ServerAccess {
    ServerAccess { address: host.address, secret: host.secret.clone() }
}

/// Measures all parts on a store in memory, beside one another.
pub(crate) async fn in_memory(sizes: &Sizes, report: &mut Report) {
    let mut host = Host::start("memory");
    let access = access(&host);
    let all = sizes.streams + sizes.samples + 1;
    host.order(&format!("open 0 {all}"));
    turns(sizes, report, &mut host, &access).await;
    let none = host.resident_kb();
    let since = host.is_busy();
    let open = Readers::open(&access, 0..sizes.streams).await;
    let (cpu, _) = host.was_busy(&since);
    let took = since.begin.elapsed();
    let each = (host.resident_kb() - none) / sizes.streams as f64;
    let cpu = cpu.as_micros() / sizes.streams as u128;
    report.told(&format!("opened in {:.1} s, {cpu} us of processor each", took.as_secs_f64()));
    report.goal("G1 resident for each idle stream and its chat", each, 40.0, "KB");
    let since = host.is_busy();
    sleep(sizes.idle).await;
    let (_, busy) = host.was_busy(&since);
    report.goal("G1 processor while all are idle", busy * 100.0, 2.0, "%");
    let what = "G2 first byte of one more stream, memory store";
    first_bytes(sizes, report, &access, (what, [0.5, 5.0])).await;
    speech(sizes, report, &mut host, &access, &open).await;
    drop(open);
    readers(sizes, report, &mut host, &access).await;
    stalled(sizes, report, &mut host, &access).await;
}

/// Measures all parts on SQLite at FULL.
pub(crate) async fn in_sqlite(sizes: &Sizes, report: &mut Report) {
    let mut host = Host::start("sqlite");
    let access = access(&host);
    let all = sizes.streams + sizes.samples;
    host.order(&format!("open 0 {all}"));
    posts(sizes, report, &access, sizes.streams).await;
    host.order(&format!("turns 0 {}", sizes.streams));
    let open = Readers::open(&access, 0..sizes.streams).await;
    let what = "G2 first byte of one more stream, SQLite at FULL";
    first_bytes(sizes, report, &access, (what, [2.0, 20.0])).await;
    drop(open);
    restart(sizes, report, &mut host, &access).await;
}

/// Measures turns by HTTP, each with a stream and a request, against the same turns without.
async fn turns(sizes: &Sizes, report: &mut Report, host: &mut Host, access: &ServerAccess) {
    let count = (TALKING * sizes.turns) as f64;
    // Once before, so that neither side wakes the chats.
    host.order(&format!("plain {TALKING} 1"));
    let plain: f64 = host.order(&format!("plain {TALKING} {}", sizes.turns)).parse().unwrap();
    let mut streams = Vec::new();
    for chat in 0..TALKING {
        let mut stream = access.stream(chat, None).await.unwrap();
        for _ in 0..=sizes.turns {
            stream.until("turn_ended").await.unwrap(); // what was said before
        }
        streams.push(stream);
    }
    let mut talking = JoinSet::new();
    let since = host.is_busy();
    for (chat, mut stream) in streams.into_iter().enumerate() {
        let access = access.clone();
        let turns = sizes.turns;
        talking.spawn(async move {
            let mut requests = access.requests().await;
            for _ in 0..turns {
                requests.send(chat, "hi").await;
                stream.until("turn_ended").await.unwrap();
            }
        });
    }
    talking.join_all().await;
    let (cpu, _) = host.was_busy(&since);
    let each = |nanos: f64| nanos / 1e6 / count;
    let plain = each(plain);
    let http = each(cpu.as_nanos() as f64);
    report.told(&format!("processor of a turn: {plain:.3} ms without HTTP, {http:.3} ms with it"));
    report.goal("G10 processor that HTTP adds to a turn", http - plain, 0.3, "ms");
}

async fn first_bytes(
    sizes: &Sizes,
    report: &mut Report,
    access: &ServerAccess,
    (what, goals): (&str, [f64; 2]),
) {
    let mut times = Vec::new();
    for number in 0..sizes.samples {
        let begin = Instant::now();
        let stream = access.stream(sizes.streams + number, None).await.unwrap();
        times.push(begin.elapsed());
        drop(stream);
    }
    report.times(what, times, goals);
}

/// Measures the time from a request to the event that tells of it, on an open stream.
async fn posts(sizes: &Sizes, report: &mut Report, access: &ServerAccess, chat: usize) {
    let mut stream = access.stream(chat, None).await.unwrap();
    let (heard, mut hears) = mpsc::unbounded_channel();
    let reading = tokio::spawn(async move {
        while let Ok(event) = stream.event().await {
            if matches!(event, "user_message" | "turn_ended")
                && heard.send((event == "user_message", Instant::now())).is_err()
            {
                return;
            }
        }
    });
    let mut requests = access.requests().await;
    let mut times = Vec::new();
    for _ in 0..sizes.posts {
        let begin = Instant::now();
        requests.send(chat, "hi").await;
        loop {
            let (is_first, at) = hears.recv().await.unwrap();
            if is_first {
                times.push(at - begin);
            } else {
                break;
            }
        }
    }
    reading.abort();
    report.times("G3 request to the first event, SQLite at FULL", times, [6.0, 20.0]);
}

/// Lets some of the open chats speak, beside all the others.
async fn speech(
    sizes: &Sizes,
    report: &mut Report,
    host: &mut Host,
    access: &ServerAccess,
    open: &Readers,
) {
    let before = open.heard();
    let since = host.is_busy();
    let mut speaking = JoinSet::new();
    for chat in 0..sizes.speakers {
        let access = access.clone();
        let text = Speaker::speech(sizes.tokens, 5, APART);
        // Some of them have had turns before; the others have not.
        speaking.spawn(async move { access.requests().await.send(chat, &text).await });
    }
    speaking.join_all().await;
    open.until_ends(before.1 + sizes.speakers as u64).await;
    let (_, busy) = host.was_busy(&since);
    let frames = open.heard().0 - before.0;
    report.told(&format!("{frames} frames of text"));
    let what = format!("G4 cores for {} chats that speak", sizes.speakers);
    report.goal(&what, busy, 0.5, "cores");
}

/// Lets one chat speak to many readers.
async fn readers(sizes: &Sizes, report: &mut Report, host: &mut Host, access: &ServerAccess) {
    let chat = sizes.streams;
    let text = Speaker::speech(sizes.tokens, 5, APART);
    let alone = Readers::open(access, [chat]).await;
    let begin = Instant::now();
    // On a connection of its own: the server closes one that is idle for 10 s.
    access.requests().await.send(chat, &text).await;
    alone.until_ends(1).await;
    let by_one = begin.elapsed();
    let many = Readers::open(access, std::iter::repeat_n(chat, sizes.readers)).await;
    let count = sizes.readers as u64;
    many.until_ends(count).await; // the turn before
    let before = many.heard();
    let since = host.is_busy();
    access.requests().await.send(chat, &text).await;
    alone.until_ends(2).await;
    let by_many = since.begin.elapsed();
    many.until_ends(2 * count).await;
    let (_, busy) = host.was_busy(&since);
    let frames = many.heard().0 - before.0;
    report.told(&format!("{frames} frames of text"));
    report.goal(&format!("G5 cores for {count} readers of one chat"), busy, 0.5, "cores");
    let ratio = by_many.as_secs_f64() / by_one.as_secs_f64();
    report.goal("G5 time of the turn, against that with one reader", ratio, 1.1, "");
}

/// Lets one chat speak much to readers that do not read.
async fn stalled(sizes: &Sizes, report: &mut Report, host: &mut Host, access: &ServerAccess) {
    let chat = sizes.streams;
    // As much as is streamed at all, in four seconds.
    let speech = Duration::from_secs(4);
    let text = Speaker::speech(400, 500, speech / 400);
    let reader = Readers::open(access, [chat]).await;
    reader.until_ends(2).await; // what was said before
    let begin = Instant::now();
    access.requests().await.send(chat, &text).await;
    reader.until_ends(3).await;
    let by_none = begin.elapsed();
    let before = host.resident_kb();
    let mut unread = Vec::new();
    for _ in 0..sizes.stalled {
        // Behind three turns of two entries each.
        unread.push(access.unread(chat, "6.2").await.unwrap());
    }
    let begin = Instant::now();
    access.requests().await.send(chat, &text).await;
    sleep(speech * 9 / 10).await;
    let mut each = || (host.resident_kb() - before).max(0.0) / sizes.stalled as f64;
    let in_process = each();
    let in_kernel = unsent_kb(&unread) / sizes.stalled as f64;
    reader.until_ends(4).await;
    let by_all = begin.elapsed();
    let what = "KB in the process while the chat speaks";
    let behind = "KB behind its message, which is one event";
    report.told(&format!("{in_process:.1} {what}, {:.1} {behind}", each()));
    report.told(&format!("{in_kernel:.1} KB unsent in the kernel"));
    let what = "G5 memory for a reader that does not read";
    report.goal(what, in_process + in_kernel, 64.0, "KB");
    let ratio = by_all.as_secs_f64() / by_none.as_secs_f64();
    report.goal("G5 time of the turn, against that without such readers", ratio, 1.1, "");
}

/// Returns what the server's kernel keeps for these connections, all together.
fn unsent_kb(connections: &[TcpStream]) -> f64 {
    let ports: HashSet<u16> =
        connections.iter().map(|connection| connection.local_addr().unwrap().port()).collect();
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let unsent = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace().skip(2);
        let (remote, _, queues) = (words.next()?, words.next()?, words.next()?);
        let port = u16::from_str_radix(remote.split_once(':')?.1, 16).ok()?;
        ports.contains(&port).then(|| u64::from_str_radix(queues.split_once(':')?.0, 16).ok())?
    });
    unsent.sum::<u64>() as f64 / 1024.0
}

/// Lets all readers come back behind a kill at once, each behind the first event of its chat.
async fn restart(sizes: &Sizes, report: &mut Report, host: &mut Host, access: &ServerAccess) {
    let ready = Arc::new(AtomicU64::new(0));
    let refused = Arc::new(AtomicU64::new(0));
    let mut readers = JoinSet::new();
    for chat in 0..sizes.streams {
        let access = access.clone();
        let ready = ready.clone();
        let refused = refused.clone();
        while chat as u64 > ready.load(Relaxed) + 64 {
            sleep(Duration::from_millis(1)).await;
        }
        readers.spawn(async move {
            let mut stream = access.stream(chat, None).await.unwrap();
            stream.until("turn_ended").await.unwrap();
            ready.fetch_add(1, Relaxed);
            while stream.event().await.is_ok() {}
            loop {
                let back = match access.stream(chat, Some("1")).await {
                    Ok(mut stream) => stream.until("turn_ended").await.map(|()| stream),
                    Err(error) => Err(error),
                };
                if let Ok(stream) = back {
                    return (Instant::now(), stream);
                }
                refused.fetch_add(1, Relaxed);
                sleep(Duration::from_millis(100)).await;
            }
        });
    }
    until(|| ready.load(Relaxed) == sizes.streams as u64).await;
    let begin = Instant::now();
    tokio::task::block_in_place(|| host.kill_and_start());
    let listens = begin.elapsed();
    let back = timeout(PATIENCE, readers.join_all()).await.unwrap();
    let last = back.iter().map(|(at, _)| *at - begin).max().unwrap();
    let refused = refused.load(Relaxed);
    report.told(&format!(
        "the server listened again {:.2} s after the kill; {refused} tries before, or refused",
        listens.as_secs_f64()
    ));
    let what = format!("G7 {} readers caught up after kill -9", sizes.streams);
    report.goal(&what, last.as_secs_f64(), 10.0, "s");
}
