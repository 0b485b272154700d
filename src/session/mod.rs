//! Sessions: what a chat shows of itself, where its history is kept, and what it begins with.
//!
//! [`User::session`](crate::User::session) returns a [`Session`](crate::Session), the handle to one chat of one user.
//! [`Session::state`](crate::Session::state) gives its [`SessionView`]: the messages, and how the turn that runs stands.
//! [`Session::import`](crate::Session::import) begins it with messages that were kept elsewhere, each an [`Imported`] of an
//! [`ImportedRole`]. [`Builder::temporary_chats`](crate::Builder::temporary_chats) has their texts erased in the end.

pub(crate) mod handle;
mod import;
mod turn;

pub use madang_actors::{
    protocol::{Imported, ImportedRole},
    session::{SessionView, ViewPage},
};
