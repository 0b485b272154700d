//! Tests the tree against a table of each sequence's tokens.

use proptest::prelude::*;

use super::*;

fn sequence(number: usize) -> Sequence {
    Sequence::new(number).unwrap()
}

fn tree(held: &[&str]) -> Prefixes<u8> {
    let mut tree = Prefixes::new();
    for (number, text) in held.iter().enumerate() {
        tree.extend(sequence(number), text.as_bytes());
    }
    tree
}

fn longest(tree: &Prefixes<u8>, prompt: &str) -> Option<(usize, usize)> {
    tree.longest(prompt.as_bytes(), |_| true).map(|known| (known.by.index(), known.tokens))
}

#[test]
fn the_sequence_that_holds_most_of_a_prompt_is_found() {
    let tree = tree(&["system tools hello", "system tools good", "other"]);
    assert_eq!(longest(&tree, "system tools help"), Some((0, 16)));
    assert_eq!(longest(&tree, "system tools good day"), Some((1, 17)));
    assert_eq!(longest(&tree, "system"), Some((0, 6)));
    assert_eq!(longest(&tree, "other"), Some((2, 5)));
    assert_eq!(longest(&tree, "unheard of"), None);
    let but_first = tree.longest(b"system tools help", |by| by.index() > 0);
    assert_eq!(but_first, Some(PrefixMatch { by: sequence(1), tokens: 13 }));
    assert_eq!(tree.longest(b"other", |by| by.index() < 2), None);
}

#[test]
fn a_sequence_that_cannot_go_back_is_used_only_whole() {
    let tree = tree(&["system tools hello", "system"]);
    let whole = |prompt: &str| {
        tree.longest_whole(prompt.as_bytes()).map(|known| (known.by.index(), known.tokens))
    };
    assert_eq!(whole("system tools help"), Some((1, 6)));
    assert_eq!(whole("system tools hello you"), Some((0, 18)));
    assert_eq!(whole("sys"), None);
}

#[test]
fn what_several_share_counts_once() {
    let mut tree = tree(&["system tools hello", "system tools good", "system", "other"]);
    let distinct = |tree: &Prefixes<u8>, numbers: &[usize]| {
        tree.distinct(&numbers.iter().map(|number| sequence(*number)).collect())
    };
    assert_eq!(distinct(&tree, &[]), 0);
    assert_eq!(distinct(&tree, &[0, 1]), 18 + 4);
    assert_eq!(distinct(&tree, &[0, 2, 3]), 18 + 5);
    tree.forget(sequence(0));
    tree.extend(sequence(4), b"new");
    assert_eq!(distinct(&tree, &[0, 1, 2, 3, 4]), 17 + 5 + 3);
}

#[test]
fn what_two_share_is_known_and_what_was_cut_off_is_not() {
    let mut tree = tree(&["common one", "common two", "common two and more"]);
    let shared = |tree: &Prefixes<u8>, of| {
        tree.shared(sequence(of), |_| true).map(|known| (known.by.index(), known.tokens))
    };
    assert_eq!(shared(&tree, 0), Some((1, 7)));
    assert_eq!(shared(&tree, 2), Some((1, 10)));
    assert_eq!(tree.shared(sequence(2), |by| by.index() == 0).map(|known| known.tokens), Some(7));
    tree.truncate(sequence(1), 3);
    assert_eq!(shared(&tree, 2), Some((0, 7)));
    assert_eq!(longest(&tree, "common two and"), Some((2, 14)));
    tree.forget(sequence(0));
    tree.forget(sequence(2));
    assert_eq!(longest(&tree, "common two and"), Some((1, 3)));
    tree.forget(sequence(1));
    assert_eq!(longest(&tree, "c"), None);
}

/// An operation on the sequence with a number.
#[derive(Debug, Clone)]
enum Act {
    Extend(usize, Vec<u8>),
    Truncate(usize, usize),
}

fn act() -> impl Strategy<Value = Act> {
    // Few sequences and few tokens, so that beginnings are often equal.
    prop_oneof![
        (0_usize..4, proptest::collection::vec(0_u8..2, 0..6))
            .prop_map(|(at, tokens)| Act::Extend(at, tokens)),
        (0_usize..4, 0_usize..12).prop_map(|(at, len)| Act::Truncate(at, len)),
    ]
}

proptest! {
    #[test]
    fn the_tree_equals_a_table_after_any_operations(
        acts in proptest::collection::vec(act(), 0..40),
        prompt in proptest::collection::vec(0_u8..2, 0..12),
    ) {
        let mut tree = Prefixes::new();
        let mut table = vec![Vec::new(); 4];
        for act in acts {
            match act {
                Act::Extend(at, tokens) => {
                    tree.extend(sequence(at), &tokens);
                    table[at].extend(tokens);
                }
                Act::Truncate(at, len) => {
                    tree.truncate(sequence(at), len);
                    table[at].truncate(len);
                }
            }
        }
        for (at, held) in table.iter().enumerate() {
            prop_assert_eq!(tree.len(sequence(at)), held.len());
            prop_assert_eq!(&tree.tokens(sequence(at)), held);
            prop_assert_eq!(tree.common(sequence(at), &prompt), common(held, &prompt));
            let others = table.iter().enumerate().filter(|(other, _)| *other != at);
            let shared = others.map(|(_, other)| common(held, other)).max().unwrap_or_default();
            let found = tree.shared(sequence(at), |_| true);
            prop_assert_eq!(found.map_or(0, |known| known.tokens), shared);
            prop_assert!(found.is_none_or(|known| known.by.index() != at && common(held, &table[known.by.index()]) == shared));
        }
        let best = table.iter().map(|held| common(held, &prompt)).max().unwrap_or_default();
        let found = tree.longest(&prompt, |_| true);
        prop_assert_eq!(found.map_or(0, |known| known.tokens), best);
        prop_assert!(found.is_none_or(|known| common(&table[known.by.index()], &prompt) == best));
        let is_whole = |held: &&Vec<u8>| !held.is_empty() && prompt.starts_with(held);
        let best = table.iter().filter(is_whole).map(Vec::len).max();
        let found = tree.longest_whole(&prompt);
        prop_assert_eq!(found.map(|known| known.tokens), best);
        prop_assert!(found.is_none_or(|known| prompt.starts_with(&table[known.by.index()]) && table[known.by.index()].len() == known.tokens));
        for at in 0..4 {
            tree.forget(sequence(at));
        }
        prop_assert_eq!(tree.branches.len(), tree.unused.len() + 1, "nothing stays behind");
    }
}
