//! The pure parts of a turn, input by input.

mod machine;
mod recovery;
