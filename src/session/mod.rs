//! Sessions: the view of a chat, its list, and the history with which it begins.
//!
//! [`User::session`](crate::User::session) returns a [`Session`](crate::Session), the handle to one
//! chat of one user. [`Session::state`](crate::Session::state) returns its [`SessionView`]: the
//! messages, and the state of the running turn. [`Session::import`](crate::Session::import) begins
//! the chat with messages that were kept elsewhere, each an [`Imported`] with an [`ImportedRole`].
//! In a runtime with [`Builder::temporary_chats`](crate::Builder::temporary_chats), the texts of
//! new chats are erased in the end.

pub(crate) mod handle;
mod import;
mod turn;

pub use madang_actors::{
    protocol::{Imported, ImportedRole},
    session::{SessionView, ViewPage},
};
