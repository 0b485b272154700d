//! Cuts data that is too long for the model. Long texts are cut first, entries are left out last,
//! and the data says both. Numbers, and texts as short as ids and dates, are never changed.

use serde_json::{Map, Value, json};

/// Keys of texts that name an item. They are cut only if no other text is left to cut.
const NAMES: [&str; 3] = ["title", "name", "code"];

/// The shortest length to which a text is cut.
const FEWEST_CHARS: usize = 12;

/// The longest text that is never cut: ids have 36 characters, and dates fewer.
const WHOLE_CHARS: usize = 40;

/// The length at which a text is still informative. The remaining entries of a long list can be
/// read from a position on.
const SOME_CHARS: usize = 60;

/// The number of entries that are all shown, however little room their texts have.
const FEW_ENTRIES: usize = 8;

/// Says how many characters of a text are missing at its end.
fn cut_off(text: &str, chars: usize) -> Option<String> {
    text.char_indices().nth(WHOLE_CHARS)?;
    let (end, _) = text.char_indices().nth(chars)?;
    let missing = text[end..].chars().count();
    let note = format!("…(+{missing})");
    (note.len() < text.len() - end).then(|| format!("{}{note}", &text[..end]))
}

/// Makes the note after the entries of an inner list: how many of them are missing.
fn missing_of(items: &[Value], kept: usize) -> Option<String> {
    let missing = items.len().checked_sub(kept).filter(|missing| *missing > 0)?;
    let note = format!("…(+{missing})");
    // Entries that take no more room than the note are shown instead.
    let mut left = note.len() + r#""","#.len();
    let is_shorter = items[kept..].iter().any(|item| {
        let bytes = item.to_string().len() + 1;
        let is_full = bytes > left;
        left = left.saturating_sub(bytes);
        is_full
    });
    is_shorter.then_some(note)
}

/// The bounds to which data is cut.
#[derive(Debug, Clone, Copy)]
struct Cuts {
    /// The characters that are kept of a text.
    chars: usize,
    /// The entries left of the list at the top that is cut.
    entries: usize,
    lists: Lists,
    names: Names,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// Cuts only the longest list at the top.
    Longest,
    /// Cuts every list, wherever it lies.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Kept,
    Cut,
}

/// Cuts data so that it `fits`, or returns `None` if no part of it does. The result says
/// `_truncated`. If the longest list was cut, `count` is its full length. If other lists were cut,
/// `_counts` has the full length of each list that was. A list further inside says at its end how
/// many entries are missing. If the data began after some entries, its `offset`, it says where the
/// next part of the longest list begins.
pub(super) fn cut(
    data: &Value,
    offset: Option<u64>,
    fits: impl Fn(&Value) -> bool,
) -> Option<Value> {
    let fields = as_fields(data);
    let longest = longest_list(&fields).map(|(key, list)| (key.to_owned(), list.len()));
    let longest_key = longest.as_ref().map(|(key, _)| &**key);
    let cutter = Cutter { fields: &fields, longest: longest_key, offset };
    let total = longest.as_ref().map_or(0, |(_, total)| *total);
    let try_with = |cuts: Cuts| Some(cutter.with(cuts)).filter(|cut| fits(cut));
    let whole =
        Cuts { chars: usize::MAX, entries: total, lists: Lists::Longest, names: Names::Kept };
    // All entries, with as much of their texts as there is room for.
    let fewest = if total <= FEW_ENTRIES { FEWEST_CHARS } else { SOME_CHARS };
    let most = longest_text(data);
    let texts = |from: usize, cuts: Cuts| {
        largest(from, most, |chars| try_with(Cuts { chars, ..cuts }).is_some())
            .and_then(|chars| try_with(Cuts { chars, ..cuts }))
    };
    let entries = |cuts: Cuts| {
        largest(1, total, |entries| try_with(Cuts { entries, ..cuts }).is_some())
            .and_then(|entries| try_with(Cuts { entries, ..cuts }))
    };
    texts(fewest, whole)
        // As many complete entries as there is room for. The next ones are read from there on.
        .or_else(|| entries(whole))
        .or_else(|| texts(SOME_CHARS, Cuts { entries: total.min(1), ..whole }))
        .or_else(|| entries(Cuts { lists: Lists::All, ..whole }))
        .or_else(|| texts(FEWEST_CHARS, Cuts { entries: 1, lists: Lists::All, ..whole }))
        .or_else(|| {
            let cuts = Cuts { entries: 1, lists: Lists::All, names: Names::Cut, ..whole };
            texts(FEWEST_CHARS, cuts)
        })
        .or_else(|| {
            let cuts = Cuts { entries: 0, lists: Lists::All, names: Names::Cut, ..whole };
            texts(FEWEST_CHARS, cuts)
        })
}

struct Cutter<'a> {
    fields: &'a Map<String, Value>,
    longest: Option<&'a str>,
    offset: Option<u64>,
}

impl Cutter<'_> {
    fn with(&self, cuts: Cuts) -> Value {
        let mut counts = Map::new();
        let mut fields = Map::new();
        for (key, value) in self.fields {
            let is_cut = cuts.lists == Lists::All || self.longest == Some(key);
            let long = value.as_array().filter(|items| is_cut && items.len() > cuts.entries);
            let value = match long {
                Some(items) => {
                    counts.insert(key.clone(), json!(items.len()));
                    items[..cuts.entries].iter().map(|item| part(item, cuts)).collect()
                }
                None => named(key, value, cuts),
            };
            fields.insert(key.clone(), value);
        }
        let has_others = counts.keys().any(|key| self.longest != Some(key.as_str()));
        let longest = self.longest.and_then(|key| counts.get(key).cloned());
        let longest_is_cut = longest.is_some();
        if let Some(total) =
            longest.filter(|_| !self.fields.get("count").is_some_and(Value::is_u64))
        {
            fields.insert("count".to_owned(), total);
        }
        if let (Some(offset), true) = (self.offset, longest_is_cut) {
            let key = if fields.contains_key("next_offset") { "next_offset" } else { "nextOffset" };
            fields.insert(key.to_owned(), json!(offset.saturating_add(cuts.entries as u64)));
        }
        if has_others {
            fields.insert("_counts".to_owned(), Value::Object(counts));
        }
        fields.insert("_truncated".to_owned(), Value::Bool(true));
        Value::Object(fields)
    }
}

/// Cuts the texts of the value below this key.
fn named(key: &str, value: &Value, cuts: Cuts) -> Value {
    let key = key.to_ascii_lowercase();
    let is_name = NAMES.iter().any(|name| key.ends_with(name));
    if is_name && cuts.names == Names::Kept && value.is_string() {
        return value.clone();
    }
    part(value, cuts)
}

/// Recurses by the depth of what is stored, which is bounded.
fn part(value: &Value, cuts: Cuts) -> Value {
    match value {
        Value::String(text) => cut_off(text, cuts.chars).map_or_else(|| value.clone(), Value::from),
        Value::Array(items) => {
            let most = if cuts.lists == Lists::All { cuts.entries } else { items.len() };
            match missing_of(items, most) {
                Some(note) => {
                    let shown = items.iter().take(most).map(|item| part(item, cuts));
                    shown.chain([Value::from(note)]).collect()
                }
                None => items.iter().map(|item| part(item, cuts)).collect(),
            }
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), named(key, value, cuts)));
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Names data that is not an object.
fn as_fields(data: &Value) -> Map<String, Value> {
    match data {
        Value::Object(fields) => fields.clone(),
        Value::Array(_) => Map::from_iter([("items".to_owned(), data.clone())]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Map::from_iter([("text".to_owned(), data.clone())])
        }
    }
}

fn longest_list(fields: &Map<String, Value>) -> Option<(&str, &Vec<Value>)> {
    let lists = fields.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_array()?)));
    lists.max_by_key(|(_, items)| items.iter().map(|item| item.to_string().len()).sum::<usize>())
}

/// Counts the characters of the longest text.
fn longest_text(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.iter().map(longest_text).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(longest_text).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Finds the largest number of this range for which `holds` is true, if it is true for all numbers
/// below. Sizes grow with what is kept, so halving finds it.
fn largest(from: usize, to: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let to = to.max(from);
    if from == 0 || !holds(from) {
        return None;
    }
    let mut known = from;
    let mut not = to + 1;
    while not - known > 1 {
        let middle = known.midpoint(not);
        if holds(middle) { known = middle } else { not = middle }
    }
    Some(known)
}
