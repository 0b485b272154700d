//! Authorization: which user a request speaks for, and what it may do.

pub(crate) mod caller;
pub(crate) mod scope;
