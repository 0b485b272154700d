//! Tries the chat templates of others: against jinja2, for which they were written, and as models
//! of this engine.
//!
//! `scripts/setup.sh templates` brings templates and jinja2 into a cache, and the suite `templates`
//! names it by `MADANG_TEMPLATES`. Those of the folder `MADANG_CHAT_TEMPLATES` are tried as well.
//! None is copied here.

mod expressions;
mod jinja;
mod shapes;
mod tiny;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use madang_actors::protocol::PromptMessage;
use serde_json::{Value, json};

use self::{
    jinja::{Jinja, Rendered},
    shapes::{Shape, shapes, tools},
};
use super::super::{
    dialect::Dialect,
    hidden::{Hidden, Piece},
    markers::Markers,
    prompt::PromptWriter,
    template::LEAST_BYTES,
};

/// A chat template of others.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) name: String,
    pub(super) source: String,
    /// Whether it is one of those that the setup brings, of which lists are kept.
    pub(super) is_brought: bool,
}

/// Whether the templates were brought.
#[expect(clippy::print_stdout, reason = "a test that finds nothing to test says so")]
pub(super) fn brought() -> bool {
    let is_here = std::env::var_os("MADANG_TEMPLATES").is_some();
    if !is_here {
        println!(
            "skipped: the suite `templates` of scripts/test.sh names the chat templates of others"
        );
    }
    is_here
}

/// The folder into which they were brought.
fn folder() -> PathBuf {
    std::env::var_os("MADANG_TEMPLATES").map(PathBuf::from).unwrap()
}

/// Lists the templates in the order of their names; none where they were not brought.
fn published() -> Vec<Published> {
    if !brought() {
        return Vec::new();
    }
    let named = std::env::var_os("MADANG_CHAT_TEMPLATES").map(PathBuf::from);
    let mut all = templates(&folder().join("templates"), true);
    assert!(all.len() > 60, "only {} templates", all.len());
    all.extend(named.into_iter().flat_map(|folder| templates(&folder, false)));
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

fn templates(folder: &Path, is_brought: bool) -> Vec<Published> {
    let paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let templates = paths.filter(|path| path.extension().is_some_and(|end| end == "jinja"));
    let read = |path: PathBuf| Published {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        source: fs::read_to_string(path).unwrap(),
        is_brought,
    };
    templates.map(read).collect()
}

fn python() -> PathBuf {
    folder().join("venv/bin/python")
}

/// Does this with every template, on as many threads as there are cores, and lists what was found.
pub(super) fn with_each<S>(
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &Published) -> Vec<String> + Sync,
) -> Vec<String> {
    let all = published();
    let left = Mutex::new(all.iter());
    let found = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..if all.is_empty() { 0 } else { threads } {
            scope.spawn(|| {
                let mut state = start();
                loop {
                    let Some(next) = left.lock().unwrap().next() else { break };
                    let lines = work(&mut state, next);
                    found
                        .lock()
                        .unwrap()
                        .extend(lines.into_iter().map(|line| format!("{}: {line}", next.name)));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    found
}

/// Differences for which there is a reason: the beginning of a template's name, and a part of what
/// differs.
const REASONS: [(&str, &str, &str); 7] = [
    (
        "CohereForAI-c4ai-command-r-plus-tool_use",
        "only jinja2 fails: TypeError: 'NoneType'",
        NO_TOOLS,
    ),
    ("NousResearch-Hermes-", "only jinja2 fails: TypeError: 'NoneType'", NO_TOOLS),
    ("llama-cpp-deepseek-r1", "only jinja2 fails: TypeError: Object of type generator", LISTED),
    ("meetkai-functionary-medium-v3.1", "Adds a note &amp;", SAFE),
    ("Mistral-Small-3.2-", "[INST]…[/INST]", EQUAL),
    ("mistralai-Mistral-Nemo-", "[INST]…[/INST]", EQUAL),
    ("openbmb-MiniCPM5-", "<![CDATA[물", HIDDEN),
];
const NO_TOOLS: &str =
    "it goes through the tools where there are none, and with us none has no items";
const LISTED: &str = "it writes as JSON what it has selected of the tools; with us that is a list, as with llama.cpp";
const SAFE: &str = "jinja2 escapes for HTML what it joins to a text that is called safe; with us nothing is escaped";
const HIDDEN: &str = "it quotes a text in which it finds `<`, `&` or a line; with us texts are hidden while it renders, and stand without quotes";
const EQUAL: &str = "it lists the tools before each message that equals the user's last; with us texts that are equal are two texts";

const BOS: &str = "<BOS>";
const EOS: &str = "<EOS>";

/// Writes the prompt of a shape, and the values with which jinja2 writes the same.
fn written(dialect: &Dialect, shape: &Shape) -> (Result<String, String>, Value) {
    let markers = Markers::of_texts(dialect.family.markers());
    let tools = if shape.has_tools { &tools()[..] } else { &[] };
    let writer = PromptWriter {
        dialect,
        markers: &markers,
        bos: BOS,
        eos: EOS,
        has_thinking: shape.has_thinking,
        system: shape.system,
        instructions: None,
        tools,
        max_bytes: LEAST_BYTES,
    };
    let messages: Vec<&PromptMessage> = shape.messages.iter().collect();
    let prompt = writer.write(&messages);
    let prompt = prompt.map(|prompt| prompt.pieces.iter().map(Piece::text).collect());
    let mut hidden = Hidden::default();
    let (chat, tools) = writer.input(&messages, &mut hidden);
    let [chat, tools] = [chat, tools].map(|all| shown(&Value::from(all), &hidden));
    let has_tools = tools.as_array().is_some_and(|tools| !tools.is_empty());
    let values = json!({
        "messages": chat,
        "tools": has_tools.then_some(tools),
        "documents": null,
        "bos_token": BOS,
        "eos_token": EOS,
        "add_generation_prompt": true,
        "enable_thinking": shape.has_thinking,
    });
    (prompt.map_err(|error| format!("{error}")), values)
}

/// Gives a value with its hidden texts.
fn shown(value: &Value, hidden: &Hidden) -> Value {
    let text = |text: &str| -> String {
        let pieces = hidden.uncover(text, LEAST_BYTES).unwrap();
        pieces.iter().map(Piece::text).collect()
    };
    match value {
        Value::String(hidden) => Value::String(text(hidden)),
        Value::Array(items) => items.iter().map(|item| shown(item, hidden)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (text(key), shown(value, hidden))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Gives the values of a chat of one question.
fn plainest() -> Value {
    json!({
        "messages": [{"role": "user", "content": "a"}],
        "tools": null,
        "documents": null,
        "bos_token": BOS,
        "eos_token": EOS,
        "add_generation_prompt": true,
    })
}

fn dialect(template: &Published) -> Result<Dialect, String> {
    Dialect::of_template(&template.source, &|text| template.source.contains(text))
        .map_err(|error| format!("given up: {error}"))
}

#[test]
fn every_chat_is_written_as_jinja2_writes_it() {
    let shapes = shapes();
    let differences = with_each(
        || Jinja::start(&python()),
        |jinja, template| {
            let dialect = match dialect(template) {
                Ok(dialect) => dialect,
                // Given up with good reason only if jinja2 cannot write the plainest chat either.
                Err(error) => {
                    return match jinja.render(&template.source, &[plainest()]).remove(0) {
                        Rendered::Text(_) => vec![error],
                        Rendered::Error(_) => Vec::new(),
                    };
                }
            };
            let (prompts, values): (Vec<_>, Vec<_>) =
                shapes.iter().map(|shape| written(&dialect, shape)).unzip();
            let rendered = jinja.render(&template.source, &values);
            let pairs = shapes.iter().zip(prompts).zip(rendered);
            pairs
                .filter_map(|((shape, ours), theirs)| {
                    let problem = difference(shape, &ours, &theirs)?;
                    let is_known = REASONS.iter().any(|(name, part, _)| {
                        template.name.starts_with(name) && problem.contains(part)
                    });
                    (!is_known).then(|| format!("{}: {problem}", shape.name))
                })
                .collect()
        },
    );
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// Says what is wrong with a prompt: it is not there, differs, or leaves out what was said.
fn difference(shape: &Shape, ours: &Result<String, String>, theirs: &Rendered) -> Option<String> {
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Rendered::Text(theirs)) => (ours, theirs),
        (Err(ours), Rendered::Text(_)) => return Some(format!("only ours fails: {ours}")),
        (Ok(_), Rendered::Error(theirs)) => return Some(format!("only jinja2 fails: {theirs}")),
        (Err(ours), Rendered::Error(theirs)) => {
            return Some(format!("both fail: {ours}; {theirs}"));
        }
    };
    if ours != theirs {
        let same =
            ours.bytes().zip(theirs.bytes()).take_while(|(ours, theirs)| ours == theirs).count();
        let part = |text: &str| {
            let begin = text.floor_char_boundary(same.saturating_sub(20));
            let end = text.floor_char_boundary((same + 60).min(text.len()));
            text[begin..end].to_owned()
        };
        return Some(format!("ours {:?}, jinja2 {:?}", part(ours), part(theirs)));
    }
    let missing: Vec<_> = shape.told.iter().filter(|told| !tells(ours, told)).collect();
    (!missing.is_empty()).then(|| format!("untold: {missing:?}"))
}

/// Whether a prompt has a text, as it is or as JSON.
fn tells(prompt: &str, text: &str) -> bool {
    let json = Value::from(text).to_string();
    prompt.contains(text) || prompt.contains(&json[1..json.len() - 1])
}
