//! Computes the spread of values: the bounds of one half, nine tenths and 99 hundredths of them.

use serde::Serialize;

/// The spread of values; all zeros without values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Computes the spread of values in any order.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (share * (values.len().saturating_sub(1)) as f64).round() as usize;
            values.get(index).copied().unwrap_or_default()
        };
        Self { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0) }
    }

    /// Writes a spread of milliseconds for a person.
    pub(crate) fn in_ms(&self) -> String {
        let Self { p50, p90, p99, max } = self;
        format!("{p50:.1} ms median, {p90:.1} p90, {p99:.1} p99, {max:.1} at most")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_where_they_stand_in_order() {
        let spread = Spread::of((1..=101).rev().map(f64::from).collect());
        assert_eq!(spread, Spread { p50: 51.0, p90: 91.0, p99: 100.0, max: 101.0 });
        assert_eq!(Spread::of(vec![3.0]), Spread { p50: 3.0, p90: 3.0, p99: 3.0, max: 3.0 });
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }
}
