//! Promises about searching the texts of a user.

use std::time::Duration;

use super::facts::{
    answer, at, began, ended_behind, ok, opened, proposed_in, running, says, session, step, turn,
    user, written,
};
use madang_actors::{
    ledger::Transition,
    port::{
        SearchBounds, SearchHit, SearchPage, SearchQuery, SearchText, SessionTitle, Store,
        TextRole, Write,
    },
    protocol::{ChatMessage, Content},
};

/// Searches the texts of a user to the end, and returns the pages.
async fn pages(
    store: &dyn Store,
    owner: &str,
    words: &str,
    bounds: SearchBounds,
) -> Vec<SearchPage> {
    let text = SearchText::new(words).expect("a few words");
    let mut query = SearchQuery { bounds, ..SearchQuery::new(text) };
    let mut pages = Vec::new();
    loop {
        let page = store.search(&user(owner), &query).await.expect("the store can be read");
        assert!(pages.len() < 100, "the pages come to no end");
        let next = page.next.clone();
        pages.push(page);
        let Some(next) = next else { return pages };
        // Its text is a position as well.
        query = query.after(next.to_string().parse().expect("a position is read as written"));
    }
}

async fn found(
    store: &dyn Store,
    owner: &str,
    words: &str,
    bounds: SearchBounds,
) -> Vec<SearchHit> {
    pages(store, owner, words, bounds).await.into_iter().flat_map(|page| page.hits).collect()
}

fn names(hits: &[SearchHit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{} {}", hit.session, hit.seq)).collect()
}

fn text_at(seq: u64, millis: i64, content: Content) -> ChatMessage {
    ChatMessage { seq, turn: turn(1), at: at(millis), content }
}

/// Writes a chat of these texts of its user, all at one moment.
async fn chat(store: &dyn Store, name: &str, owner: &str, millis: i64, texts: &[&str]) {
    let mut writes = vec![opened(name, owner), began(name, 1)];
    for (seq, text) in (1..).zip(texts) {
        writes.push(says(name, &text_at(seq, millis, Content::user(*text))));
    }
    written(store, &writes).await;
}

/// Pages of any size find the same: the newest chat first, the texts of a chat in order, and no
/// other user's.
pub async fn a_users_texts_are_found_newest_chat_first_in_pages_of_any_size(store: &dyn Store) {
    chat(store, "a", "kim", 5, &["sleep", "eat", "Sleep well"]).await;
    chat(store, "b", "kim", 5, &["eat", "sleepless"]).await;
    chat(store, "hers", "lee", 9, &["sleep"]).await;
    chat(store, "c", "kim", 6, &["nothing"]).await;
    chat(store, "oldest", "kim", -5, &["no SLEEP"]).await;
    let expected = ["b 2", "a 1", "a 3", "oldest 1"];
    for hits in 1..6 {
        let bounds = SearchBounds { hits, ..SearchBounds::default() };
        let all = pages(store, "kim", "sleep", bounds).await;
        assert!(all.iter().all(|page| page.hits.len() <= hits), "{hits} at once");
        let all: Vec<_> = all.into_iter().flat_map(|page| page.hits).collect();
        assert_eq!(names(&all), expected, "{hits} at once");
    }
    let hers = found(store, "lee", "sleep", SearchBounds::default()).await;
    assert_eq!(names(&hers), ["hers 1"]);
    assert_eq!(names(&found(store, "no one", "sleep", SearchBounds::default()).await), [""; 0]);
}

/// A page ends at its bounds, and the search goes on after it.
pub async fn a_search_reads_no_more_than_its_bounds_and_goes_on(store: &dyn Store) {
    for (name, millis) in [("a", 1), ("b", 2), ("c", 3)] {
        chat(store, name, "kim", millis, &["one", "two", "three"]).await;
    }
    // The end of a chat that is not the first of its page is a page of its own where time is over.
    for (bytes, time, count) in [(1, Duration::MAX, 10), (usize::MAX, Duration::ZERO, 12)] {
        let bounds = SearchBounds { hits: 20, bytes, time };
        let all = pages(store, "kim", "two", bounds).await;
        assert_eq!(all.len(), count, "a text at a time, and the end");
        let all: Vec<_> = all.into_iter().flat_map(|page| page.hits).collect();
        assert_eq!(names(&all), ["c 2", "b 2", "a 2"]);
    }
    // Chats without a text take time as well.
    for (name, millis) in [("d", 1), ("e", 2), ("f", 3)] {
        chat(store, name, "lee", millis, &["two"]).await;
        written(store, &[says(name, &text_at(2, millis, Content::Cleared))]).await;
    }
    let bounds = SearchBounds { time: Duration::ZERO, ..SearchBounds::default() };
    let all = pages(store, "lee", "two", bounds).await;
    assert_eq!(all.len(), 3, "a chat at a time");
    assert!(all.iter().all(|page| page.hits.is_empty()));
}

/// Both sides are found, with the title of their chat and where the words stand. What a call has is
/// no text, and what was cleared is not shown.
pub async fn a_search_finds_what_the_chats_show(store: &dyn Store) {
    let ends = Transition::Ended(ok("sleep"));
    chat(store, "s", "kim", 5, &["sleep: gone"]).await;
    written(store, &[says("s", &text_at(2, 5, Content::Cleared))]).await;
    written(store, &[says("s", &text_at(3, 5, Content::user("how shall I\nsleep?")))]).await;
    let steps = [proposed_in(1, 4), running(7), ends].map(|it| step("s", 1, 5, it));
    written(store, &steps).await;
    written(store, &[says("s", &answer(5, "Sleep at ten.")), ended_behind("s", 1, 5)]).await;
    let title = SessionTitle::new("Rest").ok();
    let titled = Write::Titled { session: session("s"), user: user("kim"), title };
    written(store, &[titled]).await;
    let hits = found(store, "kim", "sleep", SearchBounds::default()).await;
    assert_eq!(names(&hits), ["s 3", "s 5"]);
    let [asked, answered] = &hits[..] else { panic!("{hits:?}") };
    assert_eq!((asked.role, answered.role), (TextRole::User, TextRole::Model));
    assert_eq!((asked.at, asked.turn, &*asked.title), (at(5), turn(1), "Rest"));
    let excerpt = &asked.excerpt;
    let parts = (&*excerpt.before, &*excerpt.found, &*excerpt.after);
    assert_eq!(parts, ("how shall I ", "sleep", "?"));
}
