//! Many readers at once, each with a stream of its own, that count what they hear.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{sync::Semaphore, task::JoinSet, time::sleep};

use crate::client::ServerAccess;

/// Readers that read until they are dropped.
#[derive(Debug)]
pub(crate) struct Readers {
    counts: Arc<Counts>,
    _reading: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Counts {
    open: AtomicU64,
    texts: AtomicU64,
    ends: AtomicU64,
}

/// Streams that are opened at once.
const AT_ONCE: usize = 64;

impl Readers {
    /// Opens a stream for each of these chats, and reads it from then on.
    pub(crate) async fn open(
        access: &ServerAccess,
        chats: impl IntoIterator<Item = usize>,
    ) -> Self {
        let counts = Arc::new(Counts::default());
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        let mut reading = JoinSet::new();
        let mut opened = 0;
        for chat in chats {
            let at_once = permits.clone().acquire_owned().await.unwrap();
            let access = access.clone();
            let counts = counts.clone();
            opened += 1;
            reading.spawn(async move {
                let mut stream = access.stream(chat, None).await.unwrap();
                drop(at_once);
                counts.open.fetch_add(1, Relaxed);
                while let Ok(event) = stream.event().await {
                    match event {
                        "text" => counts.texts.fetch_add(1, Relaxed),
                        "turn_ended" => counts.ends.fetch_add(1, Relaxed),
                        _ => 0,
                    };
                }
            });
        }
        until(|| counts.open.load(Relaxed) == opened).await;
        Self { counts, _reading: reading }
    }

    /// Returns the frames of text and the ends of turns that were heard.
    pub(crate) fn heard(&self) -> (u64, u64) {
        (self.counts.texts.load(Relaxed), self.counts.ends.load(Relaxed))
    }

    /// Waits until so many ends were heard in all.
    pub(crate) async fn until_ends(&self, count: u64) {
        until(|| self.heard().1 >= count).await;
    }
}

/// Waits until this is so.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        sleep(Duration::from_millis(1)).await;
    }
}
