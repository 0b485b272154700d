//! Which tokens the sequences hold, as a tree: where two begin alike they share a run, and branch where they differ.
//!
//! So the sequence that has most of a prompt already is found in as many steps as the prompt has tokens, however many
//! sequences there are.

use super::sequence::{Sequence, Sequences};

/// What the sequences hold. Invariant: where a sequence ends, a run ends; every run but the root's is held by someone.
#[derive(Debug)]
pub(super) struct Prefixes<T> {
    runs: Vec<Run<T>>,
    /// Places of `runs` that may be used again.
    unused: Vec<usize>,
    /// The last run of each sequence, and how many tokens it holds in all.
    ends: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Run<T> {
    tokens: Vec<T>,
    holders: Sequences,
    parent: usize,
    children: Vec<usize>,
}

/// Where a prompt is known already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// The sequences that hold it.
    pub(super) by: Sequence,
    /// How many of its first tokens.
    pub(super) tokens: usize,
}

const ROOT: usize = 0;

impl<T: Copy + PartialEq> Prefixes<T> {
    pub(super) fn new() -> Self {
        let root = Run {
            tokens: Vec::new(),
            holders: Sequences::default(),
            parent: ROOT,
            children: Vec::new(),
        };
        Self { runs: vec![root], unused: Vec::new(), ends: vec![(ROOT, 0); Sequence::MOST] }
    }

    /// How many tokens a sequence holds.
    pub(super) fn len(&self, sequence: Sequence) -> usize {
        self.ends[sequence.index()].1
    }

    /// A sequence holds these, too, behind what it holds already.
    pub(super) fn extend(&mut self, sequence: Sequence, tokens: &[T]) {
        let (mut at, len) = self.ends[sequence.index()];
        let mut rest = tokens;
        while let Some(first) = rest.first() {
            if let Some(child) = self.child(at, first) {
                let common = common(&self.runs[child].tokens, rest);
                self.cut(child, common);
                self.runs[child].holders.insert(sequence);
                rest = &rest[common..];
                at = child;
            } else if self.is_own_end(at, sequence) {
                self.runs[at].tokens.extend_from_slice(rest);
                break;
            } else {
                let holders = Sequences::of(sequence);
                let run = Run { tokens: rest.to_vec(), holders, parent: at, children: Vec::new() };
                let new = self.add(run);
                self.runs[at].children.push(new);
                at = new;
                break;
            }
        }
        self.ends[sequence.index()] = (at, len + tokens.len());
    }

    /// A sequence holds no more than its first so many tokens.
    pub(super) fn truncate(&mut self, sequence: Sequence, len: usize) {
        while self.len(sequence) > len {
            let (at, end) = self.ends[sequence.index()];
            let begin = end - self.runs[at].tokens.len();
            // Those that end with a run end with its rest when it is cut.
            self.cut(at, len.saturating_sub(begin));
            let (last, _) = self.ends[sequence.index()];
            self.ends[sequence.index()] = (self.leave(last, sequence), begin.max(len));
        }
    }

    /// A sequence holds nothing any more.
    pub(super) fn forget(&mut self, sequence: Sequence) {
        self.truncate(sequence, 0);
    }

    /// The one of those that fit that holds most of the beginning of this prompt.
    pub(super) fn longest(&self, prompt: &[T], fits: impl Fn(Sequence) -> bool) -> Option<Known> {
        let (mut at, mut tokens) = (ROOT, 0);
        let mut best = None;
        while let Some(child) = prompt.get(tokens).and_then(|next| self.child(at, next)) {
            let run = &self.runs[child];
            let common = common(&run.tokens, &prompt[tokens..]);
            tokens += common;
            at = child;
            // A sequence that holds more holds this, too.
            let Some(by) = run.holders.iter().find(|by| fits(*by)) else { break };
            best = Some(Known { by, tokens });
            if common < run.tokens.len() {
                break;
            }
        }
        best
    }

    /// The sequence that holds most of the beginning of this prompt and nothing else.
    pub(super) fn longest_whole(&self, prompt: &[T]) -> Option<Known> {
        let (mut at, mut tokens) = (ROOT, 0);
        let mut best = None;
        while let Some(child) = prompt.get(tokens).and_then(|next| self.child(at, next)) {
            let run = &self.runs[child];
            if common(&run.tokens, &prompt[tokens..]) < run.tokens.len() {
                break;
            }
            tokens += run.tokens.len();
            at = child;
            let ends_here = run.holders.iter().find(|by| self.ends[by.index()].0 == child);
            best = ends_here.map(|by| Known { by, tokens }).or(best);
        }
        best
    }

    /// How many tokens a sequence and a prompt begin with alike.
    pub(super) fn common(&self, sequence: Sequence, prompt: &[T]) -> usize {
        let (mut at, mut tokens) = (ROOT, 0);
        while let Some(child) = prompt.get(tokens).and_then(|next| self.child(at, next)) {
            let run = &self.runs[child];
            if !run.holders.contains(sequence) {
                break;
            }
            let common = common(&run.tokens, &prompt[tokens..]);
            tokens += common;
            at = child;
            if common < run.tokens.len() {
                break;
            }
        }
        tokens
    }

    /// What a sequence holds.
    pub(super) fn tokens(&self, sequence: Sequence) -> Vec<T> {
        let (mut at, len) = self.ends[sequence.index()];
        let mut path = Vec::new();
        while at != ROOT {
            path.push(at);
            at = self.runs[at].parent;
        }
        let mut tokens = Vec::with_capacity(len);
        tokens.extend(path.iter().rev().flat_map(|run| self.runs[*run].tokens.iter().copied()));
        tokens
    }

    /// How many of its first tokens a sequence shares with another one that fits, and with which.
    pub(super) fn shared(
        &self,
        sequence: Sequence,
        fits: impl Fn(Sequence) -> bool,
    ) -> Option<Known> {
        let (mut at, mut end) = self.ends[sequence.index()];
        while at != ROOT {
            let mut others = self.runs[at].holders.iter().filter(|by| *by != sequence);
            if let Some(by) = others.find(|by| fits(*by)) {
                return Some(Known { by, tokens: end });
            }
            end -= self.runs[at].tokens.len();
            at = self.runs[at].parent;
        }
        None
    }

    /// How many tokens these sequences hold together; what they share counts once.
    pub(super) fn distinct(&self, of: Sequences) -> usize {
        let held = self.runs.iter().filter(|run| run.holders.meet(of));
        held.map(|run| run.tokens.len()).sum()
    }

    fn child(&self, of: usize, first: &T) -> Option<usize> {
        self.runs[of].children.iter().copied().find(|child| self.runs[*child].tokens[0] == *first)
    }

    fn is_own_end(&self, at: usize, sequence: Sequence) -> bool {
        at != ROOT
            && self.runs[at].children.is_empty()
            && self.runs[at].holders == Sequences::of(sequence)
    }

    /// Cuts a run behind its first so many tokens, if that is inside of it. Those that ended with it end with its rest.
    fn cut(&mut self, at: usize, len: usize) {
        if len == 0 || len >= self.runs[at].tokens.len() {
            return;
        }
        let run = &mut self.runs[at];
        let tokens = run.tokens.split_off(len);
        let (holders, children) = (run.holders, std::mem::take(&mut run.children));
        let rest = self.add(Run { tokens, holders, parent: at, children });
        for child in self.runs[rest].children.clone() {
            self.runs[child].parent = rest;
        }
        self.runs[at].children.push(rest);
        for holder in holders.iter() {
            if self.ends[holder.index()].0 == at {
                self.ends[holder.index()].0 = rest;
            }
        }
    }

    /// A sequence holds this run no more; it is gone if no other does. Gives the run before it.
    fn leave(&mut self, at: usize, sequence: Sequence) -> usize {
        let parent = self.runs[at].parent;
        self.runs[at].holders.remove(sequence);
        if self.runs[at].holders.is_empty() {
            self.runs[parent].children.retain(|child| *child != at);
            self.runs[at].tokens = Vec::new();
            self.unused.push(at);
        }
        parent
    }

    fn add(&mut self, run: Run<T>) -> usize {
        if let Some(at) = self.unused.pop() {
            self.runs[at] = run;
            return at;
        }
        self.runs.push(run);
        self.runs.len() - 1
    }
}

/// How many tokens two begin with alike.
pub(super) fn common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
#[path = "tests/prefixes.rs"]
mod tests;
