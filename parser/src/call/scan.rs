//! Finds the ends of calls in a block while text still arrives, by tags or by brackets outside of
//! quotes.

/// The syntax of a block of calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanRules {
    /// The marks that may surround quoted text. A quote ends with the mark that began it.
    pub(super) quotes: [&'static str; 2],
    /// Whether a backslash in quoted text escapes the next character.
    pub(super) has_escapes: bool,
    pub(super) opening: &'static [char],
    pub(super) closing: &'static [char],
    /// Whether the calls may be a list in square brackets.
    pub(super) is_list: bool,
    /// Whether a block that is not a list continues after a call.
    pub(super) is_several: bool,
    /// The texts that end the block if they are outside of quotes.
    pub(super) ends: &'static [&'static str],
}

/// What was found in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A call that ends before this byte.
    Call(usize),
    /// The end of the block, before this byte.
    End(usize),
}

/// Follows a block of calls from its first character on.
#[derive(Debug, Clone)]
pub(crate) enum Scan {
    Brackets(BracketScan),
    Tags(TagScan),
}

impl Scan {
    pub(super) fn brackets(rules: ScanRules) -> Self {
        Self::Brackets(BracketScan::new(rules))
    }

    pub(super) fn tags(rules: TagRules) -> Self {
        Self::Tags(TagScan { rules, is_in_value: false, looked_at: 0, has_calls: false })
    }

    /// Returns whether a call has ended.
    pub(crate) fn has_calls(&self) -> bool {
        match self {
            Self::Brackets(scan) => scan.has_calls,
            Self::Tags(scan) => scan.has_calls,
        }
    }

    /// Returns whether the block ends with its first call.
    pub(crate) fn is_single(&self) -> bool {
        match self {
            Self::Brackets(scan) => scan.is_single(),
            Self::Tags(scan) => scan.is_single(),
        }
    }

    /// Reads on in `text` and returns the next end, or `None` if more text must come first. `text`
    /// begins with the block, or after the last call that was returned, which the caller removes.
    pub(crate) fn look(&mut self, text: &str) -> Option<Seen> {
        match self {
            Self::Brackets(scan) => scan.look(text),
            Self::Tags(scan) => scan.look(text),
        }
    }
}

/// Counts brackets.
#[derive(Debug, Clone)]
pub(crate) struct BracketScan {
    rules: ScanRules,
    depth: usize,
    quote: Option<&'static str>,
    /// The depth of the calls. `None` before the first character that is not blank.
    base: Option<usize>,
    /// How many bytes have been read.
    looked_at: usize,
    has_calls: bool,
}

impl BracketScan {
    fn new(rules: ScanRules) -> Self {
        Self { rules, depth: 0, quote: None, base: None, looked_at: 0, has_calls: false }
    }

    fn is_single(&self) -> bool {
        self.base == Some(0) && !self.rules.is_several
    }

    fn look(&mut self, text: &str) -> Option<Seen> {
        loop {
            let rest = &text[self.looked_at..];
            let next = rest.chars().next()?;
            if let Some(quote) = self.quote {
                if next == '\\' && self.rules.has_escapes {
                    self.looked_at += 1 + rest[1..].chars().next()?.len_utf8();
                } else if rest.starts_with(quote) {
                    self.quote = None;
                    self.looked_at += quote.len();
                } else if quote.starts_with(rest) {
                    return None;
                } else {
                    self.looked_at += next.len_utf8();
                }
                continue;
            }
            if self.rules.ends.iter().any(|end| rest.starts_with(end)) {
                return Some(Seen::End(self.looked_at));
            }
            if let Some(quote) = self.rules.quotes.iter().find(|quote| rest.starts_with(**quote)) {
                self.quote = Some(quote);
                self.looked_at += quote.len();
                continue;
            }
            if self.rules.ends.iter().chain(&self.rules.quotes).any(|mark| mark.starts_with(rest)) {
                return None;
            }
            self.looked_at += next.len_utf8();
            if let Some(seen) = self.count(next) {
                return Some(seen);
            }
        }
    }

    fn count(&mut self, next: char) -> Option<Seen> {
        if self.base.is_none() && !next.is_whitespace() {
            self.base = Some(usize::from(self.rules.is_list && next == '['));
        }
        if self.rules.opening.contains(&next) {
            self.depth += 1;
        } else if self.rules.closing.contains(&next) && self.depth > 0 {
            self.depth -= 1;
            let base = self.base.unwrap_or(0);
            if self.depth == base {
                self.has_calls = true;
                return Some(Seen::Call(std::mem::take(&mut self.looked_at)));
            }
            if self.depth < base {
                return Some(Seen::End(self.looked_at));
            }
        }
        None
    }
}

/// The tags of a block of calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct TagRules {
    /// The text that begins an argument.
    pub(super) key: &'static str,
    /// The text that ends a value.
    pub(super) end: &'static str,
    /// The text that ends a call.
    pub(super) after: &'static str,
    /// Whether a block continues after a call.
    pub(super) is_several: bool,
    /// The texts that end the block if they are outside of values.
    pub(super) ends: &'static [&'static str],
}

/// Follows a block of calls between tags. Inside a value, only the tag that ends it means
/// something.
#[derive(Debug, Clone)]
pub(crate) struct TagScan {
    rules: TagRules,
    is_in_value: bool,
    /// How many bytes have been read.
    looked_at: usize,
    has_calls: bool,
}

impl TagScan {
    /// Returns whether the block ends with its first call.
    fn is_single(&self) -> bool {
        !self.rules.is_several
    }

    /// Reads on in `text`, as [`Scan::look`] does.
    fn look(&mut self, text: &str) -> Option<Seen> {
        let TagRules { key, end, after, .. } = self.rules;
        let outside: Vec<&str> =
            [key, after].into_iter().chain(self.rules.ends.iter().copied()).collect();
        loop {
            let marks = if self.is_in_value { &[end][..] } else { &outside };
            let rest = &text[self.looked_at..];
            let found = marks.iter().filter_map(|mark| Some((rest.find(mark)?, *mark)));
            let Some((at, mark)) = found.min_by_key(|(at, _)| *at) else {
                self.looked_at = text.len() - held(rest, marks);
                return None;
            };
            let begin = self.looked_at + at;
            self.looked_at = begin + mark.len();
            if self.is_in_value || mark == key {
                self.is_in_value = mark == key;
            } else if mark == after {
                self.has_calls = true;
                return Some(Seen::Call(std::mem::take(&mut self.looked_at)));
            } else {
                return Some(Seen::End(begin));
            }
        }
    }
}

/// Counts the bytes at the end of a text that may begin a mark.
pub(crate) fn held(text: &str, marks: &[&str]) -> usize {
    let begins = |(at, _): &(usize, char)| marks.iter().any(|mark| mark.starts_with(&text[*at..]));
    let longest = marks.iter().map(|mark| mark.len()).max().unwrap_or_default();
    let tail = text.char_indices().rev().take_while(|(at, _)| text.len() - at < longest);
    tail.filter(begins).last().map_or(0, |(at, _)| text.len() - at)
}
