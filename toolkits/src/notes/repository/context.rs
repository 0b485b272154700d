//! Keeps the context of a session: the place it shows, the focus, the selection, and the way back.
use madang::SessionId;
use serde_json::json;

use super::{
    super::{
        block::{Block, BlockId},
        history::{Location, VisitHistory},
        page::{Page, PageId},
        rules::NotesViolation,
    },
    NotesError, NotesRepository,
    error::failed_to,
};

/// The context of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The place that it shows. `None` before the first visit.
    pub place: Option<Location>,
    /// The open page. `None` if none is open.
    pub page: Option<Page>,
    /// The focused block of that page. `None` if none is.
    pub focused: Option<Block>,
    /// The selected blocks of that page.
    pub selected: Vec<Block>,
}

/// The stored context of a session.
#[derive(Debug, Default)]
struct Standing {
    history: VisitHistory,
    focused: Option<String>,
    selected: Vec<String>,
}

impl Context {
    /// Returns the open page.
    ///
    /// # Errors
    /// Returns [`NotesViolation::NoPageOpen`], or [`NotesViolation::OpenPageGone`] if the page was
    /// deleted meanwhile.
    pub fn open_page(&self) -> Result<&Page, NotesViolation> {
        let missing = match self.place {
            Some(Location::Page(_)) => NotesViolation::OpenPageGone,
            Some(Location::Index | Location::Directory(_)) | None => NotesViolation::NoPageOpen,
        };
        self.page.as_ref().ok_or(missing)
    }
}

/// A direction along the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the place that was shown before.
    Back,
    /// To the place that was shown before going back.
    Forward,
}

impl NotesRepository<'_> {
    /// Returns the context of a session, without focused and selected blocks that are deleted or on
    /// another page.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`] or [`NotesError::Corrupt`].
    pub async fn context(&mut self, session: &SessionId) -> Result<Context, NotesError> {
        let standing = self.standing(session).await?;
        let place = standing.history.current();
        let page = match place {
            Some(Location::Page(id)) => found(self.page(&id.to_string()).await)?,
            Some(Location::Index | Location::Directory(_)) | None => None,
        };
        let mut focused = None;
        let mut selected = Vec::new();
        if let Some(page) = &page {
            let is_there = |block: &Block| block.page_id == page.id;
            if let Some(id) = &standing.focused {
                focused = found(self.block(id).await)?.filter(is_there);
            }
            for id in &standing.selected {
                selected.extend(found(self.block(id).await)?.filter(is_there));
            }
        }
        Ok(Context { place, page, focused, selected })
    }

    /// Shows a place. Focus and selection on another page end.
    ///
    /// # Errors
    /// Returns [`NotesError::Database`].
    pub async fn visit(&mut self, session: &SessionId, place: Location) -> Result<(), NotesError> {
        let mut standing = self.standing(session).await?;
        if standing.history.current() != Some(place) {
            standing.history.visit(place);
            self.arrive(session, place, standing.history).await?;
        }
        Ok(())
    }

    /// Goes back or forward in the history, past deleted pages, and returns the place that is shown
    /// then.
    ///
    /// # Errors
    /// Returns [`NotesViolation::NoHistory`] if there is no such place.
    pub async fn travel(&mut self, session: &SessionId, way: Way) -> Result<Location, NotesError> {
        let Standing { mut history, .. } = self.standing(session).await?;
        let there = self.existing(&history).await?;
        let is_there =
            |place: Location| place.page().is_none_or(|id| there.contains(&id.to_string()));
        let place = match way {
            Way::Back => history.back(is_there),
            Way::Forward => history.forward(is_there),
        };
        let place = place.ok_or(NotesViolation::NoHistory)?;
        self.arrive(session, place, history).await?;
        Ok(place)
    }

    /// Returns the open page. If the index or a directory is shown, returns the page that was open
    /// last.
    ///
    /// # Errors
    /// Returns [`NotesViolation::NoPageOpen`] or [`NotesViolation::OpenPageGone`].
    pub async fn last_page(&mut self, session: &SessionId) -> Result<PageId, NotesError> {
        let Standing { mut history, .. } = self.standing(session).await?;
        let there = self.existing(&history).await?;
        let is_page =
            |place| matches!(place, Location::Page(id) if there.contains(&id.to_string()));
        match history.current() {
            Some(Location::Page(id)) if there.contains(&id.to_string()) => Ok(id),
            Some(Location::Page(_)) => Err(NotesViolation::OpenPageGone.into()),
            Some(Location::Index | Location::Directory(_)) | None => match history.back(is_page) {
                Some(Location::Page(id)) => Ok(id),
                Some(Location::Index | Location::Directory(_)) | None => {
                    Err(NotesViolation::NoPageOpen.into())
                }
            },
        }
    }

    /// Sets focus and selection on the open page, for a screen.
    ///
    /// # Errors
    /// Returns the errors of [`Context::open_page`], and [`NotesViolation::UnknownBlock`] for
    /// blocks that are not on that page.
    pub async fn focus(
        &mut self,
        session: &SessionId,
        focused: Option<BlockId>,
        selected: &[BlockId],
    ) -> Result<(), NotesError> {
        let context = self.context(session).await?;
        let page = context.open_page()?;
        for id in focused.iter().chain(selected) {
            let block = self.block(&id.to_string()).await?;
            if block.page_id != page.id {
                return Err(NotesViolation::UnknownBlock { id: id.to_string() }.into());
            }
        }
        let history = self.standing(session).await?.history;
        self.save(session, &history, focused, selected).await
    }

    /// Lists the ids of visited pages that still exist.
    async fn existing(&mut self, history: &VisitHistory) -> Result<Vec<String>, NotesError> {
        let ids: Vec<_> = history.visits().iter().filter_map(|place| place.page()).collect();
        sqlx::query_scalar(
            "SELECT id FROM notes_pages WHERE user_id = $1 AND id IN (SELECT value FROM json_each($2))",
        )
        .bind(self.user.as_str())
        .bind(json!(ids).to_string())
        .fetch_all(&mut *self.db)
        .await
        .map_err(failed_to("look up visited pages"))
    }

    async fn arrive(
        &mut self,
        session: &SessionId,
        place: Location,
        history: VisitHistory,
    ) -> Result<(), NotesError> {
        self.save(session, &history, None, &[]).await?;
        self.navigated(session, place.page()).await
    }

    async fn save(
        &mut self,
        session: &SessionId,
        history: &VisitHistory,
        focused: Option<BlockId>,
        selected: &[BlockId],
    ) -> Result<(), NotesError> {
        sqlx::query(
            "INSERT INTO notes_contexts (user_id, session_id, history, focused_block, selected_blocks)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (user_id, session_id) DO UPDATE SET history = excluded.history,
                focused_block = excluded.focused_block, selected_blocks = excluded.selected_blocks",
        )
        .bind(self.user.as_str())
        .bind(session.as_str())
        .bind(json!(history).to_string())
        .bind(focused.map(|id| id.to_string()))
        .bind(json!(selected).to_string())
        .execute(&mut *self.db)
        .await
        .map(drop)
        .map_err(failed_to("write down where a session stands"))
    }

    async fn standing(&mut self, session: &SessionId) -> Result<Standing, NotesError> {
        let row: Option<(String, Option<String>, String)> = sqlx::query_as(
            "SELECT history, focused_block, selected_blocks FROM notes_contexts
             WHERE user_id = $1 AND session_id = $2",
        )
        .bind(self.user.as_str())
        .bind(session.as_str())
        .fetch_optional(&mut *self.db)
        .await
        .map_err(failed_to("read where a session stands"))?;
        let Some((history, focused, selected)) = row else { return Ok(Standing::default()) };
        let corrupt = |_| NotesError::Corrupt { what: "where a session stands" };
        Ok(Standing {
            history: serde_json::from_str(&history).map_err(corrupt)?,
            focused,
            selected: serde_json::from_str(&selected).map_err(corrupt)?,
        })
    }
}

/// Turns the error about an unknown page or block into `None`, and passes on any other.
fn found<T>(result: Result<T, NotesError>) -> Result<Option<T>, NotesError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(NotesError::Rule(
            NotesViolation::UnknownPage { .. } | NotesViolation::UnknownBlock { .. },
        )) => Ok(None),
        Err(error) => Err(error),
    }
}
