//! The bounds of the server, each with its default and the reason for it.

use std::time::Duration;

/// The bounds of a server. Those of chats and tools are in [`Limits`](madang::Limits).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Connections at once. Above this, the oldest idle connection is closed. The default allows
    /// ten thousand open streams and some more. The number is lowered to the open-file limit of the
    /// process minus 512, which are left for the store, the model and refusals.
    pub max_connections: usize,
    /// Connections at once of one address, or of one subscriber's network of IPv6. They are counted
    /// if the server speaks TLS itself. If it does not, addresses are those of this machine or of a
    /// proxy. The default is a third of all connections, enough for an office.
    pub max_connections_per_address: usize,
    /// Connections at once without an authenticated request. Above this, the oldest is closed. They
    /// need no credential, and one with half a request takes 40 KB.
    pub max_idle_connections: usize,
    /// Streams at once. Fewer than connections, so that other requests find a permit.
    pub max_streams: usize,
    /// Streams at once for one user. Enough for many screens of a person, and no more than a
    /// fortieth of all.
    pub max_streams_per_user: usize,
    /// Bytes of a request's head. Cookies and a long token fit.
    pub max_head_bytes: usize,
    /// Fields of a request's head. Twice as many as a browser sends through two proxies.
    pub max_head_fields: usize,
    /// How long a request's head may take, and how long a connection may stay without one.
    pub head_timeout: Duration,
    /// Bytes of a body. A text has at most 64 KiB, and JSON makes up to six bytes of one.
    pub max_body_bytes: usize,
    /// Bytes of a login's body. A token has about forty bytes, and the sender is not yet
    /// authenticated.
    pub max_login_body_bytes: usize,
    /// Bytes of a body with a client's history. Such clients send all of it each time.
    pub max_history_body_bytes: usize,
    /// Bytes of a message of an MCP client: the arguments of a call, a state and an answer.
    pub max_mcp_body_bytes: usize,
    /// Values of a body: fifteen thousand messages with their parts. Read into a tree, each takes
    /// some hundred bytes.
    pub max_body_values: usize,
    /// Bytes of bodies that arrived for one user and are not parsed yet: two of the longest. Short
    /// ones do not count.
    pub max_incoming_bytes_per_user: usize,
    /// Bytes of all bodies that arrived and are not parsed yet. Parsed into values, they may take
    /// three times as much.
    pub max_incoming_bytes: usize,
    /// How long a body may take.
    pub body_timeout: Duration,
    /// How long a stream pauses after a piece of text. 40 ms make at most 25 pieces a second, which
    /// look continuous and save a third of the work.
    pub text_pace: Duration,
    /// How long a stream is silent before it sends a comment. Proxies close silent streams after 30
    /// to 60 s.
    pub keep_alive: Duration,
    /// How long a stream lives: an hour, so that no reader stays on an old connection forever.
    pub stream_life: Duration,
    /// Bytes that the kernel keeps unsent for a connection. A reader that does not read then costs
    /// little, and receives what is new at once when it reads again.
    pub max_unsent_bytes: u32,
    /// How long bytes may wait for a peer that does not read before the connection ends.
    pub stall_timeout: Duration,
    /// Bytes of answers on their way to one user that its readers have not taken: a page for each
    /// of sixty slow readers.
    pub max_outgoing_bytes_per_user: usize,
    /// Bytes of answers on their way to all users. Eight users whose readers do not read leave room
    /// for all other users.
    pub max_outgoing_bytes: usize,
    /// Bytes of an event. Some clients fail on frames of several megabytes. The data of a larger
    /// call is left out of its event.
    pub max_event_bytes: usize,
    /// Bytes of a piece of text in one frame.
    pub max_text_frame_bytes: usize,
    /// How long a request may take to be answered: as long as the store may take, and as long as a
    /// person looks at a screen. The time of its body, and the time that its route waits for a turn
    /// or a call, are added.
    pub answer_timeout: Duration,
    /// The longest that a request may wait for the end of its turn: as long as proxies allow.
    pub max_wait: Duration,
    /// How long a plain completion waits for its turn. OpenAI's clients give up after ten minutes.
    pub completion_wait: Duration,
    /// How long a turn may take to end after it was dismissed for a newer text.
    pub supersede_wait: Duration,
    /// Requests of one user in a second, after the burst. A page needs five.
    pub requests_per_second: u32,
    /// Requests that one user may send at once.
    pub request_burst: u32,
    /// Requests of one service in a second, after the burst, for all users that it names: forty
    /// users at their full rate. It could name a different user in each request.
    pub service_requests_per_second: u32,
    /// Requests that one service may send at once.
    pub service_request_burst: u32,
    /// Chats that one user creates in a minute, after the burst. Each stays in the store forever. A
    /// person creates a few in an hour, and a program that sends one text in each waits longer for
    /// the model.
    pub new_chats_per_minute: u32,
    /// Chats that one user may create at once, enough for a program that processes a long list.
    pub new_chat_burst: u32,
    /// Searches of one user in a minute, after the burst. Each may read
    /// [`max_search_bytes`](Self::max_search_bytes), and they are answered one after the other. A
    /// page searches when a person stops typing.
    pub searches_per_minute: u32,
    /// Searches that one user may begin at once: a few words, typed with pauses.
    pub search_burst: u32,
    /// Bytes of texts that one search reads: some ten thousand messages. It goes on with the next
    /// request.
    pub max_search_bytes: usize,
    /// How long one search may take. Other users' searches wait for it.
    pub search_time: Duration,
    /// Wrong credentials of one address in a minute, enough for a person who mistypes.
    pub wrong_credentials_per_minute: u32,
    /// Users, services and addresses that each rate remembers. The one that is forgotten is that
    /// whose rate would be free first.
    pub max_remembered_rates: usize,
    /// Sessions at once of MCP clients whose revision has sessions. Each keeps a task and some
    /// queues.
    pub max_mcp_sessions: usize,
    /// Such sessions of one user: the clients of a person, each with several windows.
    pub max_mcp_sessions_per_user: usize,
    /// How long such a session is kept without a request or stream. Clients rarely announce that
    /// they leave.
    pub mcp_session_idle: Duration,
    /// How long an answer to an MCP client waits for its end before its head is sent. Clients and
    /// proxies give up if no head arrives.
    pub mcp_head_patience: Duration,
    /// How often the file of tokens is looked at. A removed token is refused after this time.
    pub token_poll: Duration,
    /// How long a login by cookie lasts.
    pub cookie_life: Duration,
    /// Sessions or calls in one answer.
    pub max_page: usize,
    /// Bytes of the entries or calls in one answer: some hundred messages. The first is returned
    /// whatever its length.
    pub max_page_bytes: usize,
    /// Messages of a client's history that a new session takes over.
    pub max_import_messages: usize,
    /// Bytes of a client's history that a new session takes over.
    pub max_import_bytes: usize,
    /// The shortest time after which readers reconnect. A restart takes longer.
    pub min_retry: Duration,
    /// The longest time after which readers reconnect. They reconnect at different times between
    /// the two.
    pub max_retry: Duration,
    /// How long connections may take to close after the runtime has ended. A reader that does not
    /// read cannot delay the end any longer.
    pub goodbye_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_connections: 12_288,
            max_connections_per_address: 4_096,
            max_idle_connections: 4_096,
            max_streams: 11_264,
            max_streams_per_user: 256,
            max_head_bytes: 16 * 1024,
            max_head_fields: 64,
            head_timeout: Duration::from_secs(10),
            max_body_bytes: 256 * 1024,
            max_login_body_bytes: 1_024,
            max_history_body_bytes: 8 * 1024 * 1024,
            max_mcp_body_bytes: 4 * 1024 * 1024,
            max_body_values: 128 * 1024,
            max_incoming_bytes_per_user: 16 * 1024 * 1024,
            max_incoming_bytes: 64 * 1024 * 1024,
            body_timeout: Duration::from_secs(20),
            text_pace: Duration::from_millis(40),
            keep_alive: Duration::from_secs(15),
            stream_life: Duration::from_secs(60 * 60),
            max_unsent_bytes: 16 * 1024,
            stall_timeout: Duration::from_secs(30),
            max_outgoing_bytes_per_user: 16 * 1024 * 1024,
            max_outgoing_bytes: 128 * 1024 * 1024,
            max_event_bytes: 256 * 1024,
            max_text_frame_bytes: 32 * 1024,
            answer_timeout: Duration::from_secs(30),
            max_wait: Duration::from_secs(2 * 60),
            completion_wait: Duration::from_secs(9 * 60),
            supersede_wait: Duration::from_secs(5),
            requests_per_second: 50,
            request_burst: 100,
            service_requests_per_second: 2_000,
            service_request_burst: 4_000,
            new_chats_per_minute: 60,
            new_chat_burst: 1_000,
            searches_per_minute: 60,
            search_burst: 20,
            max_search_bytes: 8 * 1024 * 1024,
            search_time: Duration::from_millis(500),
            wrong_credentials_per_minute: 10,
            max_remembered_rates: 8_192,
            max_mcp_sessions: 1_024,
            max_mcp_sessions_per_user: 64,
            mcp_session_idle: Duration::from_secs(5 * 60),
            mcp_head_patience: Duration::from_secs(5),
            token_poll: Duration::from_secs(1),
            cookie_life: Duration::from_secs(30 * 24 * 60 * 60),
            max_page: 100,
            max_page_bytes: 256 * 1024,
            max_import_messages: 200,
            max_import_bytes: 512 * 1024,
            min_retry: Duration::from_secs(1),
            max_retry: Duration::from_secs(5),
            goodbye_timeout: Duration::from_secs(5),
        }
    }
}

impl ServerLimits {
    /// Returns how many connections there may be if a process may have this many files open.
    #[must_use]
    pub fn connections_within(&self, open_files: Option<u64>) -> usize {
        let room = open_files.map_or(u64::MAX, |files| files.saturating_sub(SPARE_FILES).max(1));
        self.max_connections.min(usize::try_from(room).unwrap_or(usize::MAX))
    }
}

/// How many files are left to the store, the model and the refusals.
const SPARE_FILES: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_to_others() {
        let limits = ServerLimits::default();
        for (files, connections) in
            [(None, 12_288), (Some(20_000), 12_288), (Some(1_024), 512), (Some(100), 1)]
        {
            assert_eq!(limits.connections_within(files), connections, "{files:?}");
        }
    }
}
