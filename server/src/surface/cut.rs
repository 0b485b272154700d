//! Writes a sentence about why a stream ended before its turn.

use crate::stream::mapper::Cut;

/// Returns the reason in words, or `None` if the reader's own dismissal is the reason.
pub(crate) fn words(cut: Cut) -> Option<&'static str> {
    Some(match cut {
        Cut::Draining { .. } => "The server restarts soon. Connect again to continue.",
        Cut::Unread { .. } => "The chat cannot be read now. Connect again to continue.",
        Cut::TokenExpired => "The token has expired.",
        Cut::TooLong { .. } => "The stream has reached its maximum age. Connect again to continue.",
        Cut::Dismissed => return None,
    })
}
