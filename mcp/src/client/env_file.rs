//! Reads a file of variables, `NAME=value` on each line, as `envFile` names one.

use std::{fs, io::Read as _, path::Path};

use super::limits::MAX_ENV_FILE_BYTES;

/// Reads the variables of a file. Returns what is wrong with it, but never a value, as an error.
pub(super) fn read(path: &Path) -> Result<Vec<(String, String)>, String> {
    let mut text = String::new();
    let read = fs::File::open(path)
        .and_then(|file| file.take(MAX_ENV_FILE_BYTES + 1).read_to_string(&mut text));
    let path = path.display();
    read.map_err(|error| format!("names {path}, which cannot be read: {error}"))?;
    if text.len() as u64 > MAX_ENV_FILE_BYTES {
        return Err(format!("names {path}, which has more than {MAX_ENV_FILE_BYTES} bytes"));
    }
    variables(&text).map_err(|line| format!("names {path}, whose line {line} is not NAME=value"))
}

/// Reads the variables of a text. Returns the number of the first line that has none as an error.
fn variables(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(number)?;
        let name = name.trim();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(number);
        }
        variables.push((name.to_owned(), value_of(value.trim()).ok_or(number)?));
    }
    Ok(variables)
}

/// Reads a value, in quotes up to their end and otherwise up to a comment. Returns `None` if quotes
/// do not end.
fn value_of(text: &str) -> Option<String> {
    if let Some(text) = text.strip_prefix('\'') {
        return text.split_once('\'').map(|(value, _)| value.to_owned());
    }
    let Some(text) = text.strip_prefix('"') else {
        let value = text.split_once(" #").map_or(text, |(value, _)| value);
        return Some(value.trim_end().to_owned());
    };
    let mut value = String::new();
    let mut letters = text.chars();
    loop {
        match letters.next()? {
            '"' => return Some(value),
            '\\' => match letters.next()? {
                'n' => value.push('\n'),
                letter => value.push(letter),
            },
            letter => value.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_lines_are_read_and_the_line_of_a_mistake_is_named() {
        let text = "\u{feff}# keys\n\nA=1\nexport B = two words # not this\nC='a # b'\nD=\"a\\n\\\"b\\\"\" # c\r\nE=\nF=a=b#c\n";
        let read = variables(text).unwrap();
        let read: Vec<_> = read.iter().map(|(name, value)| (&**name, &**value)).collect();
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "a # b"),
            ("D", "a\n\"b\""),
            ("E", ""),
            ("F", "a=b#c"),
        ];
        assert_eq!(read, expected);
        for broken in ["A", "A=1\nA B=2", "=1", "A='x", "A=\"x\\"] {
            assert_eq!(variables(broken), Err(broken.lines().count()), "{broken}");
        }
    }
}
