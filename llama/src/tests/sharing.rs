//! Tests that sharing tells a user nothing of another one's text, neither by figures nor by
//! computing time.

use std::collections::BTreeMap;

use super::{
    random_model::{recurrent, windowed},
    *,
};

/// The visible results of a completion, and the work on which its time depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    prompt_tokens: u32,
    cached_tokens: u32,
    evaluated: u64,
    decodes: u64,
}

/// Users of one model, one after another.
struct Users {
    model: LlamaModel,
    system: Arc<str>,
    instructions: Option<Arc<str>>,
    asked: usize,
}

const SYSTEM: &str = "You are the assistant of a bank.";

impl Users {
    fn new(options: LlamaOptions) -> Self {
        Self {
            model: LlamaModel::load(options).unwrap(),
            system: SYSTEM.into(),
            instructions: None,
            asked: 0,
        }
    }

    /// Starts a new chat of this user with this text.
    async fn asks(&mut self, name: &str, text: &str) -> Seen {
        self.asked += 1;
        let session = format!("{name} {}", self.asked);
        self.goes_on(name, &session, vec![user(text)]).await
    }

    async fn goes_on(&mut self, name: &str, session: &str, chat: Vec<PromptMessage>) -> Seen {
        let before = self.model.stats();
        let asked = CompletionRequest {
            user: UserId::new(name).unwrap(),
            session: SessionId::new(session).unwrap(),
            system: Some(Arc::clone(&self.system)),
            instructions: self.instructions.clone(),
            max_tokens: 1,
            ..request(chat, vec![])
        };
        let Usage { prompt_tokens, cached_tokens, .. } =
            complete(&self.model, asked).await.unwrap().usage;
        let after = self.model.stats();
        let evaluated = after.prompt_tokens_evaluated - before.prompt_tokens_evaluated;
        Seen { prompt_tokens, cached_tokens, evaluated, decodes: after.decodes - before.decodes }
    }
}

fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*state >> 33) % below
}

fn pays(pin: u64) -> String {
    format!("{pin:04}")
}

/// Puts chats to rest in the context, in memory, and nowhere.
fn tiers(options: impl Fn() -> LlamaOptions) -> [LlamaOptions; 3] {
    [options(), options().resting_tokens(0), options().resting_tokens(0).swapped_bytes(0)]
}

#[tokio::test]
async fn in_20_000_guesses_at_another_users_text_right_ones_look_like_wrong_ones() {
    const GUESSES: u32 = 20_000;
    let few = options(&TinyModel::new()).max_sequences(1).resting_tokens(100);
    let mut users = Users::new(few);
    let mut state = 7;
    let mut pin = 0;
    // How often each observation came with a right guess, and with a wrong one.
    let mut sights: BTreeMap<Seen, [u32; 2]> = BTreeMap::new();
    for guess in 0..GUESSES {
        if guess % 10 == 0 {
            pin = random(&mut state, 10_000);
            users.asks("kim", &pays(pin)).await;
        }
        let is_wrong = random(&mut state, 2);
        let guessed = if is_wrong == 0 { pin } else { random(&mut state, 10_000) };
        // Another user each time, because earlier guesses are cached for their own user.
        let seen = users.asks(&format!("lee {guess}"), &pays(guessed)).await;
        sights.entry(seen).or_default()[usize::from(guessed != pin)] += 1;
    }
    // By the best possible rule for these observations.
    let told_apart: u32 = sights.values().map(|[right, wrong]| right.max(wrong)).sum();
    let always_the_same: [u32; 2] =
        sights.values().fold([0, 0], |[a, b], [right, wrong]| [a + right, b + wrong]);
    let by_chance = always_the_same.into_iter().max().unwrap();
    assert!(f64::from(told_apart - by_chance) < 3.0 * f64::from(GUESSES).sqrt(), "{sights:?}");
    assert!(sights.keys().all(|seen| seen.cached_tokens == 0), "{sights:?}");
    assert!(always_the_same.iter().all(|count| *count > 9_000), "nothing is compared");
}

/// Returns all that lee sees while kim writes texts of the same length.
async fn seen_beside(options: LlamaOptions, pins: [u64; 2]) -> Vec<Seen> {
    let mut users = Users::new(options);
    let mut seen = Vec::new();
    let mut state = 3;
    for round in 0..12 {
        let text = pays(pins[round % 2]);
        let chat = vec![user(&text), said("abc"), user("and now?")];
        users.goes_on("kim", "kim's chat", chat[..1].to_vec()).await;
        users.goes_on("kim", "kim's chat", chat).await;
        users.asks("zoe", "hello").await;
        let guess = pays(if round % 3 == 0 { 4921 } else { random(&mut state, 10_000) });
        seen.push(users.asks("lee", &guess).await);
        // A chat of the same name is another chat.
        seen.push(users.goes_on("lee", "kim's chat", vec![user(&guess)]).await);
        let more = vec![user(&guess), said("abc"), user("and now?")];
        seen.push(users.goes_on("lee", "kim's chat", more).await);
    }
    seen
}

#[tokio::test]
async fn a_user_sees_the_same_whatever_another_writes() {
    for file in [TinyModel::new().bytes(), windowed(), recurrent()] {
        let small = || LlamaOptions::from_bytes("small", file.clone()).context_tokens(512);
        let tight = || small().cache_tokens(512).max_sequences(2);
        for (at, (one, other)) in tiers(small)
            .into_iter()
            .zip(tiers(small))
            .chain(tiers(tight).into_iter().zip(tiers(tight)))
            .enumerate()
        {
            let [one, other] =
                [seen_beside(one, [4921, 4920]).await, seen_beside(other, [7777, 1234]).await];
            assert_eq!(one, other, "{at}");
            assert!(one.iter().any(|seen| seen.cached_tokens > 0), "his own chat goes on: {at}");
        }
    }
}

#[tokio::test]
async fn what_begins_a_question_is_not_joined_with_what_all_share() {
    // Nothing separates system text and question, and in this vocabulary `h` and `i` become one
    // token where they meet.
    let template = Some("{% for m in messages %}{{ m.content }}{% endfor %}<|im_start|>");
    let mut users = Users::new(options(&TinyModel { template, ..TinyModel::new() }));
    users.system = "You say only h".into();
    let mut evaluated = Vec::new();
    for (at, begins) in ["i", "a", "\n", " ", "hi"].into_iter().enumerate() {
        users.asks(&format!("kim {at}"), &format!("{begins}....")).await;
        let seen = users.asks(&format!("lee {at}"), &format!("{begins}....")).await;
        evaluated.push(seen.evaluated);
    }
    let [i, a, line, blank, hi] = evaluated[..] else { panic!("five were asked") };
    assert_eq!((i, a, line, blank), (i, i, i, i));
    assert_eq!(hi, i, "two letters, one token");
}

#[tokio::test]
async fn of_system_texts_that_begin_alike_nothing_is_shared() {
    let mut users = Users::new(options(&TinyModel::new()));
    users.system = "You help kim, whose PIN is 4921.".into();
    users.asks("kim", "hello").await;
    let mut seen = Vec::new();
    for system in [
        "You help kim, whose PIN is 4920.",
        "You help kim, whose PIN is 1111.",
        "I help lee, whose PIN is 999999.",
    ] {
        users.system = system.into();
        seen.push(users.asks("lee", "hello").await.evaluated);
    }
    assert!(seen.iter().all(|evaluated| *evaluated == seen[0]), "{seen:?}");
    assert_eq!(seen[0], u64::from(users.asks("moe", "hello").await.prompt_tokens));
}

#[tokio::test]
async fn users_share_the_system_text_and_tools_with_all_the_template_writes_around_them() {
    let mut users = Users::new(options(&TinyModel::new()));
    let first = users.asks("kim", "hello").await;
    let second = users.asks("lee", "hello").await;
    let template = ["<|im_start|>", "<|im_end|>", "<|im_start|>"].len()
        + "system\n".len()
        + SYSTEM.len()
        + "\nuser\n".len();
    assert_eq!(first.evaluated, u64::from(first.prompt_tokens));
    assert_eq!(first.evaluated - second.evaluated, template as u64);
    assert_eq!(second.cached_tokens, 0, "it says nothing of others");
}

#[tokio::test]
async fn of_a_turns_instructions_users_share_nothing_though_they_are_the_same() {
    for file in [TinyModel::new().bytes(), windowed(), recurrent()] {
        let small = || LlamaOptions::from_bytes("small", file.clone()).context_tokens(512);
        for options in tiers(small) {
            let mut users = Users::new(options);
            users.instructions = Some("The PIN of kim is 4921.".into());
            let alone = users.asks("kim", "hello").await;
            assert_eq!(alone.evaluated, u64::from(alone.prompt_tokens));
            let mut seen = Vec::new();
            for (at, guess) in ["4921", "4920", "4111", "0000"].into_iter().enumerate() {
                users.instructions = Some(format!("The PIN of kim is {guess}.").into());
                seen.push(users.asks(&format!("lee {at}"), "hello").await);
            }
            assert!(seen.iter().all(|guess| *guess == seen[0]), "{seen:?}");
            assert_eq!(seen[0].cached_tokens, 0);
        }
    }
}

#[tokio::test]
async fn with_instructions_the_shared_part_ends_before_them_and_begins_no_later() {
    let mut users = Users::new(options(&TinyModel::new()));
    users.instructions = Some("Be brief.".into());
    let first = users.asks("kim", "hello").await;
    users.instructions = Some("\n\nSay it.".into());
    let second = users.asks("lee", "hello").await;
    let shared = ["<|im_start|>"].len() + "system\n".len() + SYSTEM.len() + "\n\n".len();
    assert_eq!(first.evaluated - second.evaluated, shared as u64);
    // Chats without instructions share a longer part, which is not known yet.
    users.instructions = None;
    let third = users.asks("moe", "hello").await;
    assert_eq!(third.evaluated, u64::from(third.prompt_tokens));
    let fourth = users.asks("zoe", "hello").await;
    assert!(fourth.evaluated < third.evaluated - shared as u64, "{third:?} {fourth:?}");
}
