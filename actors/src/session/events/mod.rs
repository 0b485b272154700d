//! The events of a session: published once, read by each subscriber at its own pace.

pub(crate) mod feed;
pub(crate) mod replay;
pub(crate) mod subscription;
#[cfg(test)]
mod tests;
