//! Tests the templates that model makers published, if they are available: beside llama.cpp's sources, or in the folder
//! `MADANG_CHAT_TEMPLATES`. None is copied here.

use std::{fs, path::PathBuf};

use super::*;

/// The expected finding for a file of this name; the first equal beginning counts.
const PUBLISHED: [(&str, &Family); 17] = [
    ("NousResearch-Hermes-", &HERMES),
    ("Qwen-Qwen2.5-", &HERMES),
    ("Qwen-Qwen3-", &HERMES),
    ("Qwen-QwQ-", &HERMES),
    ("google-gemma-4-", &GEMMA_4),
    ("gemma4", &GEMMA_4),
    ("google-gemma-3-", &GEMMA_3),
    ("google-gemma-2-", &GEMMA_3),
    ("google-functiongemma-", &FUNCTION_GEMMA),
    ("meta-llama-Llama-3.", &LLAMA_3),
    ("mistralai-Mistral-Nemo-", &MISTRAL),
    ("mistralai-Mistral-Small-3.1-", &MISTRAL),
    ("Mistral-Small-3.2-", &MISTRAL_MARKED),
    ("mistralai-Ministral-3-", &MISTRAL_MARKED),
    ("unsloth-mistral-Devstral-", &MISTRAL_MARKED),
    ("LFM2", &LFM2),
    ("microsoft-Phi-3.5-", &ENVELOPE),
];

/// Folders that may have them: cargo's copies of llama.cpp's sources, and the named one.
fn folders() -> Vec<PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let registries = cargo.and_then(|cargo| fs::read_dir(cargo.join("registry/src")).ok());
    let crates = registries.into_iter().flatten().flatten().flat_map(|registry| {
        fs::read_dir(registry.path()).into_iter().flatten().flatten().map(|entry| entry.path())
    });
    let sources = crates.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("llama-cpp-sys-2-"))
    });
    let named = std::env::var_os("MADANG_CHAT_TEMPLATES").map(PathBuf::from);
    sources.map(|source| source.join("llama.cpp/models/templates")).chain(named).collect()
}

fn templates() -> Vec<(String, String)> {
    let files = folders()
        .into_iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let templates = files.filter(|file| file.path().extension().is_some_and(|end| end == "jinja"));
    templates
        .filter_map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            Some((name, fs::read_to_string(file.path()).ok()?))
        })
        .collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "a test that finds nothing to test says so")]
fn published_templates_show_their_family_and_render_tools_calls_and_results() {
    let mut seen = 0;
    for (name, source) in templates() {
        let gguf = Gguf { chat_template: Some(source.clone()), ..Gguf::default() };
        let tokens: &[&str] = if name.starts_with("LFM2") { &["<|tool_call_start|>"] } else { &[] };
        let dialect = Dialect::detect(&gguf, &|text| tokens.contains(&text));
        let known = PUBLISHED.iter().find(|(begin, _)| name.starts_with(begin));
        if let Some((_, family)) = known {
            assert_eq!(dialect.family.name, family.name, "{name}");
        }
        seen += 1;
        let markers = markers(dialect.family);
        let prompt: String =
            Chat { text: "물" }.pieces(&dialect, &markers).iter().map(Piece::text).collect();
        // The list of tools, the call, its arguments and its result.
        let mentions = prompt.matches("add_note").count();
        let is_whole = mentions >= 2
            && prompt.contains("is_new")
            && prompt.contains("status")
            && prompt.contains('물');
        assert!(is_whole, "{name} ({}, {:?}): {prompt}", dialect.family.name, dialect.telling);
        let honest = readable(&dialect, &markers, "x");
        assert_eq!(
            readable(&dialect, &markers, &format!("x{}", names(dialect.family).concat())),
            honest,
            "{name}"
        );
    }
    // The pinned crate leaves its templates out.
    println!("{seen} published templates were found");
}
