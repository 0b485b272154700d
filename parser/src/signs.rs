//! Finds the signs of a family in an answer: what opens and ends thinking, a call, a message or the
//! answer.

use crate::{
    call::held,
    family::{Family, Opening},
};

/// What a sign means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Think,
    Thought,
    /// Opens a call.
    Call,
    /// Opens a call in an unknown form.
    ForeignCall,
    Stop,
    /// Begins a header. The sign is read as part of it.
    Header,
    /// Ends a message.
    End,
}

/// Comes before a guarded text that a token wrote. It is a noncharacter of Unicode, and is replaced
/// in ordinary text.
pub(crate) const TOKEN: char = '\u{fdd4}';

/// The signs to look for in an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signs {
    /// The texts that are part of a sign only if a token wrote them.
    guarded: Vec<String>,
    all: Vec<(String, Sign)>,
}

impl Signs {
    pub(crate) fn new(family: &'static Family, guarded: Vec<String>) -> Self {
        let mut signs = Self { guarded, all: Vec::new() };
        let [think, thought] = family.thinking;
        match family.opening {
            Opening::Header(channels) => {
                signs.add(channels.start, Sign::Header);
                signs.add(channels.channel, Sign::Header);
                signs.add(channels.end, Sign::End);
            }
            Opening::Marker(_) | Opening::Answer(_) => {
                signs.add(think, Sign::Think);
                signs.add(thought, Sign::Thought);
            }
        }
        signs
    }

    pub(crate) fn guarded(&self) -> Vec<String> {
        self.guarded.clone()
    }

    pub(crate) fn add(&mut self, text: &str, sign: Sign) {
        self.all.push((self.written(text), sign));
    }

    /// Returns whether a token must write a part of this text.
    pub(crate) fn guards(&self, text: &str) -> bool {
        self.guarded.iter().any(|part| text.contains(&**part))
    }

    /// Returns a text as it is found in an answer, with [`TOKEN`] before each guarded part.
    pub(crate) fn written(&self, text: &str) -> String {
        let mark = |text: String, part: &String| text.replace(&**part, &format!("{TOKEN}{part}"));
        self.guarded.iter().fold(text.to_owned(), mark)
    }

    /// Returns ordinary text, with any [`TOKEN`] in it replaced.
    pub(crate) fn unmarked(&self, text: &str) -> String {
        if self.guarded.is_empty() { text.to_owned() } else { text.replace(TOKEN, "\u{fffd}") }
    }

    /// Returns a text without the guarded parts that tokens wrote. A token that is part of no sign
    /// is not shown, like other control tokens.
    pub(crate) fn shown(&self, text: &str) -> String {
        let without = |text: String, part: &String| text.replace(&format!("{TOKEN}{part}"), "");
        self.guarded.iter().fold(text.to_owned(), without)
    }

    /// Finds the first sign, and returns where it begins and ends, and what it means.
    pub(crate) fn first(&self, text: &str) -> Option<(usize, usize, Sign)> {
        let found = |(sign, meaning): &(String, Sign)| {
            let at = text.find(&**sign)?;
            Some((at, at + sign.len(), *meaning))
        };
        self.all.iter().filter_map(found).min_by_key(|(at, ..)| *at)
    }

    /// Counts the bytes at the end of a text that may begin a sign.
    pub(crate) fn held(&self, text: &str) -> usize {
        held(text, &self.all.iter().map(|(sign, _)| sign.as_str()).collect::<Vec<_>>())
    }
}

/// The texts that may come before an object that is the whole answer.
const LEADS: [&str; 5] = ["<|python_start|>", "<|python_end|>", "```json", "```tool_code", "```"];

/// Returns the part of an answer after the texts that may come before its object. Returns `None` if
/// another such text may still come.
pub fn behind_leads(mut text: &str) -> Option<&str> {
    'leads: loop {
        for lead in LEADS {
            if let Some(behind) = text.strip_prefix(lead) {
                text = behind;
                continue 'leads;
            }
            if lead.starts_with(text) {
                return None;
            }
        }
        return Some(text);
    }
}

/// Returns whether an answer begins with an object that has this first key, in a fence or not.
/// Returns `None` if the answer is too short to tell.
pub(crate) fn answer_begins(text: &str, key: &str) -> Option<bool> {
    let mut rest = behind_leads(text)?;
    for mark in ["{", &format!("\"{key}\""), ":"] {
        rest = rest.trim_start();
        match rest.strip_prefix(mark) {
            Some(behind) => rest = behind,
            None if mark.starts_with(rest) => return None,
            None => return Some(false),
        }
    }
    Some(true)
}
