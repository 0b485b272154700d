//! The transcripts that a chat can have: every short order of messages, and what else they may
//! contain.

use madang_actors::protocol::{CallId, PromptMessage, ToolSpec};
use serde_json::json;
use uuid::Uuid;

/// A transcript, and how it is asked.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) system: Option<&'static str>,
    pub(super) has_tools: bool,
    pub(super) has_thinking: bool,
    pub(super) messages: Vec<PromptMessage>,
    /// The texts that the prompt must tell.
    pub(super) told: Vec<String>,
}

/// The longest orders of messages of which each is tried.
const LONGEST: usize = 4;

/// Lists all shapes.
pub(super) fn shapes() -> Vec<Shape> {
    let mut all: Vec<Shape> = orders().iter().map(|order| Shape::of(order)).collect();
    for order in ["u", "umu", "ucmu", "uccmucu"] {
        let shape = || Shape::of(order);
        let named = |name: &str| format!("{order} {name}");
        all.push(Shape { name: named("without system"), system: None, ..shape() });
        all.push(Shape { name: named("without tools"), has_tools: false, ..shape() });
        let system = None;
        let has_tools = false;
        all.push(Shape { name: named("alone"), system, has_tools, ..shape() });
        all.push(Shape { name: named("with thinking"), has_thinking: true, ..shape() });
    }
    // Of a model that failed before a word, a user that sent blanks, and a history that was kept
    // elsewhere.
    all.extend(["ue", "ueu", "eu", "euu", "bu", "ubmu", "ub", "ucebu", "e"].map(Shape::of));
    for arguments in ["{broken", "null", "[1]", "\"text\"", "17", "", "{\"arguments\":{}}"] {
        for order in ["uC", "uCmu", "Cu", "uCu"] {
            let mut shape = Shape::of(order);
            shape.name = format!("{order} with {arguments:?}");
            for message in &mut shape.messages {
                if let PromptMessage::ToolCall { arguments: told, .. } = message {
                    *told = arguments.into();
                }
            }
            all.push(shape);
        }
    }
    for name in ["functions.add_note:0", "no such tool", "메모", "", "a\"b"] {
        let mut shape = Shape::of("uCmu");
        shape.name = format!("a call of {name:?}");
        for message in &mut shape.messages {
            if let PromptMessage::ToolCall { name: told, .. } = message {
                *told = name.into();
            }
        }
        all.push(shape);
    }
    all
}

fn orders() -> Vec<String> {
    let mut all = vec![String::new()];
    let mut begin = 0;
    for _ in 0..LONGEST {
        let end = all.len();
        for at in begin..end {
            all.extend(['u', 'm', 'c'].map(|letter| format!("{}{letter}", all[at])));
        }
        begin = end;
    }
    all.split_off(1)
}

impl Shape {
    /// Makes a shape of letters: the user, the model, and a call with its result. An `e` is a model
    /// that said nothing, a `b` a user that sent blanks, and a `C` a call that is to be changed.
    fn of(order: &str) -> Self {
        let mut told = Vec::new();
        let message = |(at, letter): (usize, char)| {
            let mut tell = |text: String| {
                told.push(text.clone());
                text
            };
            match letter {
                'u' => PromptMessage::User {
                    text: tell(format!("질문{at}: \"a\" & <b> 'c'?")).into(),
                },
                'm' => PromptMessage::Model { text: tell(format!("Answer{at}, 네.")).into() },
                'e' => PromptMessage::Model { text: "".into() },
                'b' => PromptMessage::User { text: " \n".into() },
                _ => {
                    let key = if letter == 'c' { tell(format!("key{at}")) } else { String::new() };
                    PromptMessage::ToolCall {
                        opaque: None,
                        call: CallId::new(Uuid::from_u128(0x0190_0000_0000 + at as u128)),
                        name: "add_note".into(),
                        arguments: json!({
                            "text": format!("물 \"{key}\" <b>"), "count": 2, "big": 1_234_567_890_123_456_789_i64,
                            "half": 1.5, "is_new": true, "none": null, "list": ["a", {"b": []}],
                        })
                        .to_string()
                        .into(),
                        envelope: json!({"status": "ok", "data": tell(format!("result{at}"))})
                            .to_string()
                            .into(),
                    }
                }
            }
        };
        let messages = order.chars().enumerate().map(message).collect();
        Self {
            name: order.to_owned(),
            system: Some("간단히. Be brief & kind."),
            has_tools: true,
            has_thinking: false,
            messages,
            told,
        }
    }
}

/// The tools of the shapes, with and without arguments.
pub(super) fn tools() -> [ToolSpec; 2] {
    let parameters = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "메모의 \"글\""},
            "kind": {"type": "string", "enum": ["note", "task"], "default": "note"},
            "count": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {"type": ["object", "null"], "properties": {"name": {"type": "string"}}, "required": ["name"]},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["text", "count"],
        "additionalProperties": false,
    });
    let none = json!({"type": "object", "properties": {}});
    [
        ToolSpec::new("add_note", "Adds a note & <more>.", parameters),
        ToolSpec::new("list", "Lists.", none),
    ]
}
