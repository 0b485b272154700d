//! Says what facts claim, for the message of a refusal.

use madang_actors::port::Write;

/// Describes the facts whose conditions only the tables can check.
pub(crate) fn describe(writes: &[Write]) -> String {
    let what = |write: &Write| match write {
        Write::Session { session, user, .. } => format!("session {session} is {user}'s"),
        Write::Titled { session, user, .. } => format!("session {session} is {user}'s to name"),
        Write::Temporary { session } => format!("there is session {session}"),
        Write::Erased { session } => format!("session {session} is a temporary chat"),
        Write::Deleted { session, user, .. } => {
            format!("session {session} is {user}'s, and all of it has ended")
        }
        Write::TurnStarted { session, turn, .. } => {
            format!("turn {turn} begins in session {session}")
        }
        Write::TurnEnded { session, turn, .. } => {
            format!("turn {turn} is open in session {session}")
        }
        Write::Turn { session, turn, step, .. } => {
            format!("turn {turn} is open in session {session} and can be {step:?}")
        }
        Write::Message { session, message } => {
            format!("number {} in the transcript of session {session} is free", message.seq)
        }
        Write::Call { session, call, transition, .. } => {
            format!("call {call} of session {session} can be {}", <&str>::from(transition))
        }
        Write::Revoke { session, by, .. } => {
            format!("standing approvals of session {session} are {by}'s to revoke")
        }
    };
    format!("not all of this is so: {}", writes.iter().map(what).collect::<Vec<_>>().join(", "))
}
