//! What goes into the next decode: first what is generated, then prompts, as many tokens as there is room for.

use std::cmp::Reverse;

/// What a running completion waits to have decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    /// Which completion.
    pub(super) run: usize,
    /// So many tokens, at least one.
    pub(super) tokens: usize,
    /// It still reads its prompt; otherwise it generates.
    pub(super) reads: bool,
    /// In which decode it last took part: who waited longest comes first.
    pub(super) served: u64,
}

/// How much a decode may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    /// Tokens of prompts.
    pub(super) prompts: usize,
    /// Tokens in all.
    pub(super) all: usize,
}

/// What a completion gets in the next decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) run: usize,
    pub(super) tokens: usize,
}

/// A prompt gets so many tokens before the next one gets any: fewer would let all new chats wait for one another, more
/// would let a short prompt wait for a long one.
const TURN: usize = 32;

/// Shares out the next decode. Nobody is left out for ever: who gets nothing comes first the next time.
pub(super) fn plan(wishes: &[Wish], budget: Budget) -> Vec<Share> {
    let mut order: Vec<&Wish> = wishes.iter().collect();
    order.sort_by_key(|wish| (wish.reads, wish.served, wish.run));
    let mut all = budget.all;
    let mut prompts = budget.prompts.min(budget.all);
    let mut shares: Vec<Share> = Vec::new();
    for wish in &order {
        let most = if wish.reads { prompts.min(all).min(TURN) } else { all };
        let tokens = wish.tokens.min(most);
        all -= tokens;
        prompts -= if wish.reads { tokens } else { 0 };
        shares.push(Share { run: wish.run, tokens });
    }
    // What is left goes to those that have waited longest.
    for (wish, share) in order.iter().zip(&mut shares).filter(|(wish, _)| wish.reads) {
        let more = (wish.tokens - share.tokens).min(prompts).min(all);
        share.tokens += more;
        all -= more;
        prompts -= more;
    }
    shares.retain(|share| share.tokens > 0);
    shares
}

/// Who gives up its place when nothing else makes room: the one that began last, for it loses least.
pub(super) fn youngest(began: impl Iterator<Item = (usize, u64)>) -> Option<usize> {
    let latest = began.max_by_key(|(run, began)| (*began, Reverse(*run)));
    latest.map(|(run, _)| run)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn generates(run: usize, tokens: usize) -> Wish {
        Wish { run, tokens, reads: false, served: 0 }
    }

    const fn reads(run: usize, tokens: usize, served: u64) -> Wish {
        Wish { run, tokens, reads: true, served }
    }

    /// The shares as `run:tokens`.
    fn shares(wishes: &[Wish], prompts: usize, all: usize) -> String {
        let shares = plan(wishes, Budget { prompts, all });
        let shown: Vec<String> =
            shares.iter().map(|share| format!("{}:{}", share.run, share.tokens)).collect();
        shown.join(" ")
    }

    #[test]
    fn those_that_generate_come_first_and_prompts_get_what_is_theirs() {
        let wishes = [reads(0, 4_000, 0), generates(1, 1), generates(2, 1)];
        assert_eq!(shares(&wishes, 64, 160), "1:1 2:1 0:64");
        assert_eq!(shares(&wishes, 64, 10), "1:1 2:1 0:8");
        assert_eq!(shares(&wishes, 64, 1), "1:1");
        assert_eq!(shares(&wishes[..1], 128, 160), "0:128");
    }

    #[test]
    fn forced_tokens_go_in_one_decode() {
        assert_eq!(shares(&[generates(0, 12), generates(1, 1)], 0, 160), "0:12 1:1");
        assert_eq!(shares(&[generates(0, 12), generates(1, 1)], 0, 8), "0:8");
    }

    #[test]
    fn a_short_prompt_does_not_wait_for_a_long_one() {
        assert_eq!(shares(&[reads(0, 4_000, 0), reads(1, 20, 0)], 64, 160), "0:44 1:20");
        assert_eq!(shares(&[reads(0, 4_000, 0), reads(1, 4_000, 0)], 64, 160), "0:32 1:32");
    }

    #[test]
    fn who_got_nothing_comes_first_the_next_time() {
        let many: Vec<Wish> =
            (0..5).map(|run| reads(run, 100, if run < 2 { 7 } else { 6 })).collect();
        assert_eq!(shares(&many, 64, 160), "2:32 3:32");
        let streams =
            [Wish { served: 3, ..generates(0, 1) }, Wish { served: 2, ..generates(1, 1) }];
        assert_eq!(shares(&streams, 0, 1), "1:1");
    }

    #[test]
    fn no_more_than_the_budget_is_ever_shared_out() {
        let wishes: Vec<Wish> = (0..300)
            .map(|run| {
                if run % 3 == 0 { generates(run, 1 + run % 7) } else { reads(run, run * 5 + 1, 0) }
            })
            .collect();
        for (prompts, all) in [(0, 0), (128, 160), (8, 400), (1_000, 100)] {
            let shares = plan(&wishes, Budget { prompts, all });
            let of = |reads: bool| -> usize {
                let mine = |share: &&Share| wishes[share.run].reads == reads;
                shares.iter().filter(mine).map(|share| share.tokens).sum()
            };
            assert!(of(true) <= prompts && of(true) + of(false) <= all, "{prompts} {all}");
            assert!(shares.iter().all(|share| share.tokens <= wishes[share.run].tokens));
        }
    }

    #[test]
    fn the_last_that_began_gives_up_its_place() {
        assert_eq!(youngest([(0, 5), (1, 9), (2, 7)].into_iter()), Some(1));
        assert_eq!(youngest(std::iter::empty()), None);
    }
}
