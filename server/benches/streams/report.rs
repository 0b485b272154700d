//! The figures, each beside its goal.

use std::{process::ExitCode, time::Duration};

/// A goal that is missed by more than this fails the bench: the machine has other guests.
const TOLERANCE: f64 = 1.5;

/// Prints figures, and remembers the goals that were missed.
#[derive(Debug, Default)]
pub(crate) struct Report {
    missed: Vec<String>,
}

impl Report {
    /// Prints a figure and its ratio to the most that it may be.
    pub(crate) fn goal(&mut self, what: &str, value: f64, most: f64, unit: &str) {
        let ratio = value / most;
        println!("{what:<72} {value:>9.2} {unit:<5} goal {most:>6} ratio {ratio:>5.2}");
        if ratio > TOLERANCE {
            self.missed.push(what.to_owned());
        }
    }

    /// Prints the median and the 99th percentile of times, each beside its goal.
    pub(crate) fn times(&mut self, what: &str, mut times: Vec<Duration>, most: [f64; 2]) {
        times.sort_unstable();
        for (percent, most) in [50, 99].into_iter().zip(most) {
            let time = times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
            let name = if percent == 50 { "median" } else { "99th percentile" };
            self.goal(&format!("{what}, {name}"), time, most, "ms");
        }
    }

    /// Prints what has no goal.
    pub(crate) fn told(&self, what: &str) {
        println!("    {what}");
    }

    /// Fails where a goal was missed by far, if it is judged at all.
    pub(crate) fn end(self, is_judged: bool) -> ExitCode {
        for what in &self.missed {
            println!("missed by more than half: {what}");
        }
        if is_judged && !self.missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
