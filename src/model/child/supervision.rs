//! What is to be done about the child and its requests: inputs in, effects out, with no clock and no pipe.

use std::time::Duration;

use madang_actors::protocol::CompletionRequest;
use tokio::time::Instant;

use super::{
    blame::Blame,
    open::{Aftermath, Fate, MOST_DEATHS, Open, Withdrawn},
    restarts::Restarts,
    watch::{Bounds, Hang, Watch},
};

/// Decides about one child after the other.
#[derive(Debug)]
pub(super) struct Supervision {
    phase: Phase,
    open: Open,
    blame: Blame,
    restarts: Restarts,
    bounds: Bounds,
    ping_every: Duration,
    counts: Counts,
}

#[derive(Debug)]
enum Phase {
    /// There is no child until this moment; where the last ones could not load the model, also not before a request.
    Down { until: Instant, waits_for_request: bool },
    /// It loads its model.
    Loading { watch: Watch, next_ping: Instant },
    /// It completes so many requests at once.
    Up { watch: Watch, next_ping: Instant, places: usize },
}

/// What the shell does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Start a child.
    Start,
    /// Send it this request.
    Ask(u64),
    /// Tell it that this request is cancelled.
    Cancel(u64),
    /// Let it say that it is there.
    Ping,
    /// End it, and say then that it died.
    Kill(Hang),
    /// This request has its end.
    End(u64, Fate),
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) started: u64,
    pub(super) died: u64,
    pub(super) asked_again: u64,
    pub(super) refused: u64,
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
            counts: Counts::default(),
        }
    }

    /// When something is due next.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Down { waits_for_request: true, .. } if self.open.is_empty() => None,
            Phase::Down { until, .. } => Some(*until),
            Phase::Loading { next_ping, .. } | Phase::Up { next_ping, .. } => Some(*next_ping),
        }
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<Effect> {
        if self.due().is_none_or(|due| now < due) {
            return Vec::new();
        }
        let is_busy = self.open.is_busy();
        match &mut self.phase {
            Phase::Down { .. } => {
                let next_ping = now + self.ping_every;
                self.phase = Phase::Loading { watch: Watch::new(self.bounds), next_ping };
                self.counts.started += 1;
                vec![Effect::Start]
            }
            Phase::Loading { watch, next_ping } | Phase::Up { watch, next_ping, .. } => {
                *next_ping = now + self.ping_every;
                vec![watch.ping(is_busy).map_or(Effect::Ping, Effect::Kill)]
            }
        }
    }

    /// A request comes.
    pub(super) fn asked(&mut self, id: u64, request: CompletionRequest) -> Vec<Effect> {
        let deaths = self.blame.deaths_by(&request);
        if deaths >= MOST_DEATHS {
            self.counts.refused += 1;
            return vec![Effect::End(id, Fate::Killer)];
        }
        self.open.push(id, request, deaths > 0);
        self.ask_next()
    }

    /// This request is cancelled.
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

    /// The child said something, whatever it was.
    pub(super) const fn heard(&mut self) {
        if let Phase::Loading { watch, .. } | Phase::Up { watch, .. } = &mut self.phase {
            watch.heard();
        }
    }

    /// The child has loaded its model, and completes so many requests at once.
    pub(super) fn loaded(&mut self, places: usize, now: Instant) -> Vec<Effect> {
        if let Phase::Loading { watch, next_ping } = &self.phase {
            let (mut watch, next_ping) = (watch.clone(), *next_ping);
            watch.loaded();
            self.restarts.loaded(now);
            self.phase = Phase::Up { watch, next_ping, places };
        }
        self.ask_next()
    }

    /// The child streams a part of this request's answer.
    pub(super) fn streams(&mut self, id: u64, is_shown: bool) {
        if let Phase::Up { watch, .. } = &mut self.phase {
            watch.went_on();
        }
        if is_shown {
            self.open.showed(id);
        }
    }

    /// The child said how much it has done.
    pub(super) fn progress(&mut self, progress: Option<u64>) {
        if let Phase::Up { watch, .. } = &mut self.phase {
            watch.progress(progress);
        }
    }

    /// The child ended this request, well or not, and lives.
    pub(super) fn ended(&mut self, id: u64) -> Vec<Effect> {
        let Some(request) = self.open.end(id) else { return Vec::new() };
        self.blame.forgive(&request);
        if let Phase::Up { watch, .. } = &mut self.phase {
            watch.went_on();
        }
        self.ask_next()
    }

    /// The child is dead and gone.
    pub(super) fn died(&mut self, now: Instant) -> Vec<Effect> {
        self.counts.died += 1;
        let until = now + self.restarts.ended(now);
        let is_hopeless = self.restarts.is_hopeless();
        self.phase = Phase::Down { until, waits_for_request: is_hopeless };
        let Aftermath { mut ended, asked_again } = self.open.died(&mut self.blame);
        self.counts.asked_again += asked_again;
        if is_hopeless {
            ended.extend(self.open.give_up());
        }
        self.end_all(ended)
    }

    /// There is no child, because it cannot be started or cannot load its model.
    pub(super) fn not_loaded(&mut self, now: Instant) -> Vec<Effect> {
        let until = now + self.restarts.ended(now);
        self.phase = Phase::Down { until, waits_for_request: true };
        let ended = self.open.give_up();
        self.end_all(ended)
    }

    /// What a request asks, as long as it has no end.
    pub(super) fn request(&self, id: u64) -> Option<&CompletionRequest> {
        self.open.request(id)
    }

    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    fn ask_next(&mut self) -> Vec<Effect> {
        let Phase::Up { places, .. } = self.phase else { return Vec::new() };
        std::iter::from_fn(|| self.open.next(places)).map(Effect::Ask).collect()
    }

    fn end_all(&mut self, ended: Vec<(u64, Fate)>) -> Vec<Effect> {
        let refused = ended.iter().filter(|(_, fate)| *fate == Fate::Killer).count();
        self.counts.refused += refused as u64;
        ended.into_iter().map(|(id, fate)| Effect::End(id, fate)).collect()
    }
}
