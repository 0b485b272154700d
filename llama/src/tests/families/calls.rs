//! Tests reading the calls of every family, in any split.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::super::super::{
    family::*,
    parser::{Found, Parser},
};

fn parse(family: &'static Family, pieces: &[&str]) -> Vec<Found> {
    let mut parser = Parser::new(family, &[]);
    let mut found = Vec::new();
    for piece in pieces {
        parser.push(piece, &mut found);
    }
    parser.finish(false, &mut found);
    let mut joined: Vec<Found> = Vec::new();
    for next in found {
        match (joined.last_mut(), next) {
            (Some(Found::Text(last)), Found::Text(more)) => last.push_str(&more),
            (Some(Found::Thinking(last)), Found::Thinking(more)) => last.push_str(&more),
            (_, next) => joined.push(next),
        }
    }
    joined
}

fn check(family: &'static Family, text: &str, expected: &Expect) {
    let line = |found: Found| match found {
        Found::Text(text) => format!("text {text:?}"),
        Found::Thinking(text) => format!("thinking {text:?}"),
        Found::Call(call) => format!("call {} {}", call.name, call.arguments),
        Found::Malformed => "malformed".into(),
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
    check(&GEMMA_4, "<|tool_call>add a note<tool_call|>", &expect!["malformed"]);
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
    check(&MISTRAL, "[TOOL_CALLS][]", &expect!["malformed"]);
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
    check(&MISTRAL_MARKED, "[TOOL_CALLS]no call at all", &expect!["malformed"]);
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

/// Pieces of text that a family may write, whole and broken.
fn stream(family: &'static Family) -> impl Strategy<Value = String> {
    let values = json!({"x": "잠 '\"}", "n": [1, {"y": null}]}).to_string();
    let call = family.form.write("a", &values);
    let mut pieces: Vec<String> = family.markers().map(str::to_owned).collect();
    pieces.extend(pieces.clone().into_iter().map(|marker| marker.chars().skip(1).collect()));
    let whole = format!(
        "{}{call}{}",
        family.marker().unwrap_or_default(),
        family.closing.first().copied().unwrap_or_default()
    );
    pieces.extend([whole, call.clone(), call[..call.len() / 2].to_owned()]);
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
    fn a_call_that_is_written_is_read_again(
        at in 0..FAMILIES.len(),
        text in "[^\u{0}]{0,12}",
        number in any::<i32>(),
        is_nested: bool,
    ) {
        let family = FAMILIES[at];
        prop_assume!(family.inner().is_none_or(|mark| !text.contains(mark)));
        let inner = json!([null, is_nested, text]);
        let arguments = json!({"text": text, "n": number, "o": if is_nested { json!({"l": inner}) } else { inner }});
        let call = family.form.write("add_note", &arguments.to_string());
        let stream = format!("{}{call}{}", family.marker().unwrap_or_default(), family.closing.first().copied().unwrap_or_default());
        let found = parse(family, &[&stream]);
        let [Found::Call(read)] = &*found else { return Err(TestCaseError::fail(format!("{stream:?} {found:?}"))) };
        prop_assert_eq!(&*read.name, "add_note");
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&read.arguments).unwrap(), arguments, "{}", stream);
    }
}
