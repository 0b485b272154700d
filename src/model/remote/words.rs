//! The words of a provider in a refusal: those from which its meaning is found, and those that a
//! person reads.
//!
//! Each provider has a shape of its own, and some send the shape of another within a text. So all
//! texts are searched, in whatever place they are. What repeats the prompt is left out, because a
//! prompt may speak of anything.

use serde_json::Value;

/// The bytes that a person reads: some sentences.
const MAX_SAID: usize = 400;
/// The shortest key that is looked for: a shorter one is a part of words, and no secret.
const MIN_KEY: usize = 8;

/// Members that repeat what was sent or generated.
const REPEATS: &[&str] = &["input", "flagged_input", "failed_generation", "body"];
/// Members that are written for people.
const FOR_PEOPLE: &[&str] =
    &["message", "msg", "error", "errors", "detail", "raw", "description", "error_description"];

/// The words of a refusal.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// All texts, in small letters.
    all: String,
    for_people: Vec<String>,
}

impl Words {
    /// Reads a body, as far as it came.
    pub(super) fn of(body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(value) => Self::of_json(&value),
            Err(_) => Self::of_text(&String::from_utf8_lossy(body)),
        }
    }

    pub(super) fn of_text(text: &str) -> Self {
        let mut words = Self::default();
        let text = without_tags(words.text(text));
        words.for_people.push(text);
        words
    }

    pub(super) fn of_json(value: &Value) -> Self {
        let mut words = Self::default();
        words.value("", value);
        words
    }

    /// Returns whether a text has any of these words, which are in small letters.
    pub(super) fn have(&self, any: &[&str]) -> bool {
        any.iter().any(|words| self.all.contains(words))
    }

    /// Returns what a person reads, on one line and without the key, or `None` if nothing was said.
    pub(super) fn said(&self, key: Option<&str>) -> Option<String> {
        let mut said = String::new();
        for part in &self.for_people {
            if !said.contains(part.as_str()) {
                let between = if said.is_empty() { "" } else { ": " };
                said.extend([between, part]);
            }
        }
        let said = if said.is_empty() { &self.all } else { &said };
        let key = key.filter(|key| key.len() >= MIN_KEY);
        let said = key.map_or_else(|| said.clone(), |key| said.replace(key, "…"));
        let said = said.replace(char::is_control, " ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = said.floor_char_boundary(MAX_SAID);
        let cut = if end < said.len() { "…" } else { "" };
        (!said.is_empty()).then(|| [&said[..end], cut].concat())
    }

    fn value(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) => {
                let is_json = text.trim_start().starts_with(['{', '[']);
                match serde_json::from_str(text) {
                    Ok(inner) if is_json => self.value(name, &inner),
                    Ok(_) | Err(_) => {
                        let text = self.text(text).to_owned();
                        if FOR_PEOPLE.contains(&name) {
                            self.for_people.push(text);
                        }
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.value(name, value)),
            Value::Object(members) => {
                // FastAPI names the member of the request apart from what is wrong with it.
                if let (Some(place), Some(Value::String(wrong))) =
                    (members.get("loc").and_then(Value::as_array), members.get("msg"))
                {
                    let place: Vec<String> = place
                        .iter()
                        .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
                        .collect();
                    self.for_people.push(format!("{}: {wrong}", place.join(".")));
                }
                for (name, value) in members {
                    if !REPEATS.contains(&name.as_str()) {
                        self.value(name, value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns a text up to where it repeats the request, as Python or a body that was cut off
    /// shows it.
    fn text<'t>(&mut self, text: &'t str) -> &'t str {
        let repeats = ["'input':", "\"input\":"].iter().filter_map(|mark| text.find(mark)).min();
        let text = &text[..repeats.unwrap_or(text.len())];
        self.all.push_str(&text.to_lowercase());
        self.all.push('\n');
        text
    }
}

/// Returns the text of a page without its tags.
fn without_tags(text: &str) -> String {
    if !text.trim_start().starts_with('<') {
        return text.to_owned();
    }
    let parts = text.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ")
}
