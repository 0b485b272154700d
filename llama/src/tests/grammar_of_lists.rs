//! Tests which calls the grammars of families with lists of objects allow.

use madang_parser::family::{APERTUS, COHERE, GIGACHAT_3, GRANITE_3};

use super::*;

#[test]
fn a_list_has_the_keys_of_its_family() {
    let usual = r#"[{"name": "search", "arguments": {"category": "sleep"}}, {"name": "list_habits", "arguments": {}}]"#;
    let cohere = "[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"search\", \"parameters\": {\"category\": \"sleep\"}},\n    \
                  {\"tool_call_id\": \"1\", \"tool_name\": \"list_habits\", \"parameters\": {}}\n]";
    let apertus = r#"[{"search": {"category": "sleep"}}, {"list_habits": {}}]"#;
    for (family, call) in [(&GRANITE_3, usual), (&COHERE, cohere), (&APERTUS, apertus)] {
        assert_eq!(passed(family, &tools(), call), call.len(), "{}", family.name);
        for (right, wrong) in [("search", "seek"), ("sleep", "water"), ("}}", "}]")] {
            let at = call.find(right).unwrap();
            let call = call.replacen(right, wrong, 1);
            let len = passed(family, &tools(), &call);
            assert!((at..at + right.len()).contains(&len), "{} {:?}", family.name, &call[..len]);
        }
    }
    let call = r#"{"name": "search", "arguments": {"category": "sleep"}}"#;
    assert_eq!(passed(&GIGACHAT_3, &tools(), call), call.len());
}
