//! Tests what is learned from templates, and from vocabularies without one.

use super::*;

fn detect(template: Option<&str>, tokens: &[&str]) -> Dialect {
    let gguf = Gguf { chat_template: template.map(str::to_owned), ..Gguf::default() };
    Dialect::detect(&gguf, &|text| tokens.contains(&text))
}

fn render(source: &str, chat: &[Value]) -> String {
    let template = ChatTemplate::compile(source).unwrap();
    Probe { template: &template }.render(chat, &[]).unwrap()
}

#[test]
fn a_template_that_writes_hermes_calls_speaks_hermes() {
    let dialect = detect(Some(CHATML), &[]);
    assert_eq!((dialect.family, dialect.listing), (&HERMES, ToolListing::Template));
    assert!(dialect.has_system);
}

#[test]
fn markers_around_something_else_are_not_hermes() {
    let source = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}\
                  <tool_call><function={{ c.function.name }}></function></tool_call>{% endfor %}{% endfor %}";
    let dialect = detect(Some(source), &[]);
    assert_eq!((dialect.family, &*dialect.caveats), (&ENVELOPE, &[Caveat::UnknownCalls][..]));
    assert_eq!(dialect.foreign.as_deref(), Some("<tool_call>"));
}

#[test]
fn a_template_without_system_messages_is_known() {
    let source = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}\
                  {{ m.content }}{% endfor %}";
    let dialect = detect(Some(source), &[]);
    assert!(!dialect.has_system);
    assert_eq!((dialect.family, dialect.listing), (&ENVELOPE, ToolListing::SystemText));
}

#[test]
fn a_template_that_has_no_end_at_a_type_lists_no_tools() {
    let source = "{% macro kind(type) %}{{ type if type in ['string', 'object', 'array'] else kind(type) }}{% endmacro %}\
        {% for t in tools or [] %}{{ t.function.name }}{% for _, p in t.function.parameters.properties.items() %}\
        {{ kind(p.type) }}{% endfor %}{% endfor %}{% for m in messages %}{{ m.content }}\
        {% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}{% endfor %}";
    let dialect = detect(Some(source), &[]);
    assert_eq!((dialect.family, dialect.listing), (&HERMES, ToolListing::SystemText));
}

#[test]
fn without_a_template_that_works_the_vocabulary_decides() {
    let broken = "{% for %}";
    assert_eq!(detect(Some(broken), &["<|im_start|>", "<tool_call>"]).family, &HERMES);
    assert_eq!(detect(None, &["<|im_start|>"]).family, &ENVELOPE);
    assert_eq!(detect(None, &[]).stops, PLAIN_STOPS);
}

#[test]
fn the_built_in_templates_render_a_whole_chat() {
    let call = json!({"function": {"name": "a", "arguments": {"x": 1}}});
    let chat = [
        json!({"role": "system", "content": "s"}),
        json!({"role": "user", "content": "u"}),
        json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        json!({"role": "tool", "content": "{}"}),
    ];
    let chatml = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n\
                  <tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": 1}}\n</tool_call><|im_end|>\n\
                  <|im_start|>user\n<tool_response>\n{}\n</tool_response><|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(render(CHATML, &chat), chatml);
    let plain = render(PLAIN, &chat[..2]);
    assert_eq!(plain, "s\n\nUser: u\nAssistant:");
}
