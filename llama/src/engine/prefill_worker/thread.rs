//! The thread that computes beside the engine's: it makes the contexts of the prefill worker, and decodes what it is lent.

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

/// A context and what is decoded in it, which go to the thread and come back.
pub(super) struct Lent<'m> {
    pub(super) kv: KvContext<'m>,
    /// The first so many of the batches.
    pub(super) count: usize,
    pub(super) batches: Vec<LlamaBatch<'static>>,
}

/// What became of what was lent.
pub(super) struct Decoded<'m> {
    pub(super) lent: Lent<'m>,
    /// So many batches were decoded.
    pub(super) count: usize,
    /// Why not all, where the engine did not ask for the context.
    pub(super) result: Result<(), DecodeError>,
}

pub(super) enum Order<'m> {
    Make,
    Decode(Lent<'m>),
}

pub(super) enum WorkerReply<'m> {
    /// The contexts for those that generate and for prompts; `None` if there is no memory for them.
    Made(Option<[KvContext<'m>; 2]>),
    Decoded(Decoded<'m>),
}

/// How to reach the thread, which ends when this is dropped, after the batch at hand.
pub(in super::super) struct ThreadHandle<'m> {
    orders: mpsc::SyncSender<Order<'m>>,
    done: mpsc::Receiver<WorkerReply<'m>>,
    /// Set when the context is wanted before all is decoded.
    is_wanted: Arc<AtomicBool>,
}

/// What the thread works with.
pub(in super::super) struct Work<'m> {
    orders: mpsc::Receiver<Order<'m>>,
    done: mpsc::SyncSender<WorkerReply<'m>>,
    is_wanted: Arc<AtomicBool>,
}

/// What the contexts are made of.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Make {
    /// For those that generate, and for prompts.
    pub(in super::super) shapes: [Shape; 2],
    pub(in super::super) scratch: Sequence,
    pub(in super::super) keeps: Keeps,
}

/// A handle of the thread, and what the thread is to do.
pub(in super::super) fn channel<'m>() -> (ThreadHandle<'m>, Work<'m>) {
    // One at a time: the next order is given when the last one is done.
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

    /// Waits for an order and carries it out. False if there is none any more.
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

/// One after the other, and no other thread makes any by then: llama.cpp changes the weights' own settings meanwhile.
fn made<'m>(weights: &'m Weights, make: Make) -> Option<[KvContext<'m>; 2]> {
    let Make { shapes, scratch, keeps } = make;
    let kv = |shape| {
        let context = weights.new_context(backend(), context(shape));
        let context =
            context.inspect_err(|cause| warn!(%cause, "failed to make a context")).ok()?;
        Some(KvContext::new(context, scratch, keeps))
    };
    let [streams, prompts] = shapes;
    Some([kv(streams)?, kv(prompts)?])
}

impl<'m> ThreadHandle<'m> {
    /// False if the thread has died.
    pub(super) fn order(&self, order: Order<'m>) -> bool {
        self.is_wanted.store(false, Ordering::Release);
        self.orders.send(order).is_ok()
    }

    /// Wants back what is lent, after the batch at hand.
    pub(super) fn want(&self) {
        self.is_wanted.store(true, Ordering::Release);
    }

    /// What is done, as soon as it is.
    ///
    /// # Errors
    /// If the thread has died.
    pub(super) fn wait(&self) -> Result<WorkerReply<'m>, mpsc::RecvError> {
        self.done.recv()
    }

    /// What is done already.
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
    fn whoever_is_gone_waits_for_no_more_than_the_batch_at_hand() {
        let (thread, work) = channel();
        assert!(thread.order(Order::Make));
        assert!(!work.is_wanted.load(Ordering::Acquire));
        drop(thread);
        assert!(work.is_wanted.load(Ordering::Acquire));
    }
}
