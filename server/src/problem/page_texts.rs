//! Tests that the page has a sentence for each problem in both of its languages.

use madang::tool::Breach;
use serde_json::{Value, json};

use super::{ProblemName, rule::BrokenRule};

/// The words of the page in both languages.
fn languages() -> [Value; 2] {
    [include_str!("../page/assets/texts.en.json"), include_str!("../page/assets/texts.ko.json")]
        .map(|text| serde_json::from_str(text).unwrap())
}

#[test]
fn the_page_has_a_text_for_each_problem_in_both_languages() {
    for words in languages() {
        for name in ProblemName::ALL {
            let name = name.name();
            assert!(words["problem"][name].is_string(), "{name} has no text");
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
    for words in languages() {
        let mut unused = words["rule"].as_object().unwrap().clone();
        unused.remove("unknown");
        for (breach, hole) in &sent {
            let mut body = json!({});
            BrokenRule::of(breach).unwrap().write(&mut body);
            let rule = body["rule"].as_str().unwrap();
            let text = words["rule"][rule].as_str().unwrap_or_else(|| panic!("{rule} has no text"));
            for (name, found) in [("expected", "{expected}"), ("keys", "{keys}")] {
                assert_eq!(text.contains(found), *hole == Some(found), "{rule}: {text}");
                assert_eq!(body.get(name).is_some(), *hole == Some(found), "{rule}: {body}");
            }
            unused.remove(rule);
        }
        assert!(unused.is_empty(), "the server names no such rules: {unused:?}");
    }
}
