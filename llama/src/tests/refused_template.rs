//! Tests that models with a refused chat template answer through a form of Madang.

use super::*;

/// Templates that cannot be used: broken, forbidden, unwilling, endless, too heavy.
const REFUSED: [&str; 7] = [
    "{% for m in messages %}{{ m.content }}",
    "{{ messages[0].content | no_such_filter }}",
    "{% include 'chat' %}",
    "{{ raise_exception('not this chat') }}",
    "{% for a in range(100000) %}{% for b in range(100000) %}{% set x = a * b %}{% endfor %}{% endfor %}",
    "{{ ('a' * 3000000000) | length }}",
    "{% set ns = namespace(x='aa') %}{% for i in range(5000) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
];

/// More than any of the prompts, at one token a byte.
const CONTEXT: u32 = 16_384;

fn refused(template: &'static str, of: TinyModel) -> LlamaModel {
    load(&TinyModel { template: Some(template), context_length: CONTEXT, ..of })
}

async fn answer(model: &LlamaModel, tools: Vec<ToolSpec>) -> Completion {
    let chat = vec![user("a"), said("b"), user("what else is there?")];
    let mut request = request(chat, tools);
    request.system = Some("Be brief.".into());
    request.max_tokens = 200;
    complete(model, request).await.unwrap()
}

#[tokio::test]
async fn with_the_marks_of_chatml_they_say_and_call_what_they_want() {
    for template in REFUSED {
        let says = refused(template, TinyModel::new());
        assert_eq!(answer(&says, vec![]).await.text, "abc", "{template}");
        assert_eq!(answer(&says, vec![note_tool()]).await.text, "abc", "{template}");
        let calls = refused(template, caller());
        let called = answer(&calls, vec![note_tool()]).await.tool_calls;
        let names: Vec<_> = called.iter().map(|call| &*call.name).collect();
        assert_eq!(names, ["add_note"], "{template}");
    }
}

#[test]
fn a_model_says_that_its_template_is_given_up_or_is_not_there() {
    for template in REFUSED {
        let caveats = refused(template, TinyModel::new()).caveats();
        assert!(matches!(&*caveats, [Caveat::TemplateGivenUp { .. }]), "{template}: {caveats:?}");
    }
    let without = load(&TinyModel { template: None, ..TinyModel::new() });
    assert_eq!(without.caveats(), [Caveat::NoTemplate]);
    assert_eq!(load(&TinyModel::new()).caveats(), []);
}

/// They would continue both parts of a play for ever.
#[tokio::test]
async fn without_any_marks_they_say_their_part_of_a_play_and_no_other() {
    let next = [
        (":", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "\n"),
        ("\n", "U"),
        ("U", "s"),
        ("s", "e"),
        ("e", "r"),
        ("r", ":"),
    ];
    for template in REFUSED {
        let play = TinyModel { controls: vec!["<|im_end|>"], ..TinyModel::saying(&next) };
        let says = refused(template, play);
        assert_eq!(answer(&says, vec![]).await.text, "abc", "{template}");
    }
}
