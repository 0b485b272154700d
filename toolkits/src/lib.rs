//! Ready-made tools with their rules.
pub mod life;
pub mod notes;
