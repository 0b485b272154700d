//! Decides whether a call has grounds in the chat: in what the person said, and in what tools found.
//!
//! The model garbles a word now and then, or calls a tool that nobody asked for. In its training,
//! each text in the arguments of a call that writes is a copy. So a text that stands nowhere in the
//! chat is a mistake. Another entry of a list than the person named is one as well. Nobody is asked
//! to approve such a call. Only a habit that was looked up by its title is put right.

use madang::{
    model::PromptMessage,
    tool::{Locale, WantedCall},
};
use serde_json::Value;

use super::{
    deeds::{self, Change},
    wish::{asks_to_keep, asks_to_remove, only_asks},
};
use crate::life::catalogue::{Catalogue, Item};

/// The messages at the end of a chat that count. The model has no room for more.
const MAX_MESSAGES: usize = 96;

/// The last messages of the person in which the wish to remove something may stand: the wish, and
/// two answers to questions about it.
const MAX_WISHES: usize = 3;

/// Arguments whose values are named by the schema, and not by the person.
const CHOICES: [&str; 3] = ["frame_level", "value", "separator"];

/// Arguments that choose an entry of a list.
const CHOSEN: [&str; 7] =
    ["habit_id", "protocol_id", "id", "pageId", "parentId", "blockId", "parentBlockId"];

/// Returns a call that has grounds, or nothing. If the model looked a habit up that the last message
/// names, and took another one, the habit is put right; without any name it has no grounds. A call
/// that changes nothing always passes.
pub(super) fn grounded(call: WantedCall, messages: &[PromptMessage]) -> Option<WantedCall> {
    // What is no JSON is refused by its own name.
    let Ok(mut arguments) = serde_json::from_str::<Value>(&call.arguments) else {
        return Some(call);
    };
    let change = deeds::of(&call.name).change;
    let chat = Chat::read(&messages[messages.len().saturating_sub(MAX_MESSAGES)..]);
    let choice = chat.choose(&mut arguments);
    let has_grounds = change == Change::Nothing
        || (choice != Choice::Wrong
            && chat.has_arguments(&arguments)
            && !chat.said.last().is_none_or(|last| only_asks(last))
            && (change != Change::Removes || chat.asks_to_remove()));
    let call = match choice {
        Choice::PutRight => WantedCall { arguments: arguments.to_string().into(), ..call },
        Choice::Right | Choice::Wrong => call,
    };
    has_grounds.then_some(call)
}

/// Leaves out each call that writes what another one of this turn has written. A write is made once,
/// even if it was asked for twice.
pub(super) fn without_repeated(
    calls: Vec<WantedCall>,
    messages: &[PromptMessage],
) -> Vec<WantedCall> {
    let read = |arguments: &str| serde_json::from_str::<Value>(arguments).ok();
    let is_user = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
    let turn = messages.iter().rposition(is_user).map_or(0, |place| place + 1);
    let mut made: Vec<_> = messages[turn..]
        .iter()
        .filter_map(|message| match message {
            PromptMessage::ToolCall { name, arguments, .. } => {
                Some((name.clone(), read(arguments)?))
            }
            PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
        })
        .collect();
    let is_new = |call: &WantedCall| {
        let Some(arguments) = read(&call.arguments) else { return true };
        let this = (call.name.clone(), arguments);
        let is_made = made.contains(&this);
        made.push(this);
        !is_made || deeds::of(&call.name).change == Change::Nothing
    };
    calls.into_iter().filter(is_new).collect()
}

/// Says that nothing was done because the request was not understood, as the model does itself.
pub(super) fn unclear(locale: Locale) -> &'static str {
    locale.pick(
        "무슨 말씀인지 잘 모르겠어요. 다르게 말씀해 주세요.",
        "I did not understand that. Please put it differently.",
    )
}

/// Whether a call is about the entry of a list that the last message names, if it names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Right,
    /// The model took another one. Now the call is about the one that is named.
    PutRight,
    Wrong,
}

/// What was said and found, in small letters and without spaces.
struct Chat<'a> {
    /// The texts of the person, as they are.
    said: Vec<&'a str>,
    texts: Vec<String>,
    /// The lists that tools returned: of each entry its id, and its title or text.
    lists: Vec<Vec<Entry>>,
    /// How many lists are older than the last message of the person.
    lists_before: usize,
}

/// An entry of a list, whose texts are in small letters and without spaces.
struct Entry {
    id: Value,
    name: String,
    /// The longer words of the name. Of an item of the catalogue, in both languages.
    words: Vec<String>,
}

impl<'a> Chat<'a> {
    fn read(messages: &'a [PromptMessage]) -> Self {
        let mut chat =
            Self { said: Vec::new(), texts: Vec::new(), lists: Vec::new(), lists_before: 0 };
        for message in messages {
            match message {
                PromptMessage::User { text } => {
                    chat.said.push(text);
                    chat.texts.push(folded(text));
                    chat.lists_before = chat.lists.len();
                }
                PromptMessage::ToolCall { envelope, .. } => {
                    let envelope: Value = serde_json::from_str(envelope).unwrap_or_default();
                    each_text(&envelope, None, &mut |_, text| {
                        chat.texts.push(folded(text));
                        true
                    });
                    let items = envelope["data"]["items"].as_array().into_iter().flatten();
                    chat.lists.push(items.filter_map(entry).collect());
                }
                _ => {}
            }
        }
        chat
    }

    fn has(&self, text: &str) -> bool {
        let text = folded(text);
        self.texts.iter().any(|one| one.contains(&text))
    }

    fn has_arguments(&self, arguments: &Value) -> bool {
        let item = arguments["protocol_id"].as_str().and_then(|id| Catalogue::bundled().get(id));
        let titles = || {
            let item = item.into_iter();
            item.flat_map(|item| [Locale::KO, Locale::EN].map(|locale| item.title.get(locale)))
        };
        each_text(arguments, None, &mut |key, text| match key {
            Some(key) if CHOICES.contains(&key) => true,
            Some("protocol_id") => self.has(text) || titles().any(|title| self.has(title)),
            Some("framed_text") => self.has(text) || titles().any(|title| title == text),
            Some("date") => self.has(text) || self.has_day(text),
            Some(_) | None => self.has(text),
        })
    }

    /// Returns whether the person has named the day of a date, in whatever form, and another year
    /// not in the last message.
    fn has_day(&self, date: &str) -> bool {
        let mut parts = date.split('-');
        let (Some(year), Some(day)) = (parts.next(), parts.nth(1)) else { return false };
        let day = day.trim_start_matches('0');
        let mut said = self.said.iter().flat_map(|text| numbers(text));
        let years = self.said.last().into_iter().flat_map(|text| numbers(text));
        let years: Vec<_> = years.filter(|number| number.len() == 4).collect();
        said.any(|number| number.trim_start_matches('0') == day)
            && (years.is_empty() || years.contains(&year))
    }

    /// Returns whether one of the last messages asks to delete or to end something. If the very last
    /// one asks to leave it, none does.
    fn asks_to_remove(&self) -> bool {
        let mut wishes = self.said.iter().rev().take(MAX_WISHES);
        !self.said.last().is_some_and(|text| asks_to_keep(text))
            && wishes.any(|text| asks_to_remove(text))
    }

    /// Compares each chosen entry with those that the last message names. What is to be written names
    /// none, and neither does a message that says which one is not meant.
    fn choose(&self, arguments: &mut Value) -> Choice {
        let Some(last) = self.said.last().filter(|last| !excludes(last)) else {
            return Choice::Right;
        };
        let mut wish = folded(last);
        each_text(arguments, None, &mut |_, text| {
            let text = folded(text);
            if !text.is_empty() {
                wish = wish.replace(&text, "\n");
            }
            true
        });
        let mut choice = Choice::Right;
        for argument in CHOSEN {
            let Some(id) = arguments.get_mut(argument) else { continue };
            let Some(list) = self.lists.iter().rposition(|list| has_entry(list, id)) else {
                continue;
            };
            let entries = &self.lists[list];
            if argument != HABIT || list < self.lists_before {
                // A number or a place says more than a word of a title.
                let named = match argument == HABIT && !counts(id, last) {
                    true => by_word(entries, &wish, last),
                    false => by_title(entries, &wish),
                };
                if !named.is_empty() && !named.contains(&&*id) {
                    return Choice::Wrong;
                }
                continue;
            }
            // It was looked up for this message, so the message names it.
            match &*by_word(entries, &wish, last) {
                named if named.contains(&&*id) => {}
                [habit] => {
                    *id = (*habit).clone();
                    choice = Choice::PutRight;
                }
                [] if is_hinted_at(entries, id, &wish, last) => {}
                _ => return Choice::Wrong,
            }
        }
        choice
    }
}

/// The argument that chooses a habit.
const HABIT: &str = "habit_id";

/// What says that an entry is not the one that is meant.
const EXCLUDING: [&str; 13] = [
    "말고",
    "빼고 다",
    "빼고 나머지",
    "제외",
    "아니고",
    "아니라",
    "except",
    "not the ",
    "not my ",
    "other than",
    "instead of",
    "rather than",
    "all but",
];

/// Returns whether a message says of something that it is not meant.
fn excludes(message: &str) -> bool {
    let message = message.to_lowercase();
    EXCLUDING.iter().any(|word| message.contains(word))
}

fn has_entry(list: &[Entry], id: &Value) -> bool {
    list.iter().any(|entry| entry.id == *id)
}

/// Returns the ids of the entries whose titles are in a wish.
fn by_title<'a>(list: &'a [Entry], wish: &str) -> Vec<&'a Value> {
    // One letter is in any message.
    let is_named = |entry: &&Entry| entry.name.len() > 1 && wish.contains(&entry.name);
    list.iter().filter(is_named).map(|entry| &entry.id).collect()
}

/// Returns the ids of the entries whose titles are in a wish. If there are none, returns those of
/// which a word is in the message.
fn by_word<'a>(list: &'a [Entry], wish: &str, message: &str) -> Vec<&'a Value> {
    let named = by_title(list, wish);
    if !named.is_empty() {
        return named;
    }
    let message = message.to_lowercase();
    let said: Vec<_> = message.split(|letter: char| !letter.is_alphanumeric()).collect();
    let is_said = |word: &String| said.iter().any(|said| said.starts_with(&**word));
    let named = list.iter().filter(|entry| entry.words.iter().any(is_said));
    named.map(|entry| &entry.id).collect()
}

/// Returns whether a message has a word of an entry without the blanks around it, or its number.
fn is_hinted_at(list: &[Entry], id: &Value, wish: &str, message: &str) -> bool {
    let mut words = list.iter().filter(|entry| entry.id == *id).flat_map(|entry| &entry.words);
    words.any(|word| wish.contains(&**word)) || has_number(id, message)
}

/// Words for a place in a list.
const PLACES: [&str; 8] = ["first", "second", "third", "fourth", "last", "첫", "번째", "마지막"];

/// Returns whether a message names an entry by its number, or any by its place.
fn counts(id: &Value, message: &str) -> bool {
    let message = message.to_lowercase();
    has_number(id, &message) || PLACES.iter().any(|place| message.contains(place))
}

fn has_number(id: &Value, message: &str) -> bool {
    let number = id.to_string();
    numbers(message).any(|said| said == number)
}

/// Reads an entry of a list, if it has an id and a name.
fn entry(item: &Value) -> Option<Entry> {
    let id = item.get("habit_id").or_else(|| item.get("id"))?.clone();
    let title = item.get("title").or_else(|| item.get("content"))?.as_str()?;
    let is_long = |word: &&str| word.chars().count() >= if word.is_ascii() { 4 } else { 2 };
    let item = item.get("protocol_id").and_then(|id| Catalogue::bundled().get(id.as_str()?));
    let in_both = |item: &'static Item| {
        [Locale::KO, Locale::EN].map(|locale| item.title.get(locale).as_str())
    };
    let titles = item.map(in_both).into_iter().flatten().chain([title]);
    let words = titles.flat_map(|title| title.split(|letter: char| !letter.is_alphanumeric()));
    let words = words.filter(is_long).map(folded).collect();
    let entry = Entry { id, name: folded(title), words };
    (!entry.name.is_empty()).then_some(entry)
}

/// Returns the numbers of a text, as they are written.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_digit())
}

/// Removes what a copy may differ in.
fn folded(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Returns whether each text of a value passes, with the key under which it stands.
fn each_text(
    value: &Value,
    key: Option<&str>,
    passes: &mut impl FnMut(Option<&str>, &str) -> bool,
) -> bool {
    match value {
        Value::String(text) => passes(key, text),
        Value::Array(items) => items.iter().all(|item| each_text(item, key, passes)),
        Value::Object(fields) => {
            fields.iter().all(|(key, value)| each_text(value, Some(key), passes))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}
