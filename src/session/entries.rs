//! Reading a whole chat from the store, a part at a time.

use madang_actors::{port::PartSize, protocol::ChatMessage, session::Error};

use crate::Session;

/// The entries of a chat from its beginning, in order, including those before a clearing. At most a
/// part of them is in memory. Made by [`Session::entries`].
#[derive(Debug)]
pub struct SessionEntries {
    session: Session,
    /// The number from which the next part is read; `None` at the end.
    next: Option<u64>,
}

/// The size of a part: some hundred messages.
const PART: PartSize = PartSize { numbers: 256, bytes: 256 * 1024 };

impl Session {
    /// Reads the whole chat from the store, to keep it elsewhere. The session does not wake. A call
    /// that has not ended is left out.
    ///
    /// ```
    /// # use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([ScriptedCompletion::text("Hello.")]);
    /// # let runtime = madang::Runtime::builder().model(model).store(MemoryStore::new()).start().await?;
    ///
    /// let session = runtime.user("kim")?.session("chat-1").await?;
    /// session.send("Hello").await?.text().await?;
    /// let mut entries = session.entries();
    /// while let Some(part) = entries.next().await? {
    ///     part.iter().for_each(|entry| println!("{:?}", entry.content));
    /// }
    /// # Ok(runtime.shutdown().await?)
    /// # }
    /// ```
    #[must_use]
    pub fn entries(&self) -> SessionEntries {
        SessionEntries { session: self.clone(), next: Some(1) }
    }
}

impl SessionEntries {
    /// Reads the next entries, or returns `None` at the end. After an error, the same entries can be
    /// read again. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Store`] if the store cannot be read, [`Error::Deleted`] if the session was deleted.
    pub async fn next(&mut self) -> Result<Option<Vec<ChatMessage>>, Error> {
        while let Some(from) = self.next {
            let store = self.session.store();
            let part = store.transcript(self.session.id(), from, PART).await?;
            self.session.must_exist()?;
            self.next = part.next;
            if !part.entries.is_empty() {
                return Ok(Some(part.entries.into_iter().map(|entry| entry.message).collect()));
            }
        }
        Ok(None)
    }
}
