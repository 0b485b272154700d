//! A row: what a server sends, and what must come of it.
//!
//! A file begins with `server NAME VERSION` and `format PROVIDER`. A row is its name, replies, and
//! what must come:
//!
//! ```text
//! == name
//! << STATUS [events|lines] [crlf|cr|bom|cut|bytes].. [| header: value]..
//! the body
//! >> what must come, a line each
//! ```
//!
//! Of `events` each line of JSON is an event, a comment is closed, and other lines stand as they
//! are.

use madang::model::remote::Provider;

use super::outcome::Outcome;

/// What a server sends, and what must come of it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) server: String,
    pub(super) name: String,
    pub(super) provider: Provider,
    pub(super) replies: Vec<Reply>,
    /// How many texts the user sends.
    pub(super) turns: usize,
    /// The lines that must come, in order.
    expected: Vec<String>,
    /// The words that the person must read.
    tells: Vec<String>,
    /// What the last request must have, or must not have.
    sends: Vec<(bool, String)>,
}

/// A reply of a server.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<String>,
    pub(super) body: Vec<u8>,
    /// The connection breaks after the body.
    pub(super) is_cut: bool,
    /// Each byte comes alone.
    pub(super) is_in_bytes: bool,
}

/// Reads the rows of a file.
pub(super) fn rows(file: &str) -> Vec<Row> {
    let (head, rows) = file.split_once("\n== ").expect("a file has rows");
    let of = |word: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(word)).expect(word);
        line.trim().to_owned()
    };
    let server = of("server ");
    let provider = of("format ").parse().unwrap();
    rows.split("\n== ").map(|row| read(&server, provider, row)).collect()
}

fn read(server: &str, provider: Provider, text: &str) -> Row {
    let (name, text) = text.split_once('\n').expect("a row has lines");
    let mut row = Row {
        server: server.to_owned(),
        name: name.to_owned(),
        provider,
        replies: Vec::new(),
        turns: 1,
        expected: Vec::new(),
        tells: Vec::new(),
        sends: Vec::new(),
    };
    let mut body: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        let head = line.strip_prefix("<< ");
        let came = line.strip_prefix(">> ");
        if head.is_some() || came.is_some() {
            row.replies.extend(body.take().map(|(head, lines)| reply(head, &lines)));
        }
        match (head, came) {
            (Some(head), _) => body = Some((head, Vec::new())),
            (None, Some(came)) => row.must(came),
            (None, None) => {
                if let Some((_, lines)) = &mut body {
                    lines.push(line);
                }
            }
        }
    }
    // Where calls ran, the second reply is a text of our own; and a row that says nothing else is
    // asked once a reply.
    let calls = row.expected.iter().any(|line| line.starts_with("calls "));
    let ends = |line: &String| line.starts_with("answers ") || line.starts_with("fails ");
    if calls && !row.expected.iter().any(ends) {
        row.expected.push("answers Done.".to_owned());
    }
    if !row.expected.iter().any(|line| line.starts_with("asks ")) {
        row.expected.push(format!("asks {}", row.replies.len() + usize::from(calls)));
    }
    row
}

impl Row {
    fn must(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').expect("a word and what it is about");
        match word {
            "tells" => self.tells.push(rest.to_owned()),
            "sends" => self.sends.push((true, rest.to_owned())),
            "omits" => self.sends.push((false, rest.to_owned())),
            "turns" => self.turns = rest.parse().unwrap(),
            "says" | "thinks" | "calls" | "answers" | "fails" | "asks" => {
                self.expected.push(line.to_owned());
            }
            other => panic!("{}, {}: no row says {other:?}", self.server, self.name),
        }
    }

    /// Tells what is not as the row says.
    pub(super) fn wrong(&self, found: &Outcome) -> Option<String> {
        let mut wrong = Vec::new();
        if found.lines != self.expected {
            let lines = |lines: &[String]| lines.join("\n    ");
            wrong.push(format!(
                "\n  must\n    {}\n  came\n    {}\n  told {:?}",
                lines(&self.expected),
                lines(&found.lines),
                found.told
            ));
        }
        for words in &self.tells {
            if !found.told.contains(words) {
                wrong.push(format!("\n  {words:?} is not in what was told: {:?}", found.told));
            }
        }
        for (must, words) in &self.sends {
            if found.sent.contains(words) != *must {
                let not = if *must { "not " } else { "" };
                wrong.push(format!("\n  {words:?} is {not}in what was sent: {}", found.sent));
            }
        }
        (!wrong.is_empty()).then(|| wrong.concat())
    }
}

fn reply(head: &str, lines: &[&str]) -> Reply {
    let mut parts = head.split(" | ");
    let words: Vec<&str> = parts.next().expect("there is always one").split(' ').collect();
    let mut headers: Vec<String> = parts.map(str::to_owned).collect();
    let has = |word| words.contains(&word);
    let is_events = has("events");
    let mut body: String = lines.iter().map(|line| framed(line, is_events)).collect();
    if has("crlf") {
        body = body.replace('\n', "\r\n");
    } else if has("cr") {
        body = body.replace('\n', "\r");
    }
    if has("bom") {
        body.insert(0, '\u{feff}');
    }
    if !headers.iter().any(|header| header.starts_with("content-type")) {
        let kind = match body.as_bytes().first() {
            _ if is_events => "text/event-stream",
            _ if has("lines") => "application/x-ndjson",
            Some(b'<') => "text/html; charset=utf-8",
            _ => "application/json",
        };
        headers.push(format!("content-type: {kind}"));
    }
    Reply {
        status: words[0].parse().unwrap(),
        headers,
        body: body.into_bytes(),
        is_cut: has("cut"),
        is_in_bytes: has("bytes"),
    }
}

fn framed(line: &str, is_event: bool) -> String {
    match line.as_bytes().first() {
        Some(b'{' | b'[') if is_event => format!("data: {line}\n\n"),
        Some(b':') if is_event => format!("{line}\n\n"),
        _ => format!("{line}\n"),
    }
}
