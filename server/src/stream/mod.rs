//! Streams: one body of Server-Sent Events for all surfaces, and a pure mapper for each.

pub(crate) mod body;
pub(crate) mod frame;
pub(crate) mod mapper;
pub(crate) mod missed;
pub(crate) mod outlet;
pub(crate) mod pieces;
pub(crate) mod places;
