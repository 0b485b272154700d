//! Measures decodes, and decides how many tokens of prompts are read between two decodes of
//! streams. A prompt stalls streams only for a bounded time, and streams never stop a prompt.

use std::{collections::BTreeMap, time::Duration};

/// The measured times of decodes.
#[derive(Debug, Default)]
pub(super) struct PrefillBudget {
    /// Seconds of a decode, by the number of streams.
    streams: BTreeMap<usize, f64>,
    /// Seconds for a token of a prompt in small pieces.
    small: Option<f64>,
    /// Seconds for a token of a prompt in large pieces.
    large: Option<f64>,
}

/// The length of a small piece of a prompt, in decodes of streams. The gap between two tokens of a
/// stream then stays under three times the usual one (1 and 1.5, and some reserve). A prompt takes
/// less than twice its time alone (1 and 1/1.5), if small pieces cost no more than large ones.
const STALL: f64 = 1.5;
/// The tokens of a piece before any measurement.
const FIRST: usize = 32;
/// The smallest piece. With less, a decode costs more than it reads.
const LEAST: usize = 8;
/// The tokens from which llama.cpp's flash attention handles a piece together. The longer a prompt,
/// the dearer are smaller pieces.
const LARGE: usize = 64;
/// The longest time of a prompt, in times of the prompt alone. If small pieces exceed it, the
/// prompt gets large ones, as long as streams can bear them.
const PATIENCE: f64 = 2.0;
/// The length of a large piece in decodes of streams. With few streams decodes are short, and a
/// piece takes many of them.
const LONGEST_STALL: f64 = 8.0;
/// The weight of the latest measurement: some twenty decodes make an average.
const LATEST: f64 = 0.1;

impl PrefillBudget {
    /// Records the time of a decode with this many streams.
    pub(super) fn generated(&mut self, streams: usize, time: Duration) {
        let time = time.as_secs_f64();
        average(self.streams.entry(streams).or_insert(time), time);
    }

    /// Records the time of a decode with this many tokens of prompts.
    pub(super) fn read(&mut self, tokens: usize, time: Duration) {
        if tokens >= LEAST {
            let token = time.as_secs_f64() / count(tokens);
            let known = if tokens >= LARGE { &mut self.large } else { &mut self.small };
            average(known.get_or_insert(token), token);
        }
    }

    /// Returns how many tokens of prompts may be read between two decodes of these streams, at most
    /// `most`.
    pub(super) fn prompt_tokens(&self, streams: usize, most: usize) -> usize {
        if streams == 0 {
            return most;
        }
        let (Some(alone), Some(small)) = (self.alone(streams), self.small.or(self.large)) else {
            return FIRST.min(most);
        };
        let within = |token: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a ratio of positive times, and a cast saturates"
            )]
            let tokens = (STALL * alone / token.max(f64::MIN_POSITIVE)) as usize;
            tokens
        };
        let tokens = within(small).clamp(LEAST, LARGE);
        let token = alone / count(tokens) + small;
        let large = self.large.unwrap_or(small);
        let is_too_slow = token > PATIENCE * large;
        let is_borne = large * count(LARGE) <= LONGEST_STALL * alone;
        let tokens = if is_too_slow && is_borne { within(large).max(LARGE) } else { tokens };
        tokens.min(most)
    }

    /// Returns the time of a decode with this many streams, or with the nearest smaller number, or
    /// else with a larger one.
    fn alone(&self, streams: usize) -> Option<f64> {
        let fewer = self.streams.range(..=streams).next_back();
        let nearest = fewer.or_else(|| self.streams.range(streams..).next());
        nearest.map(|(_, time)| *time)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a decode has far fewer tokens than 2^52")]
fn count(tokens: usize) -> f64 {
    tokens as f64
}

fn average(known: &mut f64, latest: f64) {
    *known += LATEST * (latest - *known);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn without_streams_prompts_get_everything() {
        assert_eq!(PrefillBudget::default().prompt_tokens(0, 128), 128);
    }

    #[test]
    fn before_anything_is_measured_a_prompt_gets_a_little() {
        assert_eq!(PrefillBudget::default().prompt_tokens(4, 128), 32);
        assert_eq!(PrefillBudget::default().prompt_tokens(4, 16), 16);
    }

    #[test]
    fn a_piece_of_a_prompt_takes_one_and_a_half_times_a_decode_of_streams() {
        let mut budget = PrefillBudget::default();
        budget.generated(16, millis(200));
        budget.read(100, millis(500));
        assert_eq!(budget.prompt_tokens(16, 128), 60);
        budget.read(60, millis(300));
        assert_eq!(budget.prompt_tokens(16, 128), 60);
        assert_eq!(budget.prompt_tokens(20, 128), 60, "as with the nearest number that was seen");
        assert_eq!(budget.prompt_tokens(16, 40), 40);
    }

    #[test]
    fn a_prompt_that_small_pieces_would_make_twice_as_slow_gets_large_ones() {
        let mut budget = PrefillBudget::default();
        budget.generated(16, millis(110));
        budget.read(128, millis(640));
        budget.read(10, millis(55));
        assert_eq!(budget.prompt_tokens(16, 128), 30, "small pieces are hardly dearer");
        for _ in 0..100 {
            budget.read(10, millis(160));
        }
        assert_eq!(budget.prompt_tokens(16, 128), LARGE);
        assert_eq!(budget.prompt_tokens(16, 48), 48);
    }

    #[test]
    fn streams_that_a_large_piece_would_hold_up_for_long_are_spared_it() {
        let mut budget = PrefillBudget::default();
        budget.generated(1, millis(20));
        budget.read(128, millis(640));
        budget.read(10, millis(80));
        assert_eq!(budget.prompt_tokens(1, 128), LEAST);
    }

    #[test]
    fn however_slow_prompts_are_they_go_on() {
        let mut budget = PrefillBudget::default();
        budget.generated(1, millis(1));
        budget.read(10, millis(1_000));
        assert_eq!(budget.prompt_tokens(1, 128), LEAST);
    }
}
