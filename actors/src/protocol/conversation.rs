//! A chat in the one form that every chat template and every server accepts.
//!
//! A transcript has any order of messages: a turn may end without an answer, or begin with a call.
//! Templates and servers refuse many of them forever, and a chat must not become unusable through
//! its own history. So everything that writes a chat for a model writes what [`conversation`]
//! returns.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::PromptMessage;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationMessage<'a> {
    /// The user's.
    User {
        /// The text, which is never blank.
        text: Cow<'a, str>,
    },
    /// The model's: a text, calls with their results, or both.
    Model {
        /// The text, which comes before the calls. It is empty only if there are calls and nothing
        /// else.
        text: Cow<'a, str>,
        /// The calls, in order.
        calls: Vec<ConversationCall<'a>>,
    },
}

/// A call of a conversation, with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationCall<'a> {
    /// The id. It has nine letters and digits, because some templates and servers refuse any other.
    pub id: String,
    /// The name, in letters that are accepted everywhere.
    pub name: Cow<'a, str>,
    /// The arguments. If they are not an object, because the call was refused, they are in one,
    /// under `arguments`.
    pub arguments: Map<String, Value>,
    /// The result, as the model reads it.
    pub result: &'a str,
    /// What the model that made the call wants back with it.
    pub opaque: Option<&'a str>,
}

/// The text of a side that said nothing although it was its turn.
pub const SILENCE: &str = "…";

/// The letters of an id.
const ID_LEN: usize = 9;

/// Puts a chat into the form that every template and every server accepts. Nothing that was said or
/// done is left out.
///
/// - It is never empty, and begins with the user. User and model alternate, and adjacent texts of
///   one side are joined.
/// - A call belongs to the model's text before it. After the results, the model speaks before the
///   user does.
/// - No text is blank. Arguments are objects, and ids and names have letters that are accepted
///   everywhere.
///
/// `of_round` returns the number of calls that one completion made, from the opaque state of its
/// first. A call without opaque state was alone. The calls of one completion are in one message.
pub fn conversation<'a>(
    messages: impl IntoIterator<Item = &'a PromptMessage>,
    of_round: impl Fn(&str) -> usize,
) -> Vec<ConversationMessage<'a>> {
    let mut told: Vec<ConversationMessage<'a>> = Vec::new();
    // How many calls of the last completion are still to come.
    let mut open = 0_usize;
    for message in messages {
        match message {
            PromptMessage::User { text } => {
                open = 0;
                match told.last_mut() {
                    Some(ConversationMessage::User { text: before }) => join(before, text),
                    Some(ConversationMessage::Model { calls, .. }) => {
                        if !calls.is_empty() {
                            told.push(said(SILENCE));
                        }
                        told.push(asked(text));
                    }
                    None => told.push(asked(text)),
                }
            }
            PromptMessage::Model { text } => {
                open = 0;
                if is_blank(text) {
                    continue;
                }
                match told.last_mut() {
                    Some(ConversationMessage::Model { text: before, calls })
                        if calls.is_empty() =>
                    {
                        join(before, text);
                    }
                    Some(_) => told.push(said(text)),
                    None => told.extend([asked(SILENCE), said(text)]),
                }
            }
            PromptMessage::ToolCall { call, name, arguments, envelope, opaque } => {
                let opaque = opaque.as_deref();
                let call = ConversationCall {
                    id: short(&call.to_string()),
                    name: portable(name),
                    arguments: object(arguments),
                    result: envelope,
                    opaque,
                };
                let round = || opaque.map_or(1, &of_round).saturating_sub(1);
                match told.last_mut() {
                    Some(ConversationMessage::Model { calls, .. })
                        if open > 0 || calls.is_empty() =>
                    {
                        open = if calls.is_empty() { round() } else { open - 1 };
                        calls.push(call);
                    }
                    last => {
                        open = round();
                        if last.is_none() {
                            told.push(asked(SILENCE));
                        }
                        told.push(ConversationMessage::Model {
                            text: "".into(),
                            calls: vec![call],
                        });
                    }
                }
            }
        }
    }
    if told.is_empty() {
        told.push(asked(SILENCE));
    }
    for message in &mut told {
        if let ConversationMessage::User { text } = message
            && is_blank(text)
        {
            *text = SILENCE.into();
        }
    }
    told
}

fn asked(text: &str) -> ConversationMessage<'_> {
    ConversationMessage::User { text: text.into() }
}

fn said(text: &str) -> ConversationMessage<'_> {
    ConversationMessage::Model { text: text.into(), calls: Vec::new() }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn join<'a>(before: &mut Cow<'a, str>, text: &'a str) {
    if is_blank(before) {
        *before = text.into();
    } else if !is_blank(text) {
        let before = before.to_mut();
        before.push_str("\n\n");
        before.push_str(text);
    }
}

/// Returns the end of an id, which is where ids differ most.
fn short(id: &str) -> String {
    let letters: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    letters[letters.len().saturating_sub(ID_LEN)..].to_owned()
}

/// Returns a name of letters, digits, `_` and `-`. A model may have asked for a tool by any name,
/// and then read that there is none.
fn portable(name: &str) -> Cow<'_, str> {
    let is_portable = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if name.is_empty() {
        "unknown_tool".into()
    } else if name.chars().all(is_portable) {
        name.into()
    } else {
        name.chars().map(|letter| if is_portable(letter) { letter } else { '_' }).collect()
    }
}

fn object(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => arguments,
        Ok(other) => Map::from_iter([("arguments".to_owned(), other)]),
        Err(_) => Map::from_iter([("arguments".to_owned(), arguments.into())]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::protocol::CallId;

    fn call(number: u128, name: &str, arguments: &str, opaque: Option<&str>) -> PromptMessage {
        PromptMessage::ToolCall {
            call: CallId::new(Uuid::from_u128(number)),
            name: name.into(),
            arguments: arguments.into(),
            envelope: format!("r{number}").into(),
            opaque: opaque.map(Into::into),
        }
    }

    /// Makes a chat of letters: the user, the model, a call; blank texts of the user (b) and the
    /// model (e).
    fn chat(order: &str) -> Vec<PromptMessage> {
        let message = |(at, letter): (usize, char)| match letter {
            'u' => PromptMessage::User { text: format!("u{at}").into() },
            'b' => PromptMessage::User { text: " \n".into() },
            'm' => PromptMessage::Model { text: format!("m{at}").into() },
            'e' => PromptMessage::Model { text: "".into() },
            _ => call(at as u128, "look", "{}", None),
        };
        order.chars().enumerate().map(message).collect()
    }

    fn line(told: &[ConversationMessage<'_>]) -> String {
        let word = |told: &ConversationMessage<'_>| match told {
            ConversationMessage::User { text } => format!("u:{}", text.replace("\n\n", "+")),
            ConversationMessage::Model { text, calls } => {
                let calls: Vec<&str> = calls.iter().map(|call| call.result).collect();
                format!("m:{}[{}]", text.replace("\n\n", "+"), calls.join(","))
            }
        };
        told.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_chat_of_any_order_begins_with_the_user_and_takes_turns() {
        for (order, expected) in [
            ("", "u:…"),
            ("umu", "u:u0 m:m1[] u:u2"),
            // A turn without an answer, and one that ended after a call.
            ("uu", "u:u0+u1"),
            ("ueu", "u:u0+u2"),
            ("ucu", "u:u0 m:[r1] m:…[] u:u2"),
            ("ucmu", "u:u0 m:[r1] m:m2[] u:u3"),
            ("uccm", "u:u0 m:[r1] m:[r2] m:m3[]"),
            ("umc", "u:u0 m:m1[r2]"),
            // A call of the user itself, and a history from elsewhere.
            ("cu", "u:… m:[r0] m:…[] u:u1"),
            ("mmu", "u:… m:m0+m1[] u:u2"),
            ("e", "u:…"),
            ("b", "u:…"),
            ("bu", "u:u1"),
            ("ub", "u:u0"),
            ("umbe", "u:u0 m:m1[] u:…"),
        ] {
            assert_eq!(line(&conversation(&chat(order), |_| 1)), expected, "{order}");
        }
    }

    /// Every order of up to six messages.
    #[test]
    fn no_order_of_messages_breaks_the_form_or_loses_a_word() {
        let mut orders = vec![String::new()];
        for at in 0..5_usize.pow(5) {
            let order = orders[at].clone();
            orders.extend(['u', 'b', 'm', 'e', 'c'].map(|letter| format!("{order}{letter}")));
        }
        for order in orders {
            let messages = chat(&order);
            let told = conversation(&messages, |_| 1);
            assert!(matches!(told.first(), Some(ConversationMessage::User { .. })), "{order}");
            for pair in told.windows(2) {
                let is_well = match pair {
                    [ConversationMessage::User { .. }, ConversationMessage::Model { .. }] => true,
                    [
                        ConversationMessage::Model { calls, .. },
                        ConversationMessage::User { .. },
                    ] => calls.is_empty(),
                    [
                        ConversationMessage::Model { calls, .. },
                        ConversationMessage::Model { .. },
                    ] => !calls.is_empty(),
                    _ => false,
                };
                assert!(is_well, "{order}: {}", line(&told));
            }
            for message in &told {
                let (ConversationMessage::User { text } | ConversationMessage::Model { text, .. }) =
                    message;
                let has_calls = matches!(message, ConversationMessage::Model { calls, .. } if !calls.is_empty());
                assert!(!is_blank(text) || (has_calls && text.is_empty()), "{order}");
            }
            let line = line(&told);
            for (at, letter) in
                order.chars().enumerate().filter(|(_, letter)| "umc".contains(*letter))
            {
                let said = format!("{}{at}", if letter == 'c' { 'r' } else { letter });
                assert!(line.contains(&said), "{order}: {line}");
            }
        }
    }

    #[test]
    fn calls_have_ids_names_and_arguments_that_are_taken_everywhere() {
        let told = |name: &str, arguments: &str| {
            let messages = [call(0x0123_4567_89ab_cdef, name, arguments, None)];
            let told = conversation(&messages, |_| 1);
            let Some(ConversationMessage::Model { calls, .. }) = told.last() else {
                panic!("{told:?}")
            };
            (
                calls[0].id.clone(),
                calls[0].name.to_string(),
                Value::from(calls[0].arguments.clone()),
            )
        };
        let of = |name: &str| told(name, "{}").1;
        assert_eq!(told("look", "{}").0, "789abcdef");
        assert_eq!(of("notes__look-up"), "notes__look-up");
        assert_eq!(of("functions.look:0"), "functions_look_0");
        assert_eq!(of("보기"), "__");
        assert_eq!(of(""), "unknown_tool");
        let of = |arguments: &str| told("look", arguments).2;
        assert_eq!(of(r#"{"a": 1}"#), json!({"a": 1}));
        assert_eq!(of("null"), json!({"arguments": null}));
        assert_eq!(of("[1]"), json!({"arguments": [1]}));
        assert_eq!(of("{broken"), json!({"arguments": "{broken"}));
        assert_eq!(of(""), json!({"arguments": ""}));
    }

    #[test]
    fn the_calls_of_one_completion_stand_in_one_message() {
        let two = Some("2");
        let messages =
            [call(1, "look", "{}", two), call(2, "look", "{}", two), call(3, "look", "{}", None)];
        let told = conversation(&messages, |opaque| opaque.parse().unwrap());
        assert_eq!(line(&told), "u:… m:[r1,r2] m:[r3]");
    }
}
