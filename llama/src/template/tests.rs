//! Tests the output of templates, and their limits.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{super::pieces::STACK_BYTES, *};

fn tools() -> [Value; 1] {
    [json!({"type": "function", "function": {"name": "a", "parameters": {"속성": [1, 2.5]}}})]
}

pub(super) fn render(source: &str, messages: &[Value]) -> Result<String, String> {
    render_in(source, messages, 100_000)
}

fn render_in(source: &str, messages: &[Value], max_bytes: usize) -> Result<String, String> {
    let template = ChatTemplate::compile(source).map_err(|error| error.to_string())?;
    let input = TemplateInput {
        messages,
        tools: &tools(),
        bos: "<s>",
        eos: "</s>",
        has_thinking: false,
        max_bytes,
    };
    template.render(&input).map_err(|error| error.to_string())
}

#[test]
fn blocks_leave_no_lines_behind() {
    let source = "{{ bos_token }}{% for m in messages %}\n  {% if m.role == 'user' %}\n{{ m.content }};\n  {% endif %}\n{% endfor %}\n";
    let messages =
        [json!({"role": "user", "content": "x"}), json!({"role": "user", "content": "y"})];
    assert_eq!(render(source, &messages), Ok("<s>x;\ny;\n".into()));
}

#[test]
fn json_is_written_as_python_writes_it() {
    let line =
        r#"{"type": "function", "function": {"name": "a", "parameters": {"속성": [1, 2.5]}}}"#;
    assert_eq!(render("{{ tools[0] | tojson }}", &[]), Ok(line.into()));
    let indented = "{\n  \"name\": \"a\",\n  \"parameters\": {\n    \"속성\": [\n      1,\n      2.5\n    ]\n  }\n}";
    assert_eq!(render("{{ tools[0].function | tojson(indent=2) }}", &[]), Ok(indented.into()));
}

#[test]
fn python_methods_work() {
    let source = "{% for m in messages %}{{ m.content.split('|')[-1].strip().upper() }}{% endfor %}\
                  {% for key, value in tools[0].items() %}{{ key }} {% endfor %}";
    let messages = [json!({"role": "user", "content": "a| b "})];
    assert_eq!(render(source, &messages), Ok("Btype function ".into()));
}

#[test]
fn a_template_can_refuse_a_chat() {
    assert!(
        render("{{ raise_exception('no system role') }}", &[])
            .unwrap_err()
            .contains("no system role")
    );
}

#[test]
fn the_date_has_the_form_that_was_asked_for() {
    let date = render("{{ strftime_now('%Y-%m-%d') }}", &[]).unwrap();
    assert_eq!(date.len(), "2026-11-20".len());
    assert!(date.starts_with("20"), "{date}");
}

#[test]
fn a_template_that_writes_too_much_ends() {
    let source = "{% for a in range(20000) %}{{ 'ten bytes ' }}{% endfor %}";
    assert!(render(source, &[]).is_err());
}

#[test]
fn a_template_that_loops_for_ever_ends() {
    let source = "{% for a in range(100000) %}{% for b in range(100000) %}{% set x = a * b %}{% endfor %}{% endfor %}";
    assert!(render(source, &[]).is_err());
}

/// Renders a template as minijinja does, without weights.
fn render_unguarded(source: &str, messages: &[Value], tools: &[Value]) -> Result<String, ()> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap();
    environment.set_syntax(syntax);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    jinja2::install(&mut environment);
    environment.add_filter("tojson", to_json);
    environment.add_function("raise_exception", raise_exception);
    environment.add_template_owned(NAME, without_training_marks(source)).unwrap();
    let values = context! {
        messages => Jinja::from(Serde(messages)),
        tools => (!tools.is_empty()).then(|| Jinja::from(Serde(tools))),
        documents => (),
        bos_token => "<s>",
        eos_token => "</s>",
        add_generation_prompt => true,
        enable_thinking => false,
        // Only for `tojson`.
        madang_purse => Jinja::from_object(Purse::new(100_000)),
    };
    environment.get_template(NAME).unwrap().render(values).map_err(|_| ())
}

/// Every kind of statement and expression, and texts that must not be parsed again.
const KINDS: &str = r#"{# a comment #}{%- set ns = namespace(found=false, n=0, texts=[]) -%}
{%- macro say(role, text='"nothing" \\ {{ here }} %}') -%}<{{ role }}>{{ text }}{{ caller() if caller }}</{{ role }}>
{%- endmacro -%}
{% raw %}{{ not read }} {% endraw %}
{%- for message in messages if message.role != 'tool' recursive -%}
  {%- if loop.first and not ns.found or false -%}first{% elif loop.last %}last{% elif 1 < 2 <= 2 != 3 %}between{% else %}never{% endif -%}
  {%- set ns.n = ns.n + 1 * 2 ** 2 // 3 % 5 - -1 -%}
  {%- set ns.texts = ns.texts + [message.content | default('') | trim | upper] -%}
  {%- if message['role'] in ['user', "assistant"] and 'x' not in message -%}{{ say(message.role, message.content[:3] ~ message.content[::-1] + 'é') }}
  {%- else -%}{{ say('other') }}{% continue %}{% endif -%}
  {%- for call in message.tool_calls or [] -%}{{ call.function | tojson }}{% break %}{%- else -%}no call{%- endfor -%}
{%- endfor -%}
{%- set caught -%}caught {{ ns.n }}\n{%- endset -%}
{%- set filtered | upper | replace('A', 'b') %}a and {{ 1.0 }}{% endset -%}
{%- with (a, b) = (1, [2, 3]), c = {'k': 'v', 'w': none} -%}{{ a }}{{ b[-1] }}{{ c.k }}{{ c.w is none }}{{ c['k'] is eq('v') }}{%- endwith -%}
{%- filter upper | lower %}Block{% endfilter -%}
{%- call say('call') -%}called{%- endcall -%}
{%- for key, (value, other) in [('k', (1, 2)), ('l', (3, 4))] -%}{{ key }}{{ value }}{{ other }}{{ loop.index }}{%- endfor -%}
{%- do namespace() -%}
{{ caught }}{{ filtered }}{{ ns.texts | join(', ') }}{{ 'a' * 3 }}{{ (1, ) }}{{ () }}{{ [] }}{{ {} }}{{ range(3) | list }}{{ messages | map(attribute='role') | join('|') }}
{{ messages | selectattr('role', 'eq', 'user') | list | length }}{{ 'a b'.split(' ')[1].strip() }}{{ 'x' if undefined_name is defined else "y" }}{{ 'z' if false }}
{{- '%s and %03d' | format('a', 7) }}{{ 'a\nb' | indent(2) }}{{ "l'\"\\\t" }}{{ 1e3 }}{{ 12345678901234567890 }}{{ true }}{{ tools | tojson }}"#;

/// Chats with and without a system text, calls, results and thoughts.
fn chats() -> [Vec<Value>; 2] {
    let user = |text: &str| json!({"role": "user", "content": text});
    let call = json!({"name": "f", "arguments": {"a": 1, "b": [1, 2.5, null, true]}});
    let call = json!({"id": "abcdefghi", "type": "function", "function": call});
    [
        vec![user("\"quoted\" \\ {{ braces }}\n")],
        vec![
            json!({"role": "system", "content": "Be brief."}),
            user("걷기"),
            json!({"role": "assistant", "content": "<think>q</think>ok", "tool_calls": [call]}),
            json!({"role": "tool", "name": "f", "tool_call_id": "abcdefghi", "content": "{}"}),
            json!({"role": "assistant", "content": "done"}),
            user("again"),
        ],
    ]
}

#[test]
fn honest_templates_write_the_same_as_without_a_guard() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/families");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "jinja"));
    let mut sources: Vec<String> =
        files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(sources.len() > 8, "{}", sources.len());
    sources.push(KINDS.into());
    let mut written = 0;
    for source in sources {
        for messages in chats() {
            let expected = render_unguarded(&source, &messages, &tools());
            let rendered = render(&source, &messages);
            if source == KINDS {
                expected.as_ref().unwrap();
            }
            written += usize::from(expected.is_ok());
            assert_eq!(rendered.map_err(|_| ()), expected, "{source}");
        }
    }
    assert!(written > 16, "{written}");
}

/// Templates that make large values from small ones, each in its own way.
fn bombs() -> Vec<String> {
    let grow = |start: &str, step: &str| {
        format!(
            "{{% macro twice(x) %}}{{{{ x }}}}{{{{ x }}}}{{% endmacro %}}{{% set ns = namespace(x={start}) %}}\
             {{% for i in range(5000) %}}{step}{{% endfor %}}{{{{ ns.x | length }}}}"
        )
    };
    let often = |step: &str| {
        format!(
            "{{% set s = 'a' * 600000 %}}{{% for i in range(5000) %}}{{% for j in range(5000) %}}{step}{{% endfor %}}{{% endfor %}}"
        )
    };
    let mut all = vec![
        grow("'aa'", "{% set ns.x = ns.x ~ ns.x %}"),
        grow("'aa'", "{% set ns.x = ns.x + ns.x %}"),
        grow("'aa'", "{% set ns.x = ns.x * 2 %}"),
        grow("'aa'", "{% set ns.x = 2 * ns.x %}"),
        grow("'aa'", "{% set t %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = t %}"),
        grow("'aa'", "{% set ns.x = twice(ns.x) %}"),
        grow("'aa'", "{% set ns.x = ns.x | replace('', ns.x) %}"),
        grow("'aa'", "{% set ns.x = ns.x.replace('', ns.x) %}"),
        grow("'aa'", "{% set ns.x = [ns.x, ns.x] | join %}"),
        grow("'aa'", "{% set ns.x = '-'.join([ns.x, ns.x]) %}"),
        grow("'aa'", "{% set ns.x = '{0}{0}'.format(ns.x) %}"),
        grow("'aa'", "{% set ns.x = '%s%s' | format(ns.x, ns.x) %}"),
        grow("'a'", "{% set ns.x = ns.x | indent(1000, true) ~ '\\na' %}"),
        grow("'\"'", "{% set ns.x = ns.x | tojson %}"),
        grow("['a']", "{% set ns.x = [ns.x, ns.x] %}"),
        grow("['a']", "{% set ns.x = (ns.x, ns.x) %}"),
        grow("['a']", "{% set ns.x = {'a': ns.x, 'b': ns.x} %}"),
        grow("['a']", "{% set ns.x = dict(a=ns.x, b=ns.x) %}"),
        grow("['a']", "{% set ns.x = ns.x + ns.x %}"),
        grow("['a']", "{% set ns.x = ns.x * 2 %}"),
        // Deep enough to end the stack when it is dropped.
        grow("['a']", "{% set ns.x = [ns.x] %}"),
        grow("['a']", "{% set ns.x = namespace(x=ns.x) %}"),
        grow("['a']", "{% set ns.x = ns %}"),
        // A value that holds itself is never dropped.
        grow("['a']", "{% set ns.x = [ns] %}"),
        grow("['a']", "{% set t = namespace(y=ns) %}"),
        grow("['a']", "{% if i < 200 %}{% set ns.x = [ns.x] %}{% endif %}"),
        often("{% if s == s ~ '' %}{% endif %}"),
        often("{% if 'b' in s %}{% endif %}"),
        often("{% if s is endingwith('b') %}{% endif %}"),
        often("{% if s < s > s %}{% endif %}"),
        often("{% set t = s[599999] %}"),
        often("{% set t = s | length %}"),
        often("{% set t = s.upper() %}"),
        often("{% for letter in s %}{% break %}{% endfor %}"),
        format!(
            "{{% set x %}}{{% for i in range(5000) %}}{}{{% endfor %}}{{% endset %}}",
            "raw".repeat(99_999)
        ),
        format!("{{{{ x{} }}}}", " + 1".repeat(100_000)),
        format!("{{{{ x{} }}}}", ".a".repeat(100_000)),
        format!("{{{{ x{} }}}}", "|e".repeat(100_000)),
        format!("{{{{{} 1 }}}}", " not".repeat(100_000)),
        format!("{{{{{} 1 }}}}", " -".repeat(100_000)),
        format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(50_000)),
        format!("{}x", "a".repeat(1 << 20)),
    ];
    let single = [
        "{{ ('a' * 3000000000) | length }}",
        "{{ ('a' * 90000000 ~ 'a' * 90000000) | length }}",
        "{{ ([0] * 90000000) | list | length }}",
        "{{ ('a' * 90000).replace('a', 'b' * 90000) | length }}",
        "{{ ['a' * 90000] | map('replace', 'a', 'b' * 90000) | list | length }}",
        "{{ '%1000000000d' | format(1) | length }}",
        "{{ '{:1000000000}'.format(1) | length }}",
        "{{ [1] | batch(1000000000, 'x') | list | length }}",
        "{{ messages | tojson(indent=1000000000) | length }}",
        "{{ 1 | madang_keep }}",
        "{{ madang_purse }}",
        "{% set madang_purse = 1 %}",
        "{% include 'chat' %}",
        "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    ];
    all.extend(single.map(str::to_owned));
    all
}

/// Templates that could only end the stack: endlessly nested values, some made before they are
/// requested.
fn deep() -> Vec<String> {
    let steps = [
        "{% set t = namespace() %}{% set ns.tail.next = t %}{% set ns.tail = t %}",
        "{% set ns.x = [ns.x] %}",
        "{% set ns.x = namespace(x=ns.x) %}",
        "{% set ns.x = ns %}",
        "{% set ns.x = [ns] %}",
        "{% set ns.x = ns.x | reverse %}",
        "{% set ns.x = ns.x[::-1] %}",
        "{% set ns.x = ns.x + [] %}",
        "{% set ns.x = ns.x.items() %}",
    ];
    let start =
        "{% set ns = namespace(x=[1]) %}{% set ns.head = namespace() %}{% set ns.tail = ns.head %}";
    let all = steps.into_iter().flat_map(|step| {
        let start = if step.contains("tail") { start } else { "{% set ns = namespace(x=[1]) %}" };
        let times = if step.contains("tail") { 300 } else { 120 };
        let loops = format!("{{% for i in range({times}) %}}{{% for j in range({times}) %}}");
        [format!("{start}{loops}{step}{{% endfor %}}{{% endfor %}}{{{{ ns }}}}")]
    });
    all.collect()
}

/// Templates right below the bounds on their length, which are written anew as deeply as they may
/// be.
fn long() -> Vec<String> {
    let loops = |text: &str| {
        let begin = "{% for i in a %}".repeat(145);
        let end = "{% endfor %}".repeat(145);
        format!("{begin}{text}{end}")
    };
    vec![
        format!("{{{{{} 1 }}}}", " not".repeat(990)),
        format!("{{{{{} 1 }}}}", " -".repeat(990)),
        format!("{{{{ 1{} }}}}", " - 1".repeat(490)),
        format!("{{{{ x{} }}}}", ".a".repeat(490)),
        format!("{{{{ x{} }}}}", "|e".repeat(490)),
        format!("{{{{ 1{} }}}}", " if x else 1".repeat(240)),
        format!("{{{{{} '{}' }}}}", " -".repeat(990), "a".repeat(900_000)),
        loops(&"{{a|e|e|e}}".repeat(80_000)),
        loops(&"a".repeat(900_000)),
    ]
}

#[test]
fn no_template_makes_more_than_it_may_in_memory_in_time_or_on_the_stack() {
    // The stack of the threads that write prompts.
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let tried = thread.spawn(|| {
        for bomb in bombs() {
            let name: String = bomb.chars().take(160).collect();
            let Err(problem) = render(&bomb, &chats()[0]) else { panic!("it rendered: {name}") };
            // Not by the bound on steps alone: a value may have doubled long before.
            let by_steps = problem.contains("ran out of fuel") && !problem.contains("too large");
            assert!(!by_steps, "{problem}: {name}");
            // Before it is written, not behind.
            let has_width = name.contains("1000000000d") || name.contains("{:1000000000}");
            assert!(!has_width || problem.contains("a width has no bound"), "{problem}: {name}");
        }
        for long in long() {
            // Some end with an error where they are compiled. The process must only survive, and
            // soon.
            let begun = Instant::now();
            let _ = render(&long, &chats()[0]);
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", &long[..60]);
        }
        for deep in deep() {
            // With the room of a large model, a value may weigh more. The process must only
            // survive.
            let _ = render_in(&deep, &chats()[0], 4 << 20);
        }
    });
    tried.unwrap().join().unwrap();
}
