//! Steps at which a test injects a failure. Without the feature `failpoints` there are none, and
//! the code has no trace of them.
//!
//! A failpoint is at an edge where something is awaited, sent or written. Its name is `file.step`,
//! and is used once. The code awaits `failpoint` with it. A test passes it to `arm` with an action,
//! for the next pass or a later one.
//!
//! `armed` decides what a failpoint does: nothing, panic, fail, wait, or end the process. A test
//! arms one at a time for the process, or steers all that its own thread passes.
//!
//! **Invariants.**
//! - An armed failpoint acts once, and is disarmed by that.
//! - The failpoint itself changes no state. An error is handled like any other error of that step.
//! - `reached` counts each failpoint that was passed, so that a proof knows which it has not tried.

#[cfg(feature = "failpoints")]
mod armed;

#[cfg(feature = "failpoints")]
pub use armed::{Action, Steer, arm, disarm, failpoint, reached, steer};

/// Returned by a step that a test made fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the failpoint {0} was armed")]
pub struct Failed(&'static str);

/// Does nothing.
///
/// # Errors
/// None without the feature `failpoints`.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn failpoint(_: &'static str) -> std::future::Ready<Result<(), Failed>> {
    std::future::ready(Ok(()))
}
