//! The bounds on what a server may send, and on each wait for it, each with its reason.

use std::time::Duration;

/// Bytes of a configuration file: some hundred servers.
pub(super) const MAX_CONFIG_BYTES: u64 = 1024 * 1024;
/// Bytes of a file of variables: some hundred keys.
pub(super) const MAX_ENV_FILE_BYTES: u64 = 64 * 1024;
/// Servers in one file: each is a process.
pub(super) const MAX_SERVERS: usize = 64;
/// Bytes of one message of a server: a result of 1 MiB, said twice, with the escapes of JSON.
pub(super) const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a refused request that are read: more than any has.
pub(super) const MAX_REFUSAL_BYTES: usize = 16 * 1024;
/// Requests of a server whose answers wait to be written: one that reads nothing while it asks is broken.
pub(super) const MAX_UNANSWERED: usize = 256;
/// Tools of one server: more than a model can choose from.
pub(super) const MAX_TOOLS: usize = 128;
/// Tools of all servers together: their descriptions would fill any context.
pub(super) const MAX_TOOLS_IN_ALL: usize = 512;
/// Parts of a list of tools: a server that gives one tool in each is odd, one that gives parts for ever is broken.
pub(super) const MAX_PAGES: usize = MAX_TOOLS;
/// Bytes of a tool's name, as the protocol has it.
pub(super) const MAX_NAME_BYTES: usize = 128;
/// Bytes of a description: two pages, which the model reads in every turn.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;
/// Bytes of a schema, as JSON: ten times the longest of the reference servers.
pub(super) const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// Bytes of a result, as JSON: what a model can read is far less.
pub(super) const MAX_RESULT_BYTES: usize = 1024 * 1024;
/// Bytes of a reported error, which the model reads in whole: half of an envelope.
pub(super) const MAX_ERROR_BYTES: usize = 1024;
/// Blocks of a result that are named where they are left out: more would fill an envelope.
pub(super) const MAX_NAMED_BLOCKS: usize = 16;
/// Bytes of one line of a server's standard error that are logged.
pub(super) const MAX_STDERR_LINE: usize = 4 * 1024;
/// The time until a server has started and told its tools: `npx` may download it first.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that a call may take: as long as the clients of the protocol's own libraries wait.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest time that a configuration may say: a day.
pub(super) const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// The time behind its deadline in which an answer still tells what a call did.
pub(super) const LATE_ANSWER: Duration = Duration::from_secs(5);
/// The time that a call waits for a server that is starting again, and so has not been sent.
pub(super) const WAIT_FOR_SERVER: Duration = Duration::from_secs(5);
/// The time that a server has to tell its tools once it has started.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// The time before a server that ended is started again the first time; it doubles each time.
pub(super) const FIRST_DELAY: Duration = Duration::from_millis(250);
/// The longest time before a server is started again.
pub(super) const LAST_DELAY: Duration = Duration::from_secs(60);
/// The time for which a server must have run so that its next start is a first one.
pub(super) const STEADY_AFTER: Duration = Duration::from_secs(60);
/// The time for each step of ending a process: its input closes, it is asked to end, it is killed.
pub(super) const END_STEP: Duration = Duration::from_secs(2);
/// The time between two looks whether a process has ended.
pub(super) const EXIT_POLL: Duration = Duration::from_millis(10);
/// The time to find and greet a host.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two streams of a server that are opened: one that ends them at once costs next to nothing.
pub(super) const STREAM_PAUSE: Duration = Duration::from_millis(100);
