//! Promises about sessions, turns and messages.

use super::facts::{
    answer, at, began, chat, ended, ended_behind, opened, proposed, record, refused, says, session,
    step, stored, text, texts, turn, user, write, written,
};
use madang_actors::{
    port::{PartSize, SessionRow, Store, StoredSession, TranscriptPart, Write},
    protocol::{ChatMessage, Content, Ending, Imported, Notice},
};

/// To open a session again changes nothing. Another user is refused.
pub async fn a_session_is_opened_once_and_belongs_to_one_user(store: &dyn Store) {
    written(store, &[opened("s", "kim")]).await;
    let first = stored(store, "s").await;
    let row =
        SessionRow { session: session("s"), user: user("kim"), opened_at: at(1), last_seq: 0 };
    assert_eq!(first, StoredSession { row, messages: vec![], open_turn: None });

    let later = Write::Session { session: session("s"), user: user("kim"), at: at(99) };
    written(store, &[later]).await;
    refused(store, &[opened("s", "lee")]).await;
    assert_eq!(stored(store, "s").await, first);
    assert_eq!(store.owner(&session("s")).await.expect("the store can be read"), Some(user("kim")));
}

/// To read an unknown session is not an error.
pub async fn an_unknown_session_is_none(store: &dyn Store) {
    written(store, &[opened("s", "kim")]).await;
    assert_eq!(store.session(&session("t")).await.expect("the store can be read"), None);
    assert_eq!(store.owner(&session("t")).await.expect("the store can be read"), None);
}

/// Turns, messages and calls belong to an existing session.
pub async fn nothing_is_written_for_a_session_that_was_never_opened(store: &dyn Store) {
    for orphan in
        [began("s", 1), ended("s", 1), says("s", &text(1, "a")), step("s", 1, 2, proposed(1))]
    {
        refused(store, &[orphan]).await;
    }
    assert_eq!(store.session(&session("s")).await.expect("the store can be read"), None);
}

/// Every kind of message comes back unchanged, even with Korean and control characters.
pub async fn messages_come_back_as_they_were_written_and_in_order(store: &dyn Store) {
    chat(store, "s").await;
    let entry = |seq, content| ChatMessage { seq, turn: turn(1), at: at(7), content };
    let messages = [
        text(1, "수면에 좋은 것\n\"quoted\" 🙂 \u{1}"),
        answer(2, ""),
        entry(3, Content::model("half", Ending::Interrupted)),
        entry(4, Content::Notice { notice: Notice::SuggestClear }),
        entry(5, Content::Cleared),
        entry(6, Imported::user("{\"role\":\"cleared\"}").into()),
        entry(7, Imported::model("<tool_call>").into()),
    ];
    // They are not in the order of their numbers, because a late one may follow others.
    for index in [1, 0, 4, 6, 2, 5, 3] {
        written(store, &[says("s", &messages[index])]).await;
    }
    let found = stored(store, "s").await;
    assert_eq!(found.messages, messages);
    assert_eq!(found.row.last_seq, 7);
}

/// A number is given once, to a message or to a call.
pub async fn a_number_in_the_transcript_is_taken_once(store: &dyn Store) {
    chat(store, "s").await;
    written(store, &[says("s", &text(1, "first")), step("s", 1, 2, proposed(2))]).await;
    refused(store, &[says("s", &text(1, "first"))]).await;
    refused(store, &[says("s", &text(2, "on a call's number"))]).await;
    refused(store, &[step("s", 2, 2, proposed(1))]).await;
    refused(store, &[says("s", &text(0, "nowhere"))]).await;
    assert_eq!(texts(store, "s").await, ["first"]);
    assert_eq!(
        stored(store, "s").await.row.last_seq,
        2,
        "the call that has not ended keeps its number"
    );
}

/// A message names its turn. A tool call is not a message.
pub async fn a_message_needs_a_turn_that_has_begun(store: &dyn Store) {
    written(store, &[opened("s", "kim")]).await;
    refused(store, &[says("s", &text(1, "too early"))]).await;
    written(store, &[began("s", 1), says("s", &text(1, "now"))]).await;

    let content = Content::ToolCall(record().into());
    let smuggled = ChatMessage { seq: 2, turn: turn(1), at: at(1), content };
    refused(store, &[says("s", &smuggled)]).await;
    assert_eq!(texts(store, "s").await, ["now"]);
}

/// A turn has one beginning and one end.
pub async fn a_turn_begins_once_and_ends_once(store: &dyn Store) {
    chat(store, "s").await;
    refused(store, &[began("s", 1)]).await;
    refused(store, &[ended("s", 2)]).await;
    written(store, &[ended("s", 1)]).await;
    refused(store, &[ended("s", 1)]).await;
    refused(store, &[began("s", 1)]).await;
}

/// After a crash the session knows its open turn.
pub async fn the_open_turn_is_the_one_that_has_not_ended(store: &dyn Store) {
    chat(store, "s").await;
    let open = async || stored(store, "s").await.open_turn.map(|open| open.turn);
    assert_eq!(open().await, Some(turn(1)));
    written(store, &[ended("s", 1)]).await;
    assert_eq!(open().await, None);
    written(store, &[began("s", 2)]).await;
    assert_eq!(open().await, Some(turn(2)));
}

/// A long chat is read whole.
pub async fn a_session_of_a_thousand_messages_is_read_whole(store: &dyn Store) {
    chat(store, "s").await;
    let messages: Vec<_> = (1..=1_000).map(|seq| text(seq, &format!("message {seq}"))).collect();
    let writes: Vec<_> = messages.iter().map(|message| says("s", message)).collect();
    write(store, &writes).await.expect("the store takes a long chat");
    assert_eq!(stored(store, "s").await.messages, messages);
}

/// Parts of any size have the same entries as the whole. Each end of a turn comes once, after the
/// entry with which it was written, even if the turn has later entries.
pub async fn a_transcript_is_read_in_parts_with_the_ends_of_turns_at_their_positions(
    store: &dyn Store,
) {
    chat(store, "s").await;
    let entry = |seq, turn, content| ChatMessage { seq, turn, at: at(7), content };
    let said = |seq, number| says("s", &entry(seq, turn(number), text(1, "hi").content));
    written(
        store,
        &[said(1, 1), step("s", 1, 1, proposed(2)), said(3, 1), ended_behind("s", 1, 3)],
    )
    .await;
    written(store, &[says("s", &entry(4, turn(1), Content::Cleared))]).await;
    let behind = ended_behind("s", 2, 5);
    written(store, &[began("s", 2), said(5, 2), behind, said(6, 2), began("s", 3)]).await;
    written(store, &[said(7, 3)]).await;
    let part = async |from, size| {
        let part = store.transcript(&session("s"), from, size).await;
        part.expect("the store can be read")
    };
    let by_number = (1..8).map(PartSize::of_numbers);
    let by_bytes = (0..12).map(|power| PartSize { bytes: 1 << power, ..PartSize::ALL });
    for size in by_number.chain(by_bytes).chain([PartSize::ALL]) {
        let mut read = Vec::new();
        let mut from = Some(0);
        while let Some(begin) = from {
            let TranscriptPart { entries, next } = part(begin, size).await;
            read.extend(entries);
            from = next;
        }
        let ends: Vec<_> = read.iter().map(|it| (it.message.seq, it.end.is_some())).collect();
        let expected = [(1, false), (3, true), (4, false), (5, true), (6, false), (7, false)];
        assert_eq!(ends, expected, "{size:?} at once; the call has not ended");
        let messages: Vec<_> = read.into_iter().map(|entry| entry.message).collect();
        assert_eq!(messages, stored(store, "s").await.messages);
    }
    assert_eq!(part(8, PartSize::ALL).await, TranscriptPart::default());
    let unknown = store.transcript(&session("t"), 0, PartSize::ALL).await;
    assert_eq!(unknown.expect("the store can be read"), TranscriptPart::default());
}

/// A part has no more bytes than is allowed, or one entry if that is longer.
pub async fn a_part_of_a_transcript_is_bounded_in_bytes(store: &dyn Store) {
    chat(store, "s").await;
    let long = "x".repeat(10_000);
    let said = |seq, of: &str| {
        let said = ChatMessage { seq, turn: turn(1), at: at(7), content: Content::user(of) };
        says("s", &said)
    };
    written(store, &[said(1, "a"), said(2, &long), said(3, "b"), said(4, "c"), said(5, &long)])
        .await;
    let mut parts = Vec::new();
    let mut from = Some(0);
    while let Some(begin) = from {
        let size = PartSize { bytes: 5_000, ..PartSize::ALL };
        let part = store.transcript(&session("s"), begin, size).await;
        let TranscriptPart { entries, next } = part.expect("the store can be read");
        parts.push(entries.iter().map(|entry| entry.message.seq).collect::<Vec<_>>());
        from = next;
    }
    assert_eq!(parts, [vec![1], vec![2], vec![3, 4], vec![5]]);
}
