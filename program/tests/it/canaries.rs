//! Tests that no token of one session reaches another: thousands of chats in a crowded context,
//! each about its own word.

use std::{collections::HashMap, sync::Arc, time::Duration};

use madang::{
    CallId, LanguageTag, SessionId, UserId,
    event::CompletionId,
    model::{ChatModel, CompletionRequest, Deltas, ModelError, PromptMessage, llama::LlamaOptions},
    tool::ToolSpec,
};
use madang_toolkits::{demonstration, life};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Many more than a context holds; `MADANG_CANARIES` sets another number.
const SESSIONS: usize = 2_000;
/// The chats at any moment, three times as many as slots.
const AT_ONCE: usize = 48;

/// Returns a word of its own for each number, none of which is a part of another.
fn canary(number: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "ko", "ri", "mu", "te", "lo", "na", "shi", "du", "fe", "ga", "vo", "zi", "pu", "we",
        "hy",
    ];
    (0..4).map(|position| SYLLABLES[((number * 7_919) >> (4 * position)) & 15]).collect()
}

fn user(text: String) -> PromptMessage {
    PromptMessage::User { text: text.into() }
}

fn request(
    number: usize,
    messages: Vec<PromptMessage>,
    tools: &Arc<[ToolSpec]>,
) -> CompletionRequest {
    CompletionRequest {
        id: CompletionId::new(Uuid::now_v7()),
        session: SessionId::new(format!("{number}")).unwrap(),
        user: UserId::new(format!("user {}", number % 50)).unwrap(),
        system: None,
        instructions: None,
        messages: Arc::new(messages),
        tools: Arc::clone(tools),
        language: LanguageTag::EN,
        max_tokens: 40,
    }
}

/// Collects the model's texts of a session: a turn, and in each third session another one about the
/// same word.
async fn chat(model: Arc<dyn ChatModel>, number: usize, tools: Arc<[ToolSpec]>) -> String {
    let word = canary(number);
    let mut messages = vec![user(format!("search for the word '{word}'"))];
    let mut said = String::new();
    for _ in 0..if number.is_multiple_of(3) { 2 } else { 1 } {
        let cancel = CancellationToken::new();
        let asked = request(number, messages.clone(), &tools);
        if number.is_multiple_of(11) {
            let soon = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(number as u64 % 200)).await;
                soon.cancel();
            });
        }
        let completion = match model.complete(asked, Deltas::ignored(), cancel).await {
            Ok(completion) => completion,
            Err(ModelError::Cancelled { .. }) => return said,
            Err(ModelError::Failed { kind, .. }) if kind == ModelError::BAD_OUTPUT => return said,
            Err(error) => panic!("{error}"),
        };
        said.push_str(&completion.text);
        for call in completion.tool_calls {
            said.push_str(&call.arguments);
            messages.push(PromptMessage::ToolCall {
                opaque: None,
                call: CallId::new(Uuid::now_v7()),
                name: call.name,
                arguments: call.arguments,
                envelope: format!(
                    "{{\"status\":\"ok\",\"data\":{{\"count\":0,\"word\":\"{word}\"}}}}"
                )
                .into(),
            });
        }
    }
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_token_of_one_session_reaches_another() {
    let sessions =
        std::env::var("MADANG_CANARIES").map_or(SESSIONS, |count| count.parse().unwrap());
    let crowded = |options: LlamaOptions| {
        options
            .context_tokens(256)
            .cache_tokens(512)
            .resting_tokens(128)
            .max_sequences(AT_ONCE / 3)
            // Room for some of them, so that some come back and most are forgotten.
            .swapped_bytes(24 << 20)
    };
    let loading = tokio::task::spawn_blocking(move || demonstration::load_with(crowded));
    let model = Arc::new(loading.await.unwrap().unwrap());
    let tools: Arc<[ToolSpec]> = life::tools().iter().map(|tool| tool.spec().clone()).collect();
    let mut chats = JoinSet::new();
    let mut said: HashMap<usize, String> = HashMap::new();
    for number in 0..sessions {
        if chats.len() == AT_ONCE {
            said.extend(chats.join_next().await.map(Result::unwrap));
        }
        let model: Arc<dyn ChatModel> = model.clone();
        let tools = Arc::clone(&tools);
        chats.spawn(async move { (number, chat(model, number, tools).await) });
    }
    said.extend(chats.join_all().await);
    let words: Vec<String> = (0..sessions).map(canary).collect();
    let own = said.iter().filter(|(number, said)| said.contains(&words[**number])).count();
    let foreign: Vec<_> = said
        .iter()
        .flat_map(|(number, said)| {
            let others = words.iter().enumerate().filter(move |(other, _)| other != number);
            others
                .filter(|(_, word)| said.contains(word.as_str()))
                .map(move |(other, _)| (number, other, said))
        })
        .collect();
    let stats = model.inner().stats();
    println!("{own} of {sessions} said their own word; {stats:?}");
    assert!(foreign.is_empty(), "{foreign:?}");
    assert!(own > sessions * 7 / 10, "otherwise nothing is shown: {own}");
    assert!(
        stats.swapped_out > 100
            && stats.restored > 10
            && stats.forgotten > 0
            && stats.preempted > 0,
        "{stats:?}"
    );
}
