//! R3: judges the frame of a habit and the length of its texts.
use super::{super::habit::FrameLevel, LifeViolation};

/// The most characters of a text of a habit or an entry.
const MAX_TEXT_CHARS: usize = 200;

/// Requires that a frame goes towards something (L2) or is an identity (L3).
///
/// # Errors
/// Returns [`LifeViolation::Frame`] for L0 and L1.
pub fn judge_frame_level(level: FrameLevel) -> Result<(), LifeViolation> {
    match level {
        FrameLevel::L2 | FrameLevel::L3 => Ok(()),
        FrameLevel::L0 | FrameLevel::L1 => Err(LifeViolation::Frame),
    }
}

/// Requires that a framed text is not blank and has at most 200 characters.
///
/// # Errors
/// Returns [`LifeViolation::BlankText`], [`LifeViolation::ControlText`] or
/// [`LifeViolation::LongText`].
pub fn validate_framed_text(text: &str) -> Result<(), LifeViolation> {
    let field = "framed_text";
    if text.trim().is_empty() {
        return Err(LifeViolation::BlankText { field });
    }
    validate_optional_text(field, Some(text))
}

/// Requires that an optional text has no control character and at most 200 characters.
///
/// # Errors
/// Returns [`LifeViolation::ControlText`] or [`LifeViolation::LongText`].
pub fn validate_optional_text(
    field: &'static str,
    text: Option<&str>,
) -> Result<(), LifeViolation> {
    match text {
        Some(text) if text.contains(char::is_control) => Err(LifeViolation::ControlText { field }),
        Some(text) if text.chars().count() > MAX_TEXT_CHARS => {
            Err(LifeViolation::LongText { field, max: MAX_TEXT_CHARS })
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_only_l2_and_l3_are_frames() {
        assert_eq!(judge_frame_level(FrameLevel::L2), Ok(()));
        assert_eq!(judge_frame_level(FrameLevel::L3), Ok(()));
        for level in [FrameLevel::L0, FrameLevel::L1] {
            assert_eq!(judge_frame_level(level).unwrap_err().code(), "r3_frame");
        }
    }

    #[test]
    fn a_framed_text_has_1_to_200_characters() {
        assert_eq!(validate_framed_text("a"), Ok(()));
        assert_eq!(validate_framed_text(&"가".repeat(200)), Ok(()));
        for text in ["", " \n ", &"가".repeat(201)] {
            assert_eq!(validate_framed_text(text).unwrap_err().code(), "validation");
        }
    }

    #[test]
    fn a_text_with_a_control_character_is_refused_wherever_it_stands() {
        for text in ["\u{0}걷기", "금\u{7}지", "walk\n", "\u{85}", "a\tb", "\u{1b}[0m"] {
            let field = "dose_text";
            let refused = LifeViolation::ControlText { field };
            assert_eq!(validate_optional_text(field, Some(text)), Err(refused), "{text:?}");
            assert_eq!(validate_framed_text(text).unwrap_err().code(), "validation", "{text:?}");
        }
    }

    #[test]
    fn an_optional_text_may_be_absent_or_empty_but_not_longer_than_200() {
        assert_eq!(validate_optional_text("dose_text", None), Ok(()));
        assert_eq!(validate_optional_text("dose_text", Some("")), Ok(()));
        assert!(validate_optional_text("dose_text", Some(&"x".repeat(201))).is_err());
    }
}
