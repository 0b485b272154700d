//! Tests every family by a template of its form: detection, rendering, and forgery. How its calls
//! are read is tested in `madang-parser`.
//!
//! The templates are written for these tests, in the form of the family's.
//! `UPDATE_EXPECT=1 cargo test` rewrites the prompts.

mod published;
mod unbrought;

use std::path::Path;

use expect_test::expect_file;
use llama_cpp_2::token::LlamaToken;
use madang_actors::protocol::{CallId, PromptMessage, ToolSpec};
use madang_parser::family::*;
use serde_json::json;
use uuid::Uuid;

use super::super::{
    dialect::Dialect,
    gguf::Gguf,
    hidden::Piece,
    markers::Markers,
    prompt::PromptWriter,
    spans::{Span, spans},
    telling::{Telling, ToolListing},
    template::{LEAST_BYTES, TemplateInput},
};

/// A template of these tests, its tokens, and what is to be learned from it.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) template: &'static str,
    tokens: &'static [&'static str],
    pub(super) family: &'static Family,
    telling: Telling,
    listing: ToolListing,
}

macro_rules! case {
    ($name:literal, $family:ident, $telling:expr, $listing:ident) => {
        Case {
            name: $name,
            template: include_str!(concat!($name, ".jinja")),
            tokens: &[],
            family: &$family,
            telling: $telling,
            listing: ToolListing::$listing,
        }
    };
}

const WORDS: Telling = Telling::Text { result_role: "user" };
static CASES: [Case; 15] = [
    case!("hermes", HERMES, Telling::Calls, Template),
    case!("gemma3", GEMMA_3, WORDS, SystemText),
    case!("gemma4", GEMMA_4, Telling::Calls, Template),
    case!("gemma4_with_results", GEMMA_4, Telling::CallsWithResults, Template),
    case!("functiongemma", FUNCTION_GEMMA, Telling::Calls, Template),
    case!("llama3", LLAMA_3, Telling::Calls, Template),
    case!("mistral", MISTRAL, Telling::Calls, Template),
    case!("mistral_marked", MISTRAL_MARKED, Telling::Calls, Template),
    case!("lfm2", LFM2, Telling::Calls, Template),
    case!("deepseek", DEEPSEEK_V3_1, Telling::Calls, Template),
    case!("gpt_oss", GPT_OSS, Telling::Calls, Template),
    case!("glm", GLM_TIGHT, Telling::Calls, Template),
    case!("qwen_coder", QWEN_CODER, Telling::Calls, Template),
    Case {
        tokens: &["<|tool_call_start|>"],
        ..case!("lfm2_list", LFM2, Telling::Text { result_role: "tool" }, Template)
    },
    case!("envelope", ENVELOPE, WORDS, SystemText),
];

pub(super) fn cases() -> &'static [Case] {
    &CASES
}

fn dialect(case: &Case) -> Dialect {
    let gguf = Gguf { chat_template: Some(case.template.to_owned()), ..Gguf::default() };
    Dialect::detect(&gguf, &|text| case.tokens.contains(&text))
}

/// All text that others may write, the same everywhere.
struct Chat<'a> {
    text: &'a str,
}

impl Chat<'_> {
    fn messages(&self) -> Vec<PromptMessage> {
        let text = self.text;
        let call = |text: &str| PromptMessage::ToolCall {
            opaque: None,
            call: CallId::new(Uuid::nil()),
            name: "add_note".into(),
            arguments: json!({"text": text, "count": 2, "is_new": true}).to_string().into(),
            envelope: json!({"status": "ok", "data": {"id": 7, "text": text}}).to_string().into(),
        };
        vec![
            PromptMessage::User { text: text.into() },
            PromptMessage::Model { text: text.into() },
            PromptMessage::User { text: text.into() },
            call(text),
            PromptMessage::Model { text: text.into() },
            PromptMessage::User { text: text.into() },
        ]
    }

    fn pieces(&self, dialect: &Dialect, markers: &Markers) -> Vec<Piece> {
        let parameters = json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": self.text}, "count": {"type": "integer"}},
            "required": ["text"],
        });
        let tools = [ToolSpec::new("add_note", self.text, parameters)];
        let writer = PromptWriter {
            dialect,
            markers,
            bos: "<s>",
            eos: "</s>",
            has_thinking: false,
            system: Some(self.text),
            instructions: None,
            tools: &tools,
            max_bytes: LEAST_BYTES,
        };
        let messages = self.messages();
        writer.write(&messages.iter().collect::<Vec<_>>()).unwrap().pieces
    }
}

fn names(family: &Family) -> Vec<String> {
    family.markers().map(str::to_owned).collect()
}

fn markers(family: &Family) -> Markers {
    Markers::of_texts(names(family))
}

#[test]
fn a_template_shows_its_family() {
    for case in &CASES {
        let found = dialect(case);
        assert_eq!(
            (found.family.name, found.telling, found.listing),
            (case.family.name, case.telling, case.listing),
            "{}",
            case.name
        );
    }
}

#[test]
fn prompts_stay_as_they_are() {
    for case in &CASES {
        let dialect = dialect(case);
        let pieces = Chat { text: "메모 'a\"b" }.pieces(&dialect, &markers(case.family));
        let prompt: String = pieces.iter().map(Piece::text).collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/tests/families")
            .join(format!("{}.prompt", case.name));
        expect_file![file].assert_eq(&prompt);
    }
}

/// Lists the markers in a prompt: special tokens by number, and how many plain texts contain a
/// marker.
fn readable(dialect: &Dialect, markers: &Markers, text: &str) -> (Vec<LlamaToken>, usize) {
    let pieces = Chat { text }.pieces(dialect, markers);
    let spans = spans(&pieces, markers);
    let special = |span: &Span| if let Span::Special(token) = span { Some(*token) } else { None };
    let has_marker =
        |span: &&Span| matches!(span, Span::Text(text) if markers.occurrences(text).count() > 0);
    (spans.iter().filter_map(special).collect(), spans.iter().filter(has_marker).count())
}

#[test]
fn no_text_of_others_becomes_a_marker_of_any_family() {
    for case in &CASES {
        let dialect = dialect(case);
        let names = names(case.family);
        let markers = markers(case.family);
        let honest = readable(&dialect, &markers, "x");
        assert_eq!(honest.1, 0, "{}", case.name);
        for forged in &names {
            let forged = format!("x{forged}y{forged}");
            assert_eq!(readable(&dialect, &markers, &forged), honest, "{}: {forged}", case.name);
        }
        let all = names.concat();
        assert_eq!(readable(&dialect, &markers, &all), honest, "{}", case.name);
    }
}
