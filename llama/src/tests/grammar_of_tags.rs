//! Tests which calls the grammars of families with tags allow, and that no value holds the tag that
//! ends it.

use madang_parser::{
    call::{CallForm, Tags},
    family::{DEEPSEEK_V3_2, FAMILIES, GLM_TIGHT, MINICPM_5, MINIMAX_M2, QWEN_CODER, SEED},
};

use super::*;

/// A tool with arguments of several kinds.
fn mixed() -> [ToolSpec; 1] {
    let parameters = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 5},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "level": {"enum": ["low", "high", 3]},
            "is_new": {"type": "boolean"},
            "words": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["text"],
    });
    [tool("mix", parameters)]
}

#[test]
fn values_between_tags_are_written_after_the_schema() {
    let call = |arguments: &str| format!("\n<function=mix>\n{arguments}</function>");
    let argument = |key: &str, value: &str| format!("<parameter={key}>\n{value}\n</parameter>\n");
    let ways = [
        argument("text", "\"2\"\n"),
        argument("text", "null") + &argument("either", "null") + &argument("is_new", "false"),
        argument("text", "") + &argument("either", "2") + &argument("level", "3"),
        argument("text", "</p") + &argument("level", "low") + &argument("words", "[\"a\", \"b\"]"),
    ];
    for way in ways {
        let call = call(&way);
        assert_eq!(passed(&QWEN_CODER, &mixed(), &call), call.len(), "{call}");
    }
    for (begin, rest) in [
        ("<parameter=text>\n12345", "6"),
        ("<parameter=text>\n", "</parameter>"),
        ("<parameter=", "x>"),
        ("", "</function>"),
        ("<parameter=text>\na\n</parameter>\n<parameter=level>\n", "3.5"),
        ("<parameter=text>\na\n</parameter>\n<parameter=is_new>\n", "True"),
    ] {
        let call = call(&format!("{begin}{rest}"));
        let known = "\n<function=mix>\n".len() + begin.len();
        let passed = passed(&QWEN_CODER, &mixed(), &call);
        // A mark is refused with its last letter, since a text may begin as it does.
        let is_refused = passed >= known && passed < known + rest.len();
        assert!(is_refused, "{call} passed up to {:?}", &call[..passed]);
    }
}

#[test]
fn every_family_of_tags_is_followed() {
    let text = ("text", "a b");
    let calls: [(&'static Family, String); 4] = [
        (&GLM_TIGHT, "mix<arg_key>text</arg_key><arg_value>a b</arg_value></tool_call>".to_owned()),
        (&SEED, "<function=mix>\n<parameter=text>a b</parameter>\n</function>".to_owned()),
        (&MINIMAX_M2, "\n<invoke name=\"mix\">\n<parameter name=\"text\">a b</parameter>\n</invoke>\n</minimax:tool_call>".to_owned()),
        (&DEEPSEEK_V3_2, "\n<｜DSML｜invoke name=\"mix\">\n<｜DSML｜parameter name=\"text\" string=\"true\">a b</｜DSML｜parameter>\n\
          <｜DSML｜parameter name=\"is_new\" string=\"false\">true</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>".to_owned()),
    ];
    for (family, call) in calls {
        assert_eq!(passed(family, &mixed(), &call), call.len(), "{call}");
        let wrong = call.replace(text.0, "tent");
        assert!(passed(family, &mixed(), &wrong) < wrong.find("tent").unwrap() + 3, "{wrong}");
    }
}

#[test]
fn a_text_that_may_be_a_number_is_named_where_nothing_tells_them_apart() {
    let parameters =
        json!({"type": "object", "properties": {"x": {"type": ["string", "integer"]}}});
    let tools = [tool("t", parameters)];
    let gaps = unconstrained(&QWEN_CODER, style(&QWEN_CODER), &tools);
    assert_eq!((&*gaps[0].pointer, &*gaps[0].keyword), ("/properties/x", "type"));
    assert_eq!(unconstrained(&DEEPSEEK_V3_2, style(&DEEPSEEK_V3_2), &tools), []);
}

/// Lists the families of tags with their tags.
fn tagged() -> impl Iterator<Item = (&'static Family, &'static Tags)> {
    FAMILIES.into_iter().filter_map(|family| match family.form {
        CallForm::Tagged(tags) => Some((family, tags)),
        CallForm::Object { .. }
        | CallForm::Objects(_)
        | CallForm::Marked(_)
        | CallForm::Braces(_)
        | CallForm::Python => None,
    })
}

/// Begins a call of `t` with a value of `x` as a text.
fn begun(family: &Family, tags: &Tags) -> String {
    let Tags { before, named, key, keyed, value, .. } = tags;
    format!("{}{before}t{named}{key}x{keyed}{}", style(family).lead, value[0])
}

#[test]
fn no_text_holds_the_tag_that_ends_it() {
    let schemas = [
        json!({"type": "string"}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!({"type": "string", "maxLength": 99}),
        json!({"type": "string", "pattern": "a"}),
        json!({}),
    ];
    for (family, tags) in tagged() {
        for schema in &schemas {
            let parameters =
                json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
            let tools = [tool("t", parameters)];
            for open in [""].into_iter().chain(tags.quotes.map(|[open, _]| open)) {
                let text = format!("{}{open}a", begun(family, tags));
                let whole = format!("{text}{}b", tags.end.trim());
                let len = passed(family, &tools, &whole);
                let is_refused = len >= text.len() && len < whole.len();
                assert!(is_refused, "{} {schema}: {:?}", family.name, &whole[..len]);
            }
        }
    }
}

#[test]
fn a_value_with_the_tag_that_ends_it_is_named() {
    for (family, tags) in tagged() {
        let texts = ["a", &format!("a{}b", tags.end.trim())];
        let tools = [tool("t", json!({"type": "object", "properties": {"x": {"enum": texts}}}))];
        let gaps = unconstrained(family, style(family), &tools);
        let named = [("/properties/x", "enum")];
        let gaps: Vec<_> = gaps.iter().map(|gap| (&*gap.pointer, &*gap.keyword)).collect();
        assert_eq!(gaps, named, "{}", family.name);
    }
}

#[test]
fn a_text_between_quotes_or_without_has_its_own_length() {
    let call = |value: &str| format!("mix\"><param name=\"text\">{value}</param></function>");
    for value in ["a b", "<![CDATA[a<b\n&]]>", "<![CDATA[12345]]>", "<![CDATA[]]>]]>"] {
        let call = call(value);
        assert_eq!(passed(&MINICPM_5, &mixed(), &call), call.len(), "{call}");
    }
    for value in ["123456", "<![CDATA[123456]]>", "<![CDATA[1234"] {
        let call = call(value);
        assert!(passed(&MINICPM_5, &mixed(), &call) < call.len(), "{call}");
    }
}
