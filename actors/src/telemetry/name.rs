//! The names of attributes, and the words for unnamed values. Names that begin with `gen_ai`,
//! `error` or `user` are OpenTelemetry's (semantic conventions 1.41 and their successor for
//! generative AI). The bridge `tracing-opentelemetry` reads `otel`, and the rest is Madang's own.

/// The shown name of a span, if it is more than its kind.
pub const SHOWN_AS: &str = "otel.name";
/// The status of a span: `ERROR` if it failed.
pub const STATUS: &str = "otel.status_code";
/// The kind of work: `chat`, `invoke_agent` or `execute_tool`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// The id of the session.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// The id of the user.
pub const USER: &str = "user.id";
/// The id of the turn.
pub const TURN: &str = "madang.turn.id";
/// Whether the turn was cut off and continues.
pub const IS_RESUMED: &str = "madang.turn.resumed";
/// The end of a turn: `answered`, `stopped`, `failed`, `dismissed`; `left` if it stays open in the
/// store.
pub const ENDING: &str = "madang.turn.ending";
/// The id of the completion.
pub const COMPLETION: &str = "madang.completion.id";
/// The name of the model.
pub const MODEL: &str = "gen_ai.request.model";
/// The most tokens that a completion may have.
pub const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// The reason why a completion ended, in the span: `stop`, `tool_calls`, `length`. It is a text,
/// because spans have no lists.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// The reason in the metric and for every completion: it may also be `cancelled` or `failed`.
pub const FINISH: &str = "madang.completion.finish";
/// The tokens of the prompt.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// The tokens of the prompt that were cached.
pub const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// The tokens that were generated.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// The kind of token: `input` or `output`.
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
/// The name of the tool, if it is registered.
pub const TOOL: &str = "gen_ai.tool.name";
/// The id of the call.
pub const CALL: &str = "gen_ai.tool.call.id";
/// The end of a call: `ok`, `error`, `denied`, `expired`, `unreachable`, `dismissed`, `withdrawn`.
/// It is `discarded` if the turn had been dismissed and, in the span, `left` if the call goes on
/// after the next start.
pub const OUTCOME: &str = "madang.tool.outcome";
/// The type of an error.
pub const ERROR: &str = "error.type";
/// The bound that was reached: a name of [`Bound`](crate::protocol::Bound).
pub const BOUND: &str = "madang.bound";
/// The scope of the bound: `session`, `user`, `all`.
pub const SCOPE: &str = "madang.bound.scope";

/// The name of every tool that is not registered.
pub const UNKNOWN_TOOL: &str = "_unknown";
/// The type of every error for which the program has no word.
pub const OTHER: &str = "_OTHER";
/// The end of a call or completion whose answer was lost. The ledger shows what became of a call.
pub const LOST: &str = "lost";
