//! One turn of a session: from the stored user message to its end.

pub(crate) mod calls;
pub(crate) mod dismissal;
pub(crate) mod effect_resolution;
pub(crate) mod effects;
pub(crate) mod idempotency;
pub(crate) mod left_open;
pub(crate) mod lost_reply;
pub(crate) mod machine;
pub(crate) mod persist;
pub(crate) mod recovery;
pub(crate) mod resumption;
#[cfg(test)]
mod tests;
