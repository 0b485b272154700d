//! Finds the ends of calls in a block while text still arrives: brackets, counted outside of quotes.

/// The syntax of a block of calls.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct ScanRules {
    /// The marks around quoted text.
    pub(in super::super) quotes: [&'static str; 2],
    /// Whether a backslash in quoted text escapes the next letter.
    pub(in super::super) has_escapes: bool,
    pub(in super::super) opening: &'static [char],
    pub(in super::super) closing: &'static [char],
    /// Whether the calls may stand between square brackets.
    pub(in super::super) is_list: bool,
    /// Texts that end the block outside of quotes.
    pub(in super::super) ends: &'static [&'static str],
}

/// A finding in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Seen {
    /// A call that ends before this byte.
    Call(usize),
    /// The end of the block, before this byte.
    End(usize),
}

/// Follows a block of calls from its first letter on.
#[derive(Debug, Clone)]
pub(in super::super) struct Scan {
    rules: ScanRules,
    depth: usize,
    quote: Option<&'static str>,
    /// The depth of the calls; unknown before the first letter.
    base: Option<usize>,
    /// The bytes that were looked at.
    looked_at: usize,
    has_calls: bool,
}

impl Scan {
    pub(in super::super) fn new(rules: ScanRules) -> Self {
        Self { rules, depth: 0, quote: None, base: None, looked_at: 0, has_calls: false }
    }

    /// Tells whether a call has ended.
    pub(in super::super) fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Tells whether the block ends with its first call.
    pub(in super::super) fn is_single(&self) -> bool {
        self.base == Some(0)
    }

    /// Looks at the new text. `text` begins with the block, or behind the last call once the caller has removed that.
    pub(in super::super) fn look(&mut self, text: &str) -> Option<Seen> {
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
