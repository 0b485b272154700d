//! The tools about the place that a session shows. They report it, and go elsewhere.
use std::sync::Arc;

use madang::tool::{NoArguments, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        super::category::Within as _,
        history::Location,
        page::{Page, PageId},
        repository::{NotesRepository, TreeRow, Way},
        rules::NotesViolation,
    },
    BlockText, Caller, NotesResult, PageTitle, Rows, reading, writing,
};

/// The category of the tool that reports the session's context.
const CONTEXT: &str = "context";
/// The category of the tools that navigate. They write only the context of their session, and never
/// ask.
const NAVIGATION: &str = "navigation";

/// The tools that write only where a session is.
pub(super) const NAVIGATING: [&str; 6] = [
    "open_page",
    "switch_to_index",
    "switch_to_note_view",
    "navigate_to_path",
    "go_back",
    "go_forward",
];

/// The most rows of the tree in a result.
const MAX_ROWS: usize = 500;

pub(super) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        reading(
            "get_current_context",
            "Tell which page is open and which blocks are focused and selected.",
            get_current_context,
        )
        .narrower("get_block")
        .within(CONTEXT),
        writing("switch_to_index", "Show the tree of all pages.", switch_to_index)
            .idempotent()
            .narrower("list_pages")
            .within(NAVIGATION),
        writing(
            "switch_to_note_view",
            "Show a page: the one with this id or path, else the one that is open.",
            switch_to_note_view,
        )
        .idempotent()
        .within(NAVIGATION),
        writing(
            "navigate_to_path",
            "Go to the page or directory at a path of the workspace.",
            navigate_to_path,
        )
        .idempotent()
        .narrower("query_pages")
        .within(NAVIGATION),
        writing("go_back", "Go back to the place before.", go_back)
            .narrower("switch_to_index")
            .within(NAVIGATION),
        writing("go_forward", "Go forward again after going back.", go_forward)
            .narrower("switch_to_index")
            .within(NAVIGATION),
    ]
}

/// The place that a session shows.
#[derive(Debug, Serialize)]
#[serde(tag = "view", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Shown {
    Index(Rows<TreeRow>),
    Directory { page_id: PageId, page_title: String, path: String },
    Page { page_id: PageId, page_title: String, path: String, block_count: u32 },
}

impl Shown {
    /// Describes the tree of all pages, after the first `offset`.
    async fn index(offset: usize, notes: &mut NotesRepository<'_>) -> NotesResult<Self> {
        Ok(Self::Index(Rows::behind(offset, notes.tree(offset, MAX_ROWS).await?)))
    }

    async fn of(place: Location, notes: &mut NotesRepository<'_>) -> NotesResult<Self> {
        let Some(id) = place.page() else { return Self::index(0, notes).await };
        let page = notes.page(&id.to_string()).await?;
        let path = notes.path_of(&page).await?;
        let Page { id: page_id, title: page_title, block_count, .. } = page;
        Ok(match place {
            Location::Page(_) => Self::Page { page_id, page_title, path, block_count },
            Location::Directory(_) | Location::Index => {
                Self::Directory { page_id, page_title, path }
            }
        })
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CurrentContext {
    page: Option<PageTitle>,
    focused_block: Option<BlockText>,
    selected_blocks: Vec<BlockText>,
    has_selection: bool,
    has_focus: bool,
}

async fn get_current_context(
    _: NoArguments,
    mut caller: Caller<'_>,
) -> NotesResult<CurrentContext> {
    let context = caller.notes.context(caller.session).await?;
    Ok(CurrentContext {
        has_selection: !context.selected.is_empty(),
        has_focus: context.focused.is_some(),
        page: context.page.map(PageTitle::from),
        focused_block: context.focused.map(BlockText::from),
        selected_blocks: context.selected.into_iter().map(BlockText::from).collect(),
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SwitchToIndex {
    /// How many pages to skip; nextOffset of the part before.
    #[serde(default)]
    offset: u32,
}

async fn switch_to_index(arguments: SwitchToIndex, mut caller: Caller<'_>) -> NotesResult<Shown> {
    caller.notes.visit(caller.session, Location::Index).await?;
    Shown::index(arguments.offset as usize, &mut caller.notes).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SwitchToNoteView {
    /// Id of the page.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    page_id: Option<String>,
    /// Path of the page, such as Projects/Plan.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 4096))]
    page_path: Option<String>,
}

async fn switch_to_note_view(
    arguments: SwitchToNoteView,
    mut caller: Caller<'_>,
) -> NotesResult<Shown> {
    let notes = &mut caller.notes;
    let page = match (&arguments.page_id, &arguments.page_path) {
        (Some(id), None) => notes.page(id).await.map(|page| page.id),
        (None, Some(path)) => match notes.page_at(path).await {
            Ok(page) => page
                .map(|page| page.id)
                .ok_or_else(|| NotesViolation::UnknownPage { name: path.clone() }.into()),
            Err(error) => Err(error),
        },
        (None, None) => notes.last_page(caller.session).await,
        (Some(_), Some(_)) => Err(NotesViolation::OneOf { names: ["pageId", "pagePath"] }.into()),
    };
    goes_to(Location::Page(page?), caller).await
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NavigateToPath {
    /// Titles from the outermost page on, such as Projects/Plan.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
}

async fn navigate_to_path(
    NavigateToPath { path }: NavigateToPath,
    mut caller: Caller<'_>,
) -> NotesResult<Shown> {
    let place = match caller.notes.page_at(&path).await? {
        None => Location::Index,
        // A path that ends in `.md` names the page itself, and not the directory.
        Some(page) if page.is_directory && !path.ends_with(".md") => Location::Directory(page.id),
        Some(page) => Location::Page(page.id),
    };
    goes_to(place, caller).await
}

async fn goes_to(place: Location, mut caller: Caller<'_>) -> NotesResult<Shown> {
    caller.notes.visit(caller.session, place).await?;
    Shown::of(place, &mut caller.notes).await
}

async fn go_back(_: NoArguments, caller: Caller<'_>) -> NotesResult<Shown> {
    goes(Way::Back, caller).await
}

async fn go_forward(_: NoArguments, caller: Caller<'_>) -> NotesResult<Shown> {
    goes(Way::Forward, caller).await
}

async fn goes(way: Way, mut caller: Caller<'_>) -> NotesResult<Shown> {
    let place = caller.notes.travel(caller.session, way).await?;
    Shown::of(place, &mut caller.notes).await
}
