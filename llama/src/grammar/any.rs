//! Writes the rules for unconstrained values.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    notation::{Notation, lark_string},
    numbers,
};

/// The depth of values where anything is allowed.
const ANY_DEPTH: usize = 8;
/// The rule for any value and any object, which all tools share.
pub(super) const ANY: &str = "any_8";
pub(super) const ANY_OBJECT: &str = "any_object_8";

/// Writes the rules for any value, which all tools share.
pub(super) fn any_rules(notation: Notation) -> String {
    let separator = lark_string(notation.separator());
    let mut rules = format!(
        "KEY: {}\nKEYWORD: /[a-zA-Z_][a-zA-Z0-9_]*=/\nTEXT: {}\n",
        notation.any_key(),
        notation.string(0, None)
    );
    let words = [Value::Null, json!(true), json!(false)];
    let words: Vec<String> = words
        .iter()
        .flat_map(|word| notation.literals(word))
        .map(|word| lark_string(&word))
        .collect();
    let (number, words) = (numbers::any(), words.join(" | "));
    write!(rules, "any_number: {number}\nany_0: TEXT | any_number | {words}\n")
        .expect("a string takes everything");
    for depth in 1..=ANY_DEPTH {
        let inner = depth - 1;
        write!(
            rules,
            "any_object_{depth}: \"{{\" (KEY any_{inner} ({separator} KEY any_{inner})*)? \"}}\"\n\
             any_{depth}: any_0 | any_object_{depth} | \"[\" (any_{inner} ({separator} any_{inner})*)? \"]\"\n"
        )
        .expect("a string takes everything");
    }
    rules
}
