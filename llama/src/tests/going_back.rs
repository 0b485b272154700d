//! Tests models that cannot go back freely, with a sliding window or recurrent: sharing and caching
//! never change an answer.

use tokio::task::JoinSet;

use super::{
    random_model::{recurrent, windowed, with_unnamed_window},
    *,
};

fn exact(options: LlamaOptions) -> LlamaModel {
    // Flash attention sums in 16 bits, in the order of the context.
    LlamaModel::load(options.flash_attention(false)).unwrap()
}

fn of_session(session: &str, system: &str, messages: Vec<PromptMessage>) -> CompletionRequest {
    CompletionRequest {
        session: SessionId::new(session).unwrap(),
        system: Some(system.into()),
        max_tokens: 12,
        ..request(messages, vec![])
    }
}

#[tokio::test]
async fn chats_with_a_window_share_what_they_begin_with() {
    let file = windowed();
    let model = exact(LlamaOptions::from_bytes("windowed", file.clone()));
    let system = "s".repeat(200);
    for (others, session) in (0..).zip(["a", "b", "c"]) {
        let asked = of_session(session, &system, vec![user(&format!("this is {session}"))]);
        let alone = exact(LlamaOptions::from_bytes("windowed", file.clone()));
        let expected = complete(&alone, asked.clone()).await.unwrap();
        let ended = complete(&model, asked).await.unwrap();
        assert_eq!(ended.text, expected.text, "of {session}");
        let reused = model.stats().prompt_tokens_reused;
        assert!(reused >= 200 * others, "{reused}");
    }
}

#[tokio::test]
async fn kept_chats_with_a_window_go_on_as_if_all_were_read_again() {
    let (reused, stats) = chats_go_on(&windowed()).await;
    assert!(reused > 2_000 && stats.swapped_out > 5 && stats.restored > 2, "{reused} {stats:?}");
}

#[tokio::test]
async fn chats_of_a_recurrent_model_go_on_as_if_all_were_read_again() {
    let (reused, stats) = chats_go_on(&recurrent()).await;
    assert!(reused > 500 && stats.swapped_out > 5 && stats.restored > 2, "{reused} {stats:?}");
}

/// Runs five chats with withdrawn and changed messages, in little room. Each answer must equal that
/// of a fresh model. Returns the number of known tokens.
async fn chats_go_on(file: &[u8]) -> (u32, EngineStats) {
    let small = || LlamaOptions::from_bytes("random", file.to_vec()).context_tokens(512);
    let keep = exact(small().cache_tokens(700).resting_tokens(250).prefill_tokens(16));
    let systems = ["s".repeat(90), "t".repeat(20)];
    let mut chats = vec![Vec::new(); 5];
    let mut state = 5_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut reused = 0;
    for step in 0..60 {
        let at = random(chats.len());
        let chat: &mut Vec<PromptMessage> = &mut chats[at];
        // A message was withdrawn, or the model's text is told in other words.
        match random(4) {
            0 => chat.truncate(random(chat.len() + 1)),
            1 if !chat.is_empty() => *chat.last_mut().unwrap() = said("in other words"),
            _ => {}
        }
        if chat.len() > 6 {
            chat.clear();
        }
        chat.push(user(&"why? ".repeat(1 + random(8))));
        let asked = of_session(&at.to_string(), &systems[at % 2], chat.clone());
        let alone = exact(small().prefill_tokens(16));
        let expected = complete(&alone, asked.clone()).await.unwrap();
        let ended = complete(&keep, asked).await.unwrap();
        assert_eq!(ended.text, expected.text, "chat {at} at step {step}: {:?}", ended.usage);
        reused += ended.usage.cached_tokens;
        chat.push(said(&ended.text));
    }
    (reused, keep.stats())
}

#[tokio::test]
async fn a_chat_that_came_back_without_its_beginning_is_read_again_where_it_is_reworded() {
    let file = windowed();
    let load = || exact(LlamaOptions::from_bytes("windowed", file.clone()).resting_tokens(0));
    let model = load();
    // They have no common beginning that would stay behind.
    let asked = |session: &str, chat| of_session(session, session, chat);
    let long = user(&"long ".repeat(20));
    let first = complete(&model, asked("a", vec![long.clone()])).await.unwrap();
    complete(&model, asked("b", vec![user("hello")])).await.unwrap();
    let chat = vec![long.clone(), said(&first.text), user("and more")];
    complete(&model, asked("a", chat)).await.unwrap();
    assert_eq!(model.stats().restored, 1, "{:?}", model.stats());
    let other = asked("a", vec![long, said("in other words"), user("and more")]);
    let expected = complete(&load(), other.clone()).await.unwrap();
    assert_eq!(complete(&model, other).await.unwrap().text, expected.text);
}

#[tokio::test]
async fn a_chat_that_memory_kept_in_part_is_read_again_though_the_file_names_no_window() {
    let file = with_unnamed_window();
    let load = || {
        let options = LlamaOptions::from_bytes("windowed", file.clone()).context_tokens(8_192);
        exact(options.cache_tokens(16_384).resting_tokens(0).prefill_tokens(512))
    };
    let model = load();
    let system = "s".repeat(60);
    let long = "long ".repeat(860);
    complete(&model, of_session("long", &system, vec![user(&long)])).await.unwrap();
    complete(&model, of_session("other", &system, vec![user("hello")])).await.unwrap();
    assert_eq!(model.stats().swapped_sessions, 1, "{:?}", model.stats());
    // Text before the window is inside of it when the question is shorter.
    let more = of_session("long", &system, vec![user(&long[..4_200])]);
    let expected = complete(&load(), more.clone()).await.unwrap();
    let ended = complete(&model, more).await.unwrap();
    assert_eq!(ended.text, expected.text);
    assert!(ended.usage.cached_tokens < 100, "it misses what memory has lost: {:?}", ended.usage);
}

#[tokio::test]
async fn side_by_side_they_say_what_they_say_alone() {
    for file in [windowed(), recurrent()] {
        let load = || exact(LlamaOptions::from_bytes("random", file.clone()).prefill_tokens(16));
        let together = Arc::new(load());
        let asked = |number: usize| {
            let text = format!("{number}{}", " and why?".repeat(number));
            of_session(&number.to_string(), "you answer", vec![user(&text)])
        };
        let mut running = JoinSet::new();
        for number in 0..8 {
            let model = Arc::clone(&together);
            let asked = asked(number);
            running.spawn(async move { (number, complete(&model, asked).await.unwrap().text) });
        }
        for (number, text) in running.join_all().await {
            let alone = complete(&load(), asked(number)).await.unwrap();
            assert_eq!(text, alone.text, "chat {number}");
        }
    }
}
