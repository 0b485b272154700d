//! A model with a sliding window: what chats share and what is kept of them never changes what is said.

use super::{gguf_file::GgufFile, *};

/// Three layers of four look at so many tokens only.
const WINDOW: u32 = 24;
const WIDTH: usize = 64;
const FEED_FORWARD: usize = 64;

/// A small random model whose every token depends on all before it: those before the window through one layer.
fn windowed() -> Vec<u8> {
    let mut file = GgufFile::default();
    file.number("cohere2.attention.sliding_window", WINDOW);
    file.float("cohere2.attention.layer_norm_epsilon", 1e-5);
    file.float("cohere2.logit_scale", 1.0);
    random_model(file, "cohere2", 4, &["attn_norm"])
}

/// One whose file does not say that half of its layers look at the last 4,096 tokens only.
fn with_unnamed_window() -> Vec<u8> {
    let mut file = GgufFile::default();
    file.float("gemma2.attention.layer_norm_rms_epsilon", 1e-5);
    let norms = ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"];
    random_model(file, "gemma2", 2, &norms)
}

fn random_model(mut file: GgufFile, architecture: &str, layers: usize, norms: &[&str]) -> Vec<u8> {
    let key = |name: &str| format!("{architecture}.{name}");
    file.text("general.architecture", architecture);
    file.text("general.name", "windowed");
    file.number(&key("context_length"), 8_192);
    file.number(&key("embedding_length"), wide(WIDTH));
    file.number(&key("block_count"), wide(layers));
    file.number(&key("feed_forward_length"), wide(FEED_FORWARD));
    file.number(&key("attention.head_count"), 4);
    file.number(&key("attention.head_count_kv"), 2);
    let tokens = TinyModel::new().vocabulary(&mut file);
    let mut state = 11_u64;
    let mut random = |rows: usize, columns: usize| -> Vec<f32> {
        let scale = 3.0 / (rows as f32).sqrt();
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0) * scale
        };
        (0..rows * columns).map(next).collect()
    };
    let mut embeddings = random(WIDTH, tokens);
    // It writes ASCII only: what is no text would be told otherwise the next time.
    embeddings[128 * WIDTH..].fill(0.0);
    file.tensor("token_embd.weight", &[WIDTH, tokens], embeddings);
    file.tensor("output_norm.weight", &[WIDTH], vec![1.0; WIDTH]);
    for layer in 0..layers {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        for norm in norms {
            file.tensor(&name(norm), &[WIDTH], vec![1.0; WIDTH]);
        }
        for (part, rows, columns) in [
            ("attn_q", WIDTH, WIDTH),
            ("attn_k", WIDTH, WIDTH / 2),
            ("attn_v", WIDTH, WIDTH / 2),
            ("attn_output", WIDTH, WIDTH),
            ("ffn_gate", WIDTH, FEED_FORWARD),
            ("ffn_up", WIDTH, FEED_FORWARD),
            ("ffn_down", FEED_FORWARD, WIDTH),
        ] {
            file.tensor(&name(part), &[rows, columns], random(rows, columns));
        }
    }
    file.finish()
}

fn wide(number: usize) -> u32 {
    u32::try_from(number).unwrap()
}

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
    for session in ["a", "b", "c"] {
        let asked = of_session(session, &system, vec![user(&format!("this is {session}"))]);
        let alone = exact(LlamaOptions::from_bytes("windowed", file.clone()));
        let expected = complete(&alone, asked.clone()).await.unwrap();
        let ended = complete(&model, asked).await.unwrap();
        assert_eq!(ended.text, expected.text, "of {session}");
        let is_first = session == "a";
        assert_eq!(ended.usage.cached_tokens > 200, !is_first, "{:?}", ended.usage);
    }
}

#[tokio::test]
async fn whatever_is_kept_of_chats_with_a_window_they_go_on_as_if_all_were_read_again() {
    let file = windowed();
    let small = || LlamaOptions::from_bytes("windowed", file.clone()).context_tokens(512);
    // Room for few chats, so that what lies before a window is overwritten by others.
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
        // Somebody took something back, or what the model said is told in other words.
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
    let stats = keep.stats();
    assert!(reused > 2_000 && stats.parked > 5 && stats.restored > 2, "{reused} {stats:?}");
}

#[tokio::test]
async fn a_chat_that_came_back_without_its_beginning_is_read_again_where_it_is_reworded() {
    let file = windowed();
    let load = || exact(LlamaOptions::from_bytes("windowed", file.clone()).resting_tokens(0));
    let model = load();
    // They begin with nothing in common that would stay behind.
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
    assert_eq!(model.stats().parked_sessions, 1, "{:?}", model.stats());
    // What was before the window then is inside of it where the question is asked shorter.
    let more = of_session("long", &system, vec![user(&long[..4_200])]);
    let expected = complete(&load(), more.clone()).await.unwrap();
    let ended = complete(&model, more).await.unwrap();
    assert_eq!(ended.text, expected.text);
    assert!(ended.usage.cached_tokens < 100, "it misses what memory has lost: {:?}", ended.usage);
}
