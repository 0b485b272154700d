//! The demonstration: a very small model for the tools of [`life`](crate::life) and
//! [`notes`](crate::notes), of which code writes everything that comes out of data.
//!
//! Such a model copies numbers and titles with mistakes. So it was trained to write one of three
//! placeholders as its whole answer after the results of calls: `{result}`, what the calls of this
//! turn did; `{which}`, the hits of the last one and the question which is meant; `{count}`, how
//! many there are. [`Demonstration`] stands around the model and writes the text that its reader
//! gets. In later prompts it puts the placeholder back, so the model reads what it wrote, and its
//! cache stays valid.
//!
//! ```text
//! request ─> offered: the tools that it knows    ─> model
//!            prompt: its placeholders in place     │
//!            of the texts that code wrote          │
//!                                                  ▼
//! reader  <─ speech: holds back what may be    <─ "{result}"
//!            a placeholder; rendering: the text
//! ```
//!
#![cfg_attr(feature = "bundled-model", doc = "[`load`] loads the model that comes with Madang.")]
#![cfg_attr(not(feature = "bundled-model"), doc = "The feature `bundled-model` includes a model.")]
//!
//! Invariants:
//! - An answer that is a placeholder reaches no reader.
//! - Any other answer is passed on as the model wrote it.
//! - The model is offered only tools that it was trained on.
//! - A call that writes is passed on only if each text in its arguments was said or found, and one
//!   that deletes or ends only if the person has used such a word. Else the answer is that the request
//!   was not understood.
//! - If the model looked a habit up that the last message names, and took another one, the call is
//!   about the habit that was named. If the message names none of the list, nothing is written.
//! - A turn makes no write twice.

#[cfg(feature = "bundled-model")]
mod bundled;
mod deeds;
mod grounds;
mod model;
mod offered;
mod past_call;
mod placeholder;
mod prompt;
mod rendering;
mod speech;
mod wish;

#[cfg(feature = "bundled-model")]
pub use bundled::{load, load_file, load_with};
pub use model::Demonstration;
