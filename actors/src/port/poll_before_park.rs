//! A wait for an answer that comes within microseconds, without parking the thread.

use std::{future::poll_fn, pin::pin, task::Poll};

use tokio::task::yield_now;

/// Polls before the thread may park: some hundred microseconds on an idle thread, while other tasks
/// run. Parking and waking a thread costs tens of them, on both sides.
const LOOKS: usize = 64;

/// Waits for a future that is expected to be ready within microseconds. Other tasks can run, but
/// the thread does not park at once. A future that takes longer is awaited as usual.
pub async fn poll_before_park<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    for _ in 0..LOOKS {
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        if let Poll::Ready(output) = polled {
            return output;
        }
        yield_now().await;
    }
    future.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_is_waited_for_without_looking_any_more() {
        let mut looks = 0;
        let mut sleep = pin!(tokio::time::sleep(Duration::from_secs(3)));
        poll_before_park(poll_fn(|context| {
            looks += 1;
            sleep.as_mut().poll(context)
        }))
        .await;
        assert_eq!(looks, LOOKS + 2, "then once to be woken, and once when it was");
    }

    #[tokio::test]
    async fn others_run_meanwhile() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        tokio::spawn(async move { sender.send(1) });
        assert_eq!(poll_before_park(receiver).await, Ok(1));
    }
}
