//! Writes the answer that a placeholder stands for, from the results of the turn's calls.
//!
//! `ends` has the sentence for how a call ended, `rows` the entries of a list, `details` the rest
//! of what a result says, and `reasons` what is said of a failure.
//!
//! Invariants:
//! - The text depends on the placeholder, the calls and the language alone. So an earlier answer is
//!   recognised by writing it again.
//! - The three placeholders give three texts, whatever the calls are.
//! - A text has at most [`MAX_CALLS`] calls and [`MAX_ROWS`] entries. Each text of a result is in
//!   quotation marks, short, and without control characters. Only a tool of the toolkits says in its
//!   own words why it refused a call.

mod details;
mod ends;
mod reasons;
mod rows;

use madang::tool::Locale;
use serde_json::Value;

use self::{ends::end, rows::Listing};
use super::{
    deeds::Change,
    past_call::{End, PastCall, PastCalls},
    placeholder::Placeholder,
};
use crate::summary::Fields;

/// The most calls of a turn that are told. The last ones are.
const MAX_CALLS: usize = 12;
/// The most entries of lists in a text.
const MAX_ROWS: usize = 20;

/// Writes the answer that a placeholder stands for.
pub(super) fn render(placeholder: Placeholder, past: &PastCalls, locale: Locale) -> String {
    let calls = &*past.calls;
    let Some(last) = calls.last() else { return nothing(placeholder, locale).to_owned() };
    let text = match placeholder {
        Placeholder::Outcome => outcomes(calls, locale),
        Placeholder::Which => which(last, locale).unwrap_or_else(|| {
            let nothing = locale.pick("고를 목록은 없습니다.", "There is no list to choose from.");
            format!("{}\n{nothing}", outcomes(calls, locale))
        }),
        Placeholder::Count => count(last, locale).unwrap_or_else(|| {
            let nothing = locale.pick("세어 볼 목록은 없습니다.", "There is no list to count.");
            format!("{}\n{nothing}", outcomes(calls, locale))
        }),
    };
    if past.are_earlier { format!("{}\n{text}", earlier(locale)) } else { text }
}

/// Says that what follows was done before this turn, so that nobody takes it for done again.
fn earlier(locale: Locale) -> &'static str {
    locale.pick(
        "이번에는 아무것도 하지 않았습니다. 그 전에 한 일은 이렇습니다.",
        "I did nothing this time. This is what came before:",
    )
}

/// Says that there was no call yet.
fn nothing(placeholder: Placeholder, locale: Locale) -> &'static str {
    match placeholder {
        Placeholder::Outcome => locale.pick(
            "이번에는 아무것도 하지 않았습니다. 무엇을 할지 다시 말씀해 주세요.",
            "I did nothing this time. Please say again what I am to do.",
        ),
        Placeholder::Which => locale.pick(
            "지금은 고를 목록이 없습니다. 무엇을 찾을지 말씀해 주세요.",
            "There is no list to choose from yet. Please say what I am to look for.",
        ),
        Placeholder::Count => locale.pick(
            "지금은 세어 볼 목록이 없습니다. 무엇을 셀지 말씀해 주세요.",
            "There is no list to count yet. Please say what I am to count.",
        ),
    }
}

/// Says how each call ended, and what the last ones gave.
fn outcomes(calls: &[PastCall], locale: Locale) -> String {
    let told = &calls[calls.len().saturating_sub(MAX_CALLS)..];
    let untold = calls.len() - told.len();
    let mut lines = Vec::new();
    if untold > 0 {
        lines.push(locale.pick(
            format!("앞선 호출 {untold}개의 결과는 여기에 적지 않습니다."),
            format!("What {untold} earlier calls did is not told here."),
        ));
    }
    let last = told.last().map(|call| &call.tool);
    let of_interest = told.iter().rev().take_while(|call| Some(&call.tool) == last).count();
    let (before, of_interest) = told.split_at(told.len() - of_interest);
    // What was looked up for a write is told by the write.
    let writes = of_interest.first().is_some_and(|call| call.deed.change != Change::Nothing);
    let before = before.iter().filter(|call| !(writes && call.only_looked_up()));
    lines.extend(before.map(|call| end(call, locale)));
    let mut room = MAX_ROWS;
    for call in of_interest {
        lines.push(end(call, locale));
        lines.extend(content(call, &mut room, locale));
    }
    lines.join("\n")
}

/// Lists what a call gave, in addition to its summary.
fn content(call: &PastCall, room: &mut usize, locale: Locale) -> Vec<String> {
    let End::Ok(data) = &call.end else { return Vec::new() };
    let mut shown = match listing(call, data) {
        Some(listing) => listing.rows(*room, locale),
        None => details::of(&call.tool, Fields(data), locale),
    };
    // A list has one line more, which counts the rest.
    shown.truncate(*room + 1);
    *room = room.saturating_sub(shown.len());
    shown
}

/// Returns the list that a call gave, if it has entries.
fn listing<'a>(call: &PastCall, data: &'a Value) -> Option<Listing<'a>> {
    Listing::new(call.deed.lists?, Fields(data), call.offset)
}

/// Lists the hits of a call and asks which one is meant.
fn which(call: &PastCall, locale: Locale) -> Option<String> {
    let End::Ok(data) = &call.end else { return None };
    let listing = listing(call, data)?;
    let mut lines = vec![end(call, locale)];
    lines.extend(listing.choices(MAX_ROWS, locale));
    lines.push(listing.question(locale).to_owned());
    Some(lines.join("\n"))
}

/// Says how many entries the list of a call has.
fn count(call: &PastCall, locale: Locale) -> Option<String> {
    let End::Ok(data) = &call.end else { return None };
    let data = Fields(data);
    let entries = call.deed.lists;
    match entries.and_then(|entries| Some((entries, data.total()?))) {
        Some((entries, total)) => Some(rows::count(entries, total, locale)),
        None => Some(rows::count(rows::BLOCKS, data.number("blockCount")?, locale)),
    }
}
