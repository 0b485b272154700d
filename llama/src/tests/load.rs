//! Tests files that are no model: each is an error with a name, and none aborts the process.

use std::fs;

use tempfile::TempDir;

use super::{super::gguf, LlamaModel, LlamaOptions, LoadError, TinyModel};

fn load_error(bytes: &[u8]) -> LoadError {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("model.gguf");
    fs::write(&path, bytes).unwrap();
    LlamaModel::load(LlamaOptions::new(path)).expect_err("this is no model")
}

#[test]
fn what_is_no_model_is_named() {
    let directory = TempDir::new().unwrap();
    let missing =
        LlamaModel::load(LlamaOptions::new(directory.path().join("none.gguf"))).unwrap_err();
    assert!(matches!(missing, LoadError::NotFound { .. }), "{missing}");
    let folder = LlamaModel::load(LlamaOptions::new(directory.path())).unwrap_err();
    assert!(matches!(folder, LoadError::Read { .. }), "{folder}");
    assert!(matches!(load_error(b""), LoadError::NotGguf { .. }));
    assert!(matches!(load_error(b"\x89PNG and more"), LoadError::NotGguf { .. }));
    assert!(matches!(load_error(b"GGUF\x63\0\0\0"), LoadError::Version { version: 99, .. }));
    let sentence = load_error(b"hello").to_string();
    assert!(sentence.contains("is not a GGUF file") && !sentence.contains('\n'), "{sentence}");
}

#[test]
fn a_model_of_another_kind_is_refused() {
    let foreign = TinyModel { architecture: "dreamer", ..TinyModel::new() };
    assert!(
        matches!(load_error(&foreign.bytes()), LoadError::Refused { architecture, .. } if architecture == "dreamer")
    );
    let encoder = TinyModel { architecture: "bert", ..TinyModel::new() };
    assert!(matches!(load_error(&encoder.bytes()), LoadError::WritesNoText { .. }));
}

#[test]
fn a_model_that_was_cut_off_anywhere_is_an_error_and_never_an_abort() {
    let whole = TinyModel::new().bytes();
    let mut lengths: Vec<usize> = (5..12_000).step_by(97).collect();
    lengths.extend([whole.len() / 2, whole.len() - 1]);
    for len in lengths {
        let error = load_error(&whole[..len]);
        assert!(matches!(error, LoadError::Truncated { .. }), "{len}: {error:?}");
    }
}

#[test]
fn a_damaged_header_is_an_error_and_never_an_abort() {
    let whole = TinyModel::new().bytes();
    for at in (4..4_000).step_by(53) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("model.gguf");
        fs::write(&path, damaged).unwrap();
        // Some damage is harmless, e.g. in the text of a token; the process must only survive.
        if let Err(error) = gguf::Gguf::read(&path) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn numbers_on_which_llama_cpp_aborts_are_found_before() {
    for (key, width, damage) in [
        ("llama.block_count", 4, 0_u32.to_le_bytes()),
        ("llama.block_count", 4, 1_000_u32.to_le_bytes()),
        ("llama.context_length", 4, u32::MAX.to_le_bytes()),
        ("llama.attention.layer_norm_rms_epsilon", 4, (-1.0_f32).to_le_bytes()),
    ] {
        let mut bytes = TinyModel::new().bytes();
        let found = bytes.windows(key.len()).position(|window| window == key.as_bytes()).unwrap();
        // A type and a value follow the key.
        let value = found + key.len() + 4;
        bytes[value..value + width].copy_from_slice(&damage);
        assert!(matches!(load_error(&bytes), LoadError::Damaged { .. }), "{key}");
    }
}

#[test]
fn a_vocabulary_with_a_token_twice_is_found_before() {
    let mut bytes = TinyModel::new().bytes();
    // The tokens A and B follow each other, each behind its length.
    let pair = [&1_u64.to_le_bytes()[..], b"A", &1_u64.to_le_bytes()[..], b"B"].concat();
    let found = bytes.windows(pair.len()).position(|window| window == pair).unwrap();
    bytes[found + pair.len() - 1] = b'A';
    assert!(matches!(load_error(&bytes), LoadError::Damaged { .. }));
}
