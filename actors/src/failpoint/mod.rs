//! Steps at which a test injects a failure. Without the feature `failpoints` none exists, and the code has no trace of
//! them.
//!
//! A failpoint stands at an edge where something is awaited, sent or written. Its name is `file.step`, and is used once.

#[cfg(feature = "failpoints")]
mod armed;

#[cfg(feature = "failpoints")]
pub use armed::{Action, Steer, arm, disarm, failpoint, reached, steer};

/// Tells that a test made a step fail.
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
