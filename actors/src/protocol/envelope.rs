//! Writes the envelope that the model reads of an outcome: bounded JSON without metadata.

use serde_json::{Value, json};

use super::{CallRecord, EffectResolution, Locale, Text, ToolOutcome, ToolSpec, cut::cut};

/// Writes what the model reads of an ended call: the envelope of its outcome or, if the result was
/// discarded, whether it took effect. It includes changed arguments, and the resolution of an
/// unknown effect; the outcome itself still says that the effect is unknown. If the `tool` takes an
/// `offset` and its list was cut, `nextOffset` says where the next part begins.
#[must_use]
pub fn call_envelope(
    record: &CallRecord,
    tool: Option<&ToolSpec>,
    locale: Locale,
    max_bytes: usize,
) -> String {
    let mut beside = resolved(record, locale);
    if record.asked.is_some() {
        beside.push_str(&change(&record.arguments, max_bytes));
    }
    let left = max_bytes.saturating_sub(beside.len());
    let told = match &record.outcome {
        Some(outcome) => bounded(outcome, Rest::of(record, tool), left),
        None => {
            let text = Text::Discarded { tool: &record.name, effect: record.effect };
            let reason = text.in_locale(locale);
            json!({ "status": "discarded", "effect": record.effect, "reason": reason }).to_string()
        }
    };
    // After the status, which comes first in every envelope and has no comma in it.
    match told.split_once(',') {
        Some((status, rest)) => format!("{status}{beside},{rest}"),
        None => told,
    }
}

/// Writes how a call ended and whether it took effect, without any text of the model's, the user's
/// or the tool's.
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

/// Writes the resolution of an unknown effect as a field of an envelope. It is empty if the effect
/// was known from the beginning, or if the envelope says nothing else. The key stays `settled`,
/// because the bundled model learnt it.
fn resolved(record: &CallRecord, locale: Locale) -> String {
    let resolution = EffectResolution::of(record.effect).filter(|_| record.resolved_by.is_some());
    match (resolution, &record.outcome) {
        (Some(resolution), Some(_)) => {
            let text = Text::Resolved { tool: &record.name, resolution }.in_locale(locale);
            format!(r#","settled":{}"#, Value::from(text))
        }
        _ => String::new(),
    }
}

/// Writes the arguments that the user typed as a field of an envelope. They take at most half of
/// it.
fn change(arguments: &Value, max_bytes: usize) -> String {
    let field = |arguments: &Value| format!(r#","user_changed_arguments_to":{arguments}"#);
    let whole = field(arguments);
    if whole.len() <= max_bytes / 2 {
        return whole;
    }
    let cut = cut(arguments, None, |cut| field(cut).len() <= max_bytes / 2);
    field(&cut.unwrap_or_else(|| json!({ "_truncated": true })))
}

/// Writes the envelope of an outcome in at most `max_bytes` of UTF-8.
///
/// If data does not fit, the envelope says `_truncated: true`, and names the `narrower` tool if
/// there is room. Long texts are cut first, each followed by `…(+n)`, the number of characters that
/// are missing. Then the longest list is cut to as many complete entries as fit, with `count` the
/// total. Ids, names, counts and dates are kept. Errors and cancellations are not cut.
#[must_use]
pub fn envelope(outcome: &ToolOutcome, narrower: Option<&str>, max_bytes: usize) -> String {
    bounded(outcome, Rest { narrower, offset: None }, max_bytes)
}

/// The ways in which a model gets what an envelope has no room for.
#[derive(Debug, Clone, Copy)]
struct Rest<'a> {
    /// The tool that returns a part of the data.
    narrower: Option<&'a str>,
    /// The number of entries before this part, if the tool returns the next part itself.
    offset: Option<u64>,
}

impl<'a> Rest<'a> {
    fn of(record: &CallRecord, tool: Option<&'a ToolSpec>) -> Self {
        let begins = record.arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
        Self {
            narrower: tool.and_then(|tool| tool.narrower.as_deref()),
            offset: tool.filter(|tool| tool.takes_offset()).map(|_| begins),
        }
    }
}

fn bounded(outcome: &ToolOutcome, rest: Rest<'_>, max_bytes: usize) -> String {
    let Rest { narrower, offset } = rest;
    match outcome {
        ToolOutcome::Ok(ok) => {
            let whole = ok_envelope(&ok.data);
            if whole.len() <= max_bytes {
                return whole;
            }
            let cut_to =
                |max_bytes: usize| cut(&ok.data, offset, |cut| ok_envelope(cut).len() <= max_bytes);
            let hinted = narrower.and_then(|tool| {
                let hint = json!(format!("ask {tool} for the rest"));
                let room = hint.to_string().len() + r#","_hint":"#.len();
                let mut data = cut_to(max_bytes.checked_sub(room)?)?;
                // A hint of the tool's own stays.
                data.as_object_mut()?.entry("_hint").or_insert(hint);
                Some(data)
            });
            let data = hinted.or_else(|| cut_to(max_bytes));
            data.map_or_else(|| hint(narrower), |data| ok_envelope(&data))
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
