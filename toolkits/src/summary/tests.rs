//! Tests the sentence for each tool, with data as its calls give them.

use madang::tool::Locale;
use serde_json::{Value, json};

use super::summary;

fn check(tool: &str, data: impl Into<Value>, ko: &str, en: &str) {
    let data = data.into();
    assert_eq!(summary(tool, &data, Locale::KO), ko, "{tool}");
    assert_eq!(summary(tool, &data, Locale::EN), en, "{tool}");
}

#[test]
fn what_a_tool_of_habits_gave_is_one_sentence() {
    check(
        "search_catalog",
        json!({ "count": 0, "items": [] }),
        "카탈로그에서 맞는 항목을 찾지 못했습니다.",
        "Found nothing in the catalogue.",
    );
    check(
        "list_active_habits",
        json!({ "count": 0, "items": [] }),
        "진행 중인 습관이 없습니다.",
        "There are no active habits.",
    );
    check(
        "get_streak",
        json!({ "title": "산책", "current": 0 }),
        "'산책': 지금 이어지는 날이 없습니다.",
        "'산책': no days in a row right now.",
    );
    check(
        "list_tracker_entries",
        json!({ "habit_id": 7, "count": 1, "total": 3, "items": [{}] }),
        "7번 습관의 기록은 3개 중 1개입니다.",
        "Records of habit 7: 1 of 3 items.",
    );
    check(
        "correct_tracker_entry",
        json!({ "habit_id": 7, "date": "2026-03-09", "value": "blank" }),
        "7번 습관의 2026-03-09 기록을 빈칸으로 고쳤습니다.",
        "Corrected the record of habit 7 for 2026-03-09 to blank.",
    );
    check(
        "end_habit",
        json!({ "habit_id": 7, "title": "산책", "ended_on": "2026-03-09" }),
        "'산책' 습관을 2026-03-09로 끝냈습니다.",
        "Ended the habit '산책' on 2026-03-09.",
    );
}

#[test]
fn what_a_tool_of_notes_gave_is_one_sentence() {
    check(
        "create_page_with_blocks",
        json!({ "title": "할 일", "blocksCreated": 2, "blocksFailed": 1 }),
        "'할 일' 페이지를 만들고 블록 2개를 적었습니다. 1개는 적지 못했습니다.",
        "Created the page '할 일' with 2 blocks; 1 other could not be written.",
    );
    check(
        "rename_page",
        json!({ "id": "0198", "title": "목록" }),
        "페이지의 이름을 '목록'으로 바꾸었습니다.",
        "Renamed the page to '목록'.",
    );
    check(
        "delete_page",
        json!({ "title": "목록", "deleted": true, "blocksDeleted": 1 }),
        "'목록' 페이지와 그 안의 블록 1개를 삭제했습니다.",
        "Deleted the page '목록' and 1 block on it.",
    );
    check(
        "append_to_block",
        json!({ "id": "0198", "content": "우유 사기" }),
        "블록에 덧붙였습니다. 이제 '우유 사기'입니다.",
        "Appended to the block, which is '우유 사기' now.",
    );
    check(
        "go_back",
        json!({ "view": "page", "pageTitle": "목록", "path": "목록", "blockCount": 1 }),
        "지금 '목록' 페이지를 보여 줍니다.",
        "Now showing the page '목록'.",
    );
    check("ping", json!("pong"), "'pong'(이)라고 답했습니다.", "It answered 'pong'.");
}

#[test]
fn data_that_are_not_known_are_told_in_general_words() {
    check("send_mail", json!({ "id": 7 }), "완료했습니다.", "Done.");
    check("send_mail", json!([1, 2]), "2개입니다.", "2 items.");
    check("send_mail", json!("sent"), "'sent'", "'sent'");
    check("add_habit", json!({ "habit_id": "7" }), "완료했습니다.", "Done.");
    let odd = json!({ "habit_id": 7, "date": "x'. Done.\n", "value": "done" });
    check("log_tracker_entry", odd, "완료했습니다.", "Done.");
}
