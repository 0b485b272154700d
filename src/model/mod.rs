//! Models: what implements the port [`ChatModel`](madang_actors::port::ChatModel).

#[cfg(feature = "bundled-model")]
mod bundled;
#[cfg(feature = "child")]
pub mod child;
mod from_fn;

#[cfg(feature = "bundled-model")]
pub use bundled::bundled;
pub use from_fn::{FnModel, from_fn};
pub use madang_actors::protocol::Completion;
#[cfg(feature = "llama")]
pub use madang_llama as llama;
