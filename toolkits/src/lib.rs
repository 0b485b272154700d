//! Ready-made tools with their rules.
#[cfg(feature = "sqlite")]
pub mod life;
#[cfg(feature = "sqlite")]
pub mod notes;
