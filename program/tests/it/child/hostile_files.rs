//! Tests that a model file with a false header never ends the program, whatever llama.cpp does with
//! it.
//!
//! `MADANG_MODEL_FILES=10000` tries that many new files.

use std::{fs, time::Duration};

use madang::model::child::ChildOptions;
use madang_test_support::gguf::TinyModel;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{ask, load, words};

/// The files of each run.
const FILES: u64 = 24;
/// Longer than any file takes on a busy machine.
const STUCK: Duration = Duration::from_secs(60);

/// Values of a damaged field: extreme counts, lengths and types.
const LIES: [&[u8]; 8] = [
    &[0],
    &[0xFF],
    &[0; 4],
    &[0xFF; 4],
    &[0xFF, 0xFF, 0xFF, 0x7F],
    &[0; 8],
    &[0xFF; 8],
    &[0, 0, 0, 0, 0, 0, 0, 0x80],
];

/// Makes a valid model with one to three false values in its header.
fn lying(whole: &[u8], header: u64, random: &mut impl FnMut(u64) -> u64) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=random(3) {
        let at = usize::try_from(4 + random(header - 12)).unwrap();
        let lie = LIES[usize::try_from(random(LIES.len() as u64)).unwrap()];
        bytes[at..at + lie.len()].copy_from_slice(lie);
    }
    bytes
}

#[tokio::test]
async fn a_model_file_that_lies_ends_no_program_and_is_told_or_serves() {
    let number =
        |name, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    let files = number("MADANG_MODEL_FILES", FILES);
    let mut state = number("PROPTEST_RNG_SEED", 7);
    let mut random = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let whole = TinyModel::new().bytes();
    let first_tensor = whole.windows(10).position(|window| window == b"token_embd").unwrap();
    let mut serving = 0;
    let mut refused = 0;
    for file in 0..files {
        let bytes = lying(&whole, first_tensor as u64, &mut random);
        fs::write(&path, bytes).unwrap();
        let options = ChildOptions::new(env!("CARGO_BIN_EXE_madang"));
        let options = options.argument("engine").argument("--model").argument(&path);
        let loaded = timeout(STUCK, load(options)).await;
        match loaded.unwrap_or_else(|_| panic!("file {file} was never told")) {
            Ok(model) => {
                serving += 1;
                let _ = ask(&model, "a", CancellationToken::new()).await;
            }
            Err(error) => {
                refused += 1;
                let words = words(&error);
                assert!(!words.is_empty() && !words.contains('\n'), "file {file}: {words:?}");
            }
        }
    }
    println!("{serving} served, {refused} were refused");
    assert!(serving > 0 && refused > 0, "{serving} served, {refused} were refused");
}
