//! Measures speed by the clock and by the processor.

use std::{fmt, time::Duration};

use cpu_time::ProcessTime;
use tokio::time::Instant;

use crate::threads;

/// Tokens a second. The processor's figure counts only with `threads=1`, since threads wait by
/// spinning; then it holds on a busy machine too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speed {
    wall: f64,
    processor: f64,
}

impl Speed {
    pub(crate) fn of(tokens: usize, took: Taken) -> Self {
        Self { wall: per_second(tokens, took.wall), processor: per_second(tokens, took.processor) }
    }

    /// Returns the tokens a second of another process, whose processor time is not ours.
    pub(crate) fn by_clock(wall: f64) -> Self {
        Self { wall, processor: f64::NAN }
    }

    pub(crate) fn without_processor(self) -> Self {
        Self::by_clock(self.wall)
    }
}

/// The moments of the tokens of sessions that run together.
#[derive(Debug)]
pub(crate) struct Heard(Vec<Vec<Taking>>);

impl Heard {
    pub(crate) fn of(sessions: usize) -> Self {
        Self(vec![Vec::new(); sessions])
    }

    pub(crate) fn push(&mut self, session: usize) {
        self.0[session].push(Taking::begin());
    }

    /// Tells whether each session has this many tokens behind its first.
    pub(crate) fn has_each(&self, tokens: usize) -> bool {
        self.0.iter().all(|heard| heard.len() > tokens + 1)
    }

    /// Returns the tokens a second of all together, from the last begin to the first end.
    pub(crate) fn speed(&self) -> Speed {
        let begin = self.0.iter().filter_map(|heard| heard.get(1)).max_by_key(|at| at.wall);
        let end = self.0.iter().filter_map(|heard| heard.last()).min_by_key(|at| at.wall);
        let begin = begin.unwrap();
        let end = end.unwrap();
        let inside = |at: &&Taking| begin.wall < at.wall && at.wall <= end.wall;
        let took = Taken {
            wall: end.wall - begin.wall,
            processor: end.processor.duration_since(begin.processor),
        };
        Speed::of(self.0.iter().flatten().filter(inside).count(), took)
    }
}

/// Two sides measured in turns, so that other work on the machine affects both. The median of their
/// ratios counts.
#[derive(Debug, Default)]
pub(crate) struct Pairs(Vec<(Speed, Speed)>);

impl Pairs {
    /// Measures both sides.
    pub(crate) async fn measure(
        &mut self,
        one: impl Future<Output = Speed>,
        other: impl Future<Output = Speed>,
    ) -> (Speed, Speed) {
        let pair = if self.0.len().is_multiple_of(2) {
            (one.await, other.await)
        } else {
            let other = other.await;
            (one.await, other)
        };
        self.0.push(pair);
        pair
    }

    /// Takes measurements of both sides that were made elsewhere, in the same order.
    pub(crate) fn push(&mut self, one: Speed, other: Speed) {
        self.0.push((one, other));
    }

    fn ratios(&self, of: impl Fn(&Speed) -> f64) -> (f64, String) {
        let ratios: Vec<f64> = self.0.iter().map(|(one, other)| of(one) / of(other)).collect();
        let all: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        (median(ratios), all.join(" "))
    }
}

impl fmt::Display for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = median(self.0.iter().map(|(one, _)| one.wall).collect());
        let other = median(self.0.iter().map(|(_, other)| other.wall).collect());
        let (ratio, all) = self.ratios(|speed| speed.wall);
        write!(f, "{one:.1} against {other:.1} tokens/s: {ratio:.3} ({all})")?;
        let (ratio, all) = self.ratios(|speed| speed.processor);
        if threads().get() == 1 && ratio.is_finite() {
            write!(f, "; by the processor {ratio:.3} ({all})")?;
        }
        Ok(())
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taking {
    pub(crate) wall: Instant,
    pub(crate) processor: ProcessTime,
}

/// How long something took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) wall: Duration,
    pub(crate) processor: Duration,
}

impl Taking {
    pub(crate) fn begin() -> Self {
        Self { wall: Instant::now(), processor: ProcessTime::now() }
    }

    pub(crate) fn taken(self) -> Taken {
        Taken { wall: self.wall.elapsed(), processor: self.processor.elapsed() }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
fn per_second(tokens: usize, time: Duration) -> f64 {
    tokens as f64 / time.as_secs_f64()
}
