//! Tests long texts of every kind with the pre-tokenizers of llama.cpp, in a process of its own: it
//! survives, and the chat goes on.
//!
//! `MADANG_LONG_TEXTS` tries all pre-tokenizers; without it some of each kind.

use std::sync::Arc;

use madang::model::{
    ChatModel as _, Completion, CompletionRequest, Deltas, ModelError, PromptMessage,
    child::{ChildModel, ChildOptions},
};
use madang_test_support::{
    corpus::{PRE_TOKENIZERS, texts},
    gguf::TinyModel,
};
use tokio_util::sync::CancellationToken;

use super::{kind, load, request};

/// The longest text of one turn by default.
const LONGEST: usize = 64 << 10;
/// Each kind has its own expressions: words, words in two cases, digits with lookahead, rows of
/// words.
const SOME: [&str; 5] = ["tekken", "gpt-4o", "superbpe", "exaone-moe", "whitespace"];

async fn complete(model: &ChildModel, chat: &[&str]) -> Result<Completion, ModelError> {
    let user = |text: &&str| PromptMessage::User { text: (*text).into() };
    let messages = Arc::new(chat.iter().map(user).collect());
    let asked = CompletionRequest { system: None, messages, tools: [].into(), ..request("") };
    let answer = model.complete(asked, Deltas::ignored(), CancellationToken::new());
    // The longest take seconds in a development build on a busy machine.
    tokio::time::timeout(std::time::Duration::from_secs(120), answer).await.expect("it ends")
}

#[tokio::test]
async fn no_text_ends_the_process_and_the_chat_goes_on_with_any_pre_tokenizer() {
    let all = std::env::var_os("MADANG_LONG_TEXTS").is_some();
    let names = if all { PRE_TOKENIZERS } else { &SOME };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let texts = texts(LONGEST);
    // Each kind of text meets some pre-tokenizer; with the variable, all meet all.
    let mut kinds = texts.iter().cycle();
    let each = if all { texts.len() } else { texts.len().div_ceil(SOME.len()) };
    for name in names {
        std::fs::write(&path, TinyModel { pre_tokenizer: name, ..TinyModel::new() }.bytes())
            .unwrap();
        let options = ChildOptions::new(env!("CARGO_BIN_EXE_madang"));
        let options = options.argument("engine").argument("--model").argument(&path);
        let model = load(options).await.unwrap();
        // With its own tokens, each text means something.
        let usual = complete(&model, &["hello"]).await.unwrap().text;
        for (what, text) in kinds.by_ref().take(each) {
            let alone = complete(&model, &[text]).await;
            let is_left_out = alone.is_err();
            // Some read letters as pieces that the test vocabulary lacks, and skip them. Blanks
            // alone are told as silence.
            if is_left_out || (SOME.contains(name) && !text.trim().is_empty()) {
                assert_eq!(kind(&alone), "PromptTooLong", "{name}: {what}");
            }
            let answer = complete(&model, &[text, "hello"]).await.unwrap();
            assert_eq!(answer.left_out, u32::from(is_left_out), "{name}: {what}");
            if is_left_out {
                assert_eq!(answer.text, usual, "{name}: {what}");
            }
        }
        let stats = model.stats();
        assert_eq!((stats.started, stats.died), (1, 0), "{name}: its process has gone on");
        tokio::task::spawn_blocking(move || drop(model)).await.unwrap();
    }
}
