//! Writes the addresses of sessions and turns, for headers and answers.

use std::fmt::Write as _;

use madang::{SessionId, TurnId};

/// Returns the address of a session.
pub(crate) fn of_session(session: &SessionId) -> String {
    format!("/v1/sessions/{}", segment(session.as_str()))
}

/// Returns the address of a turn.
pub(crate) fn of_turn(session: &SessionId, turn: TurnId) -> String {
    format!("{}/turns/{turn}", of_session(session))
}

/// Encodes a text as one part of a path.
fn segment(text: &str) -> String {
    text.bytes().fold(String::new(), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            write!(path, "%{byte:02X}").expect("a string takes all that is written");
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_part_of_a_path() {
        let id = SessionId::new("수면/a b?#").unwrap();
        assert_eq!(of_session(&id), "/v1/sessions/%EC%88%98%EB%A9%B4%2Fa%20b%3F%23");
    }
}
