//! The limits of every queue, buffer and wait, each with its default, its range and the reason for
//! it.

use std::time::Duration;

use super::limit_ranges::{LONGEST, SHORTEST, limits};

limits! {
    /// Rounds in a turn: a chain of search, query and add takes three, the answer a fourth.
    max_rounds: u32 = 4, in 1..=u32::MAX;
    /// Calls that are taken from one completion, if the model's family can ask for several at once.
    /// A model that asks for more has gone astray.
    max_calls_per_completion: usize = 8, in 1..=usize::MAX;
    /// Tokens that one completion may generate: enough for several paragraphs, and it stops a model
    /// that does not end.
    max_completion_tokens: u32 = 1_024, in 1..=u32::MAX;
    /// Bytes of a user's text in one turn: a long letter fits, a pasted file does not.
    max_user_text_bytes: usize = 64 * 1024, in 1..=usize::MAX;
    /// Bytes of a turn's instructions: some pages. They are part of each prompt of the turn, and no
    /// part of them can be left out.
    max_instructions_bytes: usize = 16 * 1024, in 0..=usize::MAX;
    /// Messages of an imported history: more than any model's context holds of a usual chat.
    max_imported_messages: usize = 200, in 0..=usize::MAX; // 0 lets no chat begin with a history
    /// Bytes of all texts of an imported history: eight of the longest texts, in one write of the
    /// store.
    max_imported_bytes: usize = 512 * 1024, in 0..=usize::MAX;
    /// Bytes of a call's raw arguments.
    max_arguments_bytes: usize = 1024 * 1024, in 2..=usize::MAX; // the bytes of an empty object
    /// Bytes of the state that a model needs back with a call: signed thoughts take some kilobytes.
    /// Longer ones are left out.
    max_opaque_bytes: usize = 64 * 1024, in 0..=usize::MAX; // 0 keeps none
    /// Levels of a call's arguments: deeper values overflow the validator's stack. Never more than
    /// [`MAX_LEVELS`](super::MAX_LEVELS), beyond which no value can be stored and read again.
    max_arguments_depth: usize = 64, in 1..=usize::MAX;
    /// Bytes of a call's result, as JSON: a result may repeat the longest arguments.
    /// [`MAX_LEVELS`](super::MAX_LEVELS) bounds its depth.
    max_outcome_bytes: usize = 4 * 1024 * 1024, in 1..=usize::MAX;
    /// Bytes of the message of a handler's progress: one line next to the call.
    max_progress_bytes: usize = 512, in 0..=usize::MAX;
    /// The shortest time between two reports of one call that readers see: an eye sees ten a second
    /// as one movement.
    progress_pause: Duration = Duration::from_millis(100), in Duration::ZERO..=LONGEST; // 0 passes each report
    /// Bytes of an envelope: what a small model can read again and again.
    max_envelope_bytes: usize = 2_048, in 1..=usize::MAX;
    /// Steps that checking a call's arguments may take: some 0.2 s. Alternatives inside
    /// alternatives double the steps with each level.
    max_validation_steps: u64 = 4 << 20, in 1..=u64::MAX;
    /// Problems that the envelope of a refused call lists, so that the model can mend it.
    max_validation_problems: usize = 16, in 1..=usize::MAX;
    /// Bytes of these problems.
    max_validation_bytes: usize = 1_024, in 1..=usize::MAX;
    /// The time that a handler outside of the transaction may take before its caller receives
    /// `timeout`. Only a handler that borrows a connection to read is cut off then, because others
    /// may be in the middle of work elsewhere.
    tool_timeout: Duration = Duration::from_secs(30), in SHORTEST..=LONGEST;
    /// The time that a transactional handler may hold the writer's transaction, for which other
    /// jobs wait.
    transaction_deadline: Duration = Duration::from_millis(250), in SHORTEST..=LONGEST;
    /// The time that a person has to decide about an approval request: a coffee break.
    decision_timeout: Duration = Duration::from_secs(10 * 60), in SHORTEST..=LONGEST;
    /// The time that an approval waits to be used: for a permit of its tool, its slow work and the
    /// store, each at its default.
    approval_timeout: Duration = Duration::from_secs(2 * 60), in SHORTEST..=LONGEST;
    /// The time that a standing approval lasts: a day, because a user who answers "always" means
    /// the work at hand.
    standing_approval_lifetime: Duration = Duration::from_secs(24 * 60 * 60), in SHORTEST..=LONGEST;
    /// Calls that a standing approval covers: enough to work off a list. After more it is worth
    /// asking again.
    max_standing_uses: u32 = 32, in 0..=u32::MAX; // 0 makes "always" a plain yes
    /// Bytes, as JSON, of a person's message with a denial: some sentences, which leave the
    /// envelope within its own bound.
    max_denial_bytes: usize = 1_024, in 0..=usize::MAX;
    /// Sessions awake at once in a runtime. A test allows an idle one 16 KiB of heap (about 8.5 KB
    /// are measured), so all of them take at most half a gigabyte, in addition to their chats.
    /// Before one more is refused, the session that is idle longest is put to sleep.
    max_awake_sessions: usize = 32_768, in 1..=usize::MAX;
    /// Sessions awake at once for one user: an eighth, so that a user with very many sessions
    /// mostly displaces its own.
    max_awake_sessions_per_user: usize = 4_096, in 1..=usize::MAX;
    /// Turns running at once in a runtime: half of them may wait for a person, and fewer than the
    /// rest for a model.
    max_running_turns: usize = 8_192, in 1..=usize::MAX;
    /// Turns running at once for one user. A person needs a screen of chats; a program may fill its
    /// share of a model.
    max_running_turns_per_user: usize = 256, in 1..=usize::MAX;
    /// Approval requests open at once in a runtime: each is a running call that waits.
    max_approval_requests: usize = 4_096, in 1..=usize::MAX;
    /// Approval requests open at once for one user: each of the user's turns may ask.
    max_approval_requests_per_user: usize = 256, in 1..=usize::MAX;
    /// Inboxes at once in a runtime: one for each of ten thousand readers of events, and some.
    max_inboxes: usize = 16_384, in 0..=usize::MAX; // 0 allows none
    /// Inboxes at once for one user: each device and each open page may have one.
    max_inboxes_per_user: usize = 64, in 0..=usize::MAX;
    /// Changes that an inbox keeps for a slow reader; above this, it receives all open requests
    /// again.
    max_inbox_changes: usize = 64, in 0..=usize::MAX; // 0 makes each change a reading of all
    /// Calls running at once in a runtime: each is two actors.
    max_running_calls: usize = 4_096, in 1..=usize::MAX;
    /// Calls running at once for one user: four for each of the user's turns. Three quarters of
    /// `max_running_calls` stay free for others.
    max_running_calls_per_user: usize = 1_024, in 1..=usize::MAX;
    /// Bytes that arrived and are not stored yet, in a runtime: texts of users, and arguments of
    /// calls without a model.
    max_queued_bytes: usize = 256 * 1024 * 1024, in 1..=usize::MAX;
    /// Bytes not stored yet for one user: the longest text in each of the user's turns.
    max_queued_bytes_per_user: usize = 16 * 1024 * 1024, in 1..=usize::MAX;
    /// Bytes stored of one user, in the transcripts and the ledger of all the user's sessions.
    /// Above this, no turn and no call without a model begins. It is a lifetime of typing, and it
    /// stops a program that fills the disk. A turn that has begun is stored to its end.
    /// [`stored_bytes`](crate::port::stored_bytes) counts them, with the instructions of turns;
    /// tables of tools are not counted.
    max_stored_bytes_per_user: usize = 1024 * 1024 * 1024, in 1..=usize::MAX;
    /// Completions waiting for a model: at some seconds each, more would wait for minutes.
    max_waiting_completions: usize = 1_024, in 1..=usize::MAX;
    /// The percentage of a model's slots that one user's completions may take, rounded up. From
    /// four slots on, some are left for others. Otherwise another user would wait until one of
    /// these answers ends.
    max_model_percent_per_user: usize = 75, in 1..=100;
    /// The time until the first token of a completion, including the wait in the queue: longer than
    /// a person looks at an unchanged screen.
    first_token_timeout: Duration = Duration::from_secs(2 * 60), in SHORTEST..=LONGEST;
    /// The time from the request for a completion to its end, the wait in the queue included.
    completion_timeout: Duration = Duration::from_secs(5 * 60), in SHORTEST..=LONGEST;
    /// Jobs in one commit of the store. A larger group would gain little.
    max_batch_jobs: usize = 1_024, in 1..=usize::MAX;
    /// The time that a batch may take jobs before it commits: earlier jobs wait no longer for their
    /// answer.
    batch_closes_after: Duration = Duration::from_millis(50), in Duration::ZERO..=LONGEST;
    /// Jobs waiting for the store's writer: about ten seconds of a slow disk.
    max_waiting_writes: usize = 65_536, in 1..=usize::MAX;
    /// The time that a job waits for the store's writer before it is withdrawn unwritten. Half a
    /// minute is longer than any slow disk takes, and as long as a person looks at a screen. A job
    /// that has begun is awaited.
    store_timeout: Duration = Duration::from_secs(30), in SHORTEST..=LONGEST;
    /// The time that one actor waits for another's answer that needs no slow work.
    ask_timeout: Duration = Duration::from_secs(5), in SHORTEST..=LONGEST;
    /// Events that a session keeps for slow subscribers; older ones are read from the store.
    max_feed_events: usize = 256, in 1..=usize::MAX;
    /// Bytes of these events as JSON, the last one not counted: results may have megabytes each,
    /// and every session that was read keeps its own. Those of a usual turn fit.
    max_feed_bytes: usize = 512 * 1024, in 0..=usize::MAX; // 0 keeps the last event alone
    /// Bytes of stored events that a reader takes from the store at once: a slow reader holds them
    /// until it reads on. A longer event is read alone.
    max_replay_bytes: usize = 32 * 1024, in 1..=usize::MAX;
    /// Bytes of streaming text that a session keeps: more than a completion of the bound above can
    /// produce.
    max_streaming_bytes: usize = 256 * 1024, in 0..=usize::MAX;
    /// Messages that wait for one session, because it wakes or is busy: more than a person types in
    /// that time. Dismissals are not counted, because each caller waits for its own.
    max_waiting_messages: usize = 256, in 1..=usize::MAX;
    /// The time that a session stays awake without a turn.
    session_idle: Duration = Duration::from_secs(60), in Duration::ZERO..=LONGEST;
    /// Resumptions of a turn that makes no progress. A turn that has ended its process so often
    /// will do it again. Resumptions in which it only waits for a person are not counted.
    max_resumes: u32 = 3, in 0..=u32::MAX;
    /// Interrupted sessions that are resumed at once after a start: fewer than completions may wait
    /// for a model.
    max_resuming_sessions: usize = 64, in 1..=usize::MAX;
    /// User turns after which clearing is suggested.
    suggest_clear_after: u32 = 8, in 0..=u32::MAX;
    /// Restarts of one actor within `restart_window` before the runtime reports itself unhealthy.
    max_restarts: usize = 8, in 0..=usize::MAX;
    /// The window in which restarts are counted.
    restart_window: Duration = Duration::from_secs(60), in Duration::ZERO..=LONGEST;
    /// The time that shutdown waits for running handlers and the writer before it reports them as
    /// still running.
    shutdown_timeout: Duration = Duration::from_secs(30), in Duration::ZERO..=LONGEST;
}

impl Limits {
    /// Returns the pause before the runtime repeats work that the store refused, after this many
    /// failures. It is `ask_timeout`, doubled with each failure up to eight times as long. So a
    /// store that is away for minutes is asked less often, and with the default, one that is back
    /// serves all chats within a minute.
    #[must_use]
    pub fn retry_pause(&self, failures: u32) -> Duration {
        self.ask_timeout * 2_u32.pow(failures.min(3))
    }
}
