//! Every sentence of the toolkit that a person may see, in Korean and English. The English reasons
//! are with the rules.
use madang::{
    event::{quoted, quoted_up_to},
    language::Particle,
    tool::Locale,
};

use super::{
    block::MAX_CONTENT_CHARS,
    page::{MAX_LEVELS, MAX_PAGE_BLOCKS, MAX_TITLE_CHARS},
    rules::NotesViolation,
};

/// The characters of a block that a question shows.
const SHOWN_CHARS: usize = 60;

impl NotesViolation {
    /// Returns the reason in the person's language.
    pub fn reason(&self, locale: Locale) -> String {
        match locale.language() {
            "ko" => korean(self),
            _ => self.to_string(),
        }
    }
}

/// Says that a page was created.
pub(super) fn page_created(locale: Locale) -> &'static str {
    locale.pick("✅ 페이지를 성공적으로 생성했습니다.", "✅ The page was created.")
}

/// Says that another change was made.
pub(super) fn done(locale: Locale) -> &'static str {
    locale.pick("✅ 완료했습니다", "✅ Done")
}

/// Says that nothing was changed, and why.
pub(super) fn failed(reason: &str, locale: Locale) -> String {
    match locale.language() {
        "ko" => format!("❌ 오류: {reason}"),
        _ => format!("❌ Error: {reason}"),
    }
}

/// Says what deleting a block will do.
pub(super) fn will_delete(content: &str, children: usize, locale: Locale) -> String {
    let block = quoted_up_to(content, SHOWN_CHARS);
    let object = Particle::Object.after(&block);
    match (locale.language(), children) {
        ("ko", 0) => format!("블록 {block}{object} 삭제합니다. 하위 블록은 없습니다."),
        ("ko", count) => {
            format!(
                "블록 {block}{object} 삭제합니다. 하위 블록 {count}개는 한 단계 위로 올라갑니다."
            )
        }
        (_, 0) => format!("Deletes the block {block}, which contains no others."),
        (_, 1) => {
            format!("Deletes the block {block}; the 1 block in it moves up a level.")
        }
        (_, count) => {
            format!("Deletes the block {block}; the {count} blocks in it move up a level.")
        }
    }
}

/// Says what deleting an unknown block will do.
pub(super) fn will_delete_unknown(locale: Locale) -> &'static str {
    locale.pick(
        "블록을 삭제합니다. 그런 블록을 찾을 수 없습니다.",
        "Deletes a block that cannot be found.",
    )
}

/// Says what deleting a page will do.
pub(super) fn will_delete_page(title: &str, blocks: u32, locale: Locale) -> String {
    let page = quoted(title);
    match (locale.language(), blocks) {
        ("ko", 0) => format!("{page} 페이지를 삭제합니다. 블록은 없습니다."),
        ("ko", count) => format!("{page} 페이지와 그 안의 블록 {count}개를 삭제합니다."),
        (_, 0) => format!("Deletes the page {page}, which has no blocks."),
        (_, 1) => format!("Deletes the page {page} and the 1 block on it."),
        (_, count) => format!("Deletes the page {page} and the {count} blocks on it."),
    }
}

/// Says what deleting an unknown page will do.
pub(super) fn will_delete_unknown_page(locale: Locale) -> &'static str {
    locale.pick(
        "페이지를 삭제합니다. 그런 페이지를 찾을 수 없습니다.",
        "Deletes a page that cannot be found.",
    )
}

/// Says what creating a page will do.
pub(super) fn will_create_page(title: &str, blocks: usize, locale: Locale) -> String {
    let page = quoted(title);
    match (locale.language(), blocks) {
        ("ko", 0) => format!("{page} 페이지를 만듭니다."),
        ("ko", count) => format!("{page} 페이지를 블록 {count}개와 함께 만듭니다."),
        (_, 0) => format!("Creates the page {page}."),
        (_, 1) => format!("Creates the page {page} with 1 block."),
        (_, count) => format!("Creates the page {page} with {count} blocks."),
    }
}

/// Says what renaming a page will do. It has no old title if the page is not the user's.
pub(super) fn will_rename_page(old: Option<&str>, new: &str, locale: Locale) -> String {
    let new = quoted(new);
    let particle = Particle::As.after(&new);
    match (locale.language(), old.map(quoted)) {
        ("ko", Some(old)) => format!("{old} 페이지의 이름을 {new}{particle} 바꿉니다."),
        ("ko", None) => format!("페이지의 이름을 {new}{particle} 바꿉니다."),
        (_, Some(old)) => format!("Renames the page {old} to {new}."),
        (_, None) => format!("Renames a page to {new}."),
    }
}

/// Says what adding a block will do. It has no place if that is not the user's.
pub(super) fn will_add_block(content: &str, place: Option<&Place>, locale: Locale) -> String {
    let block = shown(content);
    let object = Particle::Object.after(&block);
    match (locale.language(), place) {
        ("ko", None) => format!("블록 {block}{object} 추가합니다."),
        ("ko", Some(Place::On(page))) => {
            format!("{} 페이지에 블록 {block}{object} 추가합니다.", quoted(page))
        }
        ("ko", Some(Place::In(outer))) => {
            format!("블록 {} 안에 블록 {block}{object} 추가합니다.", shown(outer))
        }
        ("ko", Some(Place::Below(above))) => {
            format!("블록 {} 아래에 블록 {block}{object} 추가합니다.", shown(above))
        }
        (_, None) => format!("Adds the block {block}."),
        (_, Some(Place::On(page))) => {
            format!("Adds the block {block} to the page {}.", quoted(page))
        }
        (_, Some(Place::In(outer))) => format!("Adds the block {block} inside {}.", shown(outer)),
        (_, Some(Place::Below(above))) => format!("Adds the block {block} below {}.", shown(above)),
    }
}

/// The place of a new block, by the text of what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// On a page, by its title.
    On(String),
    /// Inside of a block.
    In(String),
    /// Below a block.
    Below(String),
}

/// Says what changing a block will do. It has no old text if the block is not the user's.
pub(super) fn will_update(old: Option<&str>, new: &str, locale: Locale) -> String {
    let new = shown(new);
    let particle = Particle::As.after(&new);
    match (locale.language(), old.map(shown)) {
        ("ko", Some(old)) => {
            let object = Particle::Object.after(&old);
            format!("블록 {old}{object} {new}{particle} 바꿉니다.")
        }
        ("ko", None) => format!("블록을 {new}{particle} 바꿉니다."),
        (_, Some(old)) => format!("Changes the block {old} to {new}."),
        (_, None) => format!("Changes a block to {new}."),
    }
}

/// Says what appending to a block will do. It has no old text if the block is not the user's.
pub(super) fn will_append(old: Option<&str>, text: &str, locale: Locale) -> String {
    let text = shown(text);
    let object = Particle::Object.after(&text);
    match (locale.language(), old.map(shown)) {
        ("ko", Some(old)) => format!("블록 {old}에 {text}{object} 덧붙입니다."),
        ("ko", None) => format!("블록에 {text}{object} 덧붙입니다."),
        (_, Some(old)) => format!("Appends {text} to the block {old}."),
        (_, None) => format!("Appends {text} to a block."),
    }
}

fn shown(content: &str) -> String {
    quoted_up_to(content, SHOWN_CHARS)
}

fn korean(violation: &NotesViolation) -> String {
    match violation {
        NotesViolation::UnknownPage { name } => {
            format!("{} 페이지를 찾을 수 없습니다.", quoted(name))
        }
        NotesViolation::UnknownBlock { id } => format!("{} 블록을 찾을 수 없습니다.", quoted(id)),
        NotesViolation::BlankTitle => "제목이 비어 있습니다.".to_owned(),
        NotesViolation::LongTitle => format!("제목은 {MAX_TITLE_CHARS}자까지 쓸 수 있습니다."),
        NotesViolation::ControlInTitle => {
            "제목에는 줄바꿈이나 제어 문자를 쓸 수 없습니다.".to_owned()
        }
        NotesViolation::TitleTaken { title } => {
            format!(
                "{} 제목은 다른 페이지가 쓰고 있습니다. 다른 제목을 골라 주세요.",
                quoted(title)
            )
        }
        NotesViolation::HasPages { title, count } => format!(
            "{} 페이지 안에 페이지가 {count}개 있습니다. 그 페이지들을 먼저 삭제해 주세요.",
            quoted(title)
        ),
        NotesViolation::OpenPageGone => {
            "열려 있던 페이지가 삭제되었습니다. open_page로 다른 페이지를 열어 주세요.".to_owned()
        }
        NotesViolation::ControlInText { field } => {
            format!("{field} 값에는 제어 문자를 쓸 수 없습니다.")
        }
        NotesViolation::Newline => {
            "블록은 한 줄이어야 합니다. 줄마다 블록을 만들어 주세요.".to_owned()
        }
        NotesViolation::LongContent => {
            format!("블록에는 {MAX_CONTENT_CHARS}자까지 쓸 수 있습니다.")
        }
        NotesViolation::TooDeep => format!("{MAX_LEVELS}단계보다 깊게 넣을 수 없습니다."),
        NotesViolation::PageFull => {
            format!("한 페이지에는 블록을 {MAX_PAGE_BLOCKS}개까지 둘 수 있습니다.")
        }
        NotesViolation::Cycle => {
            "자기 자신이나 자기 안에 있는 것 속으로 옮길 수 없습니다.".to_owned()
        }
        NotesViolation::OneOf { names: [one, other] } => {
            let with = Particle::With.after(one);
            format!("{one}{with} {other} 가운데 하나만 주어야 합니다.")
        }
        NotesViolation::NotSibling { id } => {
            format!("{} 블록은 그 자리에 있지 않습니다.", quoted(id))
        }
        NotesViolation::NoPageOpen => "열린 페이지가 없습니다.".to_owned(),
        NotesViolation::NoHistory => "더 이동할 기록이 없습니다.".to_owned(),
        NotesViolation::NoBlocksCreated { requested } => {
            format!("블록 {requested}개를 하나도 만들지 못해서 페이지를 만들지 않았습니다.")
        }
        NotesViolation::OutsideWorkspace => "작업 공간 밖의 경로는 열 수 없습니다.".to_owned(),
    }
}
