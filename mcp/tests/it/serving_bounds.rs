//! A client that asks for too much at once is told so, and one that does not read costs no more
//! than the bound.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};

use crate::{
    raw::{Raw, call},
    serving::Offered,
    support::PATIENCE,
};

/// The requests that a client may have open.
const MAX: usize = 64;
const TOO_MANY: i64 = -32_050;

#[tokio::test]
async fn a_request_above_the_bound_or_under_an_open_id_is_refused_and_the_others_go_on() {
    let offered = Offered::new().await;
    let mut client = Raw::begin(&offered, json!({})).await;
    for id in 1..=MAX {
        client.write(&call(id, "slow")).await;
    }
    offered.handlers.begun.acquire_many(MAX as u32).await.unwrap().forget();
    client.write(&call(MAX + 1, "slow")).await;
    let refused = client.read().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(MAX + 1), &json!(TOO_MANY)));
    client.write(&call(1, "look")).await;
    let twice = client.read().await;
    assert_eq!((&twice["id"], &twice["error"]["code"]), (&json!(1), &json!(-32_600)));
    // A cancelled call gets no answer, and its slot is free.
    let cancelled = json!({ "requestId": 2 });
    client
        .write(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }),
        )
        .await;
    client.write(&call(MAX + 2, "look")).await;
    let answer = client.read().await;
    assert_eq!((&answer["id"], answer.get("error")), (&json!(MAX + 2), None), "{answer}");
    offered.handlers.go_on.add_permits(MAX);
    for _ in 0..MAX - 1 {
        assert!(client.read().await["result"].is_object());
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_read_no_further_and_loses_nothing() {
    const ALL: usize = 2_000;
    let offered = Offered::new().await;
    let Raw { mut reads, mut writes } = Raw::begin(&offered, json!({})).await;
    let written = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&written);
    let writing = tokio::spawn(async move {
        for id in 1..=ALL {
            writes.write_all(format!("{}\n", call(id, "write")).as_bytes()).await.unwrap();
            counts.store(id, SeqCst);
        }
        writes
    });
    let stands_still = async {
        let mut before = (0, 0);
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = (written.load(SeqCst), offered.runs());
            if now == before && now.0 > 0 {
                return now;
            }
            before = now;
        }
    };
    let (written, runs) = tokio::time::timeout(PATIENCE, stands_still).await.unwrap();
    // Some answers more stand in the pipe.
    assert!(written < ALL && runs < 3 * MAX, "{written} were read, {runs} have run");
    let mut answers = 0;
    while answers < ALL {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, reads.read_line(&mut line)).await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer["result"].is_object() || answer["error"]["code"] == TOO_MANY, "{answer}");
        answers += 1;
    }
    writing.await.unwrap();
}
