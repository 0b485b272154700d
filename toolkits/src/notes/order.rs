//! The fractional order of blocks under one parent.

/// Returns a place between two neighbours. Returns `None` if no number is between them. The
/// neighbours must then be spread.
pub(super) fn between(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    let place = match (before, after) {
        (None, None) => 1.0,
        (Some(before), None) => before + 1.0,
        (None, Some(after)) => after - 1.0,
        (Some(before), Some(after)) => before.midpoint(after),
    };
    let is_between = before.is_none_or(|before| before < place)
        && after.is_none_or(|after| place < after)
        && place.is_finite();
    is_between.then_some(place)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn after_about_fifty_halvings_there_is_no_place_left() {
        let before = 1.0;
        let mut after = 2.0;
        let mut count = 0;
        while let Some(place) = between(Some(before), Some(after)) {
            (after, count) = (place, count + 1);
        }
        assert_eq!(count, 52);
    }

    #[test]
    fn equal_or_turned_neighbours_have_no_place_between_them() {
        assert_eq!(between(Some(1.0), Some(1.0)), None);
        assert_eq!(between(Some(2.0), Some(1.0)), None);
        assert_eq!(between(Some(f64::MAX), None), None);
    }

    proptest! {
        #[test]
        fn a_place_lies_strictly_between_its_neighbours(a in any::<f64>(), b in any::<f64>()) {
            if let Some(place) = between(Some(a), Some(b)) {
                prop_assert!(a < place && place < b);
            }
            if let Some(place) = between(Some(a), None) {
                prop_assert!(a < place);
            }
        }
    }
}
