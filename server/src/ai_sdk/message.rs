//! The context of an assistant message: everything that the handler finds before the first item.

use std::sync::Arc;

use madang::{
    CallId, TurnId,
    approval::ApprovalRequest,
    event::{EventCursor, FeedEpoch},
    tool::ToolRegistry,
};

use serde_json::json;

use crate::{ask::Ask, stream::frame::Frames};

/// The context of a message.
#[derive(Debug)]
pub(crate) struct AiMessage {
    /// The turn, whose id is that of the message.
    pub(crate) turn: TurnId,
    /// The calls that the client's message shows and that have not ended. The message continues
    /// with them.
    pub(crate) shown: Vec<CallId>,
    /// The approval request that is open after this position, if the turn is streamed from its
    /// beginning.
    pub(crate) waits: Option<(EventCursor, ApprovalRequest)>,
    /// The last event that was published before the open request was looked up. If the turn is
    /// streamed from its beginning, a request up to there is sent again and asks nothing.
    pub(crate) asked_before: Option<(FeedEpoch, u64)>,
    /// The turn that was dismissed for the text of this one.
    pub(crate) superseded: Option<TurnId>,
    /// Who is asked about a call.
    pub(crate) ask: Ask,
    /// The tools that may be called.
    pub(crate) tools: Arc<ToolRegistry>,
    /// The most bytes of a piece of text in one frame.
    pub(crate) max_text_frame_bytes: usize,
}

/// Writes a message that has nothing new.
pub(crate) fn write_nothing(turn: TurnId, out: &mut Frames) {
    out.data(&json!({ "type": "start", "messageId": turn }));
    out.data(&json!({ "type": "finish", "finishReason": "stop" }));
    out.raw_data(DONE);
}

/// The mark after the last part.
pub(super) const DONE: &str = "[DONE]";
