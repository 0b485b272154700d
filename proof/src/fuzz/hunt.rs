//! A hunt for broken promises without a fuzzer: the corpus, then mutations of it, for as long as one likes.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use tokio::time::Instant;

use super::{Target, mutate::mutated};
use crate::dice::Dice;

/// How long to hunt.
#[derive(Debug, Clone, Copy)]
pub struct Hunt {
    /// Where.
    pub target: Target,
    /// The mutations follow from it.
    pub seed: u64,
    /// At most so many mutations.
    pub executions: u64,
    /// For at most so long.
    pub time: Duration,
}

/// What a hunt without a find did.
#[derive(Debug, Clone, Copy)]
pub struct HuntEnd {
    /// Inputs, the corpus included.
    pub executions: u64,
    /// Different ways that they went.
    pub ways: usize,
    /// How long it took.
    pub took: Duration,
}

/// Inputs that went a new way are changed further; so many are kept.
const POOL: usize = 4_096;

impl Hunt {
    /// Hunts. What breaks a promise is printed and panics.
    ///
    /// # Errors
    /// If the corpus cannot be read.
    pub fn run(self) -> std::io::Result<HuntEnd> {
        let corpus = self.target.corpus()?;
        Ok(self.through(corpus, |bytes| self.target.run(bytes)))
    }

    /// Hunts from this corpus through a function in place of the target's own.
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

#[expect(clippy::print_stderr, reason = "whoever hunts wants to see it")]
fn report(target: Target, bytes: &[u8]) {
    eprintln!("{} breaks a promise with b\"{}\"", target.name(), bytes.escape_ascii());
}
