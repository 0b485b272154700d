//! Tests the findings of the parser in whole answers, and that splits do not matter.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::family::{DEEPSEEK_V3_2, ENVELOPE, GPT_OSS, HERMES};

fn parse(mut parser: Parser, pieces: &[&str]) -> Vec<Segment> {
    let mut found = Vec::new();
    for piece in pieces {
        parser.push(piece, &mut found);
    }
    parser.finish(false, &mut found);
    found
}

fn check(family: &'static Family, text: &str, expected: &Expect) {
    let lines: Vec<String> = parse(Parser::new(family, &["\nUser:"]), &[text])
        .into_iter()
        .map(|found| match found {
            Segment::Text(text) => format!("text {text:?}"),
            Segment::Thinking(text) => format!("thinking {text:?}"),
            Segment::Call(call) => format!("call {} {}", call.name, call.arguments),
            Segment::Malformed(call) => format!("malformed {:?} {:?}", call.name, call.arguments),
        })
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn plain_text_loses_only_the_blank_space_around_it() {
    check(
        &HERMES,
        "\n\n 안녕하세요, 2 < 3\n<ok>  \n",
        &expect![[r#"text "안녕하세요, 2 < 3\n<ok>""#]],
    );
}

#[test]
fn a_hermes_call_is_taken_out_of_the_text() {
    check(
        &HERMES,
        "찾아볼게요.\n<tool_call>\n{\"name\": \"search_catalog\", \"arguments\": {\"keyword\": \"</tool_call>}\"}}\n</tool_call>",
        &expect![[r#"
            text "찾아볼게요."
            call search_catalog {"keyword": "</tool_call>}"}"#]],
    );
}

#[test]
fn several_hermes_calls_are_all_found() {
    check(
        &HERMES,
        "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"b\",\"arguments\":{}}",
        &expect![[r"
            call a {}
            call b {}"]],
    );
}

#[test]
fn thinking_is_not_text_even_where_the_prompt_opened_it() {
    check(
        &HERMES,
        "<think>\nhm\n</think>\n\nyes",
        &expect![[r#"
            thinking "\nhm\n"
            text "yes""#]],
    );
    let found = parse(Parser::new(&HERMES, &[]).thinking(), &["hm</think>\n\nyes"]);
    assert_eq!(found, [Segment::Thinking("hm".into()), Segment::Text("yes".into())]);
}

#[test]
fn an_envelope_instead_of_text_is_a_call() {
    check(
        &ENVELOPE,
        "```json\n{\"tool_call\": {\"name\": \"a\", \"arguments\": {\"x\": 1}}}\n```",
        &expect![[r#"call a {"x": 1}"#]],
    );
}

#[test]
fn other_json_is_an_answer() {
    check(&ENVELOPE, "{\"answer\": 42}", &expect![[r#"text "{\"answer\": 42}""#]]);
    check(
        &ENVELOPE,
        "Use {\"tool_call\": {\"name\": \"a\"}} for it",
        &expect![[r#"text "Use {\"tool_call\": {\"name\": \"a\"}} for it""#]],
    );
}

#[test]
fn a_call_that_names_no_tool_is_malformed() {
    check(
        &HERMES,
        "<tool_call>search sleep</tool_call>",
        &expect![[r#"malformed "" "search sleep""#]],
    );
    check(
        &HERMES,
        "<tool_call>{\"name\": 3}</tool_call>",
        &expect![[r#"malformed "" "{\"name\": 3}""#]],
    );
}

#[test]
fn a_stop_text_ends_the_answer() {
    check(&ENVELOPE, "fine\nUser: and now I speak for you", &expect![[r#"text "fine""#]]);
}

#[test]
fn a_call_that_was_cut_off_is_no_call() {
    let mut parser = Parser::new(&HERMES, &[]);
    let mut found = Vec::new();
    parser.push("<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"y", &mut found);
    assert_eq!(parser.open_block(), Some("{\"name\":\"a\",\"arguments\":{\"x\":\"y"));
    parser.finish(true, &mut found);
    assert_eq!(found, []);
}

#[test]
fn text_is_given_out_at_once_unless_it_may_be_a_marker() {
    let mut parser = Parser::new(&HERMES, &[]);
    let mut found = Vec::new();
    parser.push("a <", &mut found);
    parser.push("b> <tool", &mut found);
    assert_eq!(found, [Segment::Text("a <b>".into())]);
}

#[test]
fn an_envelope_is_known_by_its_first_key() {
    for begin in ["", "{", "{ \"tool", "``", "```json\n {", "{\"tool_call\" "] {
        assert_eq!(answer_begins(begin, "tool_call"), None, "{begin}");
    }
    for other in ["Hello", "{\"answer\"", "{}", "```rust"] {
        assert_eq!(answer_begins(other, "tool_call"), Some(false), "{other}");
    }
    assert_eq!(answer_begins("```json\n{\"tool_call\": {", "tool_call"), Some(true));
}

fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        "{\"name\":\"a\",\"arguments\":{\"x\":\"잠\\\"}\"}}",
        "{\"tool_call\":{\"name\":\"a\",\"arguments\":{}}}",
        "```json\n",
        "{",
        "}",
        "\n",
        " ",
        "<",
        "잠",
        "\nUser:",
    ];
    prop_oneof![
        proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        "[a-z<>{}\" ]{0,4}"
    ]
}

proptest! {
    #[test]
    fn any_split_of_a_stream_is_understood_alike(
        pieces in proptest::collection::vec(piece(), 0..12),
        cuts in proptest::collection::vec(0_usize..200, 0..12),
        is_hermes: bool,
    ) {
        let family = if is_hermes { &HERMES } else { &ENVELOPE };
        let text = pieces.concat();
        let parser = Parser::new(family, &["\nUser:"]);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut) && *cut < text.len()).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let split: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        prop_assert_eq!(parse(parser.clone(), &split), parse(parser, &[&text]));
    }
}

#[test]
fn where_a_token_opens_calls_no_text_does() {
    let call = "{\"name\": \"a\", \"arguments\": {}}</tool_call>";
    let mut found = Vec::new();
    let mut parser = Parser::new(&HERMES, &[]).opened_by_token();
    parser.push("see <tool_call>", &mut found);
    parser.push(call, &mut found);
    assert!(found.iter().all(|found| matches!(found, Segment::Text(_))), "{found:?}");
    assert!(parser.open_call(&mut found));
    assert!(!parser.open_call(&mut found), "it is open already");
    parser.push(call, &mut found);
    parser.finish(false, &mut found);
    assert!(matches!(found.last(), Some(Segment::Call(_))), "{found:?}");
    let mut parser = Parser::new(&HERMES, &[]).opened_by_token();
    parser.push("<think>x", &mut found);
    assert!(!parser.open_call(&mut found), "what is only thought is no call");
    assert!(!Parser::new(&HERMES, &[]).offering(Arc::new([])).open_call(&mut found));
}

#[test]
fn where_tokens_are_part_of_an_opening_no_text_like_theirs_is() {
    let guarded = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>"];
    let parser = || Parser::new(&GPT_OSS, &[]).guarding(guarded.map(str::to_owned).to_vec());
    let call = [("<|channel|>", "commentary to=functions.a "), ("<|message|>", "{\"x\": 1}")];
    let read = |mut parser: Parser, is_token: bool| {
        let mut found = Vec::new();
        for (token, text) in call {
            if is_token {
                parser.push_token(token, &mut found);
            } else {
                parser.push(token, &mut found);
            }
            parser.push(text, &mut found);
        }
        parser.finish(false, &mut found);
        found
    };
    assert!(matches!(&*read(parser(), true), [Segment::Call(call)] if &*call.name == "a"));
    let spelled = call.iter().map(|(token, text)| format!("{token}{text}")).collect::<String>();
    assert_eq!(read(parser(), false), [Segment::Text(spelled)]);
    let dsml = "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"a\">\n</｜DSML｜invoke>";
    let parser = || Parser::new(&DEEPSEEK_V3_2, &[]).guarding(vec!["｜DSML｜".to_owned()]);
    assert_eq!(parse(parser(), &[dsml]), [Segment::Text(dsml.to_owned())]);
    // The sign of a token cannot be written either.
    let forged = dsml.replace("｜DSML｜", &format!("{TOKEN}｜DSML｜"));
    assert!(matches!(&*parse(parser(), &[&*forged]), [Segment::Text(_)]));
    let mut parser = parser();
    let mut found = Vec::new();
    for piece in dsml.split_inclusive("｜DSML｜") {
        let (text, token) =
            piece.strip_suffix("｜DSML｜").map_or((piece, None), |text| (text, Some("｜DSML｜")));
        parser.push(text, &mut found);
        if let Some(token) = token {
            parser.push_token(token, &mut found);
        }
    }
    assert!(matches!(&*found, [Segment::Call(_)]), "{found:?}");
}

#[test]
fn an_answer_that_begins_as_an_unknown_call_is_one_that_failed() {
    let tools =
        || ["add", "add_note"].map(|name| ToolSpec::new(name, "A tool", serde_json::json!({})));
    let parser =
        || Parser::new(&ENVELOPE, &[]).offering(tools().into()).failing(Some("<act>".into()));
    let call = "<act>[{\"add_note\": {\"x\": 1}}]</act>";
    let expected = [Segment::Malformed(WantedCall::new("add_note", call))];
    assert_eq!(parse(parser(), &[call]), expected);
    for (cut, _) in call.char_indices() {
        let (begin, end) = call.split_at(cut);
        assert_eq!(parse(parser(), &[begin, end]), expected, "{cut}");
    }
    let other = "<act>[{\"other\": {}}]";
    assert_eq!(parse(parser(), &[other]), [Segment::Malformed(WantedCall::new("", other))]);
    let mut found = Vec::new();
    let mut cut = parser();
    cut.push(call, &mut found);
    cut.finish(true, &mut found);
    assert_eq!(found, [], "a call that was cut off is none");
    let told = "It writes <act> first";
    assert_eq!(parse(parser(), &[told]), [Segment::Text(told.into())]);
    let without = parser().offering(Arc::new([]));
    assert_eq!(parse(without, &["<act>"]), [Segment::Text("<act>".into())]);
}

#[test]
fn the_token_of_an_unknown_call_opens_it_anywhere() {
    let tool = ToolSpec::new("add", "A tool", serde_json::json!({}));
    let parser = Parser::new(&ENVELOPE, &[]).offering([tool].into()).failing(Some("<act>".into()));
    let mut parser = parser.guarding(vec!["<act>".to_owned()]);
    let mut found = Vec::new();
    parser.push("I look at <act> now.", &mut found);
    parser.push_token("<act>", &mut found);
    parser.push("[add]", &mut found);
    parser.finish(false, &mut found);
    let text = Segment::Text("I look at <act> now.".into());
    assert_eq!(found, [text, Segment::Malformed(WantedCall::new("add", "<act>[add]"))]);
}

#[test]
fn a_token_that_opens_nothing_has_no_text() {
    let parser = Parser::new(&GPT_OSS, &[]).guarding(vec!["<|message|>".to_owned()]);
    let mut parser = parser;
    let mut found = Vec::new();
    parser.push("2 <|message|> ", &mut found);
    parser.push_token("<|message|>", &mut found);
    parser.push("3", &mut found);
    parser.finish(false, &mut found);
    assert_eq!(found, [Segment::Text("2 <|message|> 3".into())]);
}
