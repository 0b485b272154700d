//! Traces the events of a run with their moments: a hash of all of them, and the last lines.

use std::{
    collections::{HashMap, VecDeque},
    fmt::{self, Write as _},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::Duration,
};

use uuid::Uuid;

/// Hashes every line. Ids are replaced by the order of their first appearance, because they hold
/// random bytes.
#[derive(Debug)]
pub(super) struct Trace {
    /// The number of last lines that are kept.
    keeps: usize,
    hasher: DefaultHasher,
    lines: u64,
    tail: VecDeque<String>,
    ids: HashMap<Box<str>, usize>,
    line: String,
}

impl Trace {
    pub(super) fn keeping(lines: usize) -> Self {
        Self {
            keeps: lines,
            hasher: DefaultHasher::new(),
            lines: 0,
            tail: VecDeque::new(),
            ids: HashMap::new(),
            line: String::new(),
        }
    }

    /// Adds a line that happened at this moment. Lines that are not kept are hashed piece by piece.
    pub(super) fn note(&mut self, moment: Duration, what: fmt::Arguments<'_>) {
        let Self { keeps, hasher, tail, ids, line, .. } = self;
        line.clear();
        line.write_fmt(what).expect("text can be written into a string");
        moment.as_millis().hash(hasher);
        let mut renamed = (*keeps > 0).then(|| format!("{} ", moment.as_millis()));
        let mut rest = 0;
        let mut at = 0;
        while at + UUID <= line.len() {
            if Uuid::try_parse_ascii(&line.as_bytes()[at..at + UUID]).is_err() {
                at += 1;
                continue;
            }
            let next = ids.len();
            let id = &line[at..at + UUID];
            let number = match ids.get(id) {
                Some(number) => *number,
                None => *ids.entry(id.into()).or_insert(next),
            };
            (&line[rest..at], number).hash(hasher);
            if let Some(renamed) = &mut renamed {
                write!(renamed, "{}#{number}", &line[rest..at])
                    .expect("text can be written into a string");
            }
            at += UUID;
            rest = at;
        }
        line[rest..].hash(hasher);
        self.lines += 1;
        if let Some(mut renamed) = renamed {
            renamed.push_str(&line[rest..]);
            if tail.len() == *keeps {
                tail.pop_front();
            }
            tail.push_back(renamed);
        }
    }

    /// Returns the hash of all lines so far.
    pub(super) fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    /// Counts the lines so far.
    pub(super) const fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the last lines.
    pub(super) fn tail(&self) -> Vec<String> {
        self.tail.iter().cloned().collect()
    }
}

/// The length of an id as text.
const UUID: usize = uuid::fmt::Hyphenated::LENGTH;
