//! Sessions: the view of a chat, its list, and the history with which it begins.
//!
//! [`User::session`](crate::User::session) returns a [`Session`](crate::Session), the handle to one
//! chat of one user. [`Session::state`](crate::Session::state) returns its [`SessionView`]: the
//! messages, and the state of the running turn. [`Session::import`](crate::Session::import) begins
//! the chat with messages that were kept elsewhere, each an [`Imported`] with an [`ImportedRole`].
//! [`Session::fork`](crate::Session::fork) begins one with the texts of another.
//! [`Session::rename`](crate::Session::rename) gives the chat a title,
//! [`Session::entries`](crate::Session::entries) reads all of it, and
//! [`Session::delete`](crate::Session::delete) erases it.
//! In a runtime with [`Builder::temporary_chats`](crate::Builder::temporary_chats), the texts of
//! new chats are erased in the end.

mod entries;
mod fork;
pub(crate) mod handle;
mod import;
mod open;
mod turn;

pub use entries::SessionEntries;
pub use fork::Fork;
pub use madang_actors::{
    protocol::{Imported, ImportedRole},
    session::{SessionView, ViewPage},
};
