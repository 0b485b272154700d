//! Forking a chat: a new one that begins with the texts before an entry.

use std::{collections::BTreeSet, sync::Arc};

use madang_actors::{
    protocol::{Bound, ChatMessage, Content, Imported, ImportedRole, Languages, TurnId},
    session::{Error, SessionRequest, ViewPage},
};

use crate::Session;

/// A chat that was forked.
#[derive(Debug)]
pub struct Fork {
    /// The session of the fork.
    pub session: Session,
    /// Whether this request wrote it. If the session had begun before, nothing was written.
    pub is_new: bool,
    /// The number of texts that it begins with.
    pub messages: usize,
    /// The number of calls among the copied texts. They are not copied: what they did stays done,
    /// and their records stay in the chat that was forked.
    pub calls: usize,
    /// Whether the oldest texts were left out, because an import takes no more of them, or because
    /// a model said them before the user had said anything.
    pub is_cut: bool,
}

/// The most bytes of a page of the chat that is read at once.
const PAGE_BYTES: usize = 256 * 1024;

impl Session {
    /// Begins a new chat of the same user with the texts of this one: all of them, or those before
    /// the entry with this [number](crate::event::ChatMessage::seq). A person who edits an earlier
    /// message, or wants another answer to it, goes on there.
    ///
    /// Only texts of the user and the models since the last clearing are copied, as an
    /// [`import`](Self::import) writes them, and none of a turn that the models
    /// [no longer read](crate::event::Notice::TurnLeftOut). Calls, approvals, standing approvals
    /// and idempotency keys are not: what a tool did stays done and recorded here, and the fork ends
    /// with a [notice](crate::event::Notice::Forked) that says so. This chat is not changed, and its
    /// running turn goes on.
    ///
    /// ```
    /// # use madang_testing::{MemoryStore, ScriptedCompletion, ScriptedModel};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let answers = ["Hello, Kim.", "Blue.", "Red."].map(ScriptedCompletion::text);
    /// # let model = ScriptedModel::new(answers);
    /// # let runtime = madang::Runtime::builder().model(model).store(MemoryStore::new()).start().await?;
    ///
    /// let session = runtime.user("kim")?.session("chat-1").await?;
    /// session.send("I am Kim.").await?.text().await?;
    /// session.send("A colour?").await?.text().await?;
    /// let asked = session.state().await?.messages[2].seq;
    /// let fork = session.fork(asked, "chat-2").await?;
    /// assert_eq!(fork.messages, 2);
    /// fork.session.send("Another colour?").await?.text().await?;
    /// # Ok(runtime.shutdown().await?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownEntry`] if this chat does not show the entry. [`Error::Busy`] if all texts
    /// are asked for while a turn runs. Otherwise as for [`User::session`](crate::User::session) and
    /// [`import`](Self::import), but a session that has begun is no error: nothing is written then,
    /// and [`Fork::is_new`] is false.
    pub async fn fork(&self, before: impl Into<Option<u64>>, name: &str) -> Result<Fork, Error> {
        let copied = self.texts_before(before.into()).await?;
        let runtime = self.runtime();
        let session = Self::open(runtime, self.user(), name).await?;
        let Copied { newest_first, calls, mut is_cut, bytes, asked, .. } = copied;
        let mut texts = newest_first;
        texts.reverse();
        // A history begins with the user, as an import of one does.
        let begins = texts.iter().position(|text| text.role == ImportedRole::User);
        let begins = begins.unwrap_or(texts.len());
        is_cut |= begins > 0;
        let texts = texts.split_off(begins);
        let language = runtime.languages().choose(None, asked.as_deref()).tag();
        let admission = &runtime.handles.calls.admission;
        let bytes = admission.admit(Bound::QueuedBytes, self.user(), bytes);
        let bytes = bytes.map_err(Error::Overloaded)?;
        let messages = texts.len();
        let import =
            |reply| SessionRequest::Import { messages: texts, fork: Some(language), bytes, reply };
        let is_new = match session.request(import).await {
            Ok(_) => true,
            Err(Error::HasBegun) => false,
            Err(refused) => return Err(refused),
        };
        Ok(Fork { session, is_new, messages, calls, is_cut })
    }

    /// Collects the texts before an entry from the end of the chat, as many as an import takes.
    async fn texts_before(&self, before: Option<u64>) -> Result<Copied, Error> {
        let limits = self.runtime().limits();
        let bounds = (limits.max_imported_messages, limits.max_imported_bytes);
        let mut copied = Copied::default();
        let mut is_found = before.is_none();
        let mut page = ViewPage::of(PAGE_BYTES);
        let mut is_first = true;
        loop {
            let view = self.view(page).await?;
            if is_first && before.is_none() && view.turn.is_some() {
                return Err(Error::Busy);
            }
            is_first = false;
            for entry in view.messages.iter().rev() {
                copied.notes(entry, self.runtime().languages());
                if is_found && !copied.take(entry, bounds) {
                    return Ok(copied);
                }
                is_found |= before == Some(entry.seq);
            }
            match (view.earlier, before) {
                (Some(first), _) => page = page.before(first),
                (None, Some(before)) if !is_found => return Err(Error::UnknownEntry(before)),
                (None, _) => return Ok(copied),
            }
        }
    }
}

/// What a fork begins with.
#[derive(Debug, Default)]
struct Copied {
    newest_first: Vec<Imported>,
    bytes: usize,
    calls: usize,
    is_cut: bool,
    /// The user's newest text whose language is detected. The fork has that language.
    asked: Option<Arc<str>>,
    /// The turns whose texts are not copied. The notice that names a turn comes after its texts, so
    /// it is read before them.
    left_out: BTreeSet<TurnId>,
}

impl Copied {
    /// Notes what an entry says about the fork, whether or not it is copied.
    fn notes(&mut self, entry: &ChatMessage, languages: &Languages) {
        if let (None, Content::User { text, .. }) = (&self.asked, &entry.content) {
            self.asked = languages.detect(text).map(|_| text.clone());
        }
        self.left_out.extend(entry.left_out());
    }

    /// Adds an earlier entry. Returns false if it does not fit within these bounds.
    fn take(&mut self, entry: &ChatMessage, (messages, bytes): (usize, usize)) -> bool {
        let text = match &entry.content {
            Content::ToolCall(_) => {
                self.calls += 1;
                return true;
            }
            Content::Notice { .. } | Content::Cleared => return true,
            // In a turn of its own, a text over which a model broke down would be read again.
            _ if self.left_out.contains(&entry.turn) => return true,
            Content::User { text, .. } => Imported::user(text.clone()),
            Content::Model { text, .. } => Imported::model(text.clone()),
        };
        if text.text.trim().is_empty() {
            return true;
        }
        self.is_cut = self.newest_first.len() >= messages || text.text.len() > bytes - self.bytes;
        if !self.is_cut {
            self.bytes += text.text.len();
            self.newest_first.push(text);
        }
        !self.is_cut
    }
}
