//! Tests the real llama.cpp on models that the tests write.

mod batching;
mod constraint;
mod families;
mod forced;
mod going_back;
mod load;
mod options;
mod pre_tokenizers;
pub(super) mod random_model;
mod refused_template;
mod sharing;
mod templates;
mod tokens;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use madang_actors::protocol::{
    CallId, CompletionDelta, CompletionId, FinishReason, LanguageTag, PromptMessage, SessionId,
    ToolSpec, UserId, WantedCall,
};
use madang_test_support::gguf::TinyModel;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::*;

/// Names the bundled model, a file of the repository.
pub(crate) fn bundled() -> LlamaOptions {
    let bytes = include_bytes!("../../../toolkits/src/demonstration/madang-seed.gguf");
    LlamaOptions::from_bytes("madang-seed", bytes).flash_attention(false)
}

fn options(model: &TinyModel) -> LlamaOptions {
    // Some models repeat one letter as long as they may.
    LlamaOptions::from_bytes("tiny", model.bytes()).max_repeated_tokens(0)
}

fn load(model: &TinyModel) -> LlamaModel {
    LlamaModel::load(options(model)).unwrap()
}

fn request(messages: Vec<PromptMessage>, tools: Vec<ToolSpec>) -> CompletionRequest {
    CompletionRequest {
        id: CompletionId::new(Uuid::now_v7()),
        session: SessionId::new("s").unwrap(),
        user: UserId::new("u").unwrap(),
        system: None,
        instructions: None,
        messages: std::sync::Arc::new(messages),
        tools: tools.into(),
        language: LanguageTag::EN,
        max_tokens: 64,
    }
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::User { text: text.into() }
}

fn said(text: &str) -> PromptMessage {
    PromptMessage::Model { text: text.into() }
}

async fn complete(
    model: &LlamaModel,
    request: CompletionRequest,
) -> Result<Completion, ModelError> {
    let running = model.complete(request, Deltas::ignored(), CancellationToken::new());
    tokio::time::timeout(Duration::from_secs(60), running).await.expect("a tiny model is fast")
}

fn failure(result: Result<Completion, ModelError>) -> String {
    match result {
        Err(error @ (ModelError::Failed { .. } | ModelError::Overloaded { .. })) => {
            error.kind().to_owned()
        }
        other => panic!("this should have failed: {other:?}"),
    }
}

#[tokio::test]
async fn text_is_streamed_and_ends_where_the_model_ends_it() {
    let model = load(&TinyModel::new());
    assert_eq!(
        model.info(),
        ModelInfo { name: "tiny".into(), has_parallel_calls: false, max_concurrent: 32 }
    );
    let streamed = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&streamed);
    let deltas = Deltas::new(move |delta| {
        if let CompletionDelta::Text(text) = delta {
            sink.lock().unwrap().push_str(text);
        }
    });
    let completion = model
        .complete(request(vec![user("hello")], vec![]), deltas, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(completion.text, "abc");
    assert_eq!(*streamed.lock().unwrap(), "abc");
    assert_eq!((completion.finish, completion.usage.completion_tokens), (FinishReason::Stop, 4));
}

#[tokio::test]
async fn a_second_completion_reads_only_what_is_new() {
    let model = load(&TinyModel::new());
    let first = complete(&model, request(vec![user("hello")], vec![])).await.unwrap();
    assert_eq!(first.usage.cached_tokens, 0);
    let chat = vec![user("hello"), said("abc"), user("more")];
    let second = complete(&model, request(chat, vec![])).await.unwrap();
    // All of the first prompt and its answer but for the last token, which was never read.
    assert_eq!(second.usage.cached_tokens, first.usage.prompt_tokens + 3);
    let other = complete(&model, request(vec![user("other")], vec![])).await.unwrap();
    assert!(other.usage.cached_tokens < first.usage.prompt_tokens);
    assert_eq!(other.text, "abc");
}

/// Begins a call at once; where the grammar leaves a choice, the table gives `z` and then the end
/// of the string.
fn caller() -> TinyModel {
    TinyModel::saying(&[("\n", "<tool_call>"), ("\"", "z"), ("z", "\"")])
}

fn note_tool() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1},
            "kind": {"type": "string", "enum": ["note", "task"]},
            "count": {"type": "integer", "minimum": 3, "maximum": 3},
        },
        "required": ["text", "kind", "count"],
    });
    ToolSpec::new("add_note", "Adds a note", parameters)
}

#[tokio::test]
async fn a_call_has_a_registered_name_and_arguments_that_its_schema_allows() {
    let model = load(&caller());
    let mut request = request(vec![user("note")], vec![note_tool()]);
    request.max_tokens = 200;
    let completion = complete(&model, request).await.unwrap();
    let arguments = r#"{"text": "z", "kind": "note", "count": 3}"#;
    assert_eq!(completion.tool_calls, [WantedCall::new("add_note", arguments)]);
    assert_eq!((completion.finish, completion.text.as_str()), (FinishReason::ToolCalls, ""));
}

#[tokio::test]
async fn a_completion_ends_with_its_first_call_unless_it_may_have_several() {
    let caller = TinyModel::saying(&[
        ("\n", "<tool_call>"),
        ("\"", "z"),
        ("z", "\""),
        ("}", "</tool_call>"),
        ("</tool_call>", "<tool_call>"),
    ]);
    for (has_parallel_calls, calls) in [(false, 1), (true, 2)] {
        let options = options(&caller).parallel_calls(has_parallel_calls);
        let model = LlamaModel::load(options).unwrap();
        assert_eq!(model.info().has_parallel_calls, has_parallel_calls);
        let mut request = request(vec![user("note")], vec![note_tool()]);
        request.max_tokens = 200;
        let completion = complete(&model, request).await.unwrap();
        assert_eq!(completion.finish, FinishReason::ToolCalls);
        assert_eq!(completion.tool_calls.len(), calls);
    }
}

#[tokio::test]
async fn a_model_says_what_its_calls_may_break() {
    let model = load(&caller());
    let zip = json!({"type": "object", "properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}}});
    let tools = [note_tool(), ToolSpec::new("post", "Posts a note", zip)];
    let broken = Unconstrained {
        tool: "post".into(),
        pointer: "/properties/zip".into(),
        keyword: "pattern".into(),
    };
    assert_eq!(model.unconstrained(&tools), [broken]);
    let free = LlamaModel::load(options(&caller()).constrained_calls(false)).unwrap();
    assert_eq!(free.unconstrained(&tools), [], "it promises nothing");
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_no_call_and_says_so() {
    let model = load(&caller());
    let mut request = request(vec![user("note")], vec![note_tool()]);
    request.max_tokens = 20;
    let completion = complete(&model, request).await.unwrap();
    assert_eq!((completion.finish, completion.tool_calls), (FinishReason::Length, vec![]));
}

#[tokio::test]
async fn without_tools_no_call_is_opened() {
    let model = load(&caller());
    let completion = complete(&model, request(vec![user("note")], vec![])).await.unwrap();
    assert_eq!(completion.tool_calls, []);
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_one_that_is_refused() {
    let babble =
        TinyModel::saying(&[("\n", "<tool_call>"), ("<tool_call>", "x"), ("x", "</tool_call>")]);
    let model = LlamaModel::load(options(&babble).constrained_calls(false)).unwrap();
    let completion = complete(&model, request(vec![user("a")], vec![note_tool()])).await.unwrap();
    assert_eq!(completion.tool_calls, [WantedCall::new("", "x")]);
    assert_eq!((completion.finish, completion.text.as_str()), (FinishReason::ToolCalls, ""));
}

#[tokio::test]
async fn endless_babble_ends_at_its_bound() {
    let model = load(&TinyModel::saying(&[("\n", "a"), ("a", "a")]));
    let completion = complete(&model, request(vec![user("a")], vec![])).await.unwrap();
    assert_eq!(completion.text, "a".repeat(64));
    assert_eq!(completion.finish, FinishReason::Length);
    let mut longer = request(vec![user("a")], vec![]);
    longer.max_tokens = 100_000;
    let completion = complete(&model, longer).await.unwrap();
    assert_eq!(completion.finish, FinishReason::Length, "the context is full");
    assert!(completion.text.len() > 400);
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_and_says_so_and_what_it_said_stays_seen() {
    let circle = TinyModel::saying(&[("\n", "a"), ("a", "b"), ("b", "c"), ("c", "a")]);
    let model = LlamaModel::load(LlamaOptions::from_bytes("tiny", circle.bytes())).unwrap();
    let streamed = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&streamed);
    let deltas = Deltas::new(move |delta| {
        if let CompletionDelta::Text(text) = delta {
            sink.lock().unwrap().push_str(text);
        }
    });
    let mut long = request(vec![user("a")], vec![]);
    long.max_tokens = 400;
    let ended = model.complete(long, deltas, CancellationToken::new()).await;
    assert_eq!(failure(ended), "Repetition");
    assert_eq!(*streamed.lock().unwrap(), "abc".repeat(44)[..131]);
    assert_eq!(model.stats().tokens_generated, 131);
    // Inside of a call, too.
    let call = TinyModel::saying(&[("\n", "<tool_call>"), ("\"", "z"), ("z", "z")]);
    let model = LlamaModel::load(LlamaOptions::from_bytes("tiny", call.bytes())).unwrap();
    let mut long = request(vec![user("note")], vec![note_tool()]);
    long.max_tokens = 400;
    assert_eq!(failure(complete(&model, long).await), "Repetition");
    assert!(model.stats().tokens_generated < 200, "{:?}", model.stats());
}

#[tokio::test]
async fn a_cancelled_completion_says_what_it_cost_and_the_next_one_is_well() {
    let model = load(&TinyModel::saying(&[("\n", "a"), ("a", "a")]));
    let cancel = CancellationToken::new();
    let at_first_text = cancel.clone();
    let deltas = Deltas::new(move |delta| {
        if matches!(delta, CompletionDelta::Text(_)) {
            at_first_text.cancel();
        }
    });
    let mut endless = request(vec![user("a")], vec![]);
    endless.max_tokens = 400;
    let result = model.complete(endless, deltas, cancel).await;
    let Err(ModelError::Cancelled { usage }) = result else { panic!("{result:?}") };
    assert!(usage.completion_tokens >= 1 && usage.completion_tokens < 400, "{usage:?}");
    assert!(usage.prompt_tokens > 0);
    assert_eq!(complete(&model, request(vec![user("a")], vec![])).await.unwrap().text.len(), 64);
}

#[tokio::test]
async fn a_dropped_completion_stops_and_a_dropped_model_ends() {
    let model = load(&TinyModel::saying(&[("\n", "a"), ("a", "a")]));
    let (began, mut beginning) = mpsc::unbounded_channel();
    // The receiver is dropped once the test has seen the first.
    let deltas = Deltas::new(move |_| began.send(()).unwrap_or_default());
    let mut endless = request(vec![user("a")], vec![]);
    endless.max_tokens = 400;
    tokio::select! {
        _ = model.complete(endless, deltas, CancellationToken::new()) => panic!("it should have been dropped"),
        _ = beginning.recv() => (),
    }
    drop(model);
}

#[tokio::test]
async fn what_waits_can_be_cancelled_and_too_much_is_refused() {
    let slow = TinyModel::saying(&[("\n", "a"), ("a", "a")]);
    let model = LlamaModel::load(options(&slow).max_waiting(1)).unwrap();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let (began, mut beginning) = mpsc::unbounded_channel();
    let deltas = Deltas::new(move |_| {
        // Holds the thread of the model until the test releases it.
        if began.send(()).is_ok() {
            held.lock().unwrap().recv().unwrap_or_default();
        }
    });
    let first = model.complete(request(vec![user("a")], vec![]), deltas, CancellationToken::new());
    let rest = async {
        beginning.recv().await.unwrap();
        beginning.close();
        let cancel = CancellationToken::new();
        let waiting =
            model.complete(request(vec![user("a")], vec![]), Deltas::ignored(), cancel.clone());
        let refused = async {
            let kind = failure(complete(&model, request(vec![user("a")], vec![])).await);
            cancel.cancel();
            kind
        };
        let (waited, refused) = tokio::join!(waiting, refused);
        assert_eq!(refused, "Overloaded");
        assert!(
            matches!(waited, Err(ModelError::Cancelled { usage }) if usage == Usage::default()),
            "{waited:?}"
        );
        drop(release);
    };
    let (first, ()) = tokio::join!(first, rest);
    assert_eq!(first.unwrap().text.len(), 64);
}

#[tokio::test]
async fn while_the_prompt_of_one_user_is_written_others_are_answered() {
    // The expressions look ahead behind each digit, which takes seconds in all.
    let slow = TinyModel { pre_tokenizer: "superbpe", context_length: 200_000, ..TinyModel::new() };
    let options = options(&slow).context_tokens(200_000).cache_tokens(1);
    let model = LlamaModel::load(options.prefill_context_tokens(0)).unwrap();
    let mut hostile = request(vec![user(&"1".repeat(150 << 10))], vec![]);
    hostile.user = UserId::new("hostile").unwrap();
    let cancel = CancellationToken::new();
    let writing = model.complete(hostile, Deltas::ignored(), cancel.clone());
    let others = async {
        for _ in 0..2 {
            assert_eq!(
                complete(&model, request(vec![user("a")], vec![])).await.unwrap().text,
                "abc"
            );
        }
        let begun = model.stats().completions;
        cancel.cancel();
        begun
    };
    let (cancelled, begun) = tokio::join!(writing, others);
    assert_eq!(begun, 2, "the long prompt was not written yet");
    assert!(matches!(cancelled, Err(ModelError::Cancelled { .. })), "{cancelled:?}");
}

#[tokio::test]
async fn a_panic_of_a_listener_costs_one_completion() {
    let model = load(&TinyModel::new());
    let deltas = Deltas::new(|_| panic!("a listener must not do this"));
    let result =
        model.complete(request(vec![user("a")], vec![]), deltas, CancellationToken::new()).await;
    assert_eq!(failure(result), "Panic");
    assert_eq!(complete(&model, request(vec![user("a")], vec![])).await.unwrap().text, "abc");
}

#[tokio::test]
async fn a_chat_that_is_too_long_loses_its_oldest_turns_and_no_result_its_call() {
    let model = load(&TinyModel::new());
    let mut chat = Vec::new();
    for turn in 0..40 {
        chat.push(user(&format!("question {turn}")));
        chat.push(PromptMessage::ToolCall {
            opaque: None,
            call: CallId::new(Uuid::nil()),
            name: "add_note".into(),
            arguments: "{}".into(),
            envelope: "{}".into(),
        });
        chat.push(said("abc"));
    }
    chat.push(user("last"));
    let completion = complete(&model, request(chat, vec![note_tool()])).await.unwrap();
    assert_eq!(completion.text, "abc");
    let tokens = completion.usage.prompt_tokens;
    assert!((300..448).contains(&tokens), "{tokens} tokens of 512, 64 of them for the answer");
    assert!((90..120).contains(&completion.left_out), "{} of 121", completion.left_out);
    let long = request(vec![user(&"x".repeat(600))], vec![]);
    assert_eq!(failure(complete(&model, long).await), "PromptTooLong");
}

#[tokio::test]
async fn models_without_a_template_are_talked_to_by_their_vocabulary() {
    let model = load(&TinyModel { template: None, ..TinyModel::new() });
    assert_eq!(complete(&model, request(vec![user("a")], vec![])).await.unwrap().text, "abc");
}

#[tokio::test]
async fn two_models_live_in_one_process() {
    let one = load(&TinyModel::new());
    let two = load(&TinyModel::saying(&[("\n", "x"), ("x", "<|im_end|>")]));
    let (first, second) = tokio::join!(
        complete(&one, request(vec![user("a")], vec![])),
        complete(&two, request(vec![user("a")], vec![]))
    );
    assert_eq!((first.unwrap().text.as_str(), second.unwrap().text.as_str()), ("abc", "x"));
    drop(one);
    assert_eq!(complete(&two, request(vec![user("b")], vec![])).await.unwrap().text, "x");
}

#[tokio::test]
async fn the_listener_hears_the_model_load() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let options =
        options(&TinyModel::new()).on_progress(move |done| sink.lock().unwrap().push(done));
    let _ = LlamaModel::load(options).unwrap();
    assert_eq!(heard.lock().unwrap().last(), Some(&1.0));
}
