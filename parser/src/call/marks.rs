//! Reads and writes calls that have the name and the arguments, as JSON, between texts of the
//! family.

use madang_actors::protocol::WantedCall;

use super::{Malformed, wanted};

/// Stands for an id or a number in the texts of [`Marks`].
const ID: char = '#';

/// The texts of a family around the name and the arguments.
#[derive(Debug, PartialEq, Eq)]
pub struct Marks {
    /// The text before the name.
    pub before: &'static str,
    /// The texts that may separate the name from the arguments. The first is the one that we write.
    pub between: &'static [&'static str],
    /// The text after the arguments.
    pub after: &'static str,
    /// The text between two calls of one block. `None` if a block is one call.
    pub(crate) separator: Option<&'static str>,
}

impl Marks {
    /// The base of the rows: a block is one call, and nothing surrounds it.
    pub(crate) const BASE: Self = Self { before: "", between: &[], after: "", separator: None };

    /// Reads a whole call. Returns [`Malformed`] if it has no arguments, or no name between the
    /// texts of the family.
    pub(super) fn read(&self, call: &str) -> Result<WantedCall, Malformed> {
        let (head, arguments) = call.split_at(call.find('{').ok_or(Malformed)?);
        let head = match self.before.trim().rsplit(ID).next() {
            None | Some("") => head,
            Some(before) => head.rsplit_once(before).ok_or(Malformed)?.1,
        };
        let head = head.trim_start();
        let (name, behind) = head.split_at(head.find(is_no_name).unwrap_or(head.len()));
        let is_between =
            behind.trim().is_empty() || self.between.iter().any(|text| fits(text, behind));
        if is_between { wanted(name, arguments.to_owned()) } else { Err(Malformed) }
    }

    /// Writes a call.
    pub fn write(&self, name: &str, arguments: &str) -> String {
        let [before, between] = [self.before, self.between()].map(|text| text.replace(ID, "0"));
        format!("{before}{name}{between}{arguments}{}", self.after)
    }

    /// Returns the text that we write between name and arguments.
    fn between(&self) -> &'static str {
        self.between.first().copied().unwrap_or_default()
    }

    /// Returns whether a call contains the text between name and arguments as we write it.
    pub fn is_separated(&self, call: &str) -> bool {
        Self::literals(self.between()).all(|literal| call.contains(literal))
    }

    /// Returns whether more has come than the end of the last call.
    pub(super) fn has_begun(&self, rest: &str) -> bool {
        let rest = rest.trim();
        let after = self.after.trim();
        !after.starts_with(rest)
            && rest.strip_prefix(after).is_none_or(|rest| !rest.trim().is_empty())
    }

    /// Lists the texts that a model writes inside of a call.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'static str> {
        let all = [self.before, self.after].into_iter().chain(self.between.iter().copied());
        all.flat_map(Self::literals)
    }

    /// Splits one of these texts at its ids, and returns the parts that are always the same.
    pub fn literals(text: &str) -> impl Iterator<Item = &str> {
        text.split(ID)
    }
}

/// Returns whether a text is this text of the family, apart from blanks around it.
fn fits(family: &str, text: &str) -> bool {
    let family = family.trim();
    let text = text.trim();
    match family.split_once(ID) {
        None => family == text,
        Some((begin, end)) => text.starts_with(begin) && text.ends_with(end),
    }
}

fn is_no_name(letter: char) -> bool {
    !letter.is_alphanumeric() && !matches!(letter, '_' | '-' | '.')
}
