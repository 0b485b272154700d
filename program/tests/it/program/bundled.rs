//! Tests the program with its bundled model: the first command of a newcomer.

#[path = "../../../src/chat/prompts.rs"]
mod prompts;

use std::fs;

use serde_json::{Value, json};

use super::{Ended, Home};

/// Returns the only call of a chat and the last text of the model.
fn call_and_answer(ended: &Ended) -> (Value, String) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let [call] = &ended.of_type("tool_call_ended")[..] else { panic!("not one call: {ended:?}") };
    let answer = ended.of_type("model_message").pop().unwrap();
    (call.clone(), answer["text"].as_str().unwrap().to_owned())
}

#[test]
fn the_bundled_model_looks_things_up_and_names_what_it_found() {
    let home = Home::new();
    let ended = home.run(&["chat", "--json", "--locale", "ko"], "수면에 좋은 프로토콜 찾아줘\n");
    let (call, answer) = call_and_answer(&ended);
    assert_eq!(call["name"], "search_catalog");
    let items = call["outcome"]["data"]["items"].as_array().unwrap();
    assert!(!items.is_empty());
    let is_named = |item: &Value| answer.contains(item["title"].as_str().unwrap());
    assert!(items.iter().any(is_named), "{answer} names none of {items:?}");
}

#[test]
fn the_first_words_say_that_it_is_a_demonstration_and_how_another_model_is_taken() {
    for (locale, words) in [("en", "demonstration model"), ("ko", "데모 모델")] {
        for engine in ["process", "child"] {
            let ended = Home::new().run(&["chat", "--locale", locale, "--engine", engine], "");
            let said: Vec<_> = ended.err.lines().filter(|line| line.contains(words)).collect();
            let [line] = said[..] else { panic!("not one line: {ended:?}") };
            assert!(line.contains("--hf OWNER/REPO") && line.contains("--model PATH"), "{line}");
        }
    }
}

#[test]
fn at_the_end_of_a_long_chat_the_bundled_model_says_what_it_says_at_the_beginning() {
    let last = |before: &[&str]| {
        let said = [before, &["내 습관 보여 줘"]].concat().join("\n");
        let ended = Home::new().run(&["chat", "--json", "--locale", "ko"], format!("{said}\n"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let call = ended.of_type("tool_call_ended").pop().unwrap();
        assert_eq!(call["name"], "list_active_habits");
        ended.of_type("model_message").pop().unwrap()["text"].clone()
    };
    let words = ["수면", "스트레스", "운동", "식단", "집중", "감정", "나쁜 습관", "빛"];
    let searches = words.map(|word| format!("{word} 프로토콜 찾아줘"));
    assert_eq!(last(&searches.each_ref().map(|search| &**search)), last(&[]));
}

#[test]
fn ten_turns_of_a_usual_chat_fit_into_the_room_of_the_bundled_model() {
    let said = [
        "수면에 좋은 프로토콜 찾아줘",
        "느린 호흡은 어떻게 하는 거야?",
        "'아침 햇빛 보기' 습관 추가해줘",
        "내 습관 보여 줘",
        "고마워",
        "스트레스 프로토콜 찾아줘",
        "'물 한 잔' 습관 추가해줘",
        "오늘 1번 습관 했어",
        "습관이 몇 개야?",
        "내 습관 보여 줘",
    ];
    let chat = ["chat", "--json", "--locale", "ko", "--confirm", "approve"];
    let ended = Home::new().run(&chat, format!("{}\n", said.join("\n")));
    assert_eq!((ended.code, ended.of_type("turn_ended").len()), (Some(0), 10), "{ended:?}");
    assert!(ended.of_type("messages_left_out").is_empty(), "{ended:?}");
    assert_eq!(ended.of_type("tool_call_ended").pop().unwrap()["name"], "list_active_habits");
}

#[test]
fn a_message_that_is_too_long_for_the_model_spoils_its_own_turn_only() {
    let said = format!("안녕\n{}\n안녕\n", "길게 ".repeat(2_000));
    let ended = Home::new().run(&["chat", "--json", "--locale", "ko"], &said);
    let turns = ended.of_type("turn_ended");
    let endings: Vec<_> = turns.iter().map(|turn| turn["ending"].as_str().unwrap()).collect();
    assert_eq!(endings, ["answered", "failed", "answered"]);
}

#[test]
fn a_habit_by_the_bundled_model_is_written_only_when_it_was_approved() {
    for (confirm, status, habits) in [("approve", "ok", 1), ("deny", "cancelled", 0)] {
        let home = Home::new();
        let arguments = ["chat", "--json", "--locale", "ko", "--confirm", confirm];
        let ended = home.run(&arguments, "'아침 햇빛 보기' 습관 추가해줘\n");
        let (call, _) = call_and_answer(&ended);
        assert_eq!(
            (&call["name"], &call["outcome"]["status"]),
            (&json!("add_habit"), &json!(status))
        );
        assert_eq!(home.habits(), habits, "after {confirm}");
    }
}

#[test]
fn a_page_of_two_lines_comes_out_of_one_sentence_in_the_database_and_in_a_file() {
    for (locale, said, title, lines) in [
        (
            "ko",
            "'장보기' 페이지를 만들고 '채소', 그 아래에 '시금치'를 적어 줘",
            "장보기",
            ["채소", "시금치"],
        ),
        (
            "en",
            "make a page 'Groceries' with 'greens', nested under that 'spinach'",
            "Groceries",
            ["greens", "spinach"],
        ),
    ] {
        let home = Home::new();
        let chat = ["chat", "--json", "--locale", locale, "--toolkit", "notes"];
        // The model makes mistakes, so a person is asked.
        let (call, _) = call_and_answer(&home.run(&chat, format!("{said}\n")));
        assert_eq!(call["outcome"]["status"], "cancelled", "{call}");
        let chat = [&chat[..], &["--confirm", "approve"]].concat();
        let (call, _) = call_and_answer(&home.run(&chat, format!("{said}\n")));
        assert_eq!(call["outcome"]["status"], "ok", "{call}");
        let page = json!({ "pageId": call["outcome"]["data"]["id"] }).to_string();
        let read = home.run(&["call", "get_page_blocks", &page, "--toolkit", "notes"], "");
        let read: Value = serde_json::from_str(&read.out).unwrap();
        let items = read["data"]["items"].as_array().unwrap_or_else(|| panic!("{read}"));
        let shown: Vec<_> = items.iter().map(|item| (&item["content"], &item["depth"])).collect();
        let [outer, inner] = lines.map(|line| json!(line));
        assert_eq!(shown, [(&outer, &json!(0)), (&inner, &json!(1))]);
        let file = home.path(&format!("data/madang/madang.notes/kim/{title}.md"));
        let [outer, inner] = lines;
        assert_eq!(fs::read_to_string(file).unwrap(), format!("- {outer}\n  - {inner}\n"));
    }
}

#[test]
fn the_promise_holds_under_stress_with_a_model_that_really_answers() {
    let arguments = ["stress", "--json", "--sessions", "4", "--turns", "2", "--model", "bundled"];
    let ended = Home::new().run(&[&arguments[..], &["--seed", "3"]].concat(), "");
    let report: Value =
        serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    assert_eq!((ended.code, &report["turns"]), (Some(0), &json!(8)), "{report}");
    for counter in ["lost", "doubled", "unasked", "misreported", "disturbed"] {
        assert_eq!(report[counter], 0, "{counter}: {report}");
    }
}

#[test]
fn each_sentence_of_the_start_screen_leads_to_its_call() {
    for (toolkits, list) in
        [(&["life"][..], "life"), (&["notes"], "notes"), (&["life", "notes"], "life,notes")]
    {
        for (locale, is_korean) in [("ko", true), ("en", false)] {
            let prompts = prompts::first_prompts(toolkits, is_korean);
            assert_eq!(prompts.len(), 4);
            for prompts::Prompt { says, calls } in prompts {
                let home = Home::new();
                let chat = ["chat", "--json", "--locale", locale, "--toolkit", list];
                let chat = [&chat[..], &["--confirm", "approve"]].concat();
                let (call, answer) = call_and_answer(&home.run(&chat, format!("{says}\n")));
                let outcome = (&call["name"], &call["outcome"]["status"]);
                assert_eq!(outcome, (&json!(calls), &json!("ok")), "{says}: {answer}");
            }
        }
    }
}

/// Any answer of the model will do: an id that it has not seen is in no catalogue and on no page.
#[test]
fn an_ordinal_without_a_list_writes_nothing_though_everything_is_approved() {
    for said in [
        "두 번째 거 추가해줘",
        "첫 번째로 할게",
        "2번 추가해줘",
        "두번째꺼 추가 부탁해",
        "Add the second one",
        "add number 2",
        "The first one, please",
        "Delete the third one",
    ] {
        let home = Home::new();
        let options = ["chat", "--json", "--toolkit", "life,notes", "--confirm", "approve"];
        let ended = home.run(&options, format!("{said}\n"));
        let calls = ended.of_type("tool_call_ended");
        assert_eq!(ended.of_type("turn_ended").len(), 1, "{said}: {ended:?}");
        assert!(calls.iter().all(|call| call["effect"] == "none"), "{said}: {calls:?}");
        assert_eq!(home.habits(), 0, "{said}");
    }
}
