//! Models: what implements the port [`ChatModel`](madang_actors::port::ChatModel).

#[cfg(feature = "llama")]
pub mod llama;
