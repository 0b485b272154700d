//! Defines what a surface makes of the items of a stream, without a clock and without `await`.

use madang::{
    approval::InboxItem,
    event::{FeedEpoch, StreamItem},
};

use super::frame::Frames;

/// Turns the items of a session or a turn into the frames of one surface.
///
/// The body reads items, keeps the pace and watches for the end of the server. The mapper only
/// writes. Texts arrive in pieces of at most
/// [`ServerLimits::max_text_frame_bytes`](crate::ServerLimits). A call's data that is too large for
/// a frame is replaced before the mapper sees it.
pub(crate) trait Mapper: Send + 'static {
    /// Writes what precedes the first item. It is sent before the session has woken.
    fn open(&mut self, _out: &mut Frames) {}

    /// Returns whether readers receive the time after which to reconnect. Only readers that read
    /// the stream as browsers do accept a block without data. Others, whose protocol has no such
    /// blocks, fail on it.
    fn says_when_to_retry(&self) -> bool {
        false
    }

    /// Receives the epoch of the feed once it is known, for the cursors of its events.
    fn begin(&mut self, _epoch: FeedEpoch) {}

    /// Writes what the surface makes of an item.
    fn on(&mut self, item: &StreamItem, out: &mut Frames) -> Then;

    /// Writes what the surface makes of an item of an inbox. Only the mapper of an inbox receives
    /// one.
    fn on_inbox(&mut self, _item: &InboxItem, _out: &mut Frames) -> Then {
        Then::Continue
    }

    /// Writes what the surface sends if the stream ends before its session or turn.
    fn cut(&mut self, cut: Cut, out: &mut Frames) -> Then;
}

/// How a stream continues after what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// More items follow.
    Continue,
    /// The stream is complete.
    Close,
    /// The body breaks off without its final chunk, so that no client takes it for complete.
    Break,
}

/// Why a stream ends before its session or turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server shuts down. The reader should reconnect after this time.
    Draining {
        /// Milliseconds after which to reconnect.
        retry_ms: u64,
    },
    /// The chat cannot be read now. The reader should reconnect after this time.
    Unread {
        /// Milliseconds after which to reconnect.
        retry_ms: u64,
    },
    /// The token was removed or has expired.
    TokenExpired,
    /// The stream has reached its maximum age. The reader should reconnect after this time.
    TooLong {
        /// Milliseconds after which to reconnect.
        retry_ms: u64,
    },
    /// A dismissal closed this reader.
    Dismissed,
}

impl Cut {
    /// Returns the name of the reason on the wire.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Draining { .. } => "draining",
            Self::Unread { .. } => "unread",
            Self::TokenExpired => "token_expired",
            Self::TooLong { .. } => "too_long",
            Self::Dismissed => "dismissed",
        }
    }

    /// Returns the milliseconds after which the reader may reconnect, or 0 if that is of no use.
    pub(crate) const fn retry_ms(self) -> u64 {
        match self {
            Self::Draining { retry_ms }
            | Self::Unread { retry_ms }
            | Self::TooLong { retry_ms } => retry_ms,
            Self::TokenExpired | Self::Dismissed => 0,
        }
    }
}
