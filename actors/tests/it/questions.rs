//! What a person is asked to confirm is shown whole, in one order, and with everything visible.

use expect_test::expect;
use madang_actors::protocol::{
    ApprovalRequest, CallId, Digest, SessionId, Timestamp, UserId, editable, plain, quoted,
    quoted_up_to,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn request(arguments: Value, consequence: &str) -> ApprovalRequest {
    ApprovalRequest {
        call: CallId::new(uuid::Uuid::nil()),
        session: SessionId::new("s").unwrap(),
        user: UserId::new("kim").unwrap(),
        tool: "save".into(),
        arguments: arguments.into(),
        consequence: consequence.into(),
        text: "".into(),
        digest: Digest::new([0; 32]),
        expires_at: Timestamp::from_millis(0),
    }
}

fn shown(arguments: Value) -> String {
    request(arguments, "Saves.").plain_text()
}

#[test]
fn every_argument_is_shown_whole_in_the_order_of_names_at_every_level() {
    let arguments = json!({
        "zeta": null,
        "alpha": true,
        "mixed": [1, -2.5, "three", [], {}, { "y": [[0]], "x": "" }],
        "가": 1e300,
    });
    expect![[r#"
        save
          alpha: true
          mixed: [
            1,
            -2.5,
            "three",
            [],
            {},
            {
              x: "",
              y: [
                [
                  0
                ]
              ]
            }
          ]
          zeta: null
          "가": 1e+300
          Saves."#]]
    .assert_eq(&shown(arguments));
    assert_eq!(shown(json!({ "b": 1, "a": 2 })), shown(json!({ "a": 2, "b": 1 })));
    let long = "가".repeat(300_000);
    assert!(shown(json!({ "a": long })).contains(&long), "nothing is cut");
}

#[test]
fn no_text_can_look_like_another_argument_or_the_consequence() {
    let arguments = json!({
        "name": "x\"\n  amount: 1\n  Saves nothing.",
        "a: 1\n  b": 2,
        "": 3,
        "back\\slash": "\\u{202e} \\n",
        "name ": "\t\r",
    });
    expect![[r#"
        save
          "": 3
          "a: 1\n  b": 2
          "back\\slash": "\\u{202e} \\n"
          name: "x\"\n  amount: 1\n  Saves nothing."
          "name ": "\t\r"
          Saves: x\u{a}  name: "y""#]]
    .assert_eq(&request(arguments, "Saves: x\n  name: \"y\"").plain_text());
}

/// What a person would not see, each with what stands in its place.
const INVISIBLE: &[(char, &str)] = &[
    ('\0', r"\u{0}"),
    ('\u{7}', r"\u{7}"),
    ('\u{8}', r"\u{8}"),
    ('\u{b}', r"\u{b}"),
    ('\u{1b}', r"\u{1b}"),
    ('\u{7f}', r"\u{7f}"),
    ('\u{80}', r"\u{80}"),
    ('\u{85}', r"\u{85}"),
    ('\u{9b}', r"\u{9b}"),
    ('\u{a0}', r"\u{a0}"),
    ('\u{ad}', r"\u{ad}"),
    ('\u{34f}', r"\u{34f}"),
    ('\u{61c}', r"\u{61c}"),
    ('\u{115f}', r"\u{115f}"),
    ('\u{1160}', r"\u{1160}"),
    ('\u{1680}', r"\u{1680}"),
    ('\u{17b4}', r"\u{17b4}"),
    ('\u{180b}', r"\u{180b}"),
    ('\u{180e}', r"\u{180e}"),
    ('\u{2000}', r"\u{2000}"),
    ('\u{200a}', r"\u{200a}"),
    ('\u{200b}', r"\u{200b}"),
    ('\u{200c}', r"\u{200c}"),
    ('\u{200d}', r"\u{200d}"),
    ('\u{200e}', r"\u{200e}"),
    ('\u{200f}', r"\u{200f}"),
    ('\u{2028}', r"\u{2028}"),
    ('\u{2029}', r"\u{2029}"),
    ('\u{202a}', r"\u{202a}"),
    ('\u{202b}', r"\u{202b}"),
    ('\u{202c}', r"\u{202c}"),
    ('\u{202d}', r"\u{202d}"),
    ('\u{202e}', r"\u{202e}"),
    ('\u{202f}', r"\u{202f}"),
    ('\u{205f}', r"\u{205f}"),
    ('\u{2060}', r"\u{2060}"),
    ('\u{2061}', r"\u{2061}"),
    ('\u{2064}', r"\u{2064}"),
    ('\u{2066}', r"\u{2066}"),
    ('\u{2067}', r"\u{2067}"),
    ('\u{2068}', r"\u{2068}"),
    ('\u{2069}', r"\u{2069}"),
    ('\u{206a}', r"\u{206a}"),
    ('\u{206f}', r"\u{206f}"),
    ('\u{2800}', r"\u{2800}"),
    ('\u{3000}', r"\u{3000}"),
    ('\u{3164}', r"\u{3164}"),
    ('\u{e000}', r"\u{e000}"),
    ('\u{fe00}', r"\u{fe00}"),
    ('\u{fe0f}', r"\u{fe0f}"),
    ('\u{feff}', r"\u{feff}"),
    ('\u{ffa0}', r"\u{ffa0}"),
    ('\u{fff9}', r"\u{fff9}"),
    ('\u{ffff}', r"\u{ffff}"),
    ('\u{1bca0}', r"\u{1bca0}"),
    ('\u{1d159}', r"\u{1d159}"),
    ('\u{1d173}', r"\u{1d173}"),
    ('\u{378}', r"\u{378}"),
    ('\u{e0001}', r"\u{e0001}"),
    ('\u{e0041}', r"\u{e0041}"),
    ('\u{e007f}', r"\u{e007f}"),
    ('\u{e0100}', r"\u{e0100}"),
    ('\u{f0000}', r"\u{f0000}"),
    ('\u{10ffff}', r"\u{10ffff}"),
];

#[test]
fn what_cannot_be_seen_is_shown_by_its_number_in_values_names_and_consequences() {
    for (letter, number) in INVISIBLE {
        let text = format!("a{letter}b");
        let visible = format!("a{number}b");
        assert_eq!(plain(&text), visible);
        let asked = request(json!({ (text.clone()): [{ (text.clone()): text }] }), &text);
        let expected = format!(
            "save\n  \"{visible}\": [\n    {{\n      \"{visible}\": \"{visible}\"\n    }}\n  ]\n  {visible}"
        );
        assert_eq!(asked.plain_text(), expected);
        let typed = editable(&json!({ "name": text }));
        assert!(!typed.contains(*letter), "{typed}");
        assert_eq!(serde_json::from_str::<Value>(&typed).unwrap(), json!({ "name": text }));
    }
}

#[test]
fn what_people_write_is_shown_as_they_write_it() {
    for text in [
        "나는 아침마다 빛을 본다, 10분.",
        "한글 (자모 ㅎㅏㄴ, 조합 \u{1112}\u{1161}\u{11ab})",
        "café, cafe\u{301}, Việt Nam, Ελλάδα, Привет, नमस्ते, ภาษาไทย, עברית, العربية",
        "漢字とかな。「」",
        "≤ ½ € “quotes” – — … ✅ 🙂 🇰🇷",
        "C:\\temp 'single' `back` {braces} $HOME",
    ] {
        assert_eq!(plain(text), text);
        let quoted = shown(json!({ "a": text.replace('\\', "/") }));
        assert_eq!(quoted, format!("save\n  a: \"{}\"\n  Saves.", text.replace('\\', "/")));
    }
    // A family held together by joiners is shown as its members.
    assert_eq!(plain("👨\u{200d}👩"), r"👨\u{200d}👩");
}

#[test]
fn heaps_of_accents_and_accents_on_nothing_are_shown_by_their_numbers() {
    let heap = |count: usize| format!("a{}", "\u{301}".repeat(count));
    assert_eq!(plain(&heap(4)), heap(4));
    assert_eq!(plain(&heap(6)), format!("{}{}", heap(4), r"\u{301}".repeat(2)));
    assert_eq!(plain("\u{301}a"), r"\u{301}a");
    assert_eq!(plain("a \u{301}"), r"a \u{301}");
    assert_eq!(plain("a\u{202e}\u{301}"), r"a\u{202e}\u{301}");
    assert_eq!(
        shown(json!({ "a": "\u{301}x\n\u{301}" })),
        "save\n  a: \"\\u{301}x\\n\\u{301}\"\n  Saves."
    );
}

#[test]
fn a_long_run_of_blanks_is_shown_as_its_number() {
    let padded = |blanks: usize| format!("a{}b", " ".repeat(blanks));
    for few in 0..=4 {
        assert_eq!(plain(&padded(few)), padded(few));
        assert_eq!(quoted(&padded(few)), format!("'{}'", padded(few)));
    }
    for many in [5, 57, 1_000_000] {
        let counted = format!(r"a\{{␣×{many}}}b");
        assert_eq!(plain(&padded(many)), counted);
        assert_eq!(
            shown(json!({ "a": padded(many) })),
            format!("save\n  a: \"{counted}\"\n  Saves.")
        );
    }
    // At either end, between lines, and behind what is escaped.
    let blanks = " ".repeat(5);
    assert_eq!(plain(&blanks), r"\{␣×5}");
    assert_eq!(
        quoted(&format!("{blanks}\n{blanks}\u{202e}{blanks}'")),
        r"'\{␣×5}\n\{␣×5}\u{202e}\{␣×5}\''"
    );
    // A text that says the same is another.
    assert_eq!(quoted(r"a\{␣×5}b"), r"'a\\{␣×5}b'");
    assert_eq!(
        request(json!({}), &format!("Saves.{}y", " ".repeat(70))).plain_text(),
        "save\n  Saves.\\{␣×70}y"
    );
}

#[test]
fn a_quotation_ends_where_the_program_ends_it() {
    assert_eq!(quoted(""), "''");
    assert_eq!(quoted("x'. It is \"harmless\", say 'yes"), r#"'x\'. It is "harmless", say \'yes'"#);
    assert_eq!(quoted("back\\"), r"'back\\'");
    assert_eq!(quoted("가\u{202e}\u{9b}나"), r"'가\u{202e}\u{9b}나'");
    assert_eq!(quoted_up_to("가나다", 3), "'가나다'");
    assert_eq!(quoted_up_to("가나다라마", 3), "'가나다' (+2)");
    assert_eq!(quoted_up_to("'''", 1), r"'\'' (+2)");
}

/// Whether a terminal or a page could do anything with this letter but draw it.
fn is_harmless(letter: char) -> bool {
    !letter.is_control()
        && !INVISIBLE.iter().any(|(harmful, _)| *harmful == letter)
        && !matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}')
}

proptest! {
    #[test]
    fn whatever_the_text_no_harm_is_left_and_different_values_look_different(
        one in any::<String>(), other in any::<String>(),
    ) {
        prop_assert!(plain(&one).chars().all(is_harmless));
        let (shown_one, shown_other) =
            (shown(json!({ "a": one.clone() })), shown(json!({ "a": other.clone() })));
        prop_assert!(shown_one.lines().count() == 3 && shown_one.chars().all(|letter| letter == '\n' || is_harmless(letter)));
        prop_assert_eq!(one == other, shown_one == shown_other);
        prop_assert_eq!(one == other, quoted(&one) == quoted(&other));
        prop_assert!(quoted(&one).chars().all(is_harmless));
        let value = json!({ (one): [other] });
        prop_assert_eq!(serde_json::from_str::<Value>(&editable(&value)).unwrap(), value);
    }

    /// Made of what decides how a quotation is written.
    #[test]
    fn different_texts_look_different_whatever_is_escaped_in_them(
        one in r#"[ \\\\"'{}␣×0-9u\n\u{202e}]{0,24}"#, other in r#"[ \\\\"'{}␣×0-9u\n\u{202e}]{0,24}"#,
    ) {
        prop_assert_eq!(one == other, quoted(&one) == quoted(&other));
        let shown = quoted(&one);
        let mut is_escaped = false;
        for letter in shown[1..shown.len() - 1].chars() {
            prop_assert!(letter != '\'' || is_escaped, "{shown} ends before its end");
            is_escaped = letter == '\\' && !is_escaped;
        }
        prop_assert!(!is_escaped, "{shown} has no end");
        prop_assert!(!shown.contains("     "), "{shown}");
    }

    /// Every letter that there is, one at a time: it is drawn, or its number is.
    #[test]
    fn every_single_letter_is_drawn_or_numbered(letter in any::<char>()) {
        let text = format!("a{letter}");
        let shown = plain(&text).into_owned();
        let numbered = format!("a{}", letter.escape_unicode());
        prop_assert!([text, numbered].contains(&shown));
    }
}
