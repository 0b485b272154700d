//! The tools that the demonstration model was trained on, with what is said of a call that did not
//! do its work.

/// A tool that the demonstration model knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deed {
    /// The name of the tool.
    pub(super) tool: &'static str,
    /// What it does: a Korean noun, and an English verb that follows "could not".
    pub(super) does: (&'static str, &'static str),
    /// The entries of its list, if it returns one.
    pub(super) lists: Option<Entries>,
    /// Whether it finds something out, and shows nothing that was not there before.
    pub(super) looks_up: bool,
    /// What becomes of the data of the user.
    pub(super) change: Change,
}

/// What becomes of the data of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// They stay as they are.
    Nothing,
    /// Something is added or changed.
    Writes,
    /// Something is deleted or ended.
    Removes,
}

/// The kind of entries that a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entries {
    /// Items of the catalogue.
    Items,
    /// Habits of the user.
    Habits,
    /// Recorded days of a habit.
    Days,
    /// Pages.
    Pages,
    /// Blocks that a search found.
    Hits,
    /// Blocks of a page, in order.
    Lines,
}

const fn deed(tool: &'static str, ko: &'static str, en: &'static str) -> Deed {
    Deed { tool, does: (ko, en), lists: None, looks_up: false, change: Change::Nothing }
}

const fn look_up(tool: &'static str, ko: &'static str, en: &'static str) -> Deed {
    Deed { looks_up: true, ..deed(tool, ko, en) }
}

const fn list(tool: &'static str, ko: &'static str, en: &'static str, entries: Entries) -> Deed {
    Deed { lists: Some(entries), ..look_up(tool, ko, en) }
}

const fn go(tool: &'static str, ko: &'static str, en: &'static str) -> Deed {
    Deed { lists: Some(Entries::Pages), ..deed(tool, ko, en) }
}

const fn write(tool: &'static str, ko: &'static str, en: &'static str) -> Deed {
    Deed { change: Change::Writes, ..deed(tool, ko, en) }
}

const fn removal(tool: &'static str, ko: &'static str, en: &'static str) -> Deed {
    Deed { change: Change::Removes, ..deed(tool, ko, en) }
}

/// The tools of the toolkit `life` that it knows.
pub(super) const LIFE: [Deed; 10] = [
    list("search_catalog", "카탈로그 검색", "search the catalogue", Entries::Items),
    look_up("query_protocol", "카탈로그 항목 읽기", "read the item of the catalogue"),
    list("list_active_habits", "습관 목록 읽기", "list the habits", Entries::Habits),
    look_up("get_habit", "습관 읽기", "read the habit"),
    look_up("get_streak", "연속 일수 읽기", "read the streak"),
    list("list_tracker_entries", "습관 기록 읽기", "read the records of the habit", Entries::Days),
    write("add_habit", "습관 추가", "add the habit"),
    write("log_tracker_entry", "습관 기록", "record the habit"),
    removal("end_habit", "습관 끝내기", "end the habit"),
    write("correct_tracker_entry", "습관 기록 수정", "correct the record of the habit"),
];

/// The tools of the toolkit `notes` that it knows.
pub(super) const NOTES: [Deed; 23] = [
    deed("open_page", "페이지 열기", "open the page"),
    list("query_pages", "페이지 검색", "search the pages", Entries::Pages),
    list("list_pages", "페이지 목록 읽기", "list the pages", Entries::Pages),
    write("create_page", "페이지 만들기", "create the page"),
    write("create_page_with_blocks", "페이지 만들기", "create the page"),
    write("rename_page", "페이지 이름 변경", "change the title of the page"),
    removal("delete_page", "페이지 삭제", "delete the page"),
    look_up("get_block", "블록 읽기", "read the block"),
    write("update_block", "블록 수정", "change the block"),
    write("create_block", "블록 추가", "add the block"),
    removal("delete_block", "블록 삭제", "delete the block"),
    list("query_blocks", "블록 검색", "search the blocks", Entries::Hits),
    list("get_page_blocks", "페이지 읽기", "read the page", Entries::Lines),
    write("insert_block_below_current", "블록 추가", "add the block"),
    write("insert_block_below", "블록 추가", "add the block"),
    write("append_to_block", "블록에 덧붙이기", "add to the block"),
    look_up("get_current_context", "열린 페이지 확인", "find out which page is open"),
    go("switch_to_index", "모든 페이지 보기", "show all pages"),
    deed("switch_to_note_view", "페이지 보기", "show the page"),
    go("navigate_to_path", "경로로 이동", "go to the path"),
    go("go_back", "뒤로 가기", "go back"),
    go("go_forward", "앞으로 가기", "go forward"),
    deed("ping", "응답 확인", "get an answer"),
];

/// What is said of a call of any other tool, such as one that was made before the model was chosen.
const OTHER: Deed = deed("", "도구 실행", "run the tool");

/// Returns whether the model was trained on a tool.
pub(super) fn knows(tool: &str) -> bool {
    known().any(|deed| deed.tool == tool)
}

/// Returns what is said of calls of a tool. Of another tool, only that it was called.
pub(super) fn of(tool: &str) -> Deed {
    known().find(|deed| deed.tool == tool).unwrap_or(OTHER)
}

fn known() -> impl Iterator<Item = Deed> {
    LIFE.into_iter().chain(NOTES)
}

#[cfg(test)]
mod tests {
    use madang::tool::EffectPolicy;

    use super::*;
    use crate::{life, notes};

    #[test]
    fn it_knows_each_tool_of_the_toolkits_and_no_other() {
        for (known, tools) in [(&LIFE[..], life::tools()), (&NOTES[..], notes::tools())] {
            let mut known: Vec<_> = known.iter().map(|deed| deed.tool.to_owned()).collect();
            let mut tools: Vec<_> = tools.iter().map(|tool| tool.spec().name.to_string()).collect();
            known.sort();
            tools.sort();
            assert_eq!(known, tools);
        }
        assert!(!knows("") && !knows("send_mail"));
    }

    #[test]
    fn a_tool_that_asks_a_person_is_known_to_change_something() {
        for tool in [life::asking_tools(), notes::asking_tools()].concat() {
            let spec = tool.spec();
            let changes = of(&spec.name).change != Change::Nothing;
            assert_eq!(changes, spec.effect == EffectPolicy::Destructive, "{}", spec.name);
        }
    }
}
