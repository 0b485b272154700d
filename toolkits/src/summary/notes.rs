//! The sentence for each tool of the toolkit `notes`.

use madang::language::Particle;

use super::{Fields, Pair, counted};

/// Describes the result of a tool, if its data have the known form.
pub(super) fn summary(tool: &str, data: Fields<'_>) -> Option<Pair> {
    let title = || data.text("title");
    let content = || data.text("content");
    Some(match tool {
        "open_page" => {
            let (title, blocks) = (data.text("pageTitle")?, data.number("blockCount")?);
            (
                format!("{title} 페이지를 열었습니다. 블록은 {blocks}개입니다."),
                format!("Opened the page {title}, which has {}.", counted(blocks, "block")),
            )
        }
        "query_pages" if data.is_empty_list() => {
            ("맞는 페이지를 찾지 못했습니다.".to_owned(), "Found no page.".to_owned())
        }
        "list_pages" | "switch_to_index" if data.is_empty_list() => {
            ("페이지가 아직 없습니다.".to_owned(), "There are no pages yet.".to_owned())
        }
        "query_pages" | "list_pages" => {
            let (ko, en) = data.items()?;
            (format!("페이지를 {ko} 찾았습니다."), format!("Pages: {en}."))
        }
        "create_page" => {
            let title = title()?;
            (format!("{title} 페이지를 만들었습니다."), format!("Created the page {title}."))
        }
        "create_page_with_blocks" => created_with_blocks(&title()?, data)?,
        "rename_page" => {
            let title = title()?;
            let particle = Particle::As.after(&title);
            (
                format!("페이지의 이름을 {title}{particle} 바꾸었습니다."),
                format!("Renamed the page to {title}."),
            )
        }
        "delete_page" => deleted_page(&title()?, data.number("blocksDeleted")?),
        "get_block" => {
            let content = content()?;
            (format!("{content} 블록을 읽었습니다."), format!("Read the block {content}."))
        }
        "update_block" => {
            let content = content()?;
            let particle = Particle::As.after(&content);
            (
                format!("블록을 {content}{particle} 바꾸었습니다."),
                format!("Changed the block to {content}."),
            )
        }
        "create_block" | "insert_block_below_current" | "insert_block_below" => {
            let content = content()?;
            (format!("{content} 블록을 추가했습니다."), format!("Added the block {content}."))
        }
        "append_to_block" => {
            let content = content()?;
            (
                format!("블록에 덧붙였습니다. 이제 {content}입니다."),
                format!("Appended to the block, which is {content} now."),
            )
        }
        "delete_block" => {
            data.0.get("deleted")?;
            ("블록을 삭제했습니다.".to_owned(), "Deleted the block.".to_owned())
        }
        "query_blocks" if data.is_empty_list() => {
            ("맞는 블록을 찾지 못했습니다.".to_owned(), "Found no block.".to_owned())
        }
        "query_blocks" => {
            let (ko, en) = data.items()?;
            (format!("블록을 {ko} 찾았습니다."), format!("Blocks: {en}."))
        }
        "get_page_blocks" => page_blocks(data)?,
        "get_current_context" => open_page(data),
        "switch_to_index"
        | "switch_to_note_view"
        | "navigate_to_path"
        | "go_back"
        | "go_forward" => shown(data)?,
        "ping" => {
            let said = data.as_text()?;
            let particle = Particle::Called.after(&said);
            (format!("{said}{particle}고 답했습니다."), format!("It answered {said}."))
        }
        _ => return None,
    })
}

fn created_with_blocks(title: &str, data: Fields<'_>) -> Option<Pair> {
    let (made, failed) = (data.number("blocksCreated")?, data.number("blocksFailed")?);
    let blocks = counted(made, "block");
    Some(match failed {
        0 => (
            format!("{title} 페이지를 만들고 블록 {made}개를 적었습니다."),
            format!("Created the page {title} with {blocks}."),
        ),
        _ => (
            format!(
                "{title} 페이지를 만들고 블록 {made}개를 적었습니다. {failed}개는 적지 못했습니다."
            ),
            format!(
                "Created the page {title} with {blocks}; {} could not be written.",
                counted(failed, "other")
            ),
        ),
    })
}

fn deleted_page(title: &str, blocks: u64) -> Pair {
    match blocks {
        0 => (format!("{title} 페이지를 삭제했습니다."), format!("Deleted the page {title}.")),
        _ => (
            format!("{title} 페이지와 그 안의 블록 {blocks}개를 삭제했습니다."),
            format!("Deleted the page {title} and {} on it.", counted(blocks, "block")),
        ),
    }
}

fn page_blocks(data: Fields<'_>) -> Option<Pair> {
    let title = data.text("pageTitle");
    if data.is_empty_list() {
        let title = title?;
        return Some((
            format!("{title} 페이지에는 아직 적힌 것이 없습니다."),
            format!("Nothing is written on the page {title} yet."),
        ));
    }
    let (ko, en) = data.items()?;
    Some(match title {
        Some(title) => (
            format!("{title} 페이지에서 블록을 {ko} 읽었습니다."),
            format!("Blocks of the page {title}: {en}."),
        ),
        None => (format!("블록을 {ko} 읽었습니다."), format!("Blocks: {en}.")),
    })
}

fn open_page(data: Fields<'_>) -> Pair {
    match data.inner("page").and_then(|page| page.text("title")) {
        Some(title) => {
            (format!("{title} 페이지가 열려 있습니다."), format!("The page {title} is open."))
        }
        None => ("열린 페이지가 없습니다.".to_owned(), "No page is open.".to_owned()),
    }
}

/// Describes the place that the session shows now.
fn shown(data: Fields<'_>) -> Option<Pair> {
    let title = data.text("pageTitle");
    Some(match (data.raw("view")?, title) {
        ("page", Some(title)) => (
            format!("지금 {title} 페이지를 보여 줍니다."),
            format!("Now showing the page {title}."),
        ),
        ("directory", Some(title)) => (
            format!("지금 {title} 폴더를 보여 줍니다."),
            format!("Now showing the folder {title}."),
        ),
        ("index", _) => {
            let (ko, en) = data.items()?;
            (
                format!("지금 모든 페이지를 보여 줍니다: {ko}."),
                format!("Now showing all pages: {en}."),
            )
        }
        _ => return None,
    })
}
