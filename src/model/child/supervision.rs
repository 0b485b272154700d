//! Decides about the child and its requests: inputs in, effects out, with no clock and no pipe.

use std::time::Duration;

use madang_actors::protocol::CompletionRequest;
use tokio::time::Instant;

use super::{
    blame::Blame,
    open::{Fate, MOST_DEATHS, Open, Withdrawn},
    restarts::Restarts,
    stats::ChildStats,
    watch::{Bounds, Hang, Watch},
};

/// Decides about one child after another.
#[derive(Debug)]
pub(super) struct Supervision {
    phase: Phase,
    open: Open,
    blame: Blame,
    restarts: Restarts,
    bounds: Bounds,
    ping_every: Duration,
    counts: ChildStats,
}

#[derive(Debug)]
enum Phase {
    /// No child runs until this moment; after failed loads, also not before a request.
    Down { until: Instant, waits_for_request: bool },
    /// A child runs. It completes up to `max_concurrent` requests at once; `None` while it loads
    /// its model.
    Up { watch: Watch, next_ping: Instant, max_concurrent: Option<usize> },
}

/// An order to the supervising thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Start a child.
    Start,
    /// Send this request to the child.
    Ask(u64),
    /// Send the child the cancellation of this request.
    Cancel(u64),
    /// Ask the child for a sign of life.
    Ping,
    /// Kill the child, and then report its death.
    Kill(Hang),
    /// End this request.
    End(u64, Fate),
}

impl Supervision {
    pub(super) fn new(
        restarts: Restarts,
        bounds: Bounds,
        ping_every: Duration,
        now: Instant,
    ) -> Self {
        Self {
            phase: Phase::Down { until: now, waits_for_request: false },
            open: Open::default(),
            blame: Blame::default(),
            restarts,
            bounds,
            ping_every,
            counts: ChildStats::default(),
        }
    }

    /// Returns the moment at which the next decision is due.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Down { waits_for_request: true, .. } if self.open.is_empty() => None,
            Phase::Down { until, .. } => Some(*until),
            Phase::Up { next_ping, .. } => Some(*next_ping),
        }
    }

    /// Handles the passing of time.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<Effect> {
        if self.due().is_none_or(|due| now < due) {
            return Vec::new();
        }
        let is_busy = self.open.is_busy();
        match &mut self.phase {
            Phase::Down { .. } => {
                let next_ping = now + self.ping_every;
                self.phase =
                    Phase::Up { watch: Watch::new(self.bounds), next_ping, max_concurrent: None };
                self.counts.started += 1;
                vec![Effect::Start]
            }
            Phase::Up { watch, next_ping, .. } => {
                *next_ping = now + self.ping_every;
                vec![watch.ping(is_busy).map_or(Effect::Ping, Effect::Kill)]
            }
        }
    }

    /// Handles a new request.
    pub(super) fn asked(&mut self, id: u64, request: CompletionRequest) -> Vec<Effect> {
        let deaths = self.blame.deaths_by(&request);
        if deaths >= MOST_DEATHS {
            self.counts.refused += 1;
            return vec![Effect::End(id, Fate::Killer)];
        }
        self.open.push(id, request, deaths > 0);
        self.ask_next()
    }

    /// Handles a cancelled request.
    pub(super) fn withdrawn(&mut self, id: u64) -> Vec<Effect> {
        match self.open.withdraw(id) {
            Withdrawn::Gone => {
                let mut effects = vec![Effect::End(id, Fate::Cancelled)];
                effects.extend(self.ask_next());
                effects
            }
            Withdrawn::Tell => vec![Effect::Cancel(id)],
            Withdrawn::Known => Vec::new(),
        }
    }

    /// Handles any sign of life.
    pub(super) const fn heard(&mut self) {
        if let Phase::Up { watch, .. } = &mut self.phase {
            watch.heard();
        }
    }

    /// Handles a loaded model, which completes this many requests at once.
    pub(super) fn loaded(&mut self, most: usize, now: Instant) -> Vec<Effect> {
        if let Phase::Up { watch, max_concurrent: max_concurrent @ None, .. } = &mut self.phase {
            *max_concurrent = Some(most);
            watch.loaded();
            self.restarts.loaded(now);
        }
        self.ask_next()
    }

    /// Handles a streamed part of an answer.
    pub(super) fn streams(&mut self, id: u64, is_shown: bool) {
        if let Phase::Up { watch, .. } = &mut self.phase {
            watch.went_on();
        }
        if is_shown {
            self.open.showed(id);
        }
    }

    /// Handles a report of progress.
    pub(super) fn progress(&mut self, progress: Option<u64>) {
        if let Phase::Up { watch, .. } = &mut self.phase {
            watch.progress(progress);
        }
    }

    /// Handles the end of a request whose child still lives.
    pub(super) fn ended(&mut self, id: u64) -> Vec<Effect> {
        let Some(request) = self.open.end(id) else { return Vec::new() };
        self.blame.forgive(&request);
        if let Phase::Up { watch, .. } = &mut self.phase {
            watch.went_on();
        }
        self.ask_next()
    }

    /// Handles the child's death.
    pub(super) fn died(&mut self, now: Instant) -> Vec<Effect> {
        self.counts.died += 1;
        let until = now + self.restarts.ended(now);
        let is_hopeless = self.restarts.is_hopeless();
        self.phase = Phase::Down { until, waits_for_request: is_hopeless };
        let (mut ended, asked_again) = self.open.died(&mut self.blame);
        self.counts.asked_again += asked_again;
        if is_hopeless {
            ended.extend(self.open.give_up());
        }
        self.end_all(ended)
    }

    /// Handles a child that cannot start or cannot load its model.
    pub(super) fn not_loaded(&mut self, now: Instant) -> Vec<Effect> {
        let until = now + self.restarts.ended(now);
        self.phase = Phase::Down { until, waits_for_request: true };
        let ended = self.open.give_up();
        self.end_all(ended)
    }

    /// Returns an open request.
    pub(super) fn request(&self, id: u64) -> Option<&CompletionRequest> {
        self.open.request(id)
    }

    /// Counts the events so far; which process runs is not known here.
    pub(super) const fn counts(&self) -> ChildStats {
        self.counts
    }

    fn ask_next(&mut self) -> Vec<Effect> {
        let Phase::Up { max_concurrent: Some(max_concurrent), .. } = self.phase else {
            return Vec::new();
        };
        std::iter::from_fn(|| self.open.next(max_concurrent)).map(Effect::Ask).collect()
    }

    fn end_all(&mut self, ended: Vec<(u64, Fate)>) -> Vec<Effect> {
        let refused = ended.iter().filter(|(_, fate)| *fate == Fate::Killer).count();
        self.counts.refused += refused as u64;
        ended.into_iter().map(|(id, fate)| Effect::End(id, fate)).collect()
    }
}
