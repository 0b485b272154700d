//! Orders the blocks of a page for reading, each before its children.
use std::collections::HashMap;

/// A block of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) number: i64,
    pub(super) parent: Option<i64>,
}

/// Returns the index in `nodes` of each block in reading order, with its depth. Siblings keep their
/// given order. Blocks that cannot be reached from the outermost level are left out.
pub(super) fn reading_order(nodes: &[Node]) -> Vec<(usize, usize)> {
    let mut children: HashMap<Option<i64>, Vec<usize>> = HashMap::new();
    for (place, node) in nodes.iter().enumerate().rev() {
        children.entry(node.parent).or_default().push(place);
    }
    // They are pushed in reverse, so that the first is popped first.
    let mut waiting: Vec<(usize, usize)> =
        children.remove(&None).unwrap_or_default().into_iter().map(|place| (place, 0)).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some((place, depth)) = waiting.pop() {
        order.push((place, depth));
        if let Some(inner) = children.remove(&Some(nodes[place].number)) {
            waiting.extend(inner.into_iter().map(|place| (place, depth + 1)));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn node(number: i64, parent: Option<i64>) -> Node {
        Node { number, parent }
    }

    #[test]
    fn each_block_stands_before_what_it_contains() {
        let nodes =
            [node(1, None), node(5, None), node(3, Some(1)), node(2, Some(1)), node(4, Some(3))];
        let order: Vec<_> = reading_order(&nodes)
            .into_iter()
            .map(|(place, depth)| (nodes[place].number, depth))
            .collect();
        assert_eq!(order, [(1, 0), (3, 1), (4, 2), (2, 1), (5, 0)]);
    }

    #[test]
    fn a_hundred_thousand_levels_need_no_stack() {
        let nodes: Vec<_> = (0..100_000)
            .map(|number| node(number, number.checked_sub(1).filter(|_| number > 0)))
            .collect();
        assert_eq!(reading_order(&nodes).last(), Some(&(99_999, 99_999)));
    }

    proptest! {
        #[test]
        fn every_block_stands_once_and_one_level_below_its_parent(parents in prop::collection::vec(any::<prop::sample::Index>(), 0..60)) {
            let nodes: Vec<_> = parents.iter().enumerate().map(|(number, parent)| {
                let parent = parent.index(number + 1);
                node(i64::try_from(number).unwrap(), (parent < number).then(|| i64::try_from(parent).unwrap()))
            }).collect();
            let order = reading_order(&nodes);
            prop_assert_eq!(order.len(), nodes.len());
            let mut depths = HashMap::new();
            for (place, depth) in order {
                let expected = nodes[place].parent.map_or(0, |parent| depths[&parent] + 1);
                prop_assert_eq!(depth, expected);
                depths.insert(nodes[place].number, depth);
            }
        }
    }
}
