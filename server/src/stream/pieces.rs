//! Cuts an item for the mapper: texts into pieces, and events to what a reader can take whole.

use std::{borrow::Cow, io, sync::Arc};

use madang::{
    CallId,
    approval::InboxItem,
    event::{EventKind, SessionEvent, StreamItem},
    tool::{ToolOk, ToolOutcome},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::ServerLimits;

/// Splits a long text into several items, and takes the data out of an event that is too large.
pub(crate) fn pieces(item: StreamItem, limits: &ServerLimits) -> Vec<StreamItem> {
    match item {
        StreamItem::Text { completion, at, text } => {
            let piece = |(at, text)| StreamItem::Text { completion, at, text };
            cut(at, text, limits.max_text_frame_bytes).map(piece).collect()
        }
        StreamItem::Thinking { completion, at, text } => {
            let piece = |(at, text)| StreamItem::Thinking { completion, at, text };
            cut(at, text, limits.max_text_frame_bytes).map(piece).collect()
        }
        StreamItem::Event(event) => vec![StreamItem::Event(bounded(event, limits.max_event_bytes))],
        other @ (StreamItem::Lagged { .. } | StreamItem::ReplayFailed | _) => vec![other],
    }
}

/// Splits a snapshot of an inbox after this many bytes of its requests. Each further request
/// becomes a change of its own.
pub(crate) fn inbox_pieces(item: InboxItem, max_bytes: usize) -> Vec<InboxItem> {
    let InboxItem::Snapshot { mut requests } = item else { return vec![item] };
    let more = requests.split_off(fitting(&requests, max_bytes));
    let more = more.into_iter().map(|request| InboxItem::ApprovalRequested { request });
    std::iter::once(InboxItem::Snapshot { requests }).chain(more).collect()
}

/// Counts how many of these have at most this many bytes as JSON. The first one counts however long
/// it is.
pub(crate) fn fitting(items: &[impl Serialize], max_bytes: usize) -> usize {
    let mut room = max_bytes;
    let fits = items.iter().enumerate().take_while(|(at, item)| {
        let bytes = json_bytes(item);
        let fits = *at == 0 || bytes <= room;
        room = room.saturating_sub(bytes);
        fits
    });
    fits.count()
}

/// Returns about how many bytes are written of a piece of an inbox.
pub(crate) fn inbox_weight(piece: &InboxItem) -> usize {
    match piece {
        InboxItem::Snapshot { requests } => requests.iter().map(json_bytes).sum(),
        InboxItem::ApprovalRequested { request } => json_bytes(request),
        InboxItem::ApprovalEnded { end, .. } => json_bytes(end),
        _ => 0,
    }
}

/// Cuts a text at boundaries of characters, and returns each piece with its offset.
fn cut(mut at: usize, text: String, max_bytes: usize) -> impl Iterator<Item = (usize, String)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let mut text = rest.take()?;
        let end = text.floor_char_boundary(max_bytes.max(4));
        if end < text.len() {
            rest = Some(text.split_off(end));
        }
        let piece = (at, text);
        at += end;
        Some(piece)
    })
}

/// Returns about how many bytes a surface writes of a piece.
pub(crate) fn weight(piece: &StreamItem) -> usize {
    match piece {
        StreamItem::Text { text, .. } | StreamItem::Thinking { text, .. } => text.len(),
        StreamItem::Event(event) => json_bytes(&**event),
        StreamItem::Progress { .. } | StreamItem::Lagged { .. } | StreamItem::ReplayFailed | _ => 0,
    }
}

/// Replaces the data of a call that is too large for a frame by its size and the place to read it.
/// Arguments that are too large are replaced as well.
fn bounded(event: Arc<SessionEvent>, max_bytes: usize) -> Arc<SessionEvent> {
    let EventKind::ToolCallEnded { record } = &event.kind else { return event };
    if json_bytes(record) <= max_bytes {
        return event;
    }
    let mut record = record.clone();
    if let Some(ToolOutcome::Ok(ToolOk { data, .. })) = &mut record.outcome {
        *data = data_within(record.id, data, 0).into_owned();
    }
    if json_bytes(&record) > max_bytes {
        record.arguments = data_within(record.id, &record.arguments, 0).into_owned().into();
        let cut = |asked: Arc<Value>| data_within(record.id, &asked, 0).into_owned().into();
        record.asked = record.asked.map(cut);
    }
    let &SessionEvent { seq, cursor, turn, at, .. } = &*event;
    Arc::new(SessionEvent { kind: EventKind::ToolCallEnded { record }, seq, cursor, turn, at })
}

/// Returns the data of a call. If it has more bytes as JSON than this, returns their number and
/// where they are.
pub(crate) fn data_within(call: CallId, data: &Value, max_bytes: usize) -> Cow<'_, Value> {
    let bytes = json_bytes(data);
    if bytes <= max_bytes {
        return Cow::Borrowed(data);
    }
    Cow::Owned(json!({ "too_large": bytes, "href": format!("/v1/calls/{call}") }))
}

/// Counts the bytes of a value as JSON, without keeping them.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("a value of ours has text keys");
    count.0
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn data_that_is_too_large_gives_way_to_where_it_is() {
        let call = CallId::new(Uuid::from_u128(7));
        let data = json!("가".repeat(10));
        assert_eq!(*data_within(call, &data, 32), data);
        let href = "/v1/calls/00000000-0000-0000-0000-000000000007";
        assert_eq!(*data_within(call, &data, 31), json!({ "too_large": 32, "href": href }));
    }

    #[test]
    fn a_text_is_cut_between_characters_and_no_byte_is_lost() {
        for (text, max) in [("", 8), ("abc", 8), ("가나다라마바", 8), ("aaaaaaaaa", 4), ("🙂🙂", 1)]
        {
            let pieces: Vec<_> = cut(100, text.to_owned(), max).collect();
            let mut at = 100;
            for (offset, piece) in &pieces {
                assert_eq!(*offset, at);
                assert!(piece.len() <= max.max(4));
                at += piece.len();
            }
            assert_eq!(pieces.iter().map(|(_, piece)| &**piece).collect::<String>(), text);
        }
    }

    #[test]
    fn bytes_are_counted_as_they_are_written() {
        for value in [json!({}), json!({ "한": ["\n", 1.5, null] })] {
            assert_eq!(json_bytes(&value), value.to_string().len());
        }
    }
}
