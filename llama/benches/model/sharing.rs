//! Measures whether a user can tell from times what another one wrote. Every second guess is right;
//! a rule is learned from one half of the times and tried on the other half.
//!
//! It uses the tests' model, which takes a millisecond for a guess; `tries=1000000` sets the
//! number.

use std::sync::Arc;

use madang_actors::protocol::CompletionRequest;
use madang_actors::protocol::UserId;
use madang_llama::{LlamaModel, LlamaOptions};
use madang_test_support::gguf::TinyModel;
use tokio::time::Instant;

use crate::{complete, millis, request, user};

/// The default number of guesses.
const TRIES: usize = 20_000;

/// Guesses another user's number, and then the user's own, where the time should tell.
pub(crate) async fn measure() {
    let tries = std::env::args().find_map(|word| word.strip_prefix("tries=")?.parse().ok());
    let tries = tries.unwrap_or(TRIES);
    for (name, guesser) in [("another user's", "lee"), ("his own", "kim")] {
        let (right, half, [of_right, of_wrong]) = guess(tries, guesser).await;
        println!(
            "sharing: {name} text: {right} of {half} guesses told apart by time, {:.2} %; a coin gets 50 +- {:.2} %; medians {:.3} and {:.3} ms",
            100.0 * share(right, half),
            // Three standard deviations.
            150.0 / share(half, 1).sqrt(),
            of_right,
            of_wrong
        );
    }
}

/// Returns how many of half of the guesses the rule tells apart, and the median times of right and
/// wrong ones.
async fn guess(tries: usize, guesser: &str) -> (usize, usize, [f64; 2]) {
    let options = LlamaOptions::from_bytes("tiny", TinyModel::new().bytes());
    let options = options.max_sequences(1).resting_tokens(512);
    let model =
        Arc::new(tokio::task::spawn_blocking(|| LlamaModel::load(options)).await.unwrap().unwrap());
    let system: Arc<str> = "You are the assistant of a bank.".into();
    let asked = |name: &str, number: usize, text: &str| CompletionRequest {
        user: UserId::new(name).unwrap(),
        ..request(&format!("{name} {number}"), Some(&system), vec![user(text)], 1)
    };
    let long = |pin: usize| format!("{pin:08} is my PIN, with it I pay what I buy").repeat(3);
    let mut times = Vec::with_capacity(tries);
    let mut random = 5_u64;
    for number in 0..tries {
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 40).unwrap()
        };
        let pin = next();
        let other = next();
        let is_right = next() % 2 == 0;
        complete(Arc::clone(&model), asked("kim", number, &long(pin))).await;
        let guess = asked(guesser, tries + number, &long(if is_right { pin } else { other }));
        let began = Instant::now();
        complete(Arc::clone(&model), guess).await;
        times.push((millis(began.elapsed()), is_right));
    }
    let (learned, tried) = times.split_at(tries / 2);
    let median = |is_right: bool| {
        let mut of: Vec<f64> =
            learned.iter().filter(|(_, right)| *right == is_right).map(|(time, _)| *time).collect();
        of.sort_by(f64::total_cmp);
        of.get(of.len() / 2).copied().unwrap_or_default()
    };
    let medians = [median(true), median(false)];
    let border = f64::midpoint(medians[0], medians[1]);
    let says_right = |time: f64| (time < border) == (medians[0] < medians[1]);
    let right = tried.iter().filter(|(time, is_right)| says_right(*time) == *is_right).count();
    (right, tried.len(), medians)
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench")]
fn share(one: usize, of: usize) -> f64 {
    one as f64 / of as f64
}
