//! The history with which a person begins a chat.

use madang::session::Imported;

/// Returns the history of the session with this number. Its texts would be plans if a person had
/// said them here.
#[must_use]
pub fn history(session: usize) -> Vec<Imported> {
    vec![
        Imported::user(format!("erase:elsewhere.{session}")),
        Imported::model(format!("I erased elsewhere.{session}.")),
        Imported::user(format!("save:elsewhere.{session}")),
        Imported::model(format!("I saved elsewhere.{session}.")),
    ]
}
