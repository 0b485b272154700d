//! Beginning a chat with a history that was kept elsewhere.

use madang_actors::{
    protocol::{Bound, Imported, TurnId},
    session::{Error, SessionRequest, check_import},
};

use crate::Session;

impl Session {
    /// Begins the chat with a history that was kept elsewhere, in order. The messages are stored in
    /// one write, as a turn of their own that has ended, and its id is returned. Readers receive
    /// each message with [`EntryOrigin::Imported`](crate::event::EntryOrigin::Imported), and later
    /// turns read them like any other message.
    ///
    /// Only a chat without any entry accepts a history. If two imports meet, one wins, and no turn
    /// begins between the messages. Dropping the future cancels nothing.
    ///
    /// ```
    /// # use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
    /// use madang::session::Imported;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([ScriptedCompletion::text("Kim.")]);
    /// # let runtime = madang::Runtime::builder().model(model).store(MemoryStore::new()).start().await?;
    ///
    /// let session = runtime.user("kim")?.session("chat-1").await?;
    /// session.import(vec![Imported::user("I am Kim."), Imported::model("Hello, Kim.")]).await?;
    /// let answer = session.send("What is my name?").await?.text().await?;
    /// # assert_eq!(answer, "Kim.");
    /// # Ok(runtime.shutdown().await?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`] says why nothing was imported.
    pub async fn import(&self, messages: Vec<Imported>) -> Result<TurnId, Error> {
        let runtime = self.runtime();
        let bytes = check_import(&messages, runtime.limits())?;
        let admission = &runtime.handles.calls.admission;
        let bytes = admission.admit(Bound::QueuedBytes, self.user(), bytes);
        let bytes = bytes.map_err(Error::Overloaded)?;
        self.request(|reply| SessionRequest::Import { messages, fork: None, bytes, reply }).await
    }
}
