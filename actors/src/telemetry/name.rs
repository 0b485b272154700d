//! The names of attributes, and the words for what has no name. What begins with `gen_ai`, `error` or `user` is
//! OpenTelemetry's (semantic conventions 1.41 and their successor for generative AI), `otel` is what the bridge
//! `tracing-opentelemetry` reads, and the rest is ours.

/// What a span is shown as, where that is more than its kind.
pub const SHOWN_AS: &str = "otel.name";
/// `ERROR` where it failed.
pub const STATUS: &str = "otel.status_code";
/// `chat`, `invoke_agent` or `execute_tool`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// The session.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// The user.
pub const USER: &str = "user.id";
/// The turn.
pub const TURN: &str = "madang.turn.id";
/// The turn was cut off and goes on.
pub const IS_RESUMED: &str = "madang.turn.resumed";
/// How a turn ended: `answered`, `stopped`, `failed`, `dismissed`; `left` where it stays open in the store.
pub const ENDING: &str = "madang.turn.ending";
/// The completion.
pub const COMPLETION: &str = "madang.completion.id";
/// The model's name.
pub const MODEL: &str = "gen_ai.request.model";
/// The most tokens that a completion may have.
pub const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// Why a completion ended, in the span: `stop`, `tool_calls`, `length`. A text, since spans know no lists.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// The same in the metric and for every completion: it may also be `cancelled` or `failed`.
pub const FINISH: &str = "madang.completion.finish";
/// Tokens of the prompt.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Of these, tokens that were known from before.
pub const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Tokens that were generated.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// `input` or `output`.
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
/// The tool, if it is registered.
pub const TOOL: &str = "gen_ai.tool.name";
/// The call.
pub const CALL: &str = "gen_ai.tool.call.id";
/// How a call ended: `ok`, `error`, `denied`, `expired`, `unreachable`, `dismissed`; `discarded` where the
/// turn had been dismissed, and in the span `left` where the call goes on after the next start.
pub const OUTCOME: &str = "madang.tool.outcome";
/// Why something failed.
pub const ERROR: &str = "error.type";
/// What there was too much of: the names of [`Bound`](crate::protocol::Bound).
pub const BOUND: &str = "madang.bound";
/// Whose bound it was: `session`, `user`, `all`.
pub const SCOPE: &str = "madang.bound.scope";

/// Stands for every tool that is not registered.
pub const UNKNOWN_TOOL: &str = "_unknown";
/// Stands for every error that the program has no word for.
pub const OTHER: &str = "_OTHER";
/// A call or completion whose answer was lost; what became of a call stands in the ledger.
pub const LOST: &str = "lost";
