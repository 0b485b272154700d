//! Tests each option at both ends of its type: the model answers, or is refused with a sentence.
//! Nothing panics or wraps.

use std::num::NonZeroUsize;

use super::*;
use crate::sampler::Sampling;

/// Lists options with one at an end of its type, with its name.
fn at_their_ends() -> Vec<(String, LlamaOptions)> {
    let mut all = Vec::new();
    let mut with =
        |name: &str, end: &dyn std::fmt::Debug, set: &dyn Fn(LlamaOptions) -> LlamaOptions| {
            all.push((format!("{name} {end:?}"), set(options(&TinyModel::new()))));
        };
    for end in [u32::MIN, 1, u32::MAX] {
        with("context_tokens", &end, &|options| options.context_tokens(end));
        with("cache_tokens", &end, &|options| options.cache_tokens(end));
        with("prefill_context_tokens", &end, &|options| options.prefill_context_tokens(end));
        with("gpu_layers", &end, &|options| options.gpu_layers(end));
    }
    for end in [usize::MIN, 1, usize::MAX] {
        with("prefill_tokens", &end, &|options| options.prefill_tokens(end));
        with("max_sequences", &end, &|options| options.max_sequences(end));
        with("resting_tokens", &end, &|options| options.resting_tokens(end));
        with("swapped_bytes", &end, &|options| options.swapped_bytes(end));
        with("max_waiting", &end, &|options| options.max_waiting(end));
        with("max_repeated_tokens", &end, &|options| options.max_repeated_tokens(end));
        with("top_k", &end, &|options| {
            options.sampling(Sampling::default().temperature(1.0).top_k(end))
        });
    }
    for end in [NonZeroUsize::MIN, NonZeroUsize::MAX] {
        with("threads", &end, &|options| options.threads(end));
    }
    for end in [u64::MIN, u64::MAX] {
        with("seed", &end, &|options| {
            options.sampling(Sampling::default().temperature(1.0).seed(end))
        });
    }
    for end in [-0.0, f32::MIN_POSITIVE, 0.01, 1.0, 100.0] {
        let hot = || Sampling::default().temperature(1.0);
        with("temperature", &end, &|options| {
            options.sampling(Sampling::default().temperature(end))
        });
        if end <= 1.0 {
            with("top_p", &end, &|options| options.sampling(hot().top_p(end)));
            with("min_p", &end, &|options| options.sampling(hot().min_p(end)));
        }
        if end >= 0.01 {
            with("repeat_penalty", &end, &|options| options.sampling(hot().repeat_penalty(end)));
            with("greedy repeat_penalty", &end, &|options| {
                options.sampling(Sampling::default().repeat_penalty(end))
            });
        }
    }
    all
}

#[tokio::test]
async fn every_option_at_an_end_of_its_type_works_or_is_refused_with_a_sentence() {
    let mut refused = Vec::new();
    for (name, options) in at_their_ends() {
        let model = match LlamaModel::load(options) {
            Ok(model) => model,
            Err(error) => {
                assert!(matches!(error, LoadError::Context { .. }), "{name}: {error}");
                refused.push(name);
                continue;
            }
        };
        // Two turns, so that the resting chat is kept or forgotten.
        for chat in [vec![user("a")], vec![user("a"), said("abc"), user("b")]] {
            let completion = complete(&model, request(chat, vec![])).await;
            let completion = completion.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert!(completion.usage.completion_tokens <= 64, "{name}");
        }
        assert_eq!(model.stats().running, 0, "{name}");
    }
    assert_eq!(refused, ["cache_tokens 4294967295", "prefill_context_tokens 4294967295"]);
}

type Set = fn(Sampling, f32) -> Sampling;

#[test]
fn a_number_that_chooses_nothing_is_refused_with_one_sentence() {
    let ends = [
        f32::NAN,
        -f32::NAN,
        f32::NEG_INFINITY,
        f32::MIN,
        -1.0,
        -f32::MIN_POSITIVE,
        100.1,
        f32::MAX,
        f32::INFINITY,
    ];
    let options_of: [(&str, Set); 4] = [
        ("temperature", Sampling::temperature),
        ("top_p", Sampling::top_p),
        ("min_p", Sampling::min_p),
        ("repeat_penalty", Sampling::repeat_penalty),
    ];
    for (name, set) in options_of {
        for end in ends {
            let sampling = set(Sampling::default(), end);
            let loaded = LlamaModel::load(options(&TinyModel::new()).sampling(sampling));
            let refused = loaded.err().unwrap_or_else(|| panic!("{name} {end} was taken"));
            let LoadError::Sampling { option, .. } = refused else {
                panic!("{name} {end}: {refused}")
            };
            assert_eq!(option, name);
            let sentence = refused.to_string();
            let begin =
                format!("failed to load the model: {name} is {end}; choose a number from 0");
            assert!(sentence.starts_with(&begin), "{sentence}");
        }
    }
    for nothing in [0.0, f32::MIN_POSITIVE] {
        let sampling = Sampling::default().repeat_penalty(nothing);
        let loaded = LlamaModel::load(options(&TinyModel::new()).sampling(sampling));
        assert!(matches!(loaded, Err(LoadError::Sampling { .. })), "{nothing}");
    }
}
