//! Forking a chat: a new one that begins with the texts before a turn.

use std::sync::Arc;

use madang_actors::{
    protocol::{Bound, ChatMessage, Content, Imported, ImportedRole, TurnId},
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
    /// Whether earlier texts were left out, because the limits of an import allow no more.
    pub is_cut: bool,
}

/// The most bytes of a page of the chat that is read at once.
const PAGE_BYTES: usize = 256 * 1024;

impl Session {
    /// Begins a new chat of the same user with the texts of this one: all of them, or those before
    /// a turn. A person who edits an earlier message, or wants another answer to it, goes on there.
    ///
    /// Only texts of the user and the models since the last clearing are copied, as an
    /// [`import`](Self::import) writes them. Calls, approvals, standing approvals and idempotency
    /// keys are not: what a tool did stays done and recorded here, and the fork ends with a
    /// [notice](crate::event::Notice::Forked) that says so. This chat is not changed, and its
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
    /// let turn = session.send("A colour?").await?;
    /// # let id = turn.id();
    /// # turn.text().await?;
    /// let fork = session.fork(id, "chat-2").await?;
    /// assert_eq!(fork.messages, 2);
    /// fork.session.send("Another colour?").await?.text().await?;
    /// # Ok(runtime.shutdown().await?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownTurn`] if this chat does not show the turn. [`Error::Busy`] if all texts are
    /// asked for while a turn runs. Otherwise as for [`User::session`](crate::User::session) and
    /// [`import`](Self::import), but a session that has begun is no error: nothing is written then,
    /// and [`Fork::is_new`] is false.
    pub async fn fork(&self, before: impl Into<Option<TurnId>>, name: &str) -> Result<Fork, Error> {
        let copied = self.texts_before(before.into()).await?;
        let runtime = self.runtime();
        let session = Self::open(runtime, self.user(), name).await?;
        let Copied { newest_first, calls, is_cut, bytes, asked } = copied;
        let mut texts = newest_first;
        texts.reverse();
        // A history begins with the user, as an import of one does.
        let begins = texts.iter().position(|text| text.role == ImportedRole::User);
        let texts = texts.split_off(begins.unwrap_or(texts.len()));
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

    /// Collects the texts before a turn from the end of the chat, as many as an import takes.
    async fn texts_before(&self, before: Option<TurnId>) -> Result<Copied, Error> {
        let limits = self.runtime().limits();
        let bounds = (limits.max_imported_messages, limits.max_imported_bytes);
        let mut copied = Copied::default();
        let mut place = before.map_or(Place::Before, Place::After);
        let mut page = ViewPage::of(PAGE_BYTES);
        let mut is_first = true;
        loop {
            let view = self.view(page).await?;
            if is_first && before.is_none() && view.turn.is_some() {
                return Err(Error::Busy);
            }
            is_first = false;
            for entry in view.messages.iter().rev() {
                place = place.of(entry.turn);
                copied.language_of(entry);
                if place == Place::Before && !copied.take(entry, bounds) {
                    return Ok(copied);
                }
            }
            match (view.earlier, place) {
                (Some(first), _) => page = page.before(first),
                (None, Place::After(turn)) => return Err(Error::UnknownTurn(turn)),
                (None, Place::Within(_) | Place::Before) => return Ok(copied),
            }
        }
    }
}

/// Where a reader is that reads a chat from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// After this turn.
    After(TurnId),
    /// Within it.
    Within(TurnId),
    /// Before it.
    Before,
}

impl Place {
    /// Returns the place of the next earlier entry, which is of this turn.
    fn of(self, turn: TurnId) -> Self {
        match self {
            Self::After(before) | Self::Within(before) if turn == before => Self::Within(before),
            Self::After(before) => Self::After(before),
            Self::Within(_) | Self::Before => Self::Before,
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
    /// The user's newest text, whose language the fork has.
    asked: Option<Arc<str>>,
}

impl Copied {
    /// Notes the user's newest text.
    fn language_of(&mut self, entry: &ChatMessage) {
        if let (None, Content::User { text, .. }) = (&self.asked, &entry.content) {
            self.asked = Some(text.clone());
        }
    }

    /// Adds an earlier entry. Returns false if it does not fit within these bounds.
    fn take(&mut self, entry: &ChatMessage, (messages, bytes): (usize, usize)) -> bool {
        let text = match &entry.content {
            Content::User { text, .. } => Imported::user(text.clone()),
            Content::Model { text, .. } => Imported::model(text.clone()),
            Content::ToolCall(_) => {
                self.calls += 1;
                return true;
            }
            Content::Notice { .. } | Content::Cleared => return true,
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
