//! Runs the thread next to the engine's. It makes the contexts of the prefill worker, and decodes
//! the work that it is lent.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
    mpsc,
};

use llama_cpp_2::{DecodeError, llama_batch::LlamaBatch, model::LlamaModel as Weights};
use tracing::warn;

use super::super::{
    kv_context::KvContext,
    load::{Keeps, Shape, context},
    sequence::Sequence,
};
use crate::backend::backend;

/// A context and its batches, which are passed to the thread and returned.
pub(super) struct Lent<'m> {
    pub(super) kv: KvContext<'m>,
    /// The number of batches to decode.
    pub(super) count: usize,
    pub(super) batches: Vec<LlamaBatch<'static>>,
}

/// The result of lent work.
pub(super) struct Decoded<'m> {
    pub(super) lent: Lent<'m>,
    /// The number of decoded batches.
    pub(super) count: usize,
    /// The reason if not all were decoded, unless the engine wanted the context back.
    pub(super) result: Result<(), DecodeError>,
}

pub(super) enum Order<'m> {
    Make,
    Decode(Lent<'m>),
}

pub(super) enum WorkerReply<'m> {
    /// The contexts for streams and for prompts. `None` if there is no memory for them.
    Made(Option<[KvContext<'m>; 2]>),
    Decoded(Decoded<'m>),
}

/// A handle of the thread. If it is dropped, the thread ends after the present batch.
pub(in super::super) struct ThreadHandle<'m> {
    orders: mpsc::SyncSender<Order<'m>>,
    done: mpsc::Receiver<WorkerReply<'m>>,
    /// Set when the engine wants the context back early.
    is_wanted: Arc<AtomicBool>,
}

/// The thread's ends of the channels.
pub(in super::super) struct Work<'m> {
    orders: mpsc::Receiver<Order<'m>>,
    done: mpsc::SyncSender<WorkerReply<'m>>,
    is_wanted: Arc<AtomicBool>,
}

/// The parameters of the contexts.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Make {
    /// For streams, and for prompts.
    pub(in super::super) shapes: [Shape; 2],
    pub(in super::super) scratch: Sequence,
    pub(in super::super) keeps: Keeps,
}

/// Makes a handle of the thread, and the thread's work.
pub(in super::super) fn channel<'m>() -> (ThreadHandle<'m>, Work<'m>) {
    // One at a time: the next order follows the last result.
    let (orders, to_do) = mpsc::sync_channel(1);
    let (done, report) = mpsc::sync_channel(1);
    let is_wanted = Arc::default();
    let work = Work { orders: to_do, done, is_wanted: Arc::clone(&is_wanted) };
    (ThreadHandle { orders, done: report, is_wanted }, work)
}

impl<'m> Work<'m> {
    /// Works until the engine is gone.
    pub(in super::super) fn run(self, weights: &'m Weights, make: Make) {
        while self.does_one(weights, make) {}
    }

    /// Waits for an order and carries it out. Returns false if no more orders can come.
    pub(super) fn does_one(&self, weights: &'m Weights, make: Make) -> bool {
        let Ok(order) = self.orders.recv() else { return false };
        let done = match order {
            Order::Make => WorkerReply::Made(made(weights, make)),
            Order::Decode(lent) => WorkerReply::Decoded(self.decode(lent)),
        };
        self.done.send(done).is_ok()
    }

    fn decode(&self, mut lent: Lent<'m>) -> Decoded<'m> {
        let mut count = 0;
        let mut result = Ok(());
        for batch in lent.batches.iter_mut().take(lent.count) {
            result = lent.kv.decode(batch);
            if result.is_err() {
                break;
            }
            count += 1;
            if self.is_wanted.load(Ordering::Acquire) {
                break;
            }
        }
        Decoded { lent, count, result }
    }
}

/// Makes one context after the other. No other thread makes one meanwhile, because llama.cpp
/// changes settings of the weights.
fn made<'m>(weights: &'m Weights, make: Make) -> Option<[KvContext<'m>; 2]> {
    let Make { shapes, scratch, keeps } = make;
    let kv = |shape| {
        let context = weights.new_context(backend().ok()?, context(shape));
        let context =
            context.inspect_err(|cause| warn!(%cause, "failed to make a context")).ok()?;
        Some(KvContext::new(context, scratch, keeps))
    };
    let [streams, prompts] = shapes;
    Some([kv(streams)?, kv(prompts)?])
}

impl<'m> ThreadHandle<'m> {
    /// Sends an order. Returns false if the thread has died.
    pub(super) fn order(&self, order: Order<'m>) -> bool {
        self.is_wanted.store(false, Ordering::Release);
        self.orders.send(order).is_ok()
    }

    /// Asks for the lent work after the present batch.
    pub(super) fn want(&self) {
        self.is_wanted.store(true, Ordering::Release);
    }

    /// Waits for a result.
    ///
    /// # Errors
    /// If the thread has died.
    pub(super) fn wait(&self) -> Result<WorkerReply<'m>, mpsc::RecvError> {
        self.done.recv()
    }

    /// Returns a finished result.
    ///
    /// # Errors
    /// If the thread has died.
    pub(super) fn look(&self) -> Result<Option<WorkerReply<'m>>, mpsc::RecvError> {
        match self.done.try_recv() {
            Ok(done) => Ok(Some(done)),
            Err(mpsc::TryRecvError::Empty) => Ok(None),
            Err(mpsc::TryRecvError::Disconnected) => Err(mpsc::RecvError),
        }
    }
}

impl Drop for ThreadHandle<'_> {
    fn drop(&mut self) {
        self.want();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_ends_after_the_present_batch() {
        let (thread, work) = channel();
        assert!(thread.order(Order::Make));
        assert!(!work.is_wanted.load(Ordering::Acquire));
        drop(thread);
        assert!(work.is_wanted.load(Ordering::Acquire));
    }
}
