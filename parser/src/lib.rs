//! Reads the answer of a local model: separates text for the person, thinking and tool calls, each
//! in the form of the model's family. Pure Rust, without a model or llama.cpp.
//!
//! - [`family`] lists the known families of models, with their markers and the form of their calls.
//! - [`call`] reads and writes one call in such a form.
//! - [`Parser`] finds text, thinking and calls in a stream while it arrives. `header` reads the
//!   headers of messages in channels, and `signs` finds the markers.
//!
//! ```
//! use madang_parser::{Parser, Segment, family::HERMES};
//!
//! let (mut parser, mut found) = (Parser::new(&HERMES, &[]), Vec::new());
//! for piece in ["I look. <tool", "_call>{\"name\": \"find\", \"arguments\": {}}</tool_call>"] {
//!     parser.push(piece, &mut found);
//! }
//! parser.finish(false, &mut found);
//! let [Segment::Text(text), Segment::Call(call)] = &*found else { panic!("{found:?}") };
//! assert_eq!((&**text, &*call.name), ("I look.", "find"));
//! ```
//!
//! Invariants:
//! - No input panics or overflows the stack.
//! - The result is the same however the text is split.
//! - A value that the model wrote is never repaired or guessed.

#![forbid(unsafe_code)]

pub mod call;
pub mod family;
mod header;
mod parser;
mod signs;

pub use header::Channels;
pub use parser::{Parser, Segment};
pub use signs::behind_leads;
