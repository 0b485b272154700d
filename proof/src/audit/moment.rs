//! The moment of an audit: the death of a process, or rest.

/// Tells whether calls and turns may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The process has just died.
    AfterDeath,
    /// All sessions were opened again and came to rest.
    AtRest,
}
