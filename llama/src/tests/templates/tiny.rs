//! Puts each template into the file of a tiny model, and lets it answer and call.

use madang_actors::protocol::{Completion, ToolSpec, WantedCall};
use madang_parser::family::Opening;
use madang_test_support::gguf::CONTROLS;
use serde_json::json;

use super::{
    super::{TinyModel, complete, options, request, user},
    BOS, EOS, Published, with_each,
};
use crate::{
    LlamaModel, dialect::Dialect, gguf::Gguf, markers::Markers, prompt::PromptWriter,
    template::LEAST_BYTES,
};

/// More than any of the prompts, at one token a byte.
const CONTEXT: u32 = 32_768;
/// A vocabulary of more control tokens is wider than the tiny model.
const MOST_CONTROLS: usize = 60;
const END: &str = "<|im_end|>";

#[test]
fn a_model_with_the_template_of_others_answers_and_calls() {
    let problems = with_each(
        || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap(),
        |runtime, template| {
            let tiny = Tiny::of(template);
            let answered = runtime.block_on(tiny.asked(false));
            let called = runtime.block_on(tiny.asked(true));
            let mut problems = Vec::new();
            match answered {
                Ok(answer) if answer.text == "ok" => {}
                other => problems.push(format!("answers {other:?}")),
            }
            match called {
                Ok(call) if call.tool_calls == [WantedCall::new("add_note", ARGUMENTS)] => {}
                other => problems.push(format!("calls {other:?}")),
            }
            problems
        },
    );
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The only arguments that the tool can have.
const ARGUMENTS: &str = r#"{"kind":"note"}"#;

fn tool() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"kind": {"type": "string", "enum": ["note"]}},
        "required": ["kind"],
        "additionalProperties": false,
    });
    ToolSpec::new("add_note", "Adds a note", parameters)
}

/// A tiny model to be, and what it must say.
struct Tiny {
    template: &'static str,
    controls: Vec<&'static str>,
    /// The text with which a call begins.
    opening: &'static str,
    /// The mark that ends the thinking, where the template begins it.
    thought: Option<&'static str>,
}

impl Tiny {
    fn of(template: &Published) -> Self {
        let source: &'static str = template.source.clone().leak();
        let gguf = Gguf { chat_template: Some(source.to_owned()), ..Gguf::default() };
        let mut controls = specials(source);
        let dialect = Dialect::detect(&gguf, &|text| controls.contains(&text));
        let [_, thought] = dialect.family.thinking;
        let opening = match dialect.family.opening {
            Opening::Marker(marker) => marker,
            Opening::Header(channels) => channels.tools,
            Opening::Answer(key) => format!("{{\"{key}\":").leak(),
        };
        let own = [END, thought].into_iter().chain(dialect.family.marker());
        controls.splice(0..0, own);
        let mut seen = std::collections::BTreeSet::new();
        controls.retain(|control| seen.insert(*control));
        controls.truncate(MOST_CONTROLS);
        let writer = PromptWriter {
            dialect: &dialect,
            markers: &Markers::of_texts(dialect.family.markers()),
            bos: BOS,
            eos: EOS,
            has_thinking: false,
            system: None,
            instructions: None,
            tools: &[tool()],
            max_bytes: LEAST_BYTES,
        };
        let is_thinking = writer.write(&[&user("hello")]).unwrap().is_thinking;
        Self { template: source, controls, opening, thought: is_thinking.then_some(thought) }
    }

    /// Loads the model, and asks it what it answers with "ok" or with a call.
    async fn asked(&self, calls: bool) -> Result<Completion, String> {
        let mut next = vec![("o", "k"), ("k", END)];
        let begin = if calls { self.opening } else { "o" };
        let always = match self.thought {
            Some(thought) => {
                next.extend([("~", thought), (thought, begin)]);
                "~"
            }
            None => begin,
        };
        let model = TinyModel {
            template: Some(self.template),
            context_length: CONTEXT,
            controls: self.controls.clone(),
            defined: if self.controls.contains(&self.opening) {
                vec![]
            } else {
                vec![self.opening]
            },
            always: Some(always),
            ..TinyModel::saying(&next)
        };
        let options = options(&model).context_tokens(CONTEXT).cache_tokens(1);
        let model = LlamaModel::load(options).map_err(|error| error.to_string())?;
        let mut request = request(vec![user("hello")], vec![tool()]);
        request.max_tokens = 300;
        let completion = complete(&model, request).await;
        let mut completion = completion.map_err(|error| format!("{error:?}"))?;
        for call in &mut completion.tool_calls {
            call.arguments = call.arguments.replace(": ", ":").into();
        }
        Ok(completion)
    }
}

/// Lists the texts of a template that look like control tokens.
fn specials(source: &'static str) -> Vec<&'static str> {
    let begins = source.match_indices(['<', '[']).map(|(at, _)| at);
    let marks = begins.filter_map(|begin| {
        let rest = &source[begin..];
        let close = if rest.starts_with('<') { '>' } else { ']' };
        let end = rest.find(close)?;
        let mark = &rest[..=end];
        let inner = &mark[1..end];
        let is_mark = match close {
            '>' => {
                inner.starts_with(['|', '｜'])
                    || inner.ends_with(['|', '｜'])
                    || CONTROLS.contains(&mark)
            }
            _ => {
                inner.len() > 2
                    && inner
                        .trim_start_matches('/')
                        .chars()
                        .all(|letter| letter.is_ascii_uppercase() || letter == '_')
            }
        };
        let is_short = inner.len() <= 40 && !inner.contains([' ', '\n', '"', '\'', '<', '[']);
        (is_mark && is_short).then_some(mark)
    });
    marks.collect()
}
