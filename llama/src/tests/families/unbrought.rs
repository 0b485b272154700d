//! Tests models whose templates are not brought, by templates of their form: the family, and the
//! calls that they write.

use madang_parser::{Parser, Segment};
use serde_json::Value;

use super::*;

/// A model, in short.
struct Model {
    name: &'static str,
    template: &'static str,
    /// The tokens that its template does not write.
    tokens: &'static [&'static str],
    family: &'static Family,
    /// Its answers with a call to `look` for `{"place": "서울"}`, as text.
    answers: &'static [&'static str],
}

const LLAMA_4: &str = "{% for m in messages %}<|header_start|>{{ m.role }}<|header_end|>\n\n\
    {% if m.tool_calls %}<|python_start|>{{ m.content }}<|python_end|>{% for c in m.tool_calls %}\
    {\"name\": \"{{ c.function.name }}\", \"parameters\": {{ c.function.arguments | tojson }}}{% endfor %}\
    {% else %}{{ m.content }}{% endif %}<|eot|>{% endfor %}<|header_start|>assistant<|header_end|>\n\n";
const EXAONE_4: &str = "{% for m in messages %}[|{{ m.role }}|]\n{{ m.content }}{% for c in m.tool_calls or [] %}\
    <tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}[|endofturn|]\n{% endfor %}[|assistant|]\n";
const PHI_4: &str =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>";
const HYPERCLOVA_X: &str = "{% for m in messages %}{% if m.tool_calls %}<|im_start|>assistant -> tool/function_call\n[\
    {% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}]<|im_end|><|stop|>\n\
    {% else %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}<|im_start|>assistant";
const GLM_4_5: &str = "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% for c in m.tool_calls or [] %}\
    {{ '\n' }}<tool_call>{{ c.function.name }}\n{% for k, v in c.function.arguments.items() %}\
    <arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>\n{% endfor %}</tool_call>{% endfor %}{% endfor %}<|assistant|>";

const MODELS: [Model; 5] = [
    Model {
        name: "Llama 4",
        template: LLAMA_4,
        tokens: &[],
        family: &LLAMA_3,
        answers: &[
            "{\"name\": \"look\", \"parameters\": {\"place\": \"서울\"}}",
            "<|python_start|>{\"name\": \"look\", \"parameters\": {\"place\": \"서울\"}}<|python_end|>",
            "<|python_start|><|python_end|>{\"name\": \"look\", \"parameters\": {\"place\": \"서울\"}}",
        ],
    },
    Model {
        name: "EXAONE 4",
        template: EXAONE_4,
        tokens: &[],
        family: &HERMES,
        answers: &[
            "<tool_call>{\"name\": \"look\", \"arguments\": {\"place\": \"서울\"}}</tool_call>",
        ],
    },
    Model {
        name: "Phi-4-mini",
        template: PHI_4,
        tokens: &["<|tool_call|>", "<|/tool_call|>"],
        family: &GRANITE_3,
        answers: &[
            "<|tool_call|>[{\"name\": \"look\", \"arguments\": {\"place\": \"서울\"}}]<|/tool_call|>",
            "<|tool_call|>[{\"type\": \"function\", \"function\": {\"name\": \"look\", \"arguments\": {\"place\": \"서울\"}}}]\
             <|/tool_call|>",
        ],
    },
    Model {
        name: "HyperCLOVA X SEED",
        template: HYPERCLOVA_X,
        tokens: &[],
        family: &HYPERCLOVA,
        answers: &[
            " -> tool/function_call\n[{\"name\": \"look\", \"arguments\": {\"place\": \"서울\"}}]",
            " -> tool/function_call\n[{\"name\": \"look\", \"parameters\": {\"place\": \"서울\"}}]",
        ],
    },
    Model {
        name: "GLM 4.5",
        template: GLM_4_5,
        tokens: &[],
        family: &GLM,
        answers: &[
            "\n<tool_call>look\n<arg_key>place</arg_key>\n<arg_value>서울</arg_value>\n</tool_call>",
        ],
    },
];

#[test]
fn their_templates_show_the_family() {
    for Model { name, template, tokens, family, .. } in &MODELS {
        let found = Dialect::of_template(template, &|text| tokens.contains(&text)).unwrap();
        assert_eq!((found.family.name, &*found.caveats), (family.name, &[][..]), "{name}");
    }
}

#[test]
fn their_calls_are_read_wherever_they_are_cut() {
    let kinds = json!({"type": "object", "properties": {"place": {"type": "string"}}});
    let tools = [ToolSpec::new("look", "Looks", kinds)];
    for Model { name, family, answers, .. } in &MODELS {
        for answer in *answers {
            let parse = |pieces: &[&str]| {
                let mut parser = Parser::new(family, &[]).offering(tools.clone().into());
                let mut found = Vec::new();
                for piece in pieces {
                    parser.push(piece, &mut found);
                }
                parser.finish(false, &mut found);
                found
            };
            for (cut, _) in answer.char_indices() {
                let (begin, end) = answer.split_at(cut);
                let found = parse(&[begin, end]);
                let Some(Segment::Call(call)) = found.first() else {
                    panic!("{name}: {begin:?} {end:?} {found:?}")
                };
                let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
                assert_eq!((&*call.name, arguments), ("look", json!({"place": "서울"})), "{name}");
            }
        }
    }
}
