//! What the model reads of an outcome: bounded JSON without metadata (spec, section 2).

use serde_json::{Map, Value, json};

use super::{CallRecord, Locale, Settlement, Text, ToolOutcome};

/// What the model reads of a call that has ended: the envelope of its outcome, or, where the result was discarded,
/// whether it took effect (spec, section 7.3). Where the user changed the arguments it says to what, and where an
/// unknown effect became known, what it was: the outcome still says that nobody can tell.
#[must_use]
pub fn call_envelope(
    record: &CallRecord,
    narrower: Option<&str>,
    locale: Locale,
    max_bytes: usize,
) -> String {
    let mut beside = settled(record, locale);
    if record.asked.is_some() {
        beside.push_str(&change(&record.arguments, max_bytes));
    }
    let left = max_bytes.saturating_sub(beside.len());
    let told = match &record.outcome {
        Some(outcome) => envelope(outcome, narrower, left),
        None => {
            let text = Text::Discarded { tool: &record.name, effect: record.effect };
            let reason = text.in_locale(locale);
            json!({ "status": "discarded", "effect": record.effect, "reason": reason }).to_string()
        }
    };
    // Behind the status, which comes first in every envelope and has no comma in it.
    match told.split_once(',') {
        Some((status, rest)) => format!("{status}{beside},{rest}"),
        None => told,
    }
}

/// What the model reads of a call without anything that it, the user or the tool wrote: how it ended, and whether it took
/// effect.
#[must_use]
pub fn bare_envelope(record: &CallRecord) -> String {
    let status = match &record.outcome {
        Some(ToolOutcome::Ok(_)) => "ok",
        Some(ToolOutcome::Err(_)) => "error",
        Some(ToolOutcome::Cancelled(_)) => "cancelled",
        None => "discarded",
    };
    json!({ "status": status, "effect": record.effect, "_truncated": true }).to_string()
}

/// What an unknown effect turned out to be, as a field of an envelope; nothing where it was known from the beginning, or
/// where the envelope says nothing else.
fn settled(record: &CallRecord, locale: Locale) -> String {
    let settlement = Settlement::of(record.effect).filter(|_| record.settled_by.is_some());
    match (settlement, &record.outcome) {
        (Some(settlement), Some(_)) => {
            let text = Text::Settled { tool: &record.name, settlement }.in_locale(locale);
            format!(r#","settled":{}"#, Value::from(text))
        }
        _ => String::new(),
    }
}

/// The arguments that the user typed, as a field of an envelope of which they take half at most.
fn change(arguments: &Value, max_bytes: usize) -> String {
    let field = |arguments: &Value| format!(r#","user_changed_arguments_to":{arguments}"#);
    let whole = field(arguments);
    if whole.len() <= max_bytes / 2 { whole } else { field(&json!({ "_truncated": true })) }
}

/// Writes the envelope of an outcome in at most `max_bytes` of UTF-8.
///
/// A list that does not fit is cut to as many whole items as do, with `count` the total and `_truncated: true`. Data
/// without a list becomes a hint that names the `narrower` tool. Errors and cancellations are kept whole.
#[must_use]
pub fn envelope(outcome: &ToolOutcome, narrower: Option<&str>, max_bytes: usize) -> String {
    match outcome {
        ToolOutcome::Ok(ok) => {
            let whole = ok_envelope(&ok.data);
            if whole.len() <= max_bytes {
                return whole;
            }
            cut_list(&ok.data, max_bytes).unwrap_or_else(|| hint(narrower))
        }
        ToolOutcome::Err(error) => {
            json!({ "status": "error", "code": error.code, "reason": error.reason }).to_string()
        }
        ToolOutcome::Cancelled(cancelled) => {
            let reason = cancelled.reason.envelope_text();
            match &cancelled.message {
                Some(message) => {
                    json!({ "status": "cancelled", "reason": reason, "message": &**message })
                }
                None => json!({ "status": "cancelled", "reason": reason }),
            }
            .to_string()
        }
    }
}

fn ok_envelope(data: &Value) -> String {
    format!(r#"{{"status":"ok","data":{data}}}"#)
}

fn hint(narrower: Option<&str>) -> String {
    let hint = match narrower {
        Some(tool) => format!("the data is too large; ask {tool} for a part of it"),
        None => "the data is too large to be shown".to_owned(),
    };
    ok_envelope(&json!({ "_truncated": true, "_hint": hint }))
}

/// Cuts the one list of the data, a bare array or the largest array among an object's fields. `None` without a list, or
/// where even the empty list does not fit.
fn cut_list(data: &Value, max_bytes: usize) -> Option<String> {
    let (key, items) = match data {
        Value::Array(items) => ("items", items),
        Value::Object(fields) => largest_list(fields)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    let with = |kept: usize| {
        let mut fields = data.as_object().cloned().unwrap_or_default();
        if fields.get("count").and_then(Value::as_u64).is_none() {
            fields.insert("count".to_owned(), json!(items.len()));
        }
        fields.insert(key.to_owned(), Value::Array(items[..kept].to_vec()));
        fields.insert("_truncated".to_owned(), Value::Bool(true));
        ok_envelope(&Value::Object(fields))
    };
    // Sizes grow with the number of items, so the largest that fits is found by halving.
    let fits = |kept: usize| with(kept).len() <= max_bytes;
    if !fits(0) {
        return None;
    }
    let (mut fitting, mut too_many) = (0, items.len());
    while too_many - fitting > 1 {
        let middle = fitting.midpoint(too_many);
        if fits(middle) { fitting = middle } else { too_many = middle }
    }
    Some(with(fitting))
}

fn largest_list(fields: &Map<String, Value>) -> Option<(&str, &Vec<Value>)> {
    let lists = fields.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_array()?)));
    lists.max_by_key(|(_, items)| items.iter().map(|item| item.to_string().len()).sum::<usize>())
}
