//! Keeps the table of open requests: which wait, which run, and which survive a child's death.

use std::collections::{BTreeMap, VecDeque};

use madang_actors::protocol::CompletionRequest;

use super::blame::Blame;

/// All requests without an end, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Open {
    entries: BTreeMap<u64, Entry>,
    /// Waiting requests, the next one first.
    line: VecDeque<u64>,
}

#[derive(Debug)]
struct Entry {
    request: CompletionRequest,
    stage: Stage,
    /// A child died while it ran, so it runs alone.
    is_suspect: bool,
    is_asked_again: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waits,
    Runs {
        /// A part of the answer was streamed.
        is_shown: bool,
        /// Cancelled, and the child knows.
        is_withdrawn: bool,
    },
}

/// The reason why this thread ends a request, and not the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its child died, and it cannot be asked again.
    Died,
    /// It ran when two children died.
    Killer,
    /// Its caller cancelled it.
    Cancelled,
    /// No child runs, and none will.
    Unloadable,
}

/// What a cancellation requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Withdrawn {
    /// It had not begun, and is removed.
    Gone,
    /// A message to the child.
    Tell,
    /// Nothing is left to do.
    Known,
}

/// The children that may die while a request runs.
pub(super) const MOST_DEATHS: u32 = 2;

impl Open {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns whether the child has anything to do.
    pub(super) fn is_busy(&self) -> bool {
        self.running().next().is_some()
    }

    /// Adds a request after all others.
    pub(super) fn push(&mut self, id: u64, request: CompletionRequest, is_suspect: bool) {
        let entry = Entry { request, stage: Stage::Waits, is_suspect, is_asked_again: false };
        self.entries.insert(id, entry);
        self.line.push_back(id);
    }

    /// Returns the next request that may run, if at most this many may run at once. A suspect waits
    /// until no other request runs, and later requests wait for its end, so that no innocent
    /// request becomes suspect.
    pub(super) fn next(&mut self, most: usize) -> Option<u64> {
        let id = *self.line.front()?;
        let is_suspect = self.entries.get(&id)?.is_suspect;
        let is_trial = self.running().any(|(_, entry)| entry.is_suspect);
        let has_room = match self.running().count() {
            0 => true,
            running => !is_suspect && !is_trial && running < most,
        };
        if !has_room {
            return None;
        }
        self.line.pop_front();
        let entry = self.entries.get_mut(&id)?;
        entry.stage = Stage::Runs { is_shown: false, is_withdrawn: false };
        Some(id)
    }

    pub(super) fn request(&self, id: u64) -> Option<&CompletionRequest> {
        self.entries.get(&id).map(|entry| &entry.request)
    }

    /// Notes that a part of the answer is streamed.
    pub(super) fn showed(&mut self, id: u64) {
        if let Some(Entry { stage: Stage::Runs { is_shown, .. }, .. }) = self.entries.get_mut(&id) {
            *is_shown = true;
        }
    }

    /// Cancels a request.
    pub(super) fn withdraw(&mut self, id: u64) -> Withdrawn {
        match self.entries.get_mut(&id).map(|entry| &mut entry.stage) {
            None | Some(Stage::Runs { is_withdrawn: true, .. }) => Withdrawn::Known,
            Some(Stage::Runs { is_withdrawn, .. }) => {
                *is_withdrawn = true;
                Withdrawn::Tell
            }
            Some(Stage::Waits) => {
                self.end(id);
                Withdrawn::Gone
            }
        }
    }

    /// Removes a request that has ended.
    pub(super) fn end(&mut self, id: u64) -> Option<CompletionRequest> {
        self.line.retain(|waiting| *waiting != id);
        self.entries.remove(&id).map(|entry| entry.request)
    }

    /// Handles the child's death: requests that may be asked again go before all that wait. Returns
    /// those that ended, and the number of those that are asked again.
    pub(super) fn died(&mut self, blame: &mut Blame) -> (Vec<(u64, Fate)>, u64) {
        blame.died(self.running().map(|(_, entry)| &entry.request));
        let mut ended = Vec::new();
        let mut asked_again = 0;
        for (id, entry) in self.entries.iter_mut().rev() {
            let deaths = blame.deaths_by(&entry.request);
            let fate = match entry.stage {
                Stage::Runs { is_withdrawn: true, .. } => Some(Fate::Cancelled),
                Stage::Waits | Stage::Runs { .. } if deaths >= MOST_DEATHS => Some(Fate::Killer),
                Stage::Runs { is_shown, .. } if is_shown || entry.is_asked_again => {
                    Some(Fate::Died)
                }
                Stage::Runs { .. } => {
                    entry.stage = Stage::Waits;
                    entry.is_asked_again = true;
                    asked_again += 1;
                    self.line.push_front(*id);
                    None
                }
                Stage::Waits => None,
            };
            entry.is_suspect = deaths > 0;
            ended.extend(fate.map(|fate| (*id, fate)));
        }
        ended.reverse();
        for (id, _) in &ended {
            self.end(*id);
        }
        (ended, asked_again)
    }

    /// Ends all waiting requests.
    pub(super) fn give_up(&mut self) -> Vec<(u64, Fate)> {
        let ended: Vec<_> = self.line.drain(..).map(|id| (id, Fate::Unloadable)).collect();
        for (id, _) in &ended {
            self.entries.remove(id);
        }
        ended
    }

    fn running(&self) -> impl Iterator<Item = (&u64, &Entry)> {
        self.entries.iter().filter(|(_, entry)| entry.stage != Stage::Waits)
    }
}
