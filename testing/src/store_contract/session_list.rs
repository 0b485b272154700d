//! Promises about the list of a user's chats.

use super::facts::{
    OpenTransaction, answer, approved, at, awaiting, began, denied, ended_behind, ok, opened,
    proposed_in, refused, running, says, session, step, turn, turn_step, user, written,
};
use madang_actors::{
    ledger::Transition,
    port::{SessionPage, SessionSummary, SessionTitle, Store, TurnStep, Write},
    protocol::{ChatMessage, Content, EventCursor, Notice},
};

/// Reads the whole list of a user, at most `at_once` sessions in each read.
async fn listed(store: &dyn Store, owner: &str, at_once: usize) -> Vec<SessionSummary> {
    let mut page = SessionPage::of(at_once).expect("a page of some sessions");
    let mut all = Vec::new();
    loop {
        let found = store.sessions(&user(owner), &page).await.expect("the store can be read");
        assert!(found.len() <= at_once);
        assert!(all.len() < 100, "the pages come to no end");
        let is_last = found.len() < at_once;
        page = match found.last() {
            Some(last) => page.after(last.position()),
            None => return all,
        };
        all.extend(found);
        if is_last {
            return all;
        }
    }
}

async fn names(store: &dyn Store, owner: &str, at_once: usize) -> Vec<String> {
    let listed = listed(store, owner, at_once).await;
    listed.into_iter().map(|summary| summary.session.as_str().to_owned()).collect()
}

/// Reads the only session of kim's list.
async fn only(store: &dyn Store) -> SessionSummary {
    let mut listed = listed(store, "kim", 2).await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    listed.remove(0)
}

fn entry(number: u128, seq: u64, millis: i64, content: Content) -> ChatMessage {
    ChatMessage { seq, turn: turn(number), at: at(millis), content }
}

fn text_of(number: u128, seq: u64, millis: i64, text: &str) -> ChatMessage {
    entry(number, seq, millis, Content::user(text))
}

/// Makes a chat of one text, written at this moment.
fn chat_at(name: &str, owner: &str, millis: i64) -> Vec<Write> {
    vec![opened(name, owner), began(name, 1), says(name, &text_of(1, 1, millis, name))]
}

fn ended_at(name: &str, number: u128, behind: u64, millis: i64) -> Write {
    let mut ended = ended_behind(name, number, behind);
    if let Write::TurnEnded { at: moment, .. } = &mut ended {
        *moment = at(millis);
    }
    ended
}

/// Pages of any size make the same list: newest first, those of the same moment by their ids, and
/// no other user's.
pub async fn a_users_chats_are_listed_newest_first_in_pages_of_any_size(store: &dyn Store) {
    for (name, owner, millis) in [
        ("b", "kim", 5),
        ("a", "kim", 5),
        ("다", "kim", 5),
        ("oldest", "kim", -5),
        ("hers", "lee", 5),
        ("c", "kim", 5),
        ("newest", "kim", 6),
        ("hers too", "lee", 9),
    ] {
        written(store, &chat_at(name, owner, millis)).await;
    }
    for at_once in 1..8 {
        let kims = names(store, "kim", at_once).await;
        assert_eq!(kims, ["newest", "다", "c", "b", "a", "oldest"], "{at_once} at once");
        assert_eq!(names(store, "lee", at_once).await, ["hers too", "hers"], "{at_once} at once");
        assert_eq!(names(store, "no one", at_once).await, [""; 0]);
    }
    // The position of another user's session is a position nevertheless, and so is its text.
    let hers = listed(store, "lee", 8).await.pop().expect("she has two").position();
    let hers = hers.to_string().parse().expect("a position is read as it is written");
    let page = SessionPage::of(2).expect("a page of two").after(hers);
    let behind = store.sessions(&user("kim"), &page).await.expect("the store can be read");
    let behind: Vec<_> = behind.iter().map(|summary| summary.session.as_str()).collect();
    assert_eq!(behind, ["c", "b"]);
}

/// A session that was opened, and calls without a model, make no chat. The first message of the
/// user does.
pub async fn a_session_is_listed_from_the_first_message_of_its_user_on(store: &dyn Store) {
    let ends = Transition::Ended(ok("done"));
    let without_a_model = [
        opened("s", "kim"),
        began("s", 1),
        ended_at("s", 1, 1, 50),
        step("s", 1, 50, proposed_in(1, 1)),
        step("s", 1, 51, running(7)),
        step("s", 1, 52, ends),
    ];
    written(store, &without_a_model).await;
    written(store, &[opened("t", "kim"), began("t", 2)]).await;
    written(store, &[says("t", &entry(2, 1, 3, Content::Notice { notice: Notice::SuggestClear }))])
        .await;
    assert_eq!(listed(store, "kim", 2).await, []);

    written(store, &[began("s", 3), says("s", &text_of(3, 2, 20, "수면"))]).await;
    let expected = SessionSummary {
        session: session("s"),
        opened_at: at(1),
        last_at: at(20),
        last: EventCursor::of_entry(2),
        title: "수면".to_owned(),
        open_turn: Some(turn(3)),
        waits: false,
    };
    assert_eq!(only(store).await, expected);
}

/// Messages of the user and ends of turns move a chat to the front. A clock that was set back moves
/// none.
pub async fn a_chat_moves_to_the_front_by_user_messages_and_ends_of_turns_and_never_back(
    store: &dyn Store,
) {
    written(store, &[chat_at("a", "kim", 10), chat_at("b", "kim", 20)].concat()).await;
    let moments = async || {
        let listed = listed(store, "kim", 5).await;
        let moments: Vec<_> =
            listed.iter().map(|it| (it.session.as_str().to_owned(), it.last_at.millis())).collect();
        moments
    };
    let both = |a: (&str, i64), b: (&str, i64)| vec![(a.0.to_owned(), a.1), (b.0.to_owned(), b.1)];
    assert_eq!(moments().await, both(("b", 20), ("a", 10)));
    let said = |seq, millis| says("a", &text_of(1, seq, millis, "well"));
    written(store, &[said(2, 30)]).await;
    assert_eq!(moments().await, both(("a", 30), ("b", 20)));
    // A call or an answer alone moves nothing, nor does anything that came earlier.
    let answered = says("b", &ChatMessage { at: at(90), ..answer(3, "well") });
    written(store, &[step("b", 1, 90, proposed_in(1, 2)), answered, said(3, 29)]).await;
    written(store, &[turn_step("b", 1, TurnStep::Dismissed)]).await;
    assert_eq!(moments().await, both(("a", 30), ("b", 20)));
    written(store, &[ended_at("b", 1, 3, 40), ended_at("a", 1, 3, 25)]).await;
    assert_eq!(moments().await, both(("b", 40), ("a", 30)));
    written(store, &[began("a", 2), says("a", &entry(2, 4, 90, Content::Cleared))]).await;
    written(store, &[says("a", &text_of(2, 5, 41, "again"))]).await;
    assert_eq!(moments().await, both(("a", 41), ("b", 40)));
    // An undone message never was.
    let mut undone = OpenTransaction::begin(store).await;
    undone.part(&[says("b", &text_of(1, 9, 99, "later"))]).await;
    undone.undo().await;
    undone.commit().await;
    assert_eq!(moments().await, both(("a", 41), ("b", 40)));
}

/// The title is the first text since the last clearing, or else the first of all.
pub async fn a_chat_is_titled_by_the_first_text_since_its_last_clearing(store: &dyn Store) {
    let long = format!(" {}\u{0}\n\t {} ", "수".repeat(70), "면".repeat(70));
    written(store, &[opened("s", "kim"), began("s", 1), says("s", &text_of(1, 5, 1, "fifth"))])
        .await;
    let cleared = |seq| says("s", &entry(1, seq, 2, Content::Cleared));
    let said = |seq, text: &str| says("s", &text_of(1, seq, 2, text));
    let folded = format!("{} {}", "수".repeat(70), "면".repeat(9));
    for (write, title) in [
        // A late entry may have an earlier number.
        (said(3, "third"), "third"),
        (says("s", &answer(2, "not the user's")), "third"),
        (said(6, "sixth"), "third"),
        (cleared(7), "third"),
        (says("s", &answer(8, "{\"role\":\"user\"}")), "third"),
        (step("s", 1, 2, proposed_in(1, 9)), "third"),
        (said(10, &long), &folded),
        (said(11, "eleventh"), &folded),
        (cleared(20), "third"),
        (cleared(18), "third"),
        (said(19, "nineteenth"), "third"),
        (said(21, "\u{1}\n"), ""),
    ] {
        written(store, std::slice::from_ref(&write)).await;
        assert_eq!(only(store).await.title, title, "behind {write:?}");
    }
}

/// A user's own title is listed in place of a text until it is taken back. It moves no chat, and no
/// other user gives one.
pub async fn a_chat_has_the_title_that_its_user_gave_it(store: &dyn Store) {
    written(store, &[chat_at("s", "kim", 5), chat_at("t", "kim", 6)].concat()).await;
    let titled = |name: &str, owner: &str, title: Option<&str>| Write::Titled {
        session: session(name),
        user: user(owner),
        title: title.map(|title| SessionTitle::new(title).expect("a short line")),
    };
    let titles = async || {
        let listed = listed(store, "kim", 5).await;
        listed.into_iter().map(|it| it.title).collect::<Vec<_>>()
    };
    written(store, &[titled("s", "kim", Some("수면"))]).await;
    assert_eq!(titles().await, ["t", "수면"]);
    for refusal in [titled("s", "lee", Some("mine")), titled("nowhere", "kim", None)] {
        refused(store, &[refusal]).await;
    }
    let summary = async |owner: &str, name: &str| {
        let summary = store.summary(&user(owner), &session(name)).await;
        summary.expect("the store can be read").map(|summary| summary.title)
    };
    assert_eq!(summary("kim", "s").await.as_deref(), Some("수면"));
    written(store, &[opened("empty", "kim"), titled("empty", "kim", Some("later"))]).await;
    for (owner, name) in [("lee", "s"), ("kim", "nowhere"), ("kim", "empty")] {
        assert_eq!(summary(owner, name).await, None, "{name} of {owner}");
    }
    let mut undone = OpenTransaction::begin(store).await;
    undone.part(&[titled("s", "kim", None)]).await;
    undone.undo().await;
    undone.commit().await;
    assert_eq!(titles().await, ["t", "수면"]);
    written(store, &[titled("s", "kim", None)]).await;
    assert_eq!(titles().await, ["t", "s"]);
    written(store, &[began("empty", 7), says("empty", &text_of(7, 1, 7, "hi"))]).await;
    assert_eq!(titles().await, ["later", "t", "s"]);
}

/// A reader that subscribes after the cursor misses nothing, neither a call that has not ended yet
/// nor an end of a turn.
pub async fn a_chats_cursor_stands_behind_its_last_event(store: &dyn Store) {
    written(store, &[opened("s", "kim"), began("s", 1), says("s", &text_of(1, 1, 1, "hi"))]).await;
    let entry = EventCursor::of_entry;
    let ends = || Transition::Ended(ok("done"));
    let answered =
        |number, seq| says("s", &ChatMessage { turn: turn(number), ..answer(seq, "well") });
    for (writes, last) in [
        (vec![], entry(1)),
        (vec![step("s", 1, 2, proposed_in(1, 2)), step("s", 2, 2, proposed_in(1, 3))], entry(1)),
        (vec![step("s", 2, 2, running(7)), step("s", 2, 3, ends())], entry(1)),
        (vec![step("s", 1, 3, denied())], entry(3)),
        (vec![answered(1, 4), ended_behind("s", 1, 4)], entry(4).end()),
        // A late entry of that turn, and one of the next.
        (vec![answered(1, 5)], entry(5)),
        (vec![began("s", 2), says("s", &text_of(2, 6, 1, "and?"))], entry(6)),
        // The end is before a call that goes on.
        (vec![step("s", 3, 2, proposed_in(2, 7)), ended_behind("s", 2, 6)], entry(6).end()),
        (vec![began("s", 3), says("s", &text_of(3, 8, 1, "more"))], entry(6).end()),
        (vec![step("s", 3, 2, running(7)), step("s", 3, 3, ends())], entry(8)),
    ] {
        written(store, &writes).await;
        assert_eq!(only(store).await.last, last, "behind {writes:?}");
    }
}

/// A chat waits for its user while a request of its open turn is open, and for no other call.
pub async fn a_chat_waits_while_a_call_of_its_open_turn_is_asked_about(store: &dyn Store) {
    written(store, &[opened("s", "kim"), began("s", 1), says("s", &text_of(1, 1, 1, "hi"))]).await;
    let second = Some(turn(2));
    for (write, open_turn, waits) in [
        (step("s", 1, 2, proposed_in(1, 2)), Some(turn(1)), false),
        (step("s", 1, 3, awaiting(7)), Some(turn(1)), true),
        (step("s", 2, 3, proposed_in(1, 3)), Some(turn(1)), true),
        (step("s", 1, 4, approved(7, "kim")), Some(turn(1)), false),
        (step("s", 2, 4, awaiting(8)), Some(turn(1)), true),
        // The request is open still, but its turn is not.
        (ended_behind("s", 1, 1), None, false),
        (began("s", 2), second, false),
        (step("s", 2, 5, denied()), second, false),
        (step("s", 3, 5, proposed_in(2, 4)), second, false),
        (step("s", 3, 6, awaiting(9)), second, true),
    ] {
        written(store, std::slice::from_ref(&write)).await;
        let SessionSummary { open_turn: open, waits: is_waiting, .. } = only(store).await;
        assert_eq!((open, is_waiting), (open_turn, waits), "behind {write:?}");
    }
}
