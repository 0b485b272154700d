//! Models: what implements the port [`ChatModel`](madang_actors::port::ChatModel).

#[cfg(feature = "bundled-model")]
mod bundled;
#[cfg(feature = "child")]
pub mod child;

#[cfg(feature = "bundled-model")]
pub use bundled::bundled;
#[cfg(feature = "llama")]
pub use madang_llama as llama;
