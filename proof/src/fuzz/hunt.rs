//! Hunts for broken promises without a fuzzer: the corpus, then mutations of it, for any time.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use tokio::time::Instant;

use super::{Target, mutate::mutated};
use crate::dice::Dice;

/// The length of a hunt.
#[derive(Debug, Clone, Copy)]
pub struct Hunt {
    /// The code that the mutated inputs go to.
    pub target: Target,
    /// The seed of the mutations.
    pub seed: u64,
    /// The most mutations.
    pub executions: u64,
    /// The longest time.
    pub time: Duration,
}

/// The figures of a hunt without a find.
#[derive(Debug, Clone, Copy)]
pub struct HuntEnd {
    /// Inputs, the corpus included.
    pub executions: u64,
    /// Different paths that they took.
    pub ways: usize,
    /// The time that it took.
    pub took: Duration,
}

/// The most inputs that are kept for mutation, because they took a new path.
const POOL: usize = 4_096;

impl Hunt {
    /// Hunts until its time or its number of inputs is spent. Prints an input that breaks a promise, and panics.
    ///
    /// # Errors
    /// The corpus cannot be read.
    pub fn run(self) -> std::io::Result<HuntEnd> {
        let corpus = self.target.corpus()?;
        Ok(self.through(corpus, |bytes| self.target.run(bytes)))
    }

    /// Hunts from this corpus through a function instead of the target's own.
    #[must_use]
    pub fn through(self, mut pool: Vec<Vec<u8>>, run: impl Fn(&[u8]) -> String) -> HuntEnd {
        let begin = Instant::now();
        let way = |bytes: &[u8]| {
            catch_unwind(AssertUnwindSafe(|| run(bytes))).unwrap_or_else(|panic| {
                report(self.target, bytes);
                resume_unwind(panic)
            })
        };
        let mut ways: HashSet<String> = pool.iter().map(|bytes| way(bytes)).collect();
        let (mut dice, mut executions) = (Dice::new(self.seed), pool.len() as u64);
        for _ in 0..self.executions {
            if begin.elapsed() >= self.time {
                break;
            }
            let bytes = mutated(&mut dice, &pool, self.target.dictionary());
            executions += 1;
            if ways.insert(way(&bytes)) && pool.len() < POOL {
                pool.push(bytes);
            }
        }
        HuntEnd { executions, ways: ways.len(), took: begin.elapsed() }
    }
}

#[expect(clippy::print_stderr, reason = "the hunter reads it")]
fn report(target: Target, bytes: &[u8]) {
    eprintln!("{} breaks a promise with b\"{}\"", target.name(), bytes.escape_ascii());
}
