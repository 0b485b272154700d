//! Suggests first sentences to a newcomer, in the terminal and on the page. A test says each to the bundled model.

/// A sentence, and the first tool that the model calls for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prompt {
    pub(crate) says: &'static str,
    #[allow(dead_code, reason = "only the test that says them reads it")]
    pub(crate) calls: &'static str,
}

const fn prompt(says: &'static str, calls: &'static str) -> Prompt {
    Prompt { says, calls }
}

const LIFE_KO: [Prompt; 4] = [
    prompt("수면에 좋은 프로토콜 찾아줘", "search_catalog"),
    prompt("느린 호흡은 어떻게 하는 거야?", "query_protocol"),
    prompt("'아침 햇빛 보기' 습관 추가해줘", "add_habit"),
    prompt("내 습관 보여 줘", "list_active_habits"),
];

const LIFE_EN: [Prompt; 4] = [
    prompt("Find something for sleep", "search_catalog"),
    prompt("Tell me more about Slow breathing", "query_protocol"),
    prompt("Add Morning sunlight to my habits", "add_habit"),
    prompt("Show my habits", "list_active_habits"),
];

const NOTES_KO: [Prompt; 4] = [
    prompt("'장보기' 페이지를 만들고 '두부', '대파'를 적어 줘", "create_page_with_blocks"),
    prompt("내 페이지 목록 보여 줘", "list_pages"),
    prompt("'두부'라고 적은 줄 찾아 줘", "query_blocks"),
    prompt("'독서' 페이지 만들어 줘", "create_page"),
];

const NOTES_EN: [Prompt; 4] = [
    prompt(
        "make a page 'Groceries' with 'greens', nested under that 'spinach'",
        "create_page_with_blocks",
    ),
    prompt("List my pages", "list_pages"),
    prompt("Find what is written about greens", "query_blocks"),
    prompt("Create a page named Reading", "create_page"),
];

/// Returns four sentences for these toolkits: the first of each, if there are several.
pub(crate) fn first_prompts(toolkits: &[&str], is_korean: bool) -> Vec<Prompt> {
    let all = toolkits.iter().filter_map(|toolkit| match (*toolkit, is_korean) {
        ("life", true) => Some(LIFE_KO),
        ("life", false) => Some(LIFE_EN),
        ("notes", true) => Some(NOTES_KO),
        ("notes", false) => Some(NOTES_EN),
        _ => None,
    });
    let each = 4 / toolkits.len().max(1);
    all.flat_map(|prompts| prompts.into_iter().take(each)).collect()
}
