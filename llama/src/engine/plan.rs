//! Plans the next decode of streams or of prompts.

use std::cmp::Reverse;

/// The tokens that a running completion waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecodeRequest {
    /// The index of the completion.
    pub(super) run: usize,
    /// The number of tokens, at least one.
    pub(super) tokens: usize,
    /// Whether it still reads its prompt; otherwise it generates.
    pub(super) reads: bool,
    /// The decode in which it last took part: the longest waiting comes first.
    pub(super) last_decode: u64,
}

/// The share of a completion in the next decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) run: usize,
    pub(super) tokens: usize,
}

/// How many tokens of a prompt are read before the next prompt gets any. With fewer, all new chats
/// would wait for each other. With more, a short prompt would wait for a long one.
const TURN: usize = 32;

/// Shares out the tokens of the next decode. A completion that gets nothing comes first the next
/// time.
pub(super) fn plan(requests: &[DecodeRequest], tokens: usize) -> Vec<Share> {
    let mut order: Vec<&DecodeRequest> = requests.iter().collect();
    order.sort_by_key(|request| (request.last_decode, request.run));
    let mut left = tokens;
    let mut shares: Vec<Share> = Vec::new();
    for request in &order {
        let turn = if request.reads { TURN } else { usize::MAX };
        let tokens = request.tokens.min(left).min(turn);
        left -= tokens;
        shares.push(Share { run: request.run, tokens });
    }
    // The rest goes to those that have waited longest.
    for (request, share) in order.iter().zip(&mut shares) {
        let more = (request.tokens - share.tokens).min(left);
        share.tokens += more;
        left -= more;
    }
    shares.retain(|share| share.tokens > 0);
    shares
}

/// Plans several decodes in a row, up to one in which a completion gets its last tokens, which
/// needs other work.
pub(super) fn plan_ahead(
    mut requests: Vec<DecodeRequest>,
    tokens: usize,
    most: usize,
) -> Vec<Vec<Share>> {
    let latest = requests.iter().map(|request| request.last_decode).max().unwrap_or(0);
    let mut decodes = Vec::new();
    while decodes.len() < most
        && !requests.is_empty()
        && requests.iter().all(|request| request.tokens > 0)
    {
        let shares = plan(&requests, tokens);
        for share in &shares {
            for request in requests.iter_mut().filter(|request| request.run == share.run) {
                request.tokens -= share.tokens;
                request.last_decode = latest + 1 + decodes.len() as u64;
            }
        }
        decodes.push(shares);
    }
    decodes
}

/// Chooses the chat that gives up its sequence: the youngest, which loses least.
pub(super) fn youngest(began: impl Iterator<Item = (usize, u64)>) -> Option<usize> {
    let latest = began.max_by_key(|(run, began)| (*began, Reverse(*run)));
    latest.map(|(run, _)| run)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn generates(run: usize, tokens: usize) -> DecodeRequest {
        DecodeRequest { run, tokens, reads: false, last_decode: 0 }
    }

    const fn reads(run: usize, tokens: usize, last_decode: u64) -> DecodeRequest {
        DecodeRequest { run, tokens, reads: true, last_decode }
    }

    /// Writes the shares as `run:tokens`.
    fn shares(requests: &[DecodeRequest], tokens: usize) -> String {
        let shares = plan(requests, tokens);
        let shown: Vec<String> =
            shares.iter().map(|share| format!("{}:{}", share.run, share.tokens)).collect();
        shown.join(" ")
    }

    #[test]
    fn forced_tokens_go_in_one_decode() {
        assert_eq!(shares(&[generates(0, 12), generates(1, 1)], 160), "0:12 1:1");
        assert_eq!(shares(&[generates(0, 12), generates(1, 1)], 8), "0:8");
    }

    #[test]
    fn a_short_prompt_does_not_wait_for_a_long_one() {
        assert_eq!(shares(&[reads(0, 4_000, 0), reads(1, 20, 0)], 64), "0:44 1:20");
        assert_eq!(shares(&[reads(0, 4_000, 0), reads(1, 4_000, 0)], 64), "0:32 1:32");
    }

    #[test]
    fn a_completion_that_got_nothing_comes_first_the_next_time() {
        let many: Vec<DecodeRequest> =
            (0..5).map(|run| reads(run, 100, if run < 2 { 7 } else { 6 })).collect();
        assert_eq!(shares(&many, 64), "2:32 3:32");
        let streams = [
            DecodeRequest { last_decode: 3, ..generates(0, 1) },
            DecodeRequest { last_decode: 2, ..generates(1, 1) },
        ];
        assert_eq!(shares(&streams, 1), "1:1");
    }

    #[test]
    fn no_more_tokens_than_there_are_are_ever_shared_out() {
        let requests: Vec<DecodeRequest> = (0..300)
            .map(|run| {
                if run % 3 == 0 { generates(run, 1 + run % 7) } else { reads(run, run * 5 + 1, 0) }
            })
            .collect();
        for tokens in [0, 8, 160, 1_000, 1_000_000] {
            let shares = plan(&requests, tokens);
            let asked: usize = requests.iter().map(|request| request.tokens).sum();
            let shared: usize = shares.iter().map(|share| share.tokens).sum();
            assert_eq!(shared, tokens.min(asked));
            assert!(shares.iter().all(|share| share.tokens <= requests[share.run].tokens));
        }
    }

    #[test]
    fn what_is_planned_ahead_ends_with_the_first_that_has_all() {
        let ahead = |requests: &[DecodeRequest]| -> Vec<Vec<(usize, usize)>> {
            let decodes = plan_ahead(requests.to_vec(), 64, 4);
            let shown = |share: &Share| (share.run, share.tokens);
            decodes.iter().map(|shares| shares.iter().map(shown).collect()).collect()
        };
        assert_eq!(ahead(&[reads(0, 4_000, 3)]), vec![vec![(0, 64)]; 4]);
        let two = [reads(0, 4_000, 3), reads(1, 70, 5)];
        let both = vec![(0, 32), (1, 32)];
        assert_eq!(ahead(&two), [both.clone(), both, vec![(0, 58), (1, 6)]]);
        let three = [reads(0, 4_000, 0), reads(1, 4_000, 0), reads(2, 4_000, 0)];
        let first_two = [vec![(0, 32), (1, 32)], vec![(2, 32), (0, 32)]];
        assert_eq!(ahead(&three)[..2], first_two);
        assert_eq!(ahead(&[reads(0, 64, 0)]).len(), 1);
        assert!(ahead(&[]).is_empty());
    }

    #[test]
    fn the_last_that_began_gives_up_its_sequence() {
        assert_eq!(youngest([(0, 5), (1, 9), (2, 7)].into_iter()), Some(1));
        assert_eq!(youngest(std::iter::empty()), None);
    }
}
