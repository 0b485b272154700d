//! Keeps the places that a session visited, to go back and forward.
use serde::{Deserialize, Serialize};

use super::page::PageId;

/// The most places of a history.
pub const MAX_VISITS: usize = 50;

/// A place that a session can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// The tree of all pages.
    Index,
    /// A page in the tree: a directory.
    Directory(PageId),
    /// A page with its blocks.
    Page(PageId),
}

impl Location {
    /// Returns the page that is shown, in the tree or with its blocks. Returns `None` for the tree
    /// of all pages.
    pub fn page(self) -> Option<PageId> {
        match self {
            Self::Index => None,
            Self::Directory(id) | Self::Page(id) => Some(id),
        }
    }
}

/// The visited places, and the one that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitHistory {
    visits: Vec<Location>,
    /// The index in `visits` of the shown place.
    at: usize,
}

impl VisitHistory {
    /// Returns the shown place, or `None` before the first visit.
    pub fn current(&self) -> Option<Location> {
        self.visits.get(self.at).copied()
    }

    /// Visits a place, and forgets the places that were ahead. A visit to the shown place changes
    /// nothing.
    pub fn visit(&mut self, place: Location) {
        if self.current() == Some(place) {
            return;
        }
        self.visits.truncate(self.at + 1);
        self.visits.push(place);
        let too_many = self.visits.len().saturating_sub(MAX_VISITS);
        self.visits.drain(..too_many);
        self.at = self.visits.len() - 1;
    }

    /// Goes back to the nearest place for which `is_there` is true. Returns `None` and stays if
    /// there is none.
    pub fn back(&mut self, is_there: impl Fn(Location) -> bool) -> Option<Location> {
        self.go((0..self.at).rev(), is_there)
    }

    /// Goes forward to the nearest place for which `is_there` is true. Returns `None` and stays if
    /// there is none.
    pub fn forward(&mut self, is_there: impl Fn(Location) -> bool) -> Option<Location> {
        self.go(self.at + 1..self.visits.len(), is_there)
    }

    /// Returns all places, to look up which still exist.
    pub fn visits(&self) -> &[Location] {
        &self.visits
    }

    /// Goes to the first of these that shows another place. After pages were deleted, the same
    /// place may come twice in a row.
    fn go(
        &mut self,
        mut ways: impl Iterator<Item = usize>,
        is_there: impl Fn(Location) -> bool,
    ) -> Option<Location> {
        let current = self.current();
        let leads_on = |place| is_there(place) && Some(place) != current;
        self.at = ways.find(|at| leads_on(self.visits[*at]))?;
        self.current()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn page(number: u128) -> Location {
        Location::Page(PageId(Uuid::from_u128(number)))
    }

    fn of(pages: &[u128]) -> VisitHistory {
        let mut history = VisitHistory::default();
        pages.iter().for_each(|number| history.visit(page(*number)));
        history
    }

    fn anywhere(_: Location) -> bool {
        true
    }

    #[test]
    fn back_and_forward_lead_along_what_was_visited() {
        let mut history = of(&[1, 2, 3]);
        assert_eq!(history.back(anywhere), Some(page(2)));
        assert_eq!(history.back(anywhere), Some(page(1)));
        assert_eq!(history.back(anywhere), None);
        assert_eq!(history.current(), Some(page(1)));
        assert_eq!(history.forward(anywhere), Some(page(2)));
        assert_eq!(history.forward(anywhere), Some(page(3)));
        assert_eq!(history.forward(anywhere), None);
    }

    #[test]
    fn the_same_place_twice_in_a_row_is_one_visit() {
        assert_eq!(of(&[1, 1, 1, 2, 2, 1]).visits(), [page(1), page(2), page(1)]);
    }

    #[test]
    fn a_new_visit_forgets_what_lay_forward() {
        let mut history = of(&[1, 2, 3]);
        history.back(anywhere);
        history.back(anywhere);
        history.visit(page(4));
        assert_eq!(history.visits(), [page(1), page(4)]);
        assert_eq!(history.forward(anywhere), None);
    }

    #[test]
    fn the_last_fifty_places_are_kept() {
        let mut history = of(&(0..120).collect::<Vec<_>>());
        assert_eq!(history.visits().len(), MAX_VISITS);
        let mut steps = 0;
        while history.back(anywhere).is_some() {
            steps += 1;
        }
        assert_eq!((steps, history.current()), (49, Some(page(70))));
    }

    #[test]
    fn a_place_that_is_gone_is_passed_over() {
        let mut history = of(&[1, 2, 1, 3]);
        assert_eq!(history.back(|place| place != page(1)), Some(page(2)));
        let mut history = of(&[1, 2, 1]);
        assert_eq!(
            history.back(|place| place != page(2)),
            None,
            "what is shown cannot be a target"
        );
    }

    proptest! {
        #[test]
        fn whatever_is_done_the_history_stays_bounded_and_without_repeats(steps in prop::collection::vec(0..8_u8, 0..300)) {
            let mut history = VisitHistory::default();
            for step in steps {
                match step {
                    0 => drop(history.back(anywhere)),
                    1 => drop(history.forward(anywhere)),
                    number => history.visit(page(number.into())),
                }
                prop_assert!(history.visits().len() <= MAX_VISITS);
                prop_assert!(history.visits().windows(2).all(|pair| pair[0] != pair[1]));
                prop_assert_eq!(history.current().is_some(), !history.visits().is_empty());
            }
        }
    }
}
