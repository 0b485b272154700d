//! Tracks the tokens of the sequences in a tree: equal beginnings share a branch, which splits at
//! the first difference.
//!
//! The sequence that has the most of a prompt is found in as many steps as the prompt has tokens,
//! for any number of sequences.

use super::sequence::{Sequence, Sequences};

/// The tokens of the sequences. Invariant: a branch ends where a sequence ends, and every branch
/// but the root has a holder.
#[derive(Debug)]
pub(super) struct Prefixes<T> {
    branches: Vec<Branch<T>>,
    /// Free indices of `branches`.
    unused: Vec<usize>,
    /// The last branch of each sequence, and its number of tokens.
    ends: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Branch<T> {
    tokens: Vec<T>,
    holders: Sequences,
    parent: usize,
    children: Vec<usize>,
}

/// The best match of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PrefixMatch {
    /// A sequence that holds the match.
    pub(super) by: Sequence,
    /// The number of its tokens.
    pub(super) tokens: usize,
}

const ROOT: usize = 0;

impl<T: Copy + PartialEq> Prefixes<T> {
    pub(super) fn new() -> Self {
        let root = Branch {
            tokens: Vec::new(),
            holders: Sequences::default(),
            parent: ROOT,
            children: Vec::new(),
        };
        Self { branches: vec![root], unused: Vec::new(), ends: vec![(ROOT, 0); Sequence::MOST] }
    }

    /// Counts the tokens of a sequence.
    pub(super) fn len(&self, sequence: Sequence) -> usize {
        self.ends[sequence.index()].1
    }

    /// Appends tokens to a sequence.
    pub(super) fn extend(&mut self, sequence: Sequence, tokens: &[T]) {
        let (mut at, len) = self.ends[sequence.index()];
        let mut rest = tokens;
        while let Some(first) = rest.first() {
            if let Some(child) = self.child(at, first) {
                let common = common(&self.branches[child].tokens, rest);
                self.cut(child, common);
                self.branches[child].holders.insert(sequence);
                rest = &rest[common..];
                at = child;
            } else if self.is_own_end(at, sequence) {
                self.branches[at].tokens.extend_from_slice(rest);
                break;
            } else {
                let holders = Sequences::from([sequence]);
                let branch =
                    Branch { tokens: rest.to_vec(), holders, parent: at, children: Vec::new() };
                let new = self.add(branch);
                self.branches[at].children.push(new);
                at = new;
                break;
            }
        }
        self.ends[sequence.index()] = (at, len + tokens.len());
    }

    /// Cuts a sequence to its first `len` tokens.
    pub(super) fn truncate(&mut self, sequence: Sequence, len: usize) {
        while self.len(sequence) > len {
            let (at, end) = self.ends[sequence.index()];
            let begin = end - self.branches[at].tokens.len();
            // A sequence that ended with this branch ends with the rest after the cut.
            self.cut(at, len.saturating_sub(begin));
            let (last, _) = self.ends[sequence.index()];
            self.ends[sequence.index()] = (self.leave(last, sequence), begin.max(len));
        }
    }

    /// Empties a sequence.
    pub(super) fn forget(&mut self, sequence: Sequence) {
        self.truncate(sequence, 0);
    }

    /// Finds the sequence that fits and has the most of the beginning of this prompt.
    pub(super) fn longest(
        &self,
        prompt: &[T],
        fits: impl Fn(Sequence) -> bool,
    ) -> Option<PrefixMatch> {
        // A sequence with more tokens is a holder too.
        let fitting = self.branches_of(prompt).map_while(|(branch, tokens)| {
            let by = self.branches[branch].holders.iter().copied().find(|by| fits(*by))?;
            Some(PrefixMatch { by, tokens })
        });
        fitting.last()
    }

    /// Finds the sequence that has the most of the beginning of this prompt, and nothing else.
    pub(super) fn longest_whole(&self, prompt: &[T]) -> Option<PrefixMatch> {
        let ending = self.branches_of(prompt).filter_map(|(branch, tokens)| {
            let ends_here = |by: &Sequence| self.ends[by.index()] == (branch, tokens);
            let by = self.branches[branch].holders.iter().copied().find(ends_here)?;
            Some(PrefixMatch { by, tokens })
        });
        ending.last()
    }

    /// Counts the tokens with which a sequence and a prompt both begin.
    pub(super) fn common(&self, sequence: Sequence, prompt: &[T]) -> usize {
        let held = self.branches_of(prompt);
        let held =
            held.take_while(|(branch, _)| self.branches[*branch].holders.contains(&sequence));
        held.last().map_or(0, |(_, tokens)| tokens)
    }

    /// Follows a prompt from the root: each branch that has some of it, and the tokens of the
    /// prompt up to there.
    fn branches_of(&self, prompt: &[T]) -> impl Iterator<Item = (usize, usize)> {
        let mut at = Some(ROOT);
        let mut tokens = 0;
        std::iter::from_fn(move || {
            let child = self.child(at?, prompt.get(tokens)?)?;
            let branch = &self.branches[child].tokens;
            let common = common(branch, &prompt[tokens..]);
            tokens += common;
            at = (common == branch.len()).then_some(child);
            Some((child, tokens))
        })
    }

    /// Returns the tokens of a sequence.
    pub(super) fn tokens(&self, sequence: Sequence) -> Vec<T> {
        let (mut at, len) = self.ends[sequence.index()];
        let mut path = Vec::new();
        while at != ROOT {
            path.push(at);
            at = self.branches[at].parent;
        }
        let mut tokens = Vec::with_capacity(len);
        tokens.extend(
            path.iter().rev().flat_map(|branch| self.branches[*branch].tokens.iter().copied()),
        );
        tokens
    }

    /// Counts the first tokens that a sequence shares with another one that fits, and names that
    /// one.
    pub(super) fn shared(
        &self,
        sequence: Sequence,
        fits: impl Fn(Sequence) -> bool,
    ) -> Option<PrefixMatch> {
        let (mut at, mut end) = self.ends[sequence.index()];
        while at != ROOT {
            let holders = self.branches[at].holders.iter().copied();
            let mut others = holders.filter(|by| *by != sequence);
            if let Some(by) = others.find(|by| fits(*by)) {
                return Some(PrefixMatch { by, tokens: end });
            }
            end -= self.branches[at].tokens.len();
            at = self.branches[at].parent;
        }
        None
    }

    /// Counts the tokens of these sequences. Shared tokens count once.
    pub(super) fn distinct(&self, of: &Sequences) -> usize {
        let held = self.branches.iter().filter(|branch| !branch.holders.is_disjoint(of));
        held.map(|branch| branch.tokens.len()).sum()
    }

    fn child(&self, of: usize, first: &T) -> Option<usize> {
        self.branches[of]
            .children
            .iter()
            .copied()
            .find(|child| self.branches[*child].tokens[0] == *first)
    }

    fn is_own_end(&self, at: usize, sequence: Sequence) -> bool {
        let Branch { holders, children, .. } = &self.branches[at];
        at != ROOT && children.is_empty() && holders.iter().eq([&sequence])
    }

    /// Cuts a branch after its first tokens. Sequences that ended with it end with the rest.
    fn cut(&mut self, at: usize, len: usize) {
        if len == 0 || len >= self.branches[at].tokens.len() {
            return;
        }
        let branch = &mut self.branches[at];
        let tokens = branch.tokens.split_off(len);
        let holders = branch.holders.clone();
        let children = std::mem::take(&mut branch.children);
        let rest = self.add(Branch { tokens, holders: holders.clone(), parent: at, children });
        for child in self.branches[rest].children.clone() {
            self.branches[child].parent = rest;
        }
        self.branches[at].children.push(rest);
        for holder in holders {
            if self.ends[holder.index()].0 == at {
                self.ends[holder.index()].0 = rest;
            }
        }
    }

    /// Removes a holder of a branch, and the branch without holders. Returns the branch before it.
    fn leave(&mut self, at: usize, sequence: Sequence) -> usize {
        let parent = self.branches[at].parent;
        self.branches[at].holders.remove(&sequence);
        if self.branches[at].holders.is_empty() {
            self.branches[parent].children.retain(|child| *child != at);
            self.branches[at].tokens = Vec::new();
            self.unused.push(at);
        }
        parent
    }

    fn add(&mut self, branch: Branch<T>) -> usize {
        if let Some(at) = self.unused.pop() {
            self.branches[at] = branch;
            return at;
        }
        self.branches.push(branch);
        self.branches.len() - 1
    }
}

/// Counts the tokens with which both begin.
pub(super) fn common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
#[path = "tests/prefixes.rs"]
mod tests;
