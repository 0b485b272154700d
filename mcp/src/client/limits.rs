//! The bounds on what a server may send and on each wait for it, each with its reason.

use std::time::Duration;

/// The bytes of a configuration file, enough for some hundred servers.
pub(super) const MAX_CONFIG_BYTES: u64 = 1024 * 1024;
/// The bytes of a file of variables, enough for some hundred keys.
pub(super) const MAX_ENV_FILE_BYTES: u64 = 64 * 1024;
/// The servers in one file. Each of them is a process.
pub(super) const MAX_SERVERS: usize = 64;
/// The bytes of one message of a server: a result of 1 MiB that it sends twice, with the escapes of
/// JSON.
pub(super) const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// The bytes of a refused request's answer that are read, more than any needs.
pub(super) const MAX_REFUSAL_BYTES: usize = 16 * 1024;
/// The requests of a server whose answers wait to be written. A server that reads nothing while it
/// asks is broken.
pub(super) const MAX_UNANSWERED: usize = 256;
/// The tools of one server, more than a model can choose from.
pub(super) const MAX_TOOLS: usize = 128;
/// The tools of all servers together. Their descriptions would fill any context.
pub(super) const MAX_TOOLS_IN_ALL: usize = 512;
/// The parts of a list of tools. A server with one tool in each part is odd. One that sends parts
/// forever is broken.
pub(super) const MAX_PAGES: usize = MAX_TOOLS;
/// The bytes of a tool's name, as the protocol has it.
pub(super) const MAX_NAME_BYTES: usize = 128;
/// The bytes of a description: two pages, which the model reads in every turn.
pub(super) const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;
/// The bytes of a schema, as JSON: ten times the longest of the reference servers.
pub(super) const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// The bytes of a result, as JSON. A model can read far less.
pub(super) const MAX_RESULT_BYTES: usize = 1024 * 1024;
/// The bytes of a reported error, which the model reads whole: half of an envelope.
pub(super) const MAX_ERROR_BYTES: usize = 1024;
/// The blocks of a result that are named when they are left out. More would fill an envelope.
pub(super) const MAX_NAMED_BLOCKS: usize = 16;
/// The bytes of one line of a server's standard error that are logged.
pub(super) const MAX_STDERR_LINE: usize = 4 * 1024;
/// How long a server may take to start and to send its tools. `npx` may download it first.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a call may take: as long as the clients of the protocol's own libraries wait.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest time that a configuration may say: a day.
pub(super) const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// How long after its deadline an answer still says what a call did.
pub(super) const LATE_ANSWER: Duration = Duration::from_secs(5);
/// How long a call waits for a server that is starting again. The call was not sent by then.
pub(super) const WAIT_FOR_SERVER: Duration = Duration::from_secs(5);
/// How long a server may take to send its tools once it has started.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a server that ended waits before its first restart. The time doubles with each restart.
pub(super) const FIRST_DELAY: Duration = Duration::from_millis(250);
/// The longest time before a server is started again.
pub(super) const LAST_DELAY: Duration = Duration::from_secs(60);
/// How long a server must have run so that its next restart counts as the first.
pub(super) const STEADY_AFTER: Duration = Duration::from_secs(60);
/// How long each step of ending a process takes: its input is closed, it is asked to end, and it is
/// killed.
pub(super) const END_STEP: Duration = Duration::from_secs(2);
/// How often to look whether a process has ended.
pub(super) const EXIT_POLL: Duration = Duration::from_millis(10);
/// How long it may take to find and greet a host.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause between opening two streams of a server. A server that ends its streams at once then
/// costs next to nothing.
pub(super) const STREAM_PAUSE: Duration = Duration::from_millis(100);
