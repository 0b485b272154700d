//! The bounds on every queue, buffer and wait, each with its default and the reason for it.

use std::time::Duration;

/// The bounds of a runtime. `Limits::default()` is meant for a small server or a desktop application.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Rounds in a turn: a chain of search, query and add takes three, the answer a fourth.
    pub max_rounds: u32,
    /// Calls taken from one completion of a model family that asks for several at once: more is a model gone astray.
    pub max_calls_per_completion: usize,
    /// Tokens that one completion may generate: an answer of several paragraphs, and an end to endless babble.
    pub max_completion_tokens: u32,
    /// Bytes of a user's text in one turn: a long letter fits, a pasted file does not.
    pub max_user_text_bytes: usize,
    /// Bytes of a turn's instructions: some pages. They are part of each prompt of the turn, and no part of them can be
    /// left out.
    pub max_instructions_bytes: usize,
    /// Messages of an imported history: more than any model's context holds of a usual chat.
    pub max_imported_messages: usize,
    /// Bytes of all texts of an imported history: eight of the longest texts, in one write of the store.
    pub max_imported_bytes: usize,
    /// Bytes of a call's raw arguments.
    pub max_arguments_bytes: usize,
    /// Bytes of what a model wants back with a call: signed thoughts take some kilobytes. Longer ones are left out.
    pub max_opaque_bytes: usize,
    /// Levels of a call's arguments: deeper values overflow the validator's stack. Never more than
    /// [`MAX_LEVELS`](super::MAX_LEVELS), beyond which no value can be stored and read again.
    pub max_arguments_depth: usize,
    /// Bytes of a call's result, as JSON: the longest arguments may come back, with their result.
    /// [`MAX_LEVELS`](super::MAX_LEVELS) bounds its depth.
    pub max_outcome_bytes: usize,
    /// Bytes of the message of a handler's progress: a line beside the call.
    pub max_progress_bytes: usize,
    /// The shortest time between two reports of one call that readers see: an eye sees ten a second as one movement.
    pub progress_pause: Duration,
    /// Bytes of an envelope: what a small model can read again and again.
    pub max_envelope_bytes: usize,
    /// Steps that checking a call's arguments may take: some 0.2 s. Alternatives inside alternatives double the steps
    /// with each level.
    pub max_validation_steps: u64,
    /// Problems that a refused call is told, so that the model can mend it.
    pub max_validation_problems: usize,
    /// Bytes of these problems.
    pub max_validation_bytes: usize,
    /// The time that a handler outside the transaction may take before its caller is told `timeout`. Only a handler that
    /// was lent a connection to read is cut off then: others may be at work elsewhere.
    pub tool_timeout: Duration,
    /// The time that a transactional handler may hold the writer's transaction: other jobs wait behind it.
    pub transaction_deadline: Duration,
    /// The time that a person has to decide about an approval request: a coffee break.
    pub decision_timeout: Duration,
    /// The time that an approval waits to be used: for a permit of its tool, its slow work and the store, each at its
    /// default.
    pub approval_timeout: Duration,
    /// The time that a standing approval lasts: a day, for a user that says "always" means the work at hand.
    pub standing_approval_lifetime: Duration,
    /// Calls that a standing approval covers: a list worked off; a longer one is worth another look.
    pub max_standing_uses: u32,
    /// Bytes, as JSON, of a person's message beside a no: some sentences, which leave the envelope within its own
    /// bound.
    pub max_denial_bytes: usize,
    /// Sessions awake at once in a runtime: at 16 KiB each, and their chats, half a gigabyte. Before one more is
    /// refused, the session that is idle longest is put to sleep.
    pub max_awake_sessions: usize,
    /// Sessions awake at once for one user: an eighth, so that a user with very many sessions mostly displaces its own.
    pub max_awake_sessions_per_user: usize,
    /// Turns running at once in a runtime: half of them may wait for a person, and fewer than the rest for a model.
    pub max_running_turns: usize,
    /// Turns running at once for one user: a screen of chats for a person, and at most a quarter of a model's slots for
    /// a program.
    pub max_running_turns_per_user: usize,
    /// Approval requests open at once in a runtime: each is a running call that waits.
    pub max_approval_requests: usize,
    /// Approval requests open at once for one user: each of the user's turns may ask.
    pub max_approval_requests_per_user: usize,
    /// Inboxes at once in a runtime: one for each of ten thousand readers of events, and some.
    pub max_inboxes: usize,
    /// Inboxes at once for one user: each device and each open page may have one.
    pub max_inboxes_per_user: usize,
    /// Changes that an inbox keeps for a slow reader; beyond them it reads all open requests anew.
    pub max_inbox_changes: usize,
    /// Calls running at once in a runtime: each is two actors.
    pub max_running_calls: usize,
    /// Calls running at once for one user: four for each of the user's turns; three quarters of the permits stay free
    /// for others.
    pub max_running_calls_per_user: usize,
    /// Bytes that came in and are not stored yet, in a runtime: texts of users, and arguments of calls without a model.
    pub max_queued_bytes: usize,
    /// Bytes not stored yet for one user: the longest text in each of the user's turns.
    pub max_queued_bytes_per_user: usize,
    /// Bytes stored of one user, in the transcripts and the ledger of all the user's sessions. Beyond them no turn and
    /// no call without a model begins: a lifetime of typing, and an end to a program that fills the disk. A turn that
    /// has begun is stored to its end. [`stored_bytes`](crate::port::stored_bytes) counts them, with the instructions of turns;
    /// tables of tools do not count.
    pub max_stored_bytes_per_user: usize,
    /// Completions waiting for a model: at some seconds each, more would wait for minutes.
    pub max_waiting_completions: usize,
    /// The time until the first token of a completion, the wait in the queue included: a person looks no longer at an
    /// unchanged screen.
    pub first_token_timeout: Duration,
    /// The time from the request for a completion to its end, the wait in the queue included.
    pub completion_timeout: Duration,
    /// Jobs in one commit of the store: the gain of a larger group is small.
    pub max_batch_jobs: usize,
    /// The time that a batch may take jobs before it commits: earlier jobs wait no longer for their answer.
    pub batch_closes_after: Duration,
    /// Jobs waiting for the store's writer: about ten seconds of a slow disk.
    pub max_waiting_writes: usize,
    /// The time that a job waits for the store's writer before it is withdrawn unwritten. Half a minute is longer than
    /// any slow disk takes, and as long as a person looks at a screen. A job that has begun is awaited.
    pub store_timeout: Duration,
    /// The time that one actor waits for another's answer that needs no slow work.
    pub ask_timeout: Duration,
    /// Events that a session keeps for slow subscribers; older ones are read from the store.
    pub max_feed_events: usize,
    /// Bytes of streaming text that a session keeps: more than a completion of the bound above can produce.
    pub max_streaming_bytes: usize,
    /// Messages that wait for one session, because it wakes or is busy: a person types no more in that time. Dismissals
    /// are never too many, because the caller waits for each.
    pub max_waiting_messages: usize,
    /// The time that a session stays awake without a turn.
    pub session_idle: Duration,
    /// Resumptions of a turn that makes no step forward: one that has taken its process with it so often will do it
    /// again.
    pub max_resumes: u32,
    /// Interrupted sessions that are resumed at once after a start: fewer than completions may wait for a model.
    pub max_resuming_sessions: usize,
    /// User turns after which clearing is suggested.
    pub suggest_clear_after: u32,
    /// Restarts of one actor within `restart_window` before the runtime reports itself unhealthy.
    pub max_restarts: usize,
    /// The window in which restarts are counted.
    pub restart_window: Duration,
    /// The time that shutdown waits for running handlers and the writer before it reports them as still running.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_rounds: 4,
            max_calls_per_completion: 8,
            max_completion_tokens: 1_024,
            max_user_text_bytes: 64 * 1024,
            max_instructions_bytes: 16 * 1024,
            max_imported_messages: 200,
            max_imported_bytes: 512 * 1024,
            max_arguments_bytes: 1024 * 1024,
            max_opaque_bytes: 64 * 1024,
            max_arguments_depth: 64,
            max_outcome_bytes: 4 * 1024 * 1024,
            max_progress_bytes: 512,
            progress_pause: Duration::from_millis(100),
            max_envelope_bytes: 2_048,
            max_validation_steps: 4 << 20,
            max_validation_problems: 16,
            max_validation_bytes: 1_024,
            tool_timeout: Duration::from_secs(30),
            transaction_deadline: Duration::from_millis(250),
            decision_timeout: Duration::from_secs(10 * 60),
            approval_timeout: Duration::from_secs(2 * 60),
            standing_approval_lifetime: Duration::from_secs(24 * 60 * 60),
            max_standing_uses: 32,
            max_denial_bytes: 1_024,
            max_awake_sessions: 32_768,
            max_awake_sessions_per_user: 4_096,
            max_running_turns: 8_192,
            max_running_turns_per_user: 256,
            max_approval_requests: 4_096,
            max_approval_requests_per_user: 256,
            max_inboxes: 16_384,
            max_inboxes_per_user: 64,
            max_inbox_changes: 64,
            max_running_calls: 4_096,
            max_running_calls_per_user: 1_024,
            max_queued_bytes: 256 * 1024 * 1024,
            max_queued_bytes_per_user: 16 * 1024 * 1024,
            max_stored_bytes_per_user: 1024 * 1024 * 1024,
            max_waiting_completions: 1_024,
            first_token_timeout: Duration::from_secs(2 * 60),
            completion_timeout: Duration::from_secs(5 * 60),
            max_batch_jobs: 1_024,
            batch_closes_after: Duration::from_millis(50),
            max_waiting_writes: 65_536,
            store_timeout: Duration::from_secs(30),
            ask_timeout: Duration::from_secs(5),
            max_feed_events: 256,
            max_streaming_bytes: 256 * 1024,
            max_waiting_messages: 256,
            session_idle: Duration::from_secs(60),
            max_resumes: 3,
            max_resuming_sessions: 64,
            suggest_clear_after: 8,
            max_restarts: 8,
            restart_window: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(30),
        }
    }
}
