//! Tests the demonstration model: what code writes for it, which tools it is offered, and what it
//! reads of its own answers. The model itself is played.

mod chats;
mod ends;
mod forwarded;
mod grounds;
mod hostile;
mod offered;
mod results;
mod streamed;

use std::sync::{Arc, LazyLock, Mutex};

use madang::{
    CallId, LanguageTag,
    model::{
        self, ChatModel, Completion, CompletionDelta, CompletionRequest, Deltas, PromptMessage,
    },
    tool::{Locale, ToolSpec},
};
use madang_toolkits::{demonstration::Demonstration, life, notes};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The placeholders that the model writes.
const PLACEHOLDERS: [&str; 3] = ["{result}", "{which}", "{count}"];

/// The languages of the texts.
const LOCALES: [Locale; 2] = [Locale::KO, Locale::EN];

fn user(text: &str) -> PromptMessage {
    PromptMessage::User { text: text.into() }
}

fn said(text: &str) -> PromptMessage {
    PromptMessage::Model { text: text.into() }
}

fn called(tool: &str, arguments: &Value, envelope: &str) -> PromptMessage {
    PromptMessage::ToolCall {
        call: CallId::new(Uuid::nil()),
        name: tool.into(),
        arguments: arguments.to_string().into(),
        envelope: envelope.into(),
        opaque: None,
    }
}

fn specs() -> Vec<ToolSpec> {
    let tools = [life::tools(), notes::tools()].concat();
    tools.iter().map(|tool| tool.spec().clone()).collect()
}

/// A request without messages, with the tools of both toolkits.
static EMPTY: LazyLock<CompletionRequest> = LazyLock::new(|| {
    let request = json!({
        "id": Uuid::nil(),
        "session": "chat",
        "user": "kim",
        "messages": [],
        "tools": specs(),
        "language": "en",
        "max_tokens": 100,
    });
    serde_json::from_value(request).unwrap()
});

fn request(messages: impl Into<Vec<PromptMessage>>, locale: Locale) -> CompletionRequest {
    let messages = Arc::new(messages.into());
    CompletionRequest { messages, language: locale.tag(), ..EMPTY.clone() }
}

/// Returns what a reader gets where the model writes a text, streamed and as a whole.
async fn answer(text: &'static str, request: CompletionRequest) -> String {
    let model = model::from_fn("played", move |_, deltas: Deltas| async move {
        deltas.text(text);
        Ok(Completion::text(text))
    });
    let (completion, streamed) = completed(&Demonstration::new(model), request).await;
    assert_eq!(streamed, completion.text, "the reader gets what is stored");
    completion.text
}

/// Returns a completion, and the text that was streamed.
async fn completed(model: &dyn ChatModel, request: CompletionRequest) -> (Completion, String) {
    let streamed: Arc<Mutex<String>> = Arc::default();
    let heard = Arc::clone(&streamed);
    let deltas = Deltas::new(move |delta| {
        if let CompletionDelta::Text(text) = delta {
            heard.lock().unwrap().push_str(text);
        }
    });
    let completion = model.complete(request, deltas, CancellationToken::new()).await.unwrap();
    let streamed = streamed.lock().unwrap().clone();
    (completion, streamed)
}

/// Returns what the placeholder becomes after these calls.
async fn told(placeholder: &'static str, calls: &[PromptMessage], locale: Locale) -> String {
    let messages = [&[user("?")], calls].concat();
    answer(placeholder, request(messages, locale)).await
}

/// Returns a text without what is quoted in it.
fn unquoted(text: &str) -> String {
    let mut words = String::new();
    let (mut is_open, mut is_escaped) = (false, false);
    for letter in text.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_open => is_escaped = true,
            '\'' => is_open = !is_open,
            _ if is_open => {}
            letter => words.push(letter),
        }
    }
    words
}

/// Requires sentences in one language, without JSON and ids.
fn check_language(text: &str, locale: Locale, of: &str) {
    let words = unquoted(text);
    assert!(!words.contains(['{', '}', '[', ']', '"', '_']), "{of}: {text}");
    assert!(!text.contains(char::is_control) || !text.replace('\n', "").contains(char::is_control));
    let has_hangul = words.contains(|letter: char| ('가'..='힣').contains(&letter));
    let latin =
        words.split(|letter: char| !letter.is_ascii_alphabetic()).max_by_key(|word| word.len());
    match locale.tag() {
        LanguageTag::KO => {
            assert!(has_hangul && latin.unwrap_or_default().len() < 2, "{of}: {text}");
        }
        _ => assert!(!has_hangul && latin.unwrap_or_default().len() > 1, "{of}: {text}"),
    }
    let id = text.split(|letter: char| !letter.is_ascii_hexdigit() && letter != '-');
    assert!(id.into_iter().all(|part| part.len() < 36), "{of}: {text}");
}
