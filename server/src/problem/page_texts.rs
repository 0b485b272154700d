//! Tests that the page has a sentence for each problem in both of its languages.

use std::collections::BTreeMap;

use madang::tool::Breach;
use serde_json::json;

use super::{ProblemName, rule::BrokenRule};

/// The words of a room of the page by their names, in both languages.
fn room(wanted: &str) -> [BTreeMap<&'static str, &'static str>; 2] {
    let text = include_str!("../page/assets/texts.txt");
    let head = format!("[{wanted}]\n");
    let (_, rest) = text.split_once(&head).unwrap_or_else(|| panic!("there is no {head}"));
    let lines = rest.split("\n[").next().unwrap().lines();
    let words = lines.map(|line| line.split_once('=').unwrap());
    let in_language = |at: usize| {
        words.clone().map(move |(name, words)| (name, words.split('|').nth(at).unwrap())).collect()
    };
    [in_language(0), in_language(1)]
}

#[test]
fn the_page_has_a_text_for_each_problem_in_both_languages() {
    for words in room("problem") {
        for name in ProblemName::ALL {
            let name = name.name();
            assert!(words.get(name).is_some_and(|text| !text.is_empty()), "{name} has no text");
        }
    }
}

#[test]
fn the_texts_of_the_page_for_rules_take_what_the_server_sends_with_them() {
    let number = || serde_json::Number::from(7);
    let sent = [
        (Breach::Missing, None),
        (Breach::Unknown(vec!["a".into()]), Some("{keys}")),
        (Breach::NotAnObject, Some("{expected}")),
        (Breach::Type(vec!["string".into()]), Some("{expected}")),
        (Breach::OneOf(vec![json!("a")]), Some("{expected}")),
        (Breach::AtLeast(number()), Some("{expected}")),
        (Breach::AtMost(number()), Some("{expected}")),
        (Breach::MinLength(7), Some("{expected}")),
        (Breach::MaxLength(7), Some("{expected}")),
        (Breach::MinItems(7), Some("{expected}")),
        (Breach::MaxItems(7), Some("{expected}")),
        (Breach::Pattern("^x$".into()), Some("{expected}")),
        (Breach::Format("date".into()), Some("{expected}")),
    ];
    for words in room("rule") {
        let mut unused = words.clone();
        unused.remove("unknown");
        for (breach, hole) in &sent {
            let mut body = json!({});
            BrokenRule::of(breach).unwrap().write(&mut body);
            let rule = body["rule"].as_str().unwrap();
            let text = words.get(rule).unwrap_or_else(|| panic!("{rule} has no text"));
            for (name, found) in [("expected", "{expected}"), ("keys", "{keys}")] {
                assert_eq!(text.contains(found), *hole == Some(found), "{rule}: {text}");
                assert_eq!(body.get(name).is_some(), *hole == Some(found), "{rule}: {body}");
            }
            unused.remove(rule);
        }
        assert!(unused.is_empty(), "the server names no such rules: {unused:?}");
    }
}
