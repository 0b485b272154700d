//! Tests that a call which cannot be read goes back to the model, and that the turn goes on.

use madang::{
    Runtime,
    error::TurnError,
    event::{Content, TurnEnding},
    model::llama::{LlamaModel, LlamaOptions},
    store::SqliteStore,
    tool::ToolOutcome,
};
use madang_testing::FakeTool;

use crate::child::model_saying;

const CONTEXT: u32 = 4_096;

/// Writes calls as Hermes does. The last letter of a prompt tells whether a result was read.
const HERMES: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}\
    {% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n\
    {% endfor %}<|im_start|>assistant\n{{ 'R' if messages[-1].role == 'tool' else 'A' }}";

/// Writes calls as no family does. Results are then told as the user's words, behind the model's.
const UNKNOWN: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}\
    {% for c in m.tool_calls or [] %}<act>{{ c.function.name }};{{ c.function.arguments | length }}{% endfor %}<|im_end|>\n\
    {% endfor %}<|im_start|>assistant\n{{ 'R' if messages | selectattr('role', 'equalto', 'assistant') | list else 'A' }}";

/// Chats once with a model whose calls are not constrained. Returns the ends of its calls, its last
/// words, and the end.
async fn chat(
    template: &'static str,
    next: &[(&'static str, &'static str)],
) -> (Vec<String>, Option<String>, TurnEnding, Option<TurnError>) {
    let options = LlamaOptions::from_bytes("tiny", model_saying(template, next));
    let options = options.context_tokens(CONTEXT).constrained_calls(false);
    let model = tokio::task::spawn_blocking(|| LlamaModel::load(options)).await.unwrap().unwrap();
    let tool = FakeTool::destructive("x");
    let runs = tool.runs();
    let store = SqliteStore::in_memory().await.unwrap();
    let runtime = Runtime::builder().model(model).store(store).tool(tool).start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let end = session.send("hello").await.unwrap().ended().await.unwrap();
    let messages = session.state().await.unwrap().messages;
    let mut calls = Vec::new();
    let mut words = None;
    for message in &messages {
        match &message.content {
            Content::ToolCall(record) => calls.push(match &record.outcome {
                Some(ToolOutcome::Err(error)) => format!("{:?} {}", record.name, error.code),
                other => panic!("{other:?}"),
            }),
            Content::Model { text, .. } => words = Some(text.to_string()),
            Content::User { .. } | Content::Notice { .. } | Content::Cleared => {}
        }
    }
    assert_eq!(runs.count(), 0, "nothing runs");
    runtime.shutdown().await.unwrap();
    (calls, words, end.ending, end.error)
}

const ANSWER: [(&str, &str); 2] = [("R", "k"), ("k", "<|im_end|>")];

#[tokio::test]
async fn a_call_that_cannot_be_read_goes_back_to_the_model_and_the_turn_goes_on() {
    let begin = [("A", "<tool_call>"), ("<tool_call>", "y"), ("y", "</tool_call>")];
    let (calls, words, ending, _) = chat(HERMES, &[&begin[..], &ANSWER].concat()).await;
    assert_eq!(calls, ["\"\" unknown_tool"]);
    assert_eq!((words.as_deref(), ending), (Some("k"), TurnEnding::Answered));
}

#[tokio::test]
async fn a_call_of_no_family_goes_back_to_the_model_and_the_turn_goes_on() {
    let begin = [("A", "<"), ("<", "a"), ("a", "c"), ("c", "t"), ("t", ">"), (">", "x")];
    let next = [&begin[..], &[("x", "<|im_end|>")], &ANSWER].concat();
    let (calls, words, ending, _) = chat(UNKNOWN, &next).await;
    assert_eq!(calls, ["\"x\" validation"]);
    assert_eq!((words.as_deref(), ending), (Some("k"), TurnEnding::Answered));
}

#[tokio::test]
async fn a_model_that_never_calls_well_is_asked_a_bounded_number_of_times() {
    let next = [("A", "<tool_call>"), ("R", "<tool_call>"), ("<tool_call>", "y")];
    let next = [&next[..], &[("y", "</tool_call>")]].concat();
    let (calls, _, ending, error) = chat(HERMES, &next).await;
    assert_eq!(calls, vec!["\"\" unknown_tool"; 4]);
    assert_eq!((ending, error), (TurnEnding::Failed, Some(TurnError::TooManyRounds)));
}
