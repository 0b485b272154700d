//! Tests that no person is asked to approve a call with garbled words, or one that nobody asked for.

use madang::{
    model::{self, Completion, Deltas, FinishReason, PromptMessage},
    tool::{Locale, WantedCall},
};
use madang_toolkits::demonstration::Demonstration;
use serde_json::{Value, json};

use super::{called, completed, request, said, user};

const UNCLEAR: &str = "I did not understand that. Please put it differently.";

/// Returns the calls of an answer, and its text, where the model wants this call after these
/// messages.
async fn wanted(
    tool: &str,
    arguments: impl ToString,
    messages: &[PromptMessage],
    locale: Locale,
) -> (Vec<WantedCall>, String) {
    let call = WantedCall::new(tool, arguments.to_string());
    let model = model::from_fn("played", move |_, _: Deltas| {
        let call = call.clone();
        async move {
            let completion = Completion::text("");
            Ok(Completion { tool_calls: vec![call], finish: FinishReason::ToolCalls, ..completion })
        }
    });
    let request = request(messages, locale);
    let (completion, streamed) = completed(&Demonstration::new(model), request).await;
    assert_eq!(streamed, completion.text, "the reader gets what is stored");
    let is_call = completion.finish == FinishReason::ToolCalls;
    assert_eq!(is_call, !completion.tool_calls.is_empty());
    (completion.tool_calls, completion.text)
}

async fn has_grounds(tool: &str, arguments: impl ToString, messages: &[PromptMessage]) -> bool {
    let (calls, text) = wanted(tool, arguments, messages, Locale::EN).await;
    assert_eq!(text, if calls.is_empty() { UNCLEAR } else { "" });
    !calls.is_empty()
}

/// Returns the arguments with which the call is passed on.
async fn taken(tool: &str, arguments: Value, messages: &[PromptMessage]) -> Value {
    let (calls, _) = wanted(tool, arguments, messages, Locale::EN).await;
    calls.first().map_or(Value::Null, |call| serde_json::from_str(&call.arguments).unwrap())
}

fn add(id: &str, text: &str) -> Value {
    json!({ "protocol_id": id, "frame_level": "L2", "framed_text": text })
}

#[tokio::test]
async fn a_text_that_nobody_said_is_not_proposed() {
    let asked = [user("Please add Sunset walk to my habits, with 'I walk  at DUSK'")];
    for (text, is_good) in [
        ("Sunset walk", true),
        ("해 질 녘 산책", true),
        ("I walk at dusk", true),
        ("Smoset walk", false),
        ("I run at dusk", false),
    ] {
        assert_eq!(
            has_grounds("add_habit", add("sunset-walk", text), &asked).await,
            is_good,
            "{text}"
        );
    }
    let two = |second: &str| json!({ "title": "Moving day", "blocks": [{ "content": "van" }, { "content": second, "indent": 1 }] });
    let asked =
        [user("Create the page Moving day with the line Van and below it 'book by Friday'")];
    assert!(has_grounds("create_page_with_blocks", two("book by Friday"), &asked).await);
    assert!(!has_grounds("create_page_with_blocks", two("book by Fridge"), &asked).await);
}

#[tokio::test]
async fn an_item_that_was_neither_named_nor_found_is_not_proposed() {
    let add = add("sunset-walk", "Sunset walk");
    assert!(!has_grounds("add_habit", add.clone(), &[user("I cannot sleep at night")]).await);
    assert!(has_grounds("add_habit", add.clone(), &[user("해 질 녘 산책을 습관으로")]).await);
    assert!(has_grounds("add_habit", add.clone(), &[user("add sunset-walk")]).await);
    let found = r#"{"status":"ok","data":{"count":1,"items":[{"id":"sunset-walk","title":"Sunset walk"}]}}"#;
    let search = called("search_catalog", &json!({}), found);
    assert!(
        has_grounds("add_habit", add, &[user("walks?"), search, said("1"), user("the first one")])
            .await
    );
}

#[tokio::test]
async fn a_day_is_one_that_was_said() {
    let log = |date: &str| json!({ "habit_id": 2, "value": "done", "date": date });
    for (words, date, is_good) in [
        ("habit 2 done on 2026-03-09", "2026-03-09", true),
        ("2026년 3월 9일에 2번 습관 했어", "2026-03-09", true),
        ("habit 2 done on March 9, 2026", "2026-03-09", true),
        ("3월 9일에 2번 습관 했어", "2026-03-09", true),
        ("habit 2 done on the 9th", "2026-03-09", true),
        ("habit 2 done on March 9, 2026", "2026-03-19", false),
        ("habit 2 done on March 9, 2026", "2025-03-09", false),
        ("habit 2 done", "2026-03-09", false),
    ] {
        assert_eq!(
            has_grounds("log_tracker_entry", log(date), &[user(words)]).await,
            is_good,
            "{words} {date}"
        );
    }
}

#[tokio::test]
async fn nothing_is_deleted_or_ended_without_a_word_for_it() {
    let found = r#"{"status":"ok","data":{"count":1,"total":1,"items":[{"id":"01a2","content":"Ms Okonkwo"}]}}"#;
    let search = called("query_blocks", &json!({ "query": "Okonkwo" }), found);
    let delete = json!({ "id": "01a2" });
    let find = user("Find the note that mentions Okonkwo, the one about my friend");
    assert!(!has_grounds("delete_block", delete.clone(), &[find.clone(), search.clone()]).await);
    for wish in [
        "Delete it.",
        "please discontinue it",
        "그거 지워 줘",
        "take it off my list",
        "이제 안 할래",
    ] {
        let chat = [find.clone(), search.clone(), said("Found."), user(wish)];
        assert!(has_grounds("delete_block", delete.clone(), &chat).await, "{wish}");
    }
    for wish in ["Delete it. On second thoughts, do leave it.", "삭제하려다가, 그냥 둬", "leave it"]
    {
        let chat = [user("delete it"), search.clone(), said("Found."), user(wish)];
        assert!(!has_grounds("delete_block", delete.clone(), &chat).await, "{wish}");
    }
    let asked =
        [user("delete the line about her"), search.clone(), said("Which?"), user("the first")];
    assert!(has_grounds("delete_block", delete.clone(), &asked).await);
    assert!(!has_grounds("delete_block", json!({ "id": "01a3" }), &asked).await);
    let long_ago = [user("delete"), user("thanks"), user("hm"), find, search];
    assert!(!has_grounds("delete_block", delete, &long_ago).await);
    assert!(!has_grounds("end_habit", json!({ "habit_id": 1 }), &[user("how is habit 1?")]).await);
    assert!(
        has_grounds("end_habit", json!({ "habit_id": 1 }), &[user("I'm done with habit 1")]).await
    );
}

#[tokio::test]
async fn of_a_list_the_entry_is_taken_that_the_person_named() {
    let habits = r#"{"status":"ok","data":{"count":2,"items":[
        {"habit_id":1,"title":"Warm bath"},{"habit_id":2,"title":"Fruit snack"}]}}"#;
    let list = called("list_active_habits", &json!({}), habits);
    let log = |habit: u32| json!({ "habit_id": habit, "value": "done" });
    let asked = [user("Log fruit  snack as done"), list.clone()];
    assert_eq!(taken("log_tracker_entry", log(2), &asked).await, log(2));
    assert_eq!(taken("log_tracker_entry", log(1), &asked).await, log(2));
    let streak = json!({ "habit_id": 1 });
    assert_eq!(taken("get_streak", streak, &asked).await, json!({ "habit_id": 2 }));
    let both = [user("warm bath and fruit snack are done"), list.clone()];
    assert_eq!(taken("log_tracker_entry", log(1), &both).await, log(1));
    let neither = [user("Log fruit snack"), list.clone(), said("Which?"), user("the first")];
    assert_eq!(taken("log_tracker_entry", log(1), &neither).await, log(1));
    // A number that stands in no list may have been said.
    assert_eq!(taken("log_tracker_entry", log(3), &asked).await, log(3));
    let pages = r#"{"status":"ok","data":{"count":2,"total":2,"items":[
        {"id":"01a2","title":"Plan"},{"id":"01a3","title":"Plan for May"}]}}"#;
    let pages = called("query_pages", &json!({ "query": "Plan" }), pages);
    let asked = [user("delete the page Plan"), pages];
    assert!(has_grounds("delete_page", json!({ "id": "01a2" }), &asked).await);
    assert!(!has_grounds("delete_page", json!({ "id": "01a3" }), &asked).await, "a habit only");
    let rename = json!({ "id": "01a2", "title": "Plan for May" });
    let asked =
        [user("list"), asked[1].clone(), said("Two."), user("call the first one Plan for May")];
    assert!(has_grounds("rename_page", rename, &asked).await, "a new title names no page");
}

#[tokio::test]
async fn a_habit_is_also_named_by_a_word_of_its_title() {
    let habits = r#"{"status":"ok","data":{"count":2,"items":[
        {"habit_id":1,"title":"계단 오르기"},{"habit_id":2,"title":"스트레칭 휴식"}]}}"#;
    let list = called("list_active_habits", &json!({}), habits);
    let end = |habit: u32| json!({ "habit_id": habit });
    let asked = [user("스트레칭 그만할래"), list.clone()];
    assert_eq!(taken("end_habit", end(2), &asked).await, end(2));
    assert_eq!(taken("end_habit", end(1), &asked).await, end(2));
    let asked = [user("그거 그만할래"), list.clone()];
    assert!(!has_grounds("end_habit", end(1), &asked).await, "it was looked up without a name");
    for words in ["계단그만할래", "1번 그만할래", "stop 오르기"] {
        let asked = [user(words), list.clone()];
        assert_eq!(taken("end_habit", end(1), &asked).await, end(1), "{words}");
    }
    let asked = [user("내 습관"), list, said("두 개예요."), user("그거 그만할래")];
    assert_eq!(taken("end_habit", end(1), &asked).await, end(1));
}

#[tokio::test]
async fn a_catalogue_habit_is_named_in_either_language_and_no_other_is_taken_for_it() {
    let habits = r#"{"status":"ok","data":{"count":1,"items":[
        {"habit_id":4,"protocol_id":"warm-bath","title":"따뜻한 목욕"}]}}"#;
    let list = called("list_active_habits", &json!({}), habits);
    let log = json!({ "habit_id": 4, "value": "blank" });
    for words in ["I skipped my bath", "목욕 못 했어", "warm bath: not today"] {
        let asked = [user(words), list.clone()];
        assert!(has_grounds("log_tracker_entry", log.clone(), &asked).await, "{words}");
    }
    let asked = [user("I didn't manage the deep work block today"), list];
    assert!(!has_grounds("log_tracker_entry", log, &asked).await);
}

#[tokio::test]
async fn a_word_of_a_title_overrules_no_number_no_place_and_no_exclusion() {
    let habits = r#"{"status":"ok","data":{"count":3,"items":[
        {"habit_id":1,"title":"Warm bath"},{"habit_id":2,"title":"Up at first alarm"},
        {"habit_id":3,"title":"Morning sunlight"}]}}"#;
    let list = called("list_active_habits", &json!({}), habits);
    let log = |habit: u32| json!({ "habit_id": habit, "value": "done" });
    for (words, habit) in [
        ("Log the first one as done", 1),
        ("I did number 2 this morning", 2),
        ("2번 아침에 했어", 2),
    ] {
        let asked = [user("my habits"), list.clone(), said("Three."), user(words)];
        assert_eq!(taken("log_tracker_entry", log(habit), &asked).await, log(habit), "{words}");
    }
    let asked = [user("my habits"), list.clone(), said("Three."), user("the sunlight is done")];
    assert!(!has_grounds("log_tracker_entry", log(1), &asked).await, "an older list refuses");
    for words in ["not the warm bath, the alarm", "warm bath 말고 두 번째 거"] {
        let asked = [user(words), list.clone()];
        assert_eq!(taken("log_tracker_entry", log(2), &asked).await, log(2), "{words}");
    }
}

#[tokio::test]
async fn the_newest_list_says_what_an_entry_is_called() {
    let list = |first: &str, second: &str| {
        let items = json!([{ "id": "01a2", "title": first }, { "id": "01a3", "title": second }]);
        let data = json!({ "status": "ok", "data": { "count": 2, "items": items } });
        called("list_pages", &json!({}), &data.to_string())
    };
    let asked = [list("Plan", "Notes"), list("Draft", "Plan"), user("delete the page Plan")];
    assert!(has_grounds("delete_page", json!({ "id": "01a3" }), &asked).await);
    assert!(!has_grounds("delete_page", json!({ "id": "01a2" }), &asked).await);
}

#[tokio::test]
async fn where_several_others_are_named_nothing_is_written() {
    let habits = r#"{"status":"ok","data":{"count":3,"items":[
        {"habit_id":1,"title":"Morning walk"},{"habit_id":2,"title":"Evening walk"},
        {"habit_id":3,"title":"Fruit snack"}]}}"#;
    let asked = [user("end my walk"), called("list_active_habits", &json!({}), habits)];
    let habit = json!({ "habit_id": 3 });
    assert!(!has_grounds("end_habit", habit.clone(), &asked).await);
    assert_eq!(taken("get_streak", habit.clone(), &asked).await, habit, "reading does no harm");
}

#[tokio::test]
async fn a_question_whether_something_was_done_is_no_order() {
    let page = json!({ "title": "book flights" });
    for (words, is_good) in [
        ("did you add book flights?", false),
        ("so why is there no page book flights", false),
        ("was book flights added? why is it not there?", false),
        ("what if I make a page book flights", false),
        ("how many pages are called book flights", false),
        ("do I have a page book flights", false),
        ("is there no page book flights? make it", true),
        ("is there a page book flights, if not make it", true),
        ("are there pages, then make book flights as well", true),
        ("have a page book flights made", true),
        ("could you make a page book flights?", true),
        ("do make a page book flights", true),
    ] {
        assert_eq!(
            has_grounds("create_page", page.clone(), &[user(words)]).await,
            is_good,
            "{words}"
        );
    }
}

#[tokio::test]
async fn a_write_that_the_turn_has_made_is_told_and_not_made_again() {
    let page = json!({ "title": "Shopping" });
    let done = r#"{"status":"ok","data":{"id":"01a2","title":"Shopping"}}"#;
    let made = [user("Make a page Shopping"), called("create_page", &page, done)];
    let (calls, text) = wanted("create_page", &page, &made, Locale::EN).await;
    assert_eq!((calls.len(), &*text), (0, "Created the page 'Shopping'."));
    let other = json!({ "title": "Shop" });
    assert_eq!(taken("create_page", other.clone(), &made).await, other);
    let [first, second] = made;
    let again = [first, second, said("Done."), user("Make another page Shopping")];
    assert_eq!(taken("create_page", page.clone(), &again).await, page);
    let back = [user("Go back two pages"), called("go_back", &json!({}), r#"{"status":"ok"}"#)];
    assert!(has_grounds("go_back", json!({}), &back).await, "it writes nothing");
}

#[tokio::test]
async fn what_changes_nothing_and_what_is_no_json_pass() {
    let asked = [user("hm")];
    assert!(has_grounds("query_pages", json!({ "query": "anything" }), &asked).await);
    assert!(has_grounds("open_page", json!({ "pageTitle": "anything" }), &asked).await);
    assert!(has_grounds("create_page", "{", &asked).await, "it is refused by its own name");
}

#[tokio::test]
async fn it_says_in_the_language_of_the_person_that_it_did_not_understand() {
    let (calls, text) =
        wanted("create_page", json!({ "title": "x" }), &[user("안녕")], Locale::KO).await;
    assert_eq!((calls.len(), &*text), (0, "무슨 말씀인지 잘 모르겠어요. 다르게 말씀해 주세요."));
}
