//! Detects a model that only repeats itself. Small models run into such circles and do not leave
//! them.

/// Watches the tokens of an answer.
///
/// For each length of a circle, counts how many of the latest tokens are the same as those one
/// length before. So a token costs one comparison for each length, however long the answer is.
#[derive(Debug, Clone)]
pub(super) struct Repetition {
    /// The latest tokens, as a ring.
    latest: [u32; LONGEST],
    seen: usize,
    /// The number of latest tokens that equal those one position, two positions, ... before.
    alike: [usize; LONGEST],
    /// The number of repeated tokens that is too many.
    most: usize,
}

/// The longest circle, a long sentence or two; a longer one runs to its bound.
const LONGEST: usize = 64;
/// The fewest rounds of a circle: a list may repeat a few words.
const ROUNDS: usize = 6;

impl Repetition {
    /// Allows this many repeated tokens. 0 allows any number.
    pub(super) const fn new(most: usize) -> Self {
        Self { latest: [0; LONGEST], seen: 0, alike: [0; LONGEST], most }
    }

    /// Adds the next token, and returns whether the answer runs in a circle.
    pub(super) fn is_circle(&mut self, token: u32) -> bool {
        let mut is_circle = false;
        for length in 1..=LONGEST.min(self.seen) {
            let before = self.latest[(self.seen - length) % LONGEST];
            let alike = &mut self.alike[length - 1];
            *alike = if before == token { *alike + 1 } else { 0 };
            is_circle |= self.most > 0 && *alike >= self.most.max((ROUNDS - 1) * length);
        }
        self.latest[self.seen % LONGEST] = token;
        self.seen += 1;
        is_circle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of tokens after which an answer is found to run in a circle. Letters are
    /// tokens.
    fn found(answer: &str) -> Option<usize> {
        let mut repetition = Repetition::new(128);
        answer.chars().position(|letter| repetition.is_circle(letter.into())).map(|at| at + 1)
    }

    #[test]
    fn a_circle_is_found_after_the_allowed_tokens() {
        for (answer, tokens) in [
            ("a".repeat(1_000), Some(129)),
            ("\n".repeat(1_000), Some(129)),
            ("아니 ".repeat(500), Some(128 + 3)),
            (format!("Of course. {}", "I am sorry. ".repeat(100)), Some(149)),
            // A circle of 40 needs six rounds.
            ("0123456789012345678901234567890123456789".replace('9', "x").repeat(30), None),
        ] {
            let at = found(&answer);
            if tokens.is_some() {
                assert_eq!(at, tokens, "{answer:?}");
            } else {
                assert!(at.is_some_and(|at| at <= 300), "{answer:?}");
            }
        }
    }

    #[test]
    fn what_only_looks_alike_is_no_circle() {
        let numbered: String = (1..60).map(|n| format!("{n}. Drink water. ")).collect();
        let table = format!("|{}\n", "---|".repeat(8)).repeat(2) + &"| a | b |\n".repeat(4);
        for answer in [
            "a".repeat(128),
            "ha".repeat(60),
            "=".repeat(80) + "\nTitle\n" + &"=".repeat(80),
            "ㅋ".repeat(100),
            numbered,
            table,
            "The same long sentence stands here, as it may now and then. ".repeat(5),
            "0123456789".chars().cycle().take(120).collect(),
        ] {
            assert_eq!(found(&answer), None, "{answer:?}");
        }
    }

    #[test]
    fn what_breaks_the_circle_begins_it_anew() {
        let broken = "a".repeat(120) + "b";
        assert_eq!(found(&broken.repeat(3)), None);
        assert_eq!(found(&(broken + &"a".repeat(200))), Some(121 + 129));
    }

    #[test]
    fn with_a_bound_of_0_a_circle_has_no_end_and_a_small_one_counts_rounds() {
        let mut endless = Repetition::new(0);
        assert!((0..10_000).all(|_| !endless.is_circle(7)));
        let mut strict = Repetition::new(1);
        let at = "abcabcabcabcabcabcabc".chars().position(|letter| strict.is_circle(letter.into()));
        assert_eq!(at, Some(3 * ROUNDS - 1), "each is there six times");
    }
}
