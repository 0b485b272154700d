//! Compares the values of expressions with those of jinja2: every test and filter over every kind
//! of value.

use serde_json::{Value, json};

use super::{Jinja, Rendered, brought, python};
use crate::template::{ChatTemplate, LEAST_BYTES, TemplateInput};

/// Values of every kind.
const VALUES: [&str; 22] = [
    "undefined_name",
    "none",
    "true",
    "false",
    "0",
    "1",
    "-2",
    "1.5",
    "2.0",
    "''",
    "'a'",
    "'a B\\n'",
    "'3'",
    "'한글 \"q\"'",
    "[]",
    "[1]",
    "['b', 'a']",
    "{}",
    "{'k': 'v'}",
    "(1, 2)",
    "range(3)",
    "messages[0]",
];

/// What a template may ask of a value, or make of it. Each `x` is the value.
const USES: [&str; 73] = [
    "x is defined",
    "x is undefined",
    "x is none",
    "x is string",
    "x is mapping",
    "x is iterable",
    "x is sequence",
    "x is number",
    "x is integer",
    "x is float",
    "x is boolean",
    "x is true",
    "x is false",
    "x is callable",
    "x is sameas(none)",
    "x is eq(1)",
    "x is odd",
    "x is even",
    "x is divisibleby(2)",
    "x is lower",
    "x is upper",
    "x is in(['a', 1, none])",
    "x is not none",
    "not x",
    "x == none",
    "x == 1",
    "x == ''",
    "x == []",
    "x in ['a', 1]",
    "'a' in x",
    "x and 'yes'",
    "x or 'no'",
    "'yes' if x else 'no'",
    "x",
    "x ~ 'z'",
    "x + 'z'",
    "x + 1",
    "x * 2",
    "x | length",
    "x | count",
    "x | string",
    "x | trim",
    "x | upper",
    "x | lower",
    "x | title",
    "x | capitalize",
    "x | default('d')",
    "x | default('d', true)",
    "x | default(none)",
    "x | int",
    "x | float",
    "x | list",
    "x | first",
    "x | last",
    "x | join(',')",
    "x | reverse | list",
    "x | sort",
    "x | unique | list",
    "x | tojson",
    "x | tojson(indent=2)",
    "x | tojson(ensure_ascii=True)",
    "x | tojson(separators=(',', ':'))",
    "x | tojson(sort_keys=true)",
    "x | items | list",
    "x | dictsort",
    "x | map('string') | list",
    "x | select('string') | list",
    "x | replace('a', 'b')",
    "x | safe",
    "x.k",
    "x['k']",
    "x[0]",
    "x.get('k', 'd')",
];

/// What else templates write.
const WHOLE: [&str; 30] = [
    "{{ 'a b  c'.split() }}",
    "{{ 'a,b'.split(',', 1)[-1] }}",
    "{{ ' a\\n'.strip() }}|{{ ' a'.lstrip() }}|{{ 'xax'.strip('x') }}",
    "{{ 'abc'.startswith('a') }}{{ 'abc'.endswith(('c', 'x')) }}",
    "{{ 'a'.upper() }}{{ 'aXb'.replace('X', '-') }}{{ 'a b'.title() }}",
    "{{ '%s is %d' | format('a', 3) }}{{ '{} {}'.format(1, 'b') }}",
    "{{ {'a': 1, 'b': none}.items() | list }}",
    "{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{{ loop.index }}{{ loop.last }}{% endfor %}",
    "{% set ns = namespace(a=1) %}{% set ns.a = ns.a + 1 %}{{ ns.a }}",
    "{% set ns = namespace(a=1) %}{{ ns is mapping }}{{ ns is iterable }}{{ ns is defined }}",
    "{% set ns = namespace() %}{% set ns.x = [1] %}{{ ns.x + [2] }}",
    "{% for i in [1, 2, 3] if i > 1 %}{{ loop.index0 }}{{ loop.length }}{% else %}none{% endfor %}",
    "{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined }}{{ loop.nextitem.role if loop.nextitem is defined }}{% endfor %}",
    "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list | length }}",
    "{{ messages | rejectattr('role', 'in', ['user']) | list | length }}",
    "{{ messages[-1].content[:2] }}{{ messages[1:] | length }}{{ messages[::-1][0].role }}",
    "{{ messages[9] is defined }}{{ messages[0]['no'] is defined }}{{ messages[0].no.no is defined }}",
    "{{ 7 // 2 }}{{ -7 // 2 }}{{ 7 % 3 }}{{ -7 % 3 }}{{ 7 / 2 }}{{ 4 / 2 }}{{ 2 ** 3 }}",
    "{{ 1 == 1.0 }}{{ true == 1 }}{{ 'a' == 'a' }}{{ none == false }}",
    "{{ [1, 'a', none, true, 1.5, {'k': []}] }}",
    "{{ [] }}{{ {} }}{{ (1,) }}{{ ('a', 'b') }}",
    "{% macro m(a, b='d') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}in{% endcall %}",
    "{% set x %} a {% endset %}[{{ x }}]{{ x | trim }}",
    "{{ 'a' 'b' }}",
    "{{ \"it's\" }}{{ 'say \"x\"' }}{{ ['it\\'s', 'say \"x\"', 'a\\nb'] }}",
    "{{ 'x' if none }}{{ 'x' if messages }}",
    "{{ dict(a=1) }}{{ dict(a=1) | tojson }}",
    "{{ range(1, 6, 2) | list }}",
    "{{ 'é한'|length }}{{ 'abc'[1] }}{{ 'abc'[-1] }}{{ 'cab'|sort|join }}",
];

/// Expressions that we refuse or write otherwise, and why no template suffers.
const REASONS: [(&str, &str); 7] = [
    ("x = range(3)", "no template writes a range, which is a list with us"),
    ("is lower", "no template asks for the case of a list"),
    (
        "x = false %}{{ x | map",
        "no template goes through a boolean, which jinja2 takes for an empty list",
    ),
    ("x = false %}{{ x | select", "the same"),
    ("x = 0 %}{{ x | map", "the same of a number"),
    ("x = 0 %}{{ x | select", "the same"),
    ("x = messages[0] %}{{ x | reverse", "no template turns the keys of a message round"),
];

#[test]
fn expressions_have_the_values_of_jinja2() {
    if !brought() {
        return;
    }
    let mut jinja = Jinja::start(&python());
    let uses = VALUES.into_iter().flat_map(|value| {
        USES.map(|using| {
            format!("{{% set x = {value} %}}{{{{ {using} }}}}")
                .replace("{% set x = undefined_name %}", "")
        })
    });
    let all: Vec<String> = uses.chain(WHOLE.map(str::to_owned)).collect();
    let messages = [
        json!({"role": "user", "content": "가나다"}),
        json!({"role": "assistant", "content": null, "tool_calls": []}),
    ];
    let mut differences = Vec::new();
    for source in &all {
        let theirs =
            jinja.render(source, &[json!({"messages": messages, "tools": null})]).remove(0);
        let ours = render(source, &messages);
        let is_same = match (&ours, &theirs) {
            (Ok(ours), Rendered::Text(theirs)) => ours == theirs,
            // Where jinja2 ends with an error no template goes.
            (_, Rendered::Error(_)) => true,
            (Err(_), Rendered::Text(_)) => false,
        };
        if !is_same && !REASONS.iter().any(|(expression, _)| source.contains(expression)) {
            differences.push(format!("{source}: ours {ours:?}, jinja2 {theirs:?}"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {}\n{}",
        differences.len(),
        all.len(),
        differences.join("\n")
    );
}

fn render(source: &str, messages: &[Value]) -> Result<String, String> {
    let template = ChatTemplate::compile(source).map_err(|error| error.to_string())?;
    let input = TemplateInput {
        messages,
        tools: &[],
        bos: "",
        eos: "",
        has_thinking: false,
        max_bytes: LEAST_BYTES,
    };
    template.render(&input).map_err(|error| error.to_string())
}
