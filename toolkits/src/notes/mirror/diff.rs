//! Matches the lines of an edited file to the blocks of the page. Pure.
use super::{
    super::{block::OutlineLine, repository::ImportedLine},
    markdown::FileLine,
};

/// The most pairs of lines that are compared. In a larger edit, lines between the equal ends are paired in order.
const MAX_PAIRS: usize = 4_000_000;

/// Finds the former block of each line. A longest common subsequence of equal lines keeps its blocks. Lines between two
/// of them are paired in order, so a changed line keeps its block.
pub(super) fn imported(before: &[OutlineLine], after: Vec<FileLine>) -> Vec<ImportedLine> {
    let old: Vec<&str> = before.iter().map(|line| line.content.as_str()).collect();
    let new: Vec<&str> = after.iter().map(|line| line.content.as_str()).collect();
    let mut was: Vec<Option<usize>> = vec![None; new.len()];
    let (mut old_at, mut new_at) = (0, 0);
    for (old_equal, new_equal) in
        equal_lines(&old, &new).into_iter().chain([(old.len(), new.len())])
    {
        let changed = (old_at..old_equal).zip(new_at..new_equal);
        changed.for_each(|(old, new)| was[new] = Some(old));
        if new_equal < new.len() {
            was[new_equal] = Some(old_equal);
        }
        (old_at, new_at) = (old_equal + 1, new_equal + 1);
    }
    let line = |(FileLine { indent, content }, was): (_, Option<usize>)| ImportedLine {
        id: was.map(|old| before[old].id),
        indent,
        content,
    };
    after.into_iter().zip(was).map(line).collect()
}

/// Finds as many pairs of equal lines as possible, both in order.
fn equal_lines(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let begin = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (rest_old, rest_new) = (&old[begin..], &new[begin..]);
    let end = rest_old
        .iter()
        .rev()
        .zip(rest_new.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let mut pairs: Vec<_> = (0..begin).map(|at| (at, at)).collect();
    let middle = longest(&old[begin..old_end], &new[begin..new_end]);
    pairs.extend(middle.into_iter().map(|(old, new)| (begin + old, begin + new)));
    pairs.extend((old_end..old.len()).zip(new_end..new.len()));
    pairs
}

/// Finds the longest common subsequence.
fn longest(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    if old.is_empty() || new.is_empty() || old.len().saturating_mul(new.len()) > MAX_PAIRS {
        return Vec::new();
    }
    // Lengths of the subsequences from here to both ends.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for at in (0..old.len()).rev() {
        for in_new in (0..new.len()).rev() {
            common[at * width + in_new] = if old[at] == new[in_new] {
                common[(at + 1) * width + in_new + 1] + 1
            } else {
                common[(at + 1) * width + in_new].max(common[at * width + in_new + 1])
            };
        }
    }
    let (mut at, mut in_new, mut pairs) = (0, 0, Vec::new());
    while at < old.len() && in_new < new.len() {
        if old[at] == new[in_new] {
            pairs.push((at, in_new));
            (at, in_new) = (at + 1, in_new + 1);
        } else if common[(at + 1) * width + in_new] >= common[at * width + in_new + 1] {
            at += 1;
        } else {
            in_new += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::notes::block::BlockId;

    /// Renders the former line of each line; `.` for a new one.
    fn was(before: &[&str], after: &[&str]) -> String {
        let before: Vec<_> = before
            .iter()
            .zip(0_u128..)
            .map(|(content, number)| OutlineLine {
                id: BlockId(Uuid::from_u128(number)),
                depth: 0,
                content: (*content).to_owned(),
            })
            .collect();
        let after =
            after.iter().map(|content| FileLine { indent: 0, content: (*content).to_owned() });
        let imported = imported(&before, after.collect());
        let name =
            |line: &ImportedLine| line.id.map_or(".".to_owned(), |id| id.0.as_u128().to_string());
        imported.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn equal_lines_stay_changed_ones_keep_their_blocks_and_new_ones_are_new() {
        assert_eq!(was(&["a", "b", "c"], &["a", "b", "c"]), "0 1 2");
        assert_eq!(was(&["a", "b", "c"], &["a", "B", "c"]), "0 1 2");
        assert_eq!(was(&["a", "b", "c"], &["a", "x", "b", "c"]), "0 . 1 2");
        assert_eq!(was(&["a", "b", "c"], &["c"]), "2");
        assert_eq!(was(&["a", "b", "c", "d"], &["d", "a", "b!", "c"]), ". 0 1 2");
        assert_eq!(was(&[], &["a"]), ".");
        assert_eq!(was(&["a"], &[]), "");
    }

    proptest! {
        #[test]
        fn no_block_is_two_lines_and_their_order_stays(
            before in prop::collection::vec("[ab]{0,2}", 0..12), after in prop::collection::vec("[ab]{0,2}", 0..12),
        ) {
            let (before, after): (Vec<_>, Vec<_>) =
                (before.iter().map(String::as_str).collect(), after.iter().map(String::as_str).collect());
            let was = was(&before, &after);
            let known: Vec<usize> = was.split(' ').filter_map(|name| name.parse().ok()).collect();
            prop_assert!(known.windows(2).all(|pair| pair[0] < pair[1]), "{}", was);
        }
    }
}
