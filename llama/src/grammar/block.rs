//! Writes the rules around the arguments in a block of calls, for each family.

use madang_parser::{
    call::{CallForm, Items, Marks},
    family::{Family, Opening},
};

use super::{
    super::telling::CallStyle,
    any::any_rules,
    notation::{Notation, lark_string, regex_of},
};

/// Writes the rules of a block between its opening and its closing; `call_0` and so on are the
/// tools' calls.
pub(super) fn rules(family: &Family, style: &CallStyle, tools: usize) -> String {
    let calls: Vec<String> = (0..tools).map(|at| format!("call_{at}")).collect();
    let calls = calls.join(" | ");
    let block = match family.form {
        CallForm::Objects(items) => {
            let usual = Notation::of(family.form, style).separator();
            list(items.around, items.separator.unwrap_or(usual))
        }
        CallForm::Python => list(["[", "]"], Notation::of(family.form, style).separator()),
        CallForm::Object { .. }
        | CallForm::Marked(_)
        | CallForm::Tagged(_)
        | CallForm::Braces(_) => several(family).unwrap_or_else(|| "call".to_owned()),
    };
    let lead = if style.lead.is_empty() { String::new() } else { lark_string(&style.lead) };
    format!("start: {lead} {block}\ncall: {calls}\n{}", shared(family, style))
}

/// Writes calls in a list with these texts around and between them.
fn list(around: [&str; 2], separator: &str) -> String {
    let [open, close] = around.map(lark_string);
    format!("{open} call ({} call)* {close}", lark_string(separator))
}

/// Writes a block of calls in a row, up to its closing. Returns `None` if a block is one call.
fn several(family: &Family) -> Option<String> {
    let separator = family.form.separator()?;
    let next = if separator.is_empty() { String::new() } else { lark_string(separator) };
    let closing = family
        .closing
        .iter()
        .flat_map(|closing| [lark_string(closing), lark_string(&format!("\n{closing}"))]);
    Some(format!("call ({next} call)* ({})?", closing.collect::<Vec<_>>().join(" | ")))
}

/// Writes the rules to which the rules of calls refer.
pub(super) fn shared(family: &Family, style: &CallStyle) -> String {
    let blank = style.blank();
    // Mistral's lists add an id to a call.
    let id = format!(r#"ID: /,{blank}"id":{blank}"[a-zA-Z0-9]{{9}}"/"#);
    let mark_id = "MARK_ID: /[a-zA-Z0-9_.\\-]{1,64}/";
    format!("{id}\n{mark_id}\n{}", any_rules(Notation::of(family.form, style)))
}

/// Writes the rule of a call around that of its arguments. Names have letters, digits and
/// underscores.
pub(super) fn call(
    family: &Family,
    style: &CallStyle,
    name: &str,
    at: usize,
    arguments: &str,
) -> String {
    let blank = style.blank();
    let head =
        |key: &str| lark_string(&format!(r#"{{"name":{blank}"{name}",{blank}"{key}":{blank}"#));
    let around = match (family.form, family.opening) {
        // The model wrote the opening freely, with any blanks, and it is part of the block.
        (CallForm::Object { within, arguments: key }, Opening::Answer(_)) => {
            let outer = within.map_or_else(String::new, |outer| format!(r#"\{{ ?"{outer}": ?"#));
            let close = if within.is_some() { "}}" } else { "}" };
            let key = regex_of(key);
            format!(
                r#"/{outer}\{{ ?"name": ?"{name}",{blank}"{key}":{blank}/ {arguments} "{close}""#
            )
        }
        (CallForm::Object { arguments: key, .. }, Opening::Marker(_) | Opening::Header(_)) => {
            format!("{} {arguments} \"}}\"", head(key))
        }
        (CallForm::Objects(items), _) => {
            let (before_id, head) = items.head(name, blank);
            let id = before_id
                .map_or_else(String::new, |text| format!("{} /[0-9]{{1,3}}/", lark_string(&text)));
            let more = if items == &Items::USUAL { "ID?" } else { "" };
            format!("{id} {} {arguments} {more} \"}}\"", lark_string(&head))
        }
        (CallForm::Marked(marks), _) => {
            let head = |between: &&str| pattern(&format!("{}{name}{between}", marks.before));
            let heads: Vec<String> = marks.between.iter().map(head).collect();
            format!("({}) {arguments} {}", heads.join(" | "), pattern(marks.after))
        }
        (CallForm::Tagged(tags), _) => {
            let head = lark_string(&format!("{}{name}{}", tags.before, tags.named));
            format!("{head} {arguments} {}", lark_string(tags.after))
        }
        (CallForm::Braces(_), _) => {
            format!("{} {arguments}", lark_string(&format!("call:{name}")))
        }
        (CallForm::Python, _) => {
            format!("{} {arguments} \")\"", lark_string(&format!("{name}(")))
        }
    };
    format!("call_{at}: {around}\n")
}

/// Writes a text of [`Marks`], with any ids.
fn pattern(text: &str) -> String {
    let literals = Marks::literals(text)
        .map(|text| if text.is_empty() { String::new() } else { lark_string(text) });
    literals.collect::<Vec<_>>().join(" MARK_ID ")
}
