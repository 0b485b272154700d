//! R8: a habit comes from exactly one of protocol, break protocol and diet pattern.
use super::{
    super::habit::{Origin, OriginColumns},
    LifeViolation,
};

/// Turns three columns into the one origin that they name.
///
/// # Errors
/// Returns [`LifeViolation::Origin`] if none or several are filled.
pub fn assert_exclusive_origin(columns: OriginColumns) -> Result<Origin, LifeViolation> {
    match (columns.protocol_id, columns.break_protocol_id, columns.diet_pattern_id) {
        (Some(id), None, None) => Ok(Origin::Protocol(id)),
        (None, Some(id), None) => Ok(Origin::BreakProtocol(id)),
        (None, None, Some(id)) => Ok(Origin::DietPattern(id)),
        _ => Err(LifeViolation::Origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_xor_exactly_one_of_three_columns_is_filled() {
        for bits in 0_u8..8 {
            let column = |bit: u8| (bits >> bit & 1 == 1).then(|| format!("item-{bit}"));
            let columns = OriginColumns {
                protocol_id: column(0),
                break_protocol_id: column(1),
                diet_pattern_id: column(2),
            };
            let verdict = assert_exclusive_origin(columns.clone());
            match bits.count_ones() {
                1 => assert_eq!(OriginColumns::from(verdict.unwrap()), columns),
                _ => assert_eq!(verdict.unwrap_err().code(), "r8_xor", "{bits:03b}"),
            }
        }
    }
}
