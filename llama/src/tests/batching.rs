//! Tests many chats in one context: side by side, with a common beginning, without room, cancelled,
//! at rest.

use std::num::NonZeroUsize;

use tokio::task::JoinSet;

use super::{random_model::with_unnamed_window, *};

/// Makes a model that never ends by itself.
fn babble() -> TinyModel {
    TinyModel::saying(&[("\n", "a"), ("a", "a")])
}

fn of_session(session: &str, messages: Vec<PromptMessage>) -> CompletionRequest {
    CompletionRequest { session: SessionId::new(session).unwrap(), ..request(messages, vec![]) }
}

/// Completes all at once, and returns the ends in order.
async fn all(
    model: &Arc<LlamaModel>,
    requests: Vec<CompletionRequest>,
) -> Vec<Result<Completion, ModelError>> {
    let mut running = JoinSet::new();
    let count = requests.len();
    for (at, request) in requests.into_iter().enumerate() {
        let model = Arc::clone(model);
        running.spawn(async move { (at, complete(&model, request).await) });
    }
    let mut ended: Vec<_> = running.join_all().await;
    ended.sort_by_key(|(at, _)| *at);
    assert_eq!(ended.len(), count);
    ended.into_iter().map(|(_, end)| end).collect()
}

#[tokio::test]
async fn completions_generate_side_by_side() {
    let model = Arc::new(load(&babble()));
    let requests =
        (0..8).map(|n| of_session(&format!("{n}"), vec![user(&format!("go {n}"))])).collect();
    for end in all(&model, requests).await {
        assert_eq!(end.unwrap().text, "a".repeat(64));
    }
    let stats = model.stats();
    assert_eq!((stats.tokens_generated, stats.completions, stats.running), (8 * 64, 8, 0));
    assert!(stats.decodes < 3 * 64, "{stats:?}");
}

#[tokio::test]
async fn a_common_beginning_is_read_once_however_many_begin_with_it() {
    let model = Arc::new(load(&TinyModel::new()));
    let system: Arc<str> = "s".repeat(300).into();
    let asked = |n: usize| CompletionRequest {
        system: Some(Arc::clone(&system)),
        user: UserId::new(format!("{n}")).unwrap(),
        ..of_session(&format!("{n}"), vec![user(&format!("{n:03} asks"))])
    };
    let ends = all(&model, (0..200).map(asked).collect()).await;
    let prompt = u64::from(ends[0].as_ref().unwrap().usage.prompt_tokens);
    for end in ends {
        let completion = end.unwrap();
        assert_eq!(
            (completion.text.as_str(), u64::from(completion.usage.prompt_tokens)),
            ("abc", prompt)
        );
        assert_eq!(completion.usage.cached_tokens, 0, "no chat had read anything before");
    }
    let stats = model.stats();
    assert_eq!(stats.prompt_tokens_evaluated + stats.prompt_tokens_reused, 200 * prompt);
    // The text before the caller's number is the same for all.
    let common = 300 + "<|im_start|>".len() as u64;
    let distinct = common + 200 * (prompt - common);
    assert!(stats.prompt_tokens_evaluated * 100 <= distinct * 105, "{stats:?} of {distinct}");
}

#[tokio::test]
async fn a_chat_that_moved_to_memory_comes_back_and_only_what_is_new_is_read() {
    let model = LlamaModel::load(options(&TinyModel::new()).resting_tokens(0)).unwrap();
    let system: Arc<str> = "s".repeat(100).into();
    let asked = |session: &str, messages| CompletionRequest {
        system: Some(Arc::clone(&system)),
        ..of_session(session, messages)
    };
    let first = complete(&model, asked("a", vec![user("hello from a")])).await.unwrap();
    for session in ["b", "c"] {
        complete(&model, asked(session, vec![user(&format!("this is {session}"))])).await.unwrap();
    }
    let stats = model.stats();
    assert_eq!(
        (stats.swapped_out, stats.swapped_sessions, stats.common_beginnings),
        (2, 2, 1),
        "{stats:?}"
    );
    let chat = vec![user("hello from a"), said("abc"), user("more")];
    let second = complete(&model, asked("a", chat)).await.unwrap();
    assert_eq!(second.usage.cached_tokens, first.usage.prompt_tokens + 3);
    assert_eq!((model.stats().restored, second.text.as_str()), (1, "abc"));
}

#[tokio::test]
async fn a_chat_that_rests_in_the_context_moves_to_memory_when_completions_run() {
    let options = options(&TinyModel::new()).resting_tokens(120);
    let model = LlamaModel::load(options).unwrap();
    complete(&model, of_session("a", vec![user(&"a".repeat(80))])).await.unwrap();
    assert_eq!((model.stats().swapped_out, model.stats().resting_sessions), (0, 1));
    complete(&model, of_session("b", vec![user("b")])).await.unwrap();
    assert_eq!((model.stats().swapped_out, model.stats().resting_sessions), (1, 1));
}

#[tokio::test]
async fn a_chat_for_which_memory_has_no_room_is_forgotten_and_read_again() {
    let model =
        LlamaModel::load(options(&TinyModel::new()).resting_tokens(0).swapped_bytes(0)).unwrap();
    complete(&model, of_session("a", vec![user("hello from a")])).await.unwrap();
    complete(&model, of_session("b", vec![user("another one")])).await.unwrap();
    assert_eq!((model.stats().forgotten, model.stats().swapped_sessions), (1, 0));
    let chat = vec![user("hello from a"), said("abc"), user("more")];
    let second = complete(&model, of_session("a", chat)).await.unwrap();
    assert_eq!(second.text, "abc");
    assert!(second.usage.cached_tokens < 20, "{:?}", second.usage);
}

#[tokio::test]
async fn where_the_context_has_no_room_for_all_each_still_says_everything() {
    let model = Arc::new(LlamaModel::load(options(&babble()).cache_tokens(512)).unwrap());
    let long = |n: usize| CompletionRequest {
        max_tokens: 300,
        ..of_session(&format!("{n}"), vec![user(&format!("go {n}"))])
    };
    for end in all(&model, (0..4).map(long).collect()).await {
        let completion = end.unwrap();
        assert_eq!((completion.text.len(), completion.finish), (300, FinishReason::Length));
        assert_eq!(completion.usage.completion_tokens, 300);
    }
    assert!(model.stats().preempted > 0, "{:?}", model.stats());
}

#[tokio::test]
async fn more_completions_than_may_run_wait_for_their_turn() {
    let model = Arc::new(LlamaModel::load(options(&TinyModel::new()).max_sequences(2)).unwrap());
    assert_eq!(model.info().max_concurrent, 2);
    let requests = (0..20).map(|n| of_session(&format!("{n}"), vec![user("hello")])).collect();
    for end in all(&model, requests).await {
        assert_eq!(end.unwrap().text, "abc");
    }
}

#[tokio::test]
async fn a_cancelled_completion_is_gone_within_two_decodes_and_the_others_go_on() {
    let model = Arc::new(load(&babble()));
    let other = tokio::spawn({
        let model = Arc::clone(&model);
        async move { complete(&model, of_session("other", vec![user("go on")])).await }
    });
    let cancel = CancellationToken::new();
    let at_third = cancel.clone();
    let said = Mutex::new(0);
    let deltas = Deltas::new(move |_| {
        let mut said = said.lock().unwrap();
        *said += 1;
        if *said == 3 {
            at_third.cancel();
        }
    });
    let endless = CompletionRequest { max_tokens: 400, ..of_session("gone", vec![user("go")]) };
    let result = model.complete(endless, deltas, cancel).await;
    let Err(ModelError::Cancelled { usage }) = result else { panic!("{result:?}") };
    assert!((2..=4).contains(&usage.completion_tokens), "{usage:?}");
    assert!(usage.prompt_tokens > 0);
    assert_eq!(other.await.unwrap().unwrap().text.len(), 64);
    assert_eq!(model.stats().running, 0);
}

#[tokio::test]
async fn a_reader_that_is_cancelled_leaves_its_tokens_to_the_waiting_prompts() {
    let model = Arc::new(LlamaModel::load(options(&TinyModel::new()).prefill_tokens(8)).unwrap());
    let system: Arc<str> = "s".repeat(300).into();
    let asked = |session: &str| CompletionRequest {
        system: Some(Arc::clone(&system)),
        ..of_session(session, vec![user("hello")])
    };
    let cancel = CancellationToken::new();
    let reader = tokio::spawn({
        let model = Arc::clone(&model);
        let request = asked("reader");
        let cancel = cancel.clone();
        async move { model.complete(request, Deltas::ignored(), cancel).await }
    });
    while model.stats().prompt_tokens_evaluated < 16 {
        tokio::task::yield_now().await;
    }
    let waiting = all(&model, vec![asked("one"), asked("two")]);
    let (waiting, ()) = tokio::join!(waiting, async { cancel.cancel() });
    for end in waiting {
        assert_eq!(end.unwrap().text, "abc");
    }
    let ended = reader.await.unwrap();
    assert!(matches!(ended, Ok(_) | Err(ModelError::Cancelled { .. })), "{ended:?}");
}

#[tokio::test]
async fn no_choice_of_bounds_reaches_an_abort() {
    for (sequences, prefill, cache) in [(1, 1, 1), (120, 1, 1), (120, 2_048, 1), (1, 2_048, 64)] {
        let options = options(&TinyModel::new());
        let options = options.max_sequences(sequences).prefill_tokens(prefill).cache_tokens(cache);
        let model = Arc::new(LlamaModel::load(options).unwrap());
        let asked = |n: usize| of_session(&format!("{n}"), vec![user(&"long ".repeat(80))]);
        for end in all(&model, (0..3).map(asked).collect()).await {
            assert_eq!(end.unwrap().text, "abc");
        }
    }
}

#[tokio::test]
async fn with_two_threads_the_prefill_worker_reads_a_long_prompt_unless_it_is_not_wanted() {
    // One core has no halves.
    let may_split = std::thread::available_parallelism().unwrap().get() > 1;
    for (prefill_context_tokens, parts) in [(None, may_split), (Some(0), false)] {
        let options = LlamaOptions::from_bytes("random", with_unnamed_window());
        let options = options.threads(NonZeroUsize::new(2).unwrap()).context_tokens(2_048);
        let options = options.max_repeated_tokens(0).gpu_layers(0); // a card has no such worker
        let options = match prefill_context_tokens {
            Some(tokens) => options.prefill_context_tokens(tokens),
            None => options,
        };
        let model = Arc::new(LlamaModel::load(options).unwrap());
        let stop = CancellationToken::new();
        let mut talks = JoinSet::new();
        let endless =
            CompletionRequest { max_tokens: 2_000, ..of_session("talks", vec![user("go")]) };
        talks.spawn({
            let model = Arc::clone(&model);
            let stop = stop.clone();
            async move { model.complete(endless, Deltas::ignored(), stop).await }
        });
        while model.stats().tokens_generated == 0 {
            tokio::task::yield_now().await;
        }
        let mut long = 0;
        // The contexts are made while the first prompt is read in turns.
        while model.stats().splits == 0 && long < if parts { 100 } else { 2 } {
            long += 1;
            let text = format!("{long} tells a long story ").repeat(40);
            let asked = of_session(&long.to_string(), vec![user(&text)]);
            complete(&model, CompletionRequest { max_tokens: 1, ..asked }).await.unwrap();
            assert!(talks.try_join_next().is_none(), "it has said all");
        }
        assert_eq!(model.stats().splits > 0, parts, "{:?}", model.stats());
        stop.cancel();
        talks.join_all().await;
    }
}
