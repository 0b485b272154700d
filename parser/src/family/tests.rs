//! Tests reading the calls of every family, in any split.

use expect_test::{Expect, expect};
use madang_actors::protocol::ToolSpec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::parser::{Parser, Segment};

fn parse(family: &'static Family, pieces: &[&str]) -> Vec<Segment> {
    parse_with(Parser::new(family, &[]), pieces)
}

fn parse_with(mut parser: Parser, pieces: &[&str]) -> Vec<Segment> {
    let mut found = Vec::new();
    for piece in pieces {
        parser.push(piece, &mut found);
    }
    parser.finish(false, &mut found);
    found
}

fn check(family: &'static Family, text: &str, expected: &Expect) {
    let line = |found: Segment| match found {
        Segment::Text(text) => format!("text {text:?}"),
        Segment::Thinking(text) => format!("thinking {text:?}"),
        Segment::Call(call) => format!("call {} {}", call.name, call.arguments),
        Segment::Malformed(call) => format!("malformed {:?} {:?}", call.name, call.arguments),
    };
    let lines: Vec<String> = parse(family, &[text]).into_iter().map(line).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn gemma_3_answers_with_a_fenced_object() {
    check(
        &GEMMA_3,
        "```json\n{\"name\": \"add_note\", \"parameters\": {\"text\": \"물\"}}\n```",
        &expect![[r#"call add_note {"text": "물"}"#]],
    );
    check(&GEMMA_3, "Add {\"name\": 1}", &expect![[r#"text "Add {\"name\": 1}""#]]);
}

#[test]
fn gemma_4_writes_strings_between_marks() {
    check(
        &GEMMA_4,
        "<|channel>thought\nhm<channel|>네.\n<|tool_call>call:add_note{text:<|\"|>a } \" \\ \n<|\"|>,\
         n:-1.5,l:[true,null,<|\"|>b<|\"|>],o:{k:1}}<tool_call|><|tool_call>call:list{}<tool_call|>",
        &expect![[r#"
            thinking "\nhm"
            text "네."
            call add_note {"text":"a } \" \\ \n","n":-1.5,"l":[true,null,"b"],"o":{"k":1}}
            call list {}"#]],
    );
}

#[test]
fn function_gemma_writes_strings_between_marks_too() {
    check(
        &FUNCTION_GEMMA,
        "<start_function_call>call:add_note{text:<escape>물<escape>}<end_function_call>",
        &expect![[r#"call add_note {"text":"물"}"#]],
    );
}

#[test]
fn broken_braces_keep_what_the_model_wrote() {
    check(
        &GEMMA_4,
        "<|tool_call>call:add_note{text:water}<tool_call|>ok",
        &expect![[r#"
            call add_note {text:water}
            text "ok""#]],
    );
    check(
        &GEMMA_4,
        "<|tool_call>add a note<tool_call|>",
        &expect![[r#"malformed "" "add a note""#]],
    );
}

#[test]
fn llama_3_answers_with_an_object() {
    check(
        &LLAMA_3,
        "{\"name\": \"add_note\", \"parameters\": {\"text\": \"a\"}}",
        &expect![[r#"call add_note {"text": "a"}"#]],
    );
}

#[test]
fn mistral_lists_objects() {
    check(
        &MISTRAL,
        "[TOOL_CALLS] [{\"name\": \"a\", \"arguments\": {\"x\": [1, \"]\"]}, \"id\": \"abcdefghi\"}, {\"name\": \"b\", \"arguments\": {}}]",
        &expect![[r#"
            call a {"x": [1, "]"]}
            call b {}"#]],
    );
    check(&MISTRAL, "[TOOL_CALLS][]", &expect![[r#"malformed "" "[]""#]]);
}

#[test]
fn newer_mistral_marks_arguments() {
    check(
        &MISTRAL_MARKED,
        "ok[TOOL_CALLS]a[CALL_ID]abcdefghi[ARGS]{\"x\": \"}\"}[TOOL_CALLS]b[ARGS]{}",
        &expect![[r#"
            text "ok"
            call a {"x": "}"}
            call b {}"#]],
    );
    check(
        &MISTRAL_MARKED,
        "[TOOL_CALLS]no call at all",
        &expect![[r#"malformed "" "no call at all""#]],
    );
}

#[test]
fn deepseek_writes_several_calls_in_one_block() {
    check(
        &DEEPSEEK_V3_1,
        "ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>a<｜tool▁sep｜>{\"x\": \"}\"}<｜tool▁call▁end｜>\
         <｜tool▁call▁begin｜>b<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>done",
        &expect![[r#"
            text "ok"
            call a {"x": "}"}
            call b {}
            text "done""#]],
    );
    check(
        &DEEPSEEK_R1,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n```json\n{\"x\": 1}\n```<｜tool▁call▁end｜>\n\
         <｜tool▁call▁begin｜>function<｜tool▁sep｜>b\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        &expect![[r#"
            call a {"x": 1}
            call b {}"#]],
    );
    // The last marks may be missing where the model ends.
    check(
        &DEEPSEEK_V3_1,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>a<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        &expect!["call a {}"],
    );
    check(
        &DEEPSEEK_V3_1,
        "<｜tool▁calls▁begin｜>a {}<｜tool▁calls▁end｜>",
        &expect![[r#"malformed "" "a {}""#]],
    );
}

#[test]
fn kimi_writes_the_name_into_an_id() {
    check(
        &KIMI_K2,
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.add_note:0<|tool_call_argument_begin|>{\"x\": 1}\
         <|tool_call_end|><|tool_call_begin|>functions.list:1<|tool_call_argument_begin|>{}<|tool_call_end|>\
         <|tool_calls_section_end|>",
        &expect![[r#"
            call add_note {"x": 1}
            call list {}"#]],
    );
}

#[test]
fn solar_writes_an_id_before_the_name() {
    check(
        &SOLAR,
        "<|tool_calls|><|tool_call:begin|>k3-x9<|tool_call:name|>a<|tool_call:args|>{\"x\": 1}<|tool_call:end|><|calls|>",
        &expect![[r#"call a {"x": 1}"#]],
    );
}

#[test]
fn functionary_writes_the_name_into_a_tag() {
    check(
        &FUNCTIONARY,
        "<function=a>{\"x\": \"</function>\"}</function><function=b>{}</function>",
        &expect![[r#"
            call a {"x": "</function>"}
            call b {}"#]],
    );
}

#[test]
fn qwen_coder_writes_each_argument_between_tags() {
    check(
        &QWEN_CODER,
        "ok\n<tool_call>\n<function=add_note>\n<parameter=text>\n</function> \"a\"\n\n</parameter>\n\
         <parameter=count>\n2\n</parameter>\n<parameter=is_new>\nTrue\n</parameter>\n\
         <parameter=o>\n{\"k\": [1, null]}\n</parameter>\n</function>\n</tool_call>\n\
         <tool_call>\n<function=list>\n</function>\n</tool_call>done",
        &expect![[r#"
            text "ok"
            call add_note {"text":"</function> \"a\"\n","count":2,"is_new":true,"o":{"k": [1, null]}}
            call list {}
            text "done""#]],
    );
}

#[test]
fn a_call_without_the_end_of_its_tags_is_no_call() {
    for begin in [
        "<tool_call>\n<function=list>\n",
        "<tool_call>\n<function=list>\n<parameter=a>\n1\n",
        "<tool_call>\n<function=list>\n<parameter=a>\n1\n</parameter>\n</tool_call>",
        "<tool_call>\n<function=list>\n<parameter=a>\n1\n</parameter>\nand more</function>",
        "<tool_call>\n{\"name\": \"list\"}\n</tool_call>",
    ] {
        let found = parse(&QWEN_CODER, &[begin]);
        let is_refused =
            matches!(&*found, [Segment::Malformed(call)] if call.arguments.contains("list"));
        assert!(is_refused, "{begin} {found:?}");
    }
    check(
        &GLM,
        "<tool_call>list\n<arg_key>a</arg_key>\n<arg_value>1",
        &expect![[r#"malformed "" "list\n<arg_key>a</arg_key>\n<arg_value>1""#]],
    );
    check(
        &MINIMAX_M2,
        "<minimax:tool_call>\n</minimax:tool_call>",
        &expect![[r#"malformed "" "\n""#]],
    );
}

#[test]
fn glm_writes_keys_and_values_between_tags() {
    let with_lines =
        "<tool_call>a\n<arg_key>x</arg_key>\n<arg_value>물 <b>\n</arg_value>\n</tool_call>";
    let without = "<tool_call>a<arg_key>x</arg_key><arg_value>물 <b>\n</arg_value></tool_call>";
    for (family, call) in
        [(&GLM, with_lines), (&GLM, without), (&GLM_TIGHT, with_lines), (&GLM_TIGHT, without)]
    {
        check(family, call, &expect![[r#"call a {"x":"물 <b>\n"}"#]]);
    }
    check(
        &GLM_TIGHT,
        "<tool_call>list</tool_call>ok",
        &expect![[r#"
        call list {}
        text "ok""#]],
    );
}

#[test]
fn minimax_writes_several_calls_in_one_block() {
    check(
        &MINIMAX_M2,
        "<minimax:tool_call>\n<invoke name=\"a\">\n<parameter name=\"x\">2</parameter>\n</invoke>\n\
         <invoke name=\"b\">\n</invoke>\n</minimax:tool_call>done",
        &expect![[r#"
            call a {"x":2}
            call b {}
            text "done""#]],
    );
}

#[test]
fn deepseek_3_2_says_which_values_are_texts() {
    check(
        &DEEPSEEK_V3_2,
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"a\">\n<｜DSML｜parameter name=\"x\" string=\"true\">2</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"y\" string=\"false\">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        &expect![[r#"call a {"x":"2","y":2}"#]],
    );
}

#[test]
fn gpt_oss_answers_and_calls_in_channels() {
    check(
        &GPT_OSS,
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>네.",
        &expect![[r#"
            thinking "hm"
            text "네.""#]],
    );
    check(
        &GPT_OSS,
        "<|channel|>analysis<|message|>to=functions.x<|end|><|start|>assistant<|channel|>commentary to=functions.add_note \
         <|constrain|>json<|message|>{\"text\": \"물\"}<|call|>",
        &expect![[r#"
            thinking "to=functions.x"
            call add_note {"text": "물"}"#]],
    );
    check(
        &GPT_OSS,
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to=functions.list<|channel|>commentary json<|message|>{}",
        &expect![[r#"
            text "I look."
            call list {}"#]],
    );
    check(
        &GPT_OSS,
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>to=functions.list",
        &expect![[r#"text "I look.\n\nto=functions.list""#]],
    );
}

#[test]
fn gpt_oss_calls_nothing_but_tools_and_needs_no_header() {
    check(
        &GPT_OSS,
        "<|channel|>analysis to=browser.search code<|message|>{\"query\": 1}<|call|>",
        &expect![[r#"
            malformed "" "<|channel|>analysis to=browser.search code<|message|>"
            thinking "{\"query\": 1}<|call|>""#]],
    );
    check(&GPT_OSS, "to be", &expect![[r#"text "to be""#]]);
}

#[test]
fn a_list_may_have_keys_of_its_own() {
    check(
        &COHERE,
        "<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"a\", \
         \"parameters\": {\"x\": 1}},\n    {\"tool_call_id\": \"1\", \"tool_name\": \"b\", \"parameters\": {}}\n]<|END_ACTION|>",
        &expect![[r#"
            thinking "hm"
            call a {"x": 1}
            call b {}"#]],
    );
    check(
        &APERTUS,
        "ok<|tools_prefix|>[{\"a\": {\"x\": \"}]\"}}, {\"b\": {}}]<|tools_suffix|>",
        &expect![[r#"
            text "ok"
            call a {"x": "}]"}
            call b {}"#]],
    );
    check(
        &APERTUS,
        "<|tools_prefix|>[{\"a\": 1}]<|tools_suffix|>",
        &expect![[r#"malformed "" "[{\"a\": 1}""#]],
    );
}

#[test]
fn gigachat_calls_in_a_message_with_a_role() {
    check(
        &GIGACHAT_3,
        "ok<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"a\", \"arguments\": {\"x\": 1}}",
        &expect![[r#"
            text "ok"
            call a {"x": 1}"#]],
    );
}

#[test]
fn minicpm_may_quote_a_text() {
    check(
        &MINICPM_5,
        "ok\n<function name=\"a\"><param name=\"x\"><![CDATA[<b>\n]]></param><param name=\"y\">2</param>\
         <param name=\"z\">True</param></function>\n<function name=\"b\"></function>",
        &expect![[r#"
            text "ok"
            call a {"x":"<b>\n","y":2,"z":true}
            call b {}"#]],
    );
}

#[test]
fn hyperclova_calls_in_a_message_with_a_role() {
    check(
        &HYPERCLOVA,
        " -> tool/function_call\n[{\"name\": \"a\", \"arguments\": {\"x\": 1}}]",
        &expect![[r#"call a {"x": 1}"#]],
    );
}

#[test]
fn lfm2_writes_python() {
    check(
        &LFM2,
        "<|tool_call_start|>[add_note(text=\"a\\\"b)\", n=-1, ok=True, tags=['x', \"y\"], o={\"k\": None}), list()]<|tool_call_end|>done",
        &expect![[r#"
            call add_note {"text":"a\"b)","n":-1,"ok":true,"tags":["x","y"],"o":{"k":null}}
            call list {}
            text "done""#]],
    );
    check(
        &LFM2,
        "<|tool_call_start|>[{\"name\": \"a\", \"arguments\": {\"x\": 1}}]<|tool_call_end|>",
        &expect![[r#"call a {"x": 1}"#]],
    );
}

/// Returns the text that opens a call.
fn opening(family: &Family) -> &'static str {
    match family.opening {
        Opening::Marker(marker) => marker,
        Opening::Header(channels) => channels.tools,
        Opening::Answer(_) => "",
    }
}

/// Pieces of text that a family may write, whole and broken.
fn stream(family: &'static Family) -> impl Strategy<Value = String> {
    let values = json!({"x": "잠 '\"}", "n": [1, {"y": null}]}).to_string();
    let call = family.form.write("a", &values);
    let mut pieces: Vec<String> = family.markers().map(str::to_owned).collect();
    pieces.extend(pieces.clone().into_iter().map(|marker| marker.chars().skip(1).collect()));
    let whole =
        format!("{}{call}{}", opening(family), family.closing.first().copied().unwrap_or_default());
    pieces.extend([
        whole,
        call.clone(),
        call[..call.floor_char_boundary(call.len() / 2)].to_owned(),
    ]);
    pieces.extend(
        [
            "{",
            "}",
            "[",
            "]",
            "(",
            ")",
            ",",
            ":",
            "=",
            "\"",
            "'",
            "\\",
            "\n",
            " ",
            "<",
            "잠",
            "call:a",
            "```json\n",
            "\"name\"",
        ]
        .map(str::to_owned),
    );
    let piece = prop_oneof![
        4 => proptest::sample::select(pieces),
        1 => "[a-z<>{}\\[\\]|\" ]{0,4}",
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_of_a_stream_is_understood_alike_in_every_family(
        (at, text) in (0..FAMILIES.len()).prop_flat_map(|at| (Just(at), stream(FAMILIES[at]))),
        cuts in proptest::collection::vec(0_usize..300, 0..16),
    ) {
        let family = FAMILIES[at];
        let mut cuts: Vec<usize> =
            cuts.into_iter().filter(|cut| *cut < text.len() && text.is_char_boundary(*cut)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let split: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        prop_assert_eq!(parse(family, &split), parse(family, &[&text]), "{} {:?}", family.name, text);
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        prop_assert_eq!(parse(family, &letters), parse(family, &[&text]), "{} {:?}", family.name, text);
    }

    #[test]
    fn no_family_invents_text_or_calls(
        (at, text) in (0..FAMILIES.len()).prop_flat_map(|at| (Just(at), stream(FAMILIES[at]))),
    ) {
        let found = parse(FAMILIES[at], &[&text]);
        let shown = found.iter().map(|found| match found {
            Segment::Text(text) | Segment::Thinking(text) => text.len(),
            Segment::Call(_) | Segment::Malformed(_) => 0,
        });
        prop_assert!(shown.sum::<usize>() <= text.len(), "{} {text:?}", FAMILIES[at].name);
        let calls = found.iter().filter(|found| matches!(found, Segment::Call(_) | Segment::Malformed(_)));
        let openings = FAMILIES[at].marker().map_or(0, |marker| text.matches(marker).count());
        let marks = text.matches(['{', '[', '(', '<']).count() + openings;
        prop_assert!(calls.count() <= marks, "{} {text:?}", FAMILIES[at].name);
    }

    #[test]
    fn a_call_that_is_written_is_read_again(
        at in 0..FAMILIES.len(),
        text in "[^\u{0}]{0,12}",
        number in any::<i32>(),
        is_nested: bool,
    ) {
        let family = FAMILIES[at];
        prop_assume!(family.inner().all(|mark| !text.contains(mark)));
        let inner = json!([null, is_nested, text]);
        let arguments = json!({"text": text, "n": number, "o": if is_nested { json!({"l": inner}) } else { inner }});
        let call = family.form.write("add_note", &arguments.to_string());
        let stream = format!("{}{call}{}", opening(family), family.closing.first().copied().unwrap_or_default());
        let kinds = json!({"type": "object", "properties": {
            "text": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": ["object", "array"]},
        }});
        let tools = [ToolSpec::new("add_note", "Adds a note", kinds)];
        let found = parse_with(Parser::new(family, &[]).offering(tools.into()), &[&stream]);
        let [Segment::Call(read)] = &*found else { return Err(TestCaseError::fail(format!("{stream:?} {found:?}"))) };
        prop_assert_eq!(&*read.name, "add_note");
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&read.arguments).unwrap(), arguments, "{}", stream);
    }
}
