//! Writes the rules around the arguments in a block of calls, by family.

use super::{
    super::{
        call::CallForm,
        dialect::CallStyle,
        family::{Family, Opening},
    },
    any::any_rules,
    notation::{Notation, lark_string, regex_of},
};

/// Writes the rules of a block between its opening and its closing; `call_0` and so on are the tools' calls.
pub(super) fn rules(family: &Family, style: &CallStyle, tools: usize) -> String {
    let calls: Vec<String> = (0..tools).map(|at| format!("call_{at}")).collect();
    let calls = calls.join(" | ");
    let block = match family.form {
        CallForm::Objects | CallForm::Python => {
            let separator = lark_string(Notation::of(family.form, style).separator());
            format!("\"[\" call ({separator} call)* \"]\"")
        }
        CallForm::Object { .. } | CallForm::Marked(_) | CallForm::Braces(_) => "call".to_owned(),
    };
    let lead = if style.lead.is_empty() { String::new() } else { lark_string(&style.lead) };
    format!("start: {lead} {block}\ncall: {calls}\n{}", shared(family, style))
}

/// Writes the rules that those of calls refer to.
pub(super) fn shared(family: &Family, style: &CallStyle) -> String {
    let blank = style.blank();
    // Mistral's lists add an id to a call.
    let id = format!(r#"ID: /,{blank}"id":{blank}"[a-zA-Z0-9]{{9}}"/"#);
    format!("{id}\n{}", any_rules(Notation::of(family.form, style)))
}

/// Writes the rule of a call around that of its arguments. Names have letters, digits and underscores.
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
        // The opening was written freely, with any blanks, and is part of the block.
        (CallForm::Object { within, arguments: key }, Opening::Answer(_)) => {
            let outer = within.map_or_else(String::new, |outer| format!(r#"\{{ ?"{outer}": ?"#));
            let close = if within.is_some() { "}}" } else { "}" };
            let key = regex_of(key);
            format!(
                r#"/{outer}\{{ ?"name": ?"{name}",{blank}"{key}":{blank}/ {arguments} "{close}""#
            )
        }
        (CallForm::Object { arguments: key, .. }, Opening::Marker(_)) => {
            format!("{} {arguments} \"}}\"", head(key))
        }
        (CallForm::Objects, _) => format!("{} {arguments} ID? \"}}\"", head("arguments")),
        (CallForm::Marked(mark), _) => {
            format!("{} {arguments}", lark_string(&format!("{name}{mark}")))
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
