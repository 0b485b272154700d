//! Chooses the next token by llama.cpp's logits, in Rust, so that nothing can abort the process.

use toktrie::SimpleVob;

use super::error::LoadError;

/// How tokens are chosen. The default is greedy: the likeliest token is always chosen, so a chat
/// can be repeated.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// How freely tokens are chosen, from 0 to 100. 0 is greedy. Higher values give unlikely tokens
    /// a chance.
    pub temperature: f32,
    /// The number of likeliest tokens to choose among. 0 means all.
    pub top_k: usize,
    /// The total probability of the likeliest tokens to choose among, from 0 to 1. 1 means all.
    pub top_p: f32,
    /// The least probability of a token to choose, as a share of the likeliest one's, from 0 to 1.
    /// 0 means all.
    pub min_p: f32,
    /// The number by which the logits of recent tokens are divided, from 0.01 to 100. 1 changes
    /// nothing. It does not apply inside a tool call, which copies words.
    pub repeat_penalty: f32,
    /// The seed of the random numbers of each completion.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0, repeat_penalty: 1.0, seed: 0 }
    }
}

impl Sampling {
    /// Chooses at random if the temperature is above 0. A higher one, up to 100, chooses more
    /// freely.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = temperature;
        self
    }

    /// Chooses among this many likeliest tokens. 0 means all, the default.
    #[must_use]
    pub fn top_k(mut self, count: usize) -> Self {
        self.top_k = count;
        self
    }

    /// Chooses among the likeliest tokens that have this total probability, from 0 to 1. The
    /// default of 1 means all.
    #[must_use]
    pub fn top_p(mut self, probability: f32) -> Self {
        self.top_p = probability;
        self
    }

    /// Chooses among the tokens that have at least this share of the likeliest one's probability,
    /// from 0 to 1. The default of 0 means all.
    #[must_use]
    pub fn min_p(mut self, share: f32) -> Self {
        self.min_p = share;
        self
    }

    /// Makes recent tokens less likely, by a number from 0.01 to 100. The default of 1 changes
    /// nothing.
    #[must_use]
    pub fn repeat_penalty(mut self, penalty: f32) -> Self {
        self.repeat_penalty = penalty;
        self
    }

    /// Returns an error for a value that is not a number or is out of range. With a high
    /// temperature the choice is uniform long before the bound.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        let all = [
            ("temperature", self.temperature, 0.0, 100.0),
            ("top_p", self.top_p, 0.0, 1.0),
            ("min_p", self.min_p, 0.0, 1.0),
            ("repeat_penalty", self.repeat_penalty, 0.01, 100.0),
        ];
        all.into_iter().try_for_each(|(option, value, least, most)| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(LoadError::Sampling { option, value, least, most })
        })
    }

    /// Sets the seed of the random numbers of each completion.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// The limits of one choice.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits<'a> {
    /// The allowed tokens.
    pub(super) allowed: Option<&'a SimpleVob>,
    /// The banned token.
    pub(super) banned: Option<u32>,
    /// The recent tokens.
    pub(super) recent: &'a [u32],
}

/// The sampler of one completion.
#[derive(Debug)]
pub(super) struct Sampler {
    sampling: Sampling,
    random: SplitMix,
}

impl Sampler {
    pub(super) fn new(sampling: &Sampling) -> Self {
        Self { random: SplitMix(sampling.seed), sampling: sampling.clone() }
    }

    /// Returns whether the choice is greedy.
    pub(super) fn is_greedy(&self) -> bool {
        self.sampling.temperature <= 0.0
    }

    /// Chooses a token. Returns `None` if no logit is a number.
    pub(super) fn choose(&mut self, logits: &[f32], limits: Limits<'_>) -> Option<u32> {
        let penalty = self.sampling.repeat_penalty;
        let is_plain = limits.allowed.is_none() && (penalty == 1.0 || limits.recent.is_empty());
        if self.is_greedy() && is_plain {
            return likeliest(logits, limits.banned);
        }
        let candidates = logits.iter().zip(0_u32..).filter_map(|(logit, token)| {
            let may_be = limits.allowed.is_none_or(|allowed| allowed.is_allowed(token));
            if !may_be || limits.banned == Some(token) || !logit.is_finite() {
                return None;
            }
            let is_recent = penalty != 1.0 && limits.recent.contains(&token);
            let logit = match (is_recent, *logit > 0.0) {
                (false, _) => *logit,
                (true, true) => logit / penalty,
                (true, false) => logit * penalty,
            };
            Some((token, logit))
        });
        if self.is_greedy() {
            // Of equal ones the first is chosen, so that the choice is the same everywhere.
            return candidates
                .reduce(|best, next| if next.1 > best.1 { next } else { best })
                .map(|(token, _)| token);
        }
        let candidates: Vec<(u32, f32)> = candidates.collect();
        self.choose_by_chance(candidates)
    }

    fn choose_by_chance(&mut self, mut candidates: Vec<(u32, f32)>) -> Option<u32> {
        candidates.sort_by(|a, b| b.1.total_cmp(&a.1));
        if self.sampling.top_k > 0 {
            candidates.truncate(self.sampling.top_k);
        }
        let highest = candidates.first()?.1;
        let mut weights: Vec<f32> =
            candidates.iter().map(|(_, logit)| (logit - highest).exp()).collect();
        if self.sampling.min_p > 0.0 {
            let count = weights.iter().take_while(|weight| **weight >= self.sampling.min_p).count();
            weights.truncate(count.max(1));
        }
        if self.sampling.top_p < 1.0 {
            let total: f32 = weights.iter().sum();
            let mut sum = 0.0;
            let before = |weight: &&f32| {
                let is_before = sum < self.sampling.top_p * total;
                sum += **weight;
                is_before
            };
            let count = weights.iter().take_while(before).count();
            weights.truncate(count.max(1));
        }
        // The temperature applies last, so that the limits do not depend on it.
        let heat = self.sampling.temperature;
        let weights: Vec<f32> = weights.iter().map(|weight| weight.powf(1.0 / heat)).collect();
        let mut point = self.random.unit() * weights.iter().sum::<f32>();
        let chosen = weights.iter().position(|weight| {
            point -= weight;
            point < 0.0
        });
        Some(candidates[chosen.unwrap_or(0)].0)
    }
}

/// The logits of one comparison: as many as the widest registers hold.
const LANES: usize = 16;

/// Returns the likeliest token that is not banned. If several are equal, it returns the first, so
/// that the choice is the same everywhere.
fn likeliest(logits: &[f32], banned: Option<u32>) -> Option<u32> {
    let banned = banned.and_then(|token| usize::try_from(token).ok());
    let (before, behind) = match banned {
        Some(banned) if banned < logits.len() => (&logits[..banned], &logits[banned + 1..]),
        Some(_) | None => (logits, &logits[..0]),
    };
    let highest = highest(before).max(highest(behind));
    if highest == f32::NEG_INFINITY {
        return None;
    }
    let is_behind = logits.len() - behind.len();
    let at = first(before, highest).or_else(|| first(behind, highest).map(|at| is_behind + at))?;
    u32::try_from(at).ok()
}

/// Returns the first index of a logit.
fn first(logits: &[f32], wanted: f32) -> Option<usize> {
    let (rows, rest) = logits.as_chunks::<LANES>();
    // A whole row without an early exit is one comparison.
    let has = |row: &[f32; LANES]| row.iter().fold(false, |has, logit| has | (*logit == wanted));
    let (begin, row) = match rows.iter().position(has) {
        Some(at) => (at * LANES, &rows[at][..]),
        None => (logits.len() - rest.len(), rest),
    };
    Some(begin + row.iter().position(|logit| *logit == wanted)?)
}

/// Returns the highest number, or negative infinity.
fn highest(logits: &[f32]) -> f32 {
    let higher = |highest: f32, logit: f32| {
        if logit > highest && logit < f32::INFINITY { logit } else { highest }
    };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (rows, rest) = logits.as_chunks::<LANES>();
    for row in rows {
        for (highest, logit) in lanes.iter_mut().zip(row) {
            *highest = higher(*highest, *logit);
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, higher)
}

/// A small generator of random numbers (SplitMix64).
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    /// Returns a number from 0 up to 1.
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        #[expect(clippy::cast_precision_loss, reason = "24 bits fit")]
        let unit = (bits >> 40) as f32 / (1_u32 << 24) as f32;
        unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(sampling: &Sampling, logits: &[f32]) -> Vec<usize> {
        let mut sampler = Sampler::new(sampling);
        let mut counts = vec![0; logits.len()];
        for _ in 0..1_000 {
            counts[sampler.choose(logits, Limits::default()).unwrap() as usize] += 1;
        }
        counts
    }

    #[test]
    fn greedy_takes_the_likeliest_and_of_equals_the_first() {
        let mut sampler = Sampler::new(&Sampling::default());
        assert_eq!(sampler.choose(&[0.0, 2.0, f32::NAN, 2.0], Limits::default()), Some(1));
        assert_eq!(sampler.choose(&[f32::NAN, f32::NEG_INFINITY], Limits::default()), None);
    }

    #[test]
    fn the_likeliest_is_found_at_every_index_beside_what_is_no_number() {
        let hole = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        for at in 0..100 {
            let mut logits: Vec<f32> = (0..100).map(|token| hole[token % 3]).collect();
            logits[at] = -3.0;
            let mut sampler = Sampler::new(&Sampling::default());
            let token = u32::try_from(at).unwrap();
            assert_eq!(sampler.choose(&logits, Limits::default()), Some(token));
            logits[99 - at] = -4.0;
            let banned = Limits { banned: Some(token), ..Limits::default() };
            let second = u32::try_from(99 - at).unwrap();
            assert_eq!(sampler.choose(&logits, banned), Some(second));
        }
        let mut sampler = Sampler::new(&Sampling::default());
        let banned = Limits { banned: Some(0), ..Limits::default() };
        assert_eq!(sampler.choose(&[1.0], banned), None);
        assert_eq!(sampler.choose(&[1.0, 1.0], banned), Some(1));
    }

    #[test]
    fn only_what_is_allowed_is_chosen() {
        let mut allowed = SimpleVob::alloc(4);
        allowed.allow_token(2);
        allowed.allow_token(3);
        let mut sampler = Sampler::new(&Sampling::default());
        let limits = Limits { allowed: Some(&allowed), banned: Some(3), recent: &[] };
        assert_eq!(sampler.choose(&[9.0, 8.0, 1.0, 7.0], limits), Some(2));
        assert_eq!(
            sampler.choose(&[9.0, 8.0], Limits { allowed: Some(&allowed), ..Limits::default() }),
            None
        );
    }

    #[test]
    fn chance_follows_the_probabilities_and_the_seed() {
        let hot = Sampling::default().temperature(1.0);
        let logits = [0.0, 3.0_f32.ln(), f32::NEG_INFINITY];
        let first = counts(&hot, &logits);
        assert!((700..800).contains(&first[1]), "{first:?}");
        assert_eq!(first[2], 0);
        assert_eq!(first, counts(&hot, &logits));
        assert_ne!(first, counts(&hot.clone().seed(7), &logits));
    }

    #[test]
    fn the_tails_can_be_cut_off() {
        let hot = Sampling::default().temperature(5.0);
        let logits = [3.0, 2.9, 0.0, -1.0];
        for cut in [hot.clone().top_k(2), hot.clone().top_p(0.9), hot.min_p(0.5)] {
            let counts = counts(&cut, &logits);
            assert!(
                counts[0] > 0 && counts[1] > 0 && counts[2] == 0 && counts[3] == 0,
                "{cut:?} {counts:?}"
            );
        }
    }

    #[test]
    fn what_came_lately_can_be_made_less_likely() {
        let mut sampler = Sampler::new(&Sampling::default().repeat_penalty(2.0));
        let recent = Limits { recent: &[0], ..Limits::default() };
        assert_eq!(sampler.choose(&[3.0, 2.0], recent), Some(1));
        assert_eq!(sampler.choose(&[-1.0, -1.5], recent), Some(1));
    }
}
