//! The thread that computes beside the engine's: it makes the contexts for reading apart, and decodes what it is lent.

use std::sync::mpsc;

use llama_cpp_2::{DecodeError, llama_batch::LlamaBatch, model::LlamaModel as Weights};

use super::super::{
    kept::Kept,
    load::{Keeps, Shape, context},
    sequence::Sequence,
};
use crate::model::llama::backend::backend;

/// A context and what is decoded in it, which go to the thread and come back.
pub(super) struct Lent<'m> {
    pub(super) kept: Kept<'m>,
    pub(super) batch: LlamaBatch<'static>,
}

pub(super) enum Order<'m> {
    Make,
    Decode(Lent<'m>),
}

pub(super) enum Done<'m> {
    /// The contexts for those that generate and for prompts; `None` if there is no memory for them.
    Made(Option<[Kept<'m>; 2]>),
    Decoded(Lent<'m>, Result<(), DecodeError>),
}

/// How to reach the thread, which ends when this is dropped.
pub(in super::super) struct Worker<'m> {
    orders: mpsc::SyncSender<Order<'m>>,
    done: mpsc::Receiver<Done<'m>>,
}

/// What the thread works with.
pub(in super::super) struct Work<'m> {
    orders: mpsc::Receiver<Order<'m>>,
    done: mpsc::SyncSender<Done<'m>>,
}

/// What the contexts are made of.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Make {
    /// For those that generate, and for prompts.
    pub(in super::super) shapes: [Shape; 2],
    pub(in super::super) scratch: Sequence,
    pub(in super::super) keeps: Keeps,
}

/// A worker, and what its thread is to do.
pub(in super::super) fn worker<'m>() -> (Worker<'m>, Work<'m>) {
    // One at a time: the next order is given when the last one is done.
    let (orders, to_do) = mpsc::sync_channel(1);
    let (done, report) = mpsc::sync_channel(1);
    (Worker { orders, done: report }, Work { orders: to_do, done })
}

impl<'m> Work<'m> {
    /// Works until nobody orders anything any more.
    pub(in super::super) fn run(self, weights: &'m Weights, make: Make) {
        while self.does_one(weights, make) {}
    }

    /// Waits for an order and carries it out. False if there is none any more.
    pub(super) fn does_one(&self, weights: &'m Weights, make: Make) -> bool {
        let Ok(order) = self.orders.recv() else { return false };
        let done = match order {
            Order::Make => Done::Made(made(weights, make)),
            Order::Decode(mut lent) => {
                let result = lent.kept.decode(&mut lent.batch);
                Done::Decoded(lent, result)
            }
        };
        self.done.send(done).is_ok()
    }
}

fn made<'m>(weights: &'m Weights, make: Make) -> Option<[Kept<'m>; 2]> {
    let Make { shapes, scratch, keeps } = make;
    let kept = |shape| {
        let context = weights.new_context(backend(), context(shape)).ok()?;
        Some(Kept::new(context, scratch, keeps))
    };
    let [streams, prompts] = shapes;
    Some([kept(streams)?, kept(prompts)?])
}

impl<'m> Worker<'m> {
    /// False if the thread has died.
    pub(super) fn order(&self, order: Order<'m>) -> bool {
        self.orders.send(order).is_ok()
    }

    /// What is done, as soon as it is.
    ///
    /// # Errors
    /// If the thread has died.
    pub(super) fn wait(&self) -> Result<Done<'m>, mpsc::RecvError> {
        self.done.recv()
    }

    /// What is done already.
    ///
    /// # Errors
    /// If the thread has died.
    pub(super) fn look(&self) -> Result<Option<Done<'m>>, mpsc::RecvError> {
        match self.done.try_recv() {
            Ok(done) => Ok(Some(done)),
            Err(mpsc::TryRecvError::Empty) => Ok(None),
            Err(mpsc::TryRecvError::Disconnected) => Err(mpsc::RecvError),
        }
    }
}
