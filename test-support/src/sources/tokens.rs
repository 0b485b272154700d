//! Splits a source into words and marks, without comments and texts.

/// A word or mark of a source.
#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    /// The word or mark itself.
    pub text: &'a str,
    /// Its line, from 1.
    pub line: usize,
}

/// Splits a source into words, `::` and single marks; comments, texts and lifetimes are left out.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line = 1;
    let mut counted = 0;
    while at < bytes.len() {
        line += bytes[counted..at].iter().filter(|&&b| b == b'\n').count();
        counted = at;
        let begin = at;
        match bytes[at] {
            b'/' if byte(at + 1) == b'/' => at = find(source, at, "\n"),
            b'/' if byte(at + 1) == b'*' => at = end_of_block_comment(bytes, at),
            b'"' => at = end_of_text(bytes, at),
            b'\'' => at = end_of_quote(source, at),
            b':' if byte(at + 1) == b':' => {
                at += 2;
                tokens.push(Token { text: "::", line });
            }
            b if is_word(b) => {
                while is_word(byte(at)) {
                    at += 1;
                }
                let word = &source[begin..at];
                let hashes = bytes[at..].iter().take_while(|&&b| b == b'#').count();
                match (word, byte(at)) {
                    ("r" | "br" | "cr", b'"' | b'#') if byte(at + hashes) == b'"' => {
                        let close = format!("\"{}", "#".repeat(hashes));
                        at = find(source, at + hashes + 1, &close) + close.len();
                    }
                    ("r", b'#') => at += 1, // a raw identifier: the word that follows
                    ("b" | "c", b'"') => at = end_of_text(bytes, at),
                    ("b", b'\'') => at = end_of_quote(source, at),
                    _ => tokens.push(Token { text: word, line }),
                }
            }
            b if b.is_ascii_whitespace() => at += 1,
            _ => {
                at += 1;
                tokens.push(Token { text: &source[begin..at], line });
            }
        }
    }
    tokens
}

/// Where `what` begins at or after `from`, or the end of the source.
fn find(source: &str, from: usize, what: &str) -> usize {
    source.get(from..).and_then(|rest| rest.find(what)).map_or(source.len(), |found| from + found)
}

fn end_of_block_comment(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin;
    let mut open = 0;
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => open += 1,
            b"*/" => open -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if open == 0 {
            break;
        }
    }
    at
}

fn end_of_text(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Where a character in quotes ends, or the name of a lifetime.
fn end_of_quote(source: &str, begin: usize) -> usize {
    let mut rest = source[begin + 1..].char_indices().map(|(offset, c)| (begin + 1 + offset, c));
    match rest.next() {
        Some((at, '\\')) => find(source, at + 2, "'") + 1,
        Some((at, c)) if source[at + c.len_utf8()..].starts_with('\'') => at + c.len_utf8() + 1,
        _ => {
            rest.find(|(_, c)| !c.is_alphanumeric() && *c != '_').map_or(source.len(), |(at, _)| at)
        }
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}
