//! Tests that no long text ends the process with any pre-tokenizer of llama.cpp.
//!
//! `MADANG_LONG_TEXTS` makes every text as long as a person may send; without it one kind is so
//! long.

use llama_cpp_2::model::{LlamaModel as Weights, params::LlamaModelParams};
use madang_test_support::corpus::{PRE_TOKENIZERS, texts};

use super::{
    super::{hidden::Piece, pieces::STACK_BYTES, spans::spans, vocabulary::Vocabulary},
    *,
};

/// The longest text of one turn by default.
const LONGEST: usize = 64 << 10;
/// Some pages, for the usual run.
const LONG: usize = 2_500;

/// Reads every text with this vocabulary, on a stack like the engine's, and counts the readable
/// ones.
fn read(name: &'static str, texts: &[(&'static str, String)]) -> usize {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tiny.gguf");
    TinyModel { pre_tokenizer: name, ..TinyModel::new() }.write(&path);
    let params = LlamaModelParams::default().with_vocab_only(true);
    let weights = Weights::load_from_file(backend::backend().unwrap(), &path, &params).unwrap();
    let vocabulary = Vocabulary::of(&weights).unwrap();
    for (kind, text) in texts {
        let spans = spans(&[Piece::Untrusted(text.clone())], &vocabulary.markers);
        let tokens = vocabulary.tokenize_behind(&spans);
        assert!(tokens.len() <= text.len(), "{name}: {kind}");
        assert!(tokens.iter().all(|token| token.0 <= 256), "{name}: {kind} became special tokens");
    }
    texts.len()
}

#[test]
fn no_text_ends_the_process_with_any_pre_tokenizer() {
    let is_long = std::env::var_os("MADANG_LONG_TEXTS").is_some();
    let mut texts = texts(if is_long { LONGEST } else { LONG });
    texts.push(("the most letters", "a".repeat(LONGEST)));
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let at = || next.fetch_add(1, Ordering::Relaxed);
        let names = std::iter::from_fn(|| PRE_TOKENIZERS.get(at()));
        names.map(|name| read(name, &texts)).sum::<usize>()
    };
    let read: usize = std::thread::scope(|scope| {
        let start = || {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, work).unwrap()
        };
        [start(), start()].into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(read, PRE_TOKENIZERS.len() * texts.len());
}

#[tokio::test]
async fn a_chat_goes_on_behind_a_text_that_took_the_process_down() {
    let texts = texts(LONGEST);
    // Each has its own kind of expressions: words, words in two cases, digits with lookahead, rows
    // of words.
    for name in ["tekken", "gpt-4o", "superbpe", "exaone-moe", "whitespace"] {
        let model = load(&TinyModel { pre_tokenizer: name, ..TinyModel::new() });
        let (_, text) = &texts[0];
        let long = request(vec![user(text)], vec![]);
        assert_eq!(failure(complete(&model, long).await), "PromptTooLong", "{name}");
        let chat = vec![user(text), user("hello")];
        let answer = complete(&model, request(chat, vec![])).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.left_out), ("abc", 1), "{name}");
    }
}
