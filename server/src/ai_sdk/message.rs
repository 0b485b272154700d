//! What a message of the assistant is about: what the handler finds before the first item.

use std::sync::Arc;

use madang::{
    CallId, TurnId,
    approval::ApprovalRequest,
    event::{EventCursor, FeedEpoch},
    tool::ToolRegistry,
};

use serde_json::json;

use crate::{ask::Ask, stream::frame::Frames};

/// What a message is about.
#[derive(Debug)]
pub(crate) struct AiMessage {
    /// The turn, whose id is the message's.
    pub(crate) turn: TurnId,
    /// The calls that the client's message shows and that have not ended: the message goes on.
    pub(crate) shown: Vec<CallId>,
    /// The approval request that is open behind this position, where the turn is told from its beginning.
    pub(crate) waits: Option<(EventCursor, ApprovalRequest)>,
    /// The last event that was told before it was looked up which request is open. A request up to there comes again
    /// where the turn is told from its beginning, and asks nothing.
    pub(crate) asked_before: Option<(FeedEpoch, u64)>,
    /// The turn that was dismissed for the text of this one.
    pub(crate) superseded: Option<TurnId>,
    /// Which person is asked about a call.
    pub(crate) ask: Ask,
    /// The tools that may be called.
    pub(crate) tools: Arc<ToolRegistry>,
    /// Bytes of a piece of text in one frame.
    pub(crate) max_text_frame_bytes: usize,
}

/// Writes a message in which nothing is new.
pub(crate) fn write_nothing(turn: TurnId, out: &mut Frames) {
    out.data(&json!({ "type": "start", "messageId": turn }));
    out.data(&json!({ "type": "finish", "finishReason": "stop" }));
    out.raw_data(DONE);
}

/// The mark behind the last part.
pub(super) const DONE: &str = "[DONE]";
