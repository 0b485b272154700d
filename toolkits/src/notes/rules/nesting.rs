//! Nests blocks by their indents.
use super::{super::page::MAX_LEVELS, NotesViolation};

/// Nests a sequence of blocks by their indents. Each block is inside the last earlier block with a
/// smaller indent. A jump by several levels counts as one, and blocks with the same indent are
/// siblings. The children of a failed block go to the nearest block around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nesting<T> {
    /// The blocks around the next one, the outermost first. `None` for a failed one.
    open: Vec<(u32, Option<T>)>,
}

impl<T> Default for Nesting<T> {
    fn default() -> Self {
        Self { open: Vec::new() }
    }
}

impl<T: Clone> Nesting<T> {
    /// Returns the parent of the next block, or `None` on the outermost level.
    ///
    /// # Errors
    /// Returns [`NotesViolation::TooDeep`] if too many blocks are around it.
    pub fn parent(&mut self, indent: u32) -> Result<Option<T>, NotesViolation> {
        while self.open.last().is_some_and(|(inner, _)| *inner >= indent) {
            self.open.pop();
        }
        let mut made = self.open.iter().rev().filter_map(|(_, block)| block.clone());
        let parent = made.next();
        if made.count() + usize::from(parent.is_some()) >= MAX_LEVELS {
            return Err(NotesViolation::TooDeep);
        }
        Ok(parent)
    }

    /// Reports the block of this indent. `None` says that it failed.
    pub fn came(&mut self, indent: u32, block: Option<T>) {
        // Deeper entries cannot become parents.
        if self.open.len() <= MAX_LEVELS {
            self.open.push((indent, block));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the index of each block's parent; `false` marks a block that fails.
    fn check(blocks: &[(u32, bool)]) -> Vec<Option<usize>> {
        let mut nesting = Nesting::default();
        let mut parents = Vec::new();
        for (place, (indent, is_made)) in blocks.iter().enumerate() {
            parents.push(nesting.parent(*indent).unwrap());
            nesting.came(*indent, is_made.then_some(place));
        }
        parents
    }

    fn made(indents: &[u32]) -> Vec<(u32, bool)> {
        indents.iter().map(|indent| (*indent, true)).collect()
    }

    #[test]
    fn the_daily_note_is_truly_nested() {
        let parents = check(&made(&[0, 1, 1, 0, 1, 2]));
        assert_eq!(parents, [None, Some(0), Some(0), None, Some(3), Some(4)]);
    }

    #[test]
    fn a_deeper_jump_is_one_level_and_equal_indents_lie_side_by_side() {
        assert_eq!(check(&made(&[0, 5, 5, 3])), [None, Some(0), Some(0), Some(0)]);
        assert_eq!(check(&made(&[4, 4, 5])), [None, None, Some(1)]);
        assert_eq!(check(&made(&[u32::MAX, u32::MAX])), [None, None]);
    }

    #[test]
    fn children_of_what_could_not_be_made_go_to_the_nearest_block_around_it() {
        let blocks = [(0, true), (1, false), (2, true), (0, false), (1, true)];
        assert_eq!(check(&blocks), [None, Some(0), Some(0), None, None]);
    }

    #[test]
    fn a_hundred_levels_are_fine_and_more_than_the_bound_are_not() {
        let mut nesting = Nesting::default();
        for indent in 0..200_u32 {
            let parent = nesting.parent(indent);
            let fits = (indent as usize) < MAX_LEVELS;
            assert_eq!(parent.is_ok(), fits, "{indent}");
            nesting.came(indent, fits.then_some(indent));
        }
    }

    proptest! {
        #[test]
        fn a_parent_came_before_and_lies_less_deep(blocks in prop::collection::vec((0..12_u32, any::<bool>()), 0..40)) {
            for (place, parent) in check(&blocks).into_iter().enumerate() {
                let Some(parent) = parent else { continue };
                prop_assert!(parent < place);
                prop_assert!(blocks[parent].0 < blocks[place].0);
                prop_assert!(blocks[parent].1, "it was made");
            }
        }
    }
}
