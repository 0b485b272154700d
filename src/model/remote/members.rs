//! Members of a message that a model wants back with its calls: thoughts, complete or in parts, and
//! tags in its text.

use serde_json::{Map, Value, json};

use super::{
    answer::Answer,
    broken::Broken,
    conversation::PastCall,
    think_tag::{Spoken, ThinkTag},
};

/// Adds what the model of the first call wants back to a message. Tags come before the text.
pub(super) fn add_members(message: &mut Value, first: Option<&PastCall<'_>>) {
    let members = first.into_iter().flat_map(|call| &call.thoughts).filter_map(Value::as_object);
    for (name, value) in members.flatten() {
        let text = message.get(name).and_then(Value::as_str);
        message[name.as_str()] = match (value, text) {
            (Value::String(before), Some(text)) => [before, text].concat().into(),
            (Value::Array(before), Some(text)) => {
                let text = json!({ "type": "text", "text": text });
                before.iter().cloned().chain([text]).collect()
            }
            _ => value.clone(),
        };
    }
}

/// Keeps a piece of a text under a name. Its bytes were counted.
pub(super) fn keep(answer: &mut Answer, name: &str, piece: &str) {
    if piece.is_empty() {
        return;
    }
    let Some(members) = members(answer) else { return };
    match members.get_mut(name) {
        Some(Value::String(whole)) => whole.push_str(piece),
        Some(_) | None => {
            members.insert(name.to_owned(), piece.into());
        }
    }
}

/// Keeps a part of a thought. It continues the part before it if both have the same type and index,
/// and that one has no signature yet.
pub(super) fn keep_details(answer: &mut Answer, name: &str, part: &Value) {
    let (Some(members), Value::Object(part)) = (members(answer), part) else { return };
    let parts = members.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(parts) = parts else { return };
    let goes_on = |last: &&mut Map<String, Value>| {
        let is_signed = last.get("signature").is_some_and(|signature| !signature.is_null());
        let is_same = |name| last.get(name) == part.get(name);
        !is_signed && is_same("type") && is_same("index")
    };
    let last = parts.last_mut().and_then(Value::as_object_mut).filter(goes_on);
    let Some(last) = last else { return parts.push(Value::Object(part.clone())) };
    for (name, value) in part.iter().filter(|(_, value)| !value.is_null()) {
        match (name.as_str(), last.get_mut(name), value) {
            ("text" | "summary" | "thinking", Some(Value::String(whole)), Value::String(piece)) => {
                whole.push_str(piece);
            }
            ("thinking", Some(Value::Array(whole)), Value::Array(pieces)) => {
                pieces.iter().for_each(|piece| add_piece(whole, piece));
            }
            _ => {
                last.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Adds a piece of a thought that is a list. Adjacent pieces of text are joined.
fn add_piece(whole: &mut Vec<Value>, piece: &Value) {
    let text = |part: &Value| Some(part.get("text")?.as_str()?.to_owned());
    match (whole.last_mut(), text(piece)) {
        (Some(last), Some(more)) if last.get("type") == piece.get("type") => {
            last["text"] = (text(last).unwrap_or_default() + &more).into();
        }
        (Some(_) | None, _) => whole.push(piece.clone()),
    }
}

/// Returns the members so far. Only formats whose thoughts are members use them.
fn members(answer: &mut Answer) -> Option<&mut Map<String, Value>> {
    if answer.thoughts.is_empty() {
        answer.thoughts.push(Value::Object(Map::new()));
    }
    answer.thoughts.last_mut().and_then(Value::as_object_mut)
}

/// Takes a piece of text, with a thought in tags at its beginning.
pub(super) fn speak(tag: &mut ThinkTag, piece: &str, answer: &mut Answer) -> Result<(), Broken> {
    tag.push(piece).into_iter().try_for_each(|spoken| take(spoken, answer))
}

/// Takes what was held when the text ended, and closes the tags that are kept.
pub(super) fn end_of_text(tag: &mut ThinkTag, answer: &mut Answer) -> Result<(), Broken> {
    take(tag.end(), answer)?;
    let thoughts = answer.thoughts.last_mut();
    if let Some(Value::String(thought)) = thoughts.and_then(|members| members.get_mut("content")) {
        *thought = format!("<think>{thought}</think>");
    }
    Ok(())
}

fn take(spoken: Spoken, answer: &mut Answer) -> Result<(), Broken> {
    match spoken {
        Spoken::Text(text) => answer.says(&text),
        Spoken::Thought(thought) => {
            answer.thinks(&thought)?;
            keep(answer, "content", &thought);
            Ok(())
        }
        Spoken::WasThought => {
            let thought = answer.was_thinking();
            keep(answer, "content", &thought);
            Ok(())
        }
        Spoken::WasText(text) => {
            if let Some(Value::Object(members)) = answer.thoughts.last_mut() {
                members.remove("content");
            }
            answer.thoughts.retain(|members| *members != json!({}));
            answer.says(&text)
        }
    }
}
