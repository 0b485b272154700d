//! Tests that a chat and a call write Markdown files, and that nothing about a file fails a call.

use std::fs;

use serde_json::{Value, json};

use super::{Home, is_obeyed};

fn daily_note() -> Value {
    let blocks = [
        ("## 오늘의 주요 활동", 0),
        ("- [x] 작업 완료", 1),
        ("- [ ] 산책", 1),
        ("## 메모", 0),
        ("회의", 1),
        ("다음 주로 미룸", 2),
    ];
    let blocks = blocks.map(|(content, indent)| json!({ "content": content, "indent": indent }));
    json!({ "title": "2026-01-25 일일 노트", "blocks": blocks })
}

const DAILY_NOTE: &str = "- ## 오늘의 주요 활동
  - - [x] 작업 완료
  - - [ ] 산책
- ## 메모
  - 회의
    - 다음 주로 미룸
";

#[test]
fn the_daily_note_of_a_chat_is_a_markdown_file_when_the_program_ends() {
    let home = Home::new();
    let call =
        json!({ "tool_calls": [{ "name": "create_page_with_blocks", "arguments": daily_note() }] });
    let script = [call, json!({ "text": "만들었어요." })];
    let ended =
        home.chat(&script, &["--toolkit", "life,notes", "--locale", "ko"], "일일 노트 만들어줘\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.out.contains("✅ 페이지를 성공적으로 생성했습니다. · create_page_with_blocks"),
        "{ended:?}"
    );
    let file = home.path("data/madang/madang.notes/kim/2026-01-25 일일 노트.md");
    assert_eq!(fs::read_to_string(file).unwrap(), DAILY_NOTE);
}

#[test]
fn an_edit_of_a_file_is_kept_under_another_name_and_that_is_said() {
    let home = Home::new();
    let arguments = daily_note().to_string();
    let to = ["--toolkit", "notes", "--workspace", "mine"];
    let made = home.run(&[&["call", "create_page_with_blocks", "-"], &to[..]].concat(), arguments);
    assert_eq!((made.code, &*made.err), (Some(0), ""), "{made:?}");
    let file = home.path("mine/2026-01-25 일일 노트.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), DAILY_NOTE);
    let edit = DAILY_NOTE.replace("[ ] 산책", "[x] 산책");
    fs::write(&file, &edit).unwrap();
    let repaired = home.run(&["notes", "repair", "--workspace", "mine"], "");
    assert_eq!(repaired.code, Some(0), "{repaired:?}");
    let report: Value = serde_json::from_str(&repaired.out).unwrap();
    assert_eq!(report["keptBeside"], json!(["2026-01-25 일일 노트 (conflict).md"]));
    assert_eq!(report["written"], json!(["2026-01-25 일일 노트.md"]));
    assert_eq!(fs::read_to_string(&file).unwrap(), DAILY_NOTE);
    let kept = home.path("mine/2026-01-25 일일 노트 (conflict).md");
    assert_eq!(fs::read_to_string(&kept).unwrap(), edit);

    fs::write(&file, &edit).unwrap();
    let found = home.run(&[&["call", "query_blocks", r#"{"query":"산책"}"#], &to[..]].concat(), "");
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.out.contains("[ ] 산책"), "{found:?}");
    assert!(found.err.contains("2026-01-25 일일 노트 (conflict 2).md"), "{found:?}");
}

#[test]
fn a_folder_that_is_none_fails_no_call_and_is_said() {
    let home = Home::new();
    fs::write(home.path("mine"), "a file").unwrap();
    let arguments = daily_note().to_string();
    let to = ["--toolkit", "notes", "--workspace", "mine"];
    let made = home.run(&[&["call", "create_page_with_blocks", "-"], &to[..]].concat(), arguments);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.out.contains("\"status\":\"ok\""), "{made:?}");
    assert!(made.err.contains("could not be written as files"), "{made:?}");
    assert_eq!(fs::read_to_string(home.path("mine")).unwrap(), "a file");
    home.run(&["notes", "repair", "--workspace", "mine"], "").failed_with(&["workspace", "mine"]);
}

#[test]
fn a_rule_that_does_not_hold_is_told_as_an_error_to_the_person() {
    let home = Home::new();
    let call =
        json!({ "tool_calls": [{ "name": "open_page", "arguments": { "pageTitle": "없는 것" } }] });
    let script = [call, json!({ "text": "없어요." })];
    let ended = home.chat(&script, &["--toolkit", "notes", "--locale", "ko"], "없는 것 열어줘\n");
    assert!(
        ended.out.contains("❌ 오류: '없는 것' 페이지를 찾을 수 없습니다. · open_page"),
        "{ended:?}"
    );
}

#[test]
fn no_name_of_a_folder_or_a_page_reaches_the_terminal_as_it_obeys_it() {
    let home = Home::new();
    let folder = "mine\u{9b}2J\u{202e}";
    let page = json!({ "title": "a\u{202e}b", "blocks": [{ "content": "\u{202e}c" }] });
    let arguments = page.to_string();
    let made =
        home.run(&["call", "create_page_with_blocks", &*arguments, "--toolkit", "notes"], "");
    assert_eq!(made.code, Some(0), "{made:?}");
    let repaired = home.run(&["notes", "repair", "--workspace", folder], "");
    assert_eq!((repaired.code, &*repaired.err), (Some(0), ""), "{repaired:?}");
    fs::write(home.path("file\u{202e}"), "").unwrap();
    let blocked = home.run(&["notes", "repair", "--workspace", "file\u{202e}"], "");
    assert!(blocked.code == Some(1) && blocked.err.contains("202e"), "{blocked:?}");
    for printed in [&made.out, &repaired.out, &blocked.err] {
        assert!(!printed.contains(is_obeyed), "{printed:?}");
    }
    let report: Value = serde_json::from_str(&repaired.out).unwrap();
    let workspace = report["workspace"].as_str().unwrap();
    assert!(workspace.ends_with(folder), "it is the same name: {workspace:?}");
}
