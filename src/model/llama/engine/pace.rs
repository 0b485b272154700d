//! How many tokens of prompts go beside those that generate, as measured: nobody's stream may stall for a prompt, and no
//! prompt may wait for streams for ever.

use std::{collections::BTreeMap, time::Duration};

/// What decodes take.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Seconds of a decode in which so many completions generate and nobody reads.
    streams: BTreeMap<usize, f64>,
    /// Seconds for a token of a prompt.
    prompt_token: Option<f64>,
}

/// So much longer a decode may take because of prompts, in times of what it takes without. Then the gap between two
/// tokens of a stream stays under three times what it is without (1 and 1.5, and something to spare), and a prompt is read
/// in less than twice its time alone (1 and 1/1.5).
const STALL: f64 = 1.5;
/// Before anything is measured.
const FIRST: usize = 32;
/// With less, a decode costs more than what it reads.
const LEAST: usize = 8;
/// So much the latest measurement counts: some twenty decodes make an average.
const LATEST: f64 = 0.1;

impl Pace {
    /// A decode took so long, in which so many generated and so many tokens of prompts were read.
    pub(super) fn took(&mut self, streams: usize, prompt_tokens: usize, time: Duration) {
        let time = time.as_secs_f64();
        if prompt_tokens == 0 {
            average(self.streams.entry(streams).or_insert(time), time);
            return;
        }
        let alone = if streams == 0 { 0.0 } else { self.alone(streams).unwrap_or_default() };
        #[expect(clippy::cast_precision_loss, reason = "a decode has far fewer tokens than 2^52")]
        let token = (time - alone).max(time * 0.01) / prompt_tokens as f64;
        if prompt_tokens >= LEAST {
            average(self.prompt_token.get_or_insert(token), token);
        }
    }

    /// How many tokens of prompts may go into a decode in which so many generate; never more than `most`.
    pub(super) fn prompt_tokens(&self, streams: usize, most: usize) -> usize {
        if streams == 0 {
            return most;
        }
        let (Some(alone), Some(token)) = (self.alone(streams), self.prompt_token) else {
            return FIRST.min(most);
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a ratio of positive times, and a cast saturates"
        )]
        let tokens = (STALL * alone / token.max(f64::MIN_POSITIVE)) as usize;
        tokens.clamp(LEAST.min(most), most)
    }

    /// What a decode takes in which so many generate; if that was never seen, of the nearest fewer, or else more.
    fn alone(&self, streams: usize) -> Option<f64> {
        let fewer = self.streams.range(..=streams).next_back();
        let nearest = fewer.or_else(|| self.streams.range(streams..).next());
        nearest.map(|(_, time)| *time)
    }
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
    fn where_nobody_generates_prompts_get_everything() {
        assert_eq!(Pace::default().prompt_tokens(0, 128), 128);
    }

    #[test]
    fn before_anything_is_measured_a_prompt_gets_a_little() {
        assert_eq!(Pace::default().prompt_tokens(4, 128), 32);
        assert_eq!(Pace::default().prompt_tokens(4, 16), 16);
    }

    #[test]
    fn a_decode_takes_no_more_than_two_and_a_half_times_what_it_takes_without_prompts() {
        let mut pace = Pace::default();
        pace.took(16, 0, millis(200));
        // A prompt alone: 5 ms a token.
        pace.took(0, 100, millis(500));
        assert_eq!(pace.prompt_tokens(16, 128), 60);
        // And beside streams, where their own time does not count for the prompt.
        pace.took(16, 60, millis(500));
        assert_eq!(pace.prompt_tokens(16, 128), 60);
        assert_eq!(pace.prompt_tokens(20, 128), 60, "as with the nearest number that was seen");
        assert_eq!(pace.prompt_tokens(16, 40), 40);
    }

    #[test]
    fn however_slow_prompts_are_they_go_on() {
        let mut pace = Pace::default();
        pace.took(1, 0, millis(1));
        pace.took(0, 10, millis(1_000));
        assert_eq!(pace.prompt_tokens(1, 128), LEAST);
    }
}
