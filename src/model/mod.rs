//! Models: what implements the port [`ChatModel`](madang_actors::port::ChatModel).

#[cfg(feature = "child")]
pub mod child;
#[cfg(feature = "llama")]
pub mod llama;
