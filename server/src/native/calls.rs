//! Reads and resolves tool calls of the ledger, and runs calls without a model.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use madang::{
    Call, CallId, CallReport, LanguageTag, SessionId,
    ledger::{CallRecord, EffectResolution, LedgerFilter, LedgerRow},
    tool::EffectPolicy,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    answer::json,
    ask::Ask,
    auth::{
        caller::{Caller, session_id},
        scope::TokenScope,
    },
    extract::{Ids, Json, Wishes, call_id},
    forms::{AskHeader, KeyHeader, SessionName},
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    let chat = Access::Scope(TokenScope::Chat);
    let decide = Access::Scope(TokenScope::Decide);
    vec![
        Route::get("/v1/calls/{call}", chat, row)
            .id("getCall")
            .says("Returns the ledger row of a call.")
            .gives::<LedgerRow>(StatusCode::OK, "The row."),
        Route::post("/v1/calls/{call}/resolve", decide, resolve)
            .id("resolveCall")
            .says("Records whether a call whose effect was unknown took effect.")
            .takes::<ResolutionBody>(|| serde_json::json!({ "effect": "committed" }))
            .gives::<LedgerRow>(StatusCode::OK, "The updated row.")
            .refuses(&[ProblemName::StillRuns, ProblemName::NotUnknown]),
        Route::get("/v1/tools", chat, tools)
            .id("listTools")
            .says("Lists the tools.")
            .gives::<Tools>(StatusCode::OK, "The tools."),
        Route::post("/v1/tools/{tool}/calls", Access::Scope(TokenScope::Tools), call)
            .id("callTool")
            .begins()
            .waits(|limits| limits.completion_wait)
            .says("Calls a tool without a model, and returns how the call ended.")
            .header::<KeyHeader>("Idempotency-Key", "Makes the request safe to repeat.")
            .header::<AskHeader>(
                "Madang-Ask",
                "Who is asked for an approval: `here`, `elsewhere` or `none`.",
            )
            .takes::<CallBody>(|| serde_json::json!({ "arguments": {} }))
            .gives::<CallAnswer>(StatusCode::OK, "The call has ended, with any outcome.")
            .refuses(&[
                ProblemName::Busy,
                ProblemName::KeyReused,
                ProblemName::UnknownValue,
                ProblemName::StillWaiting,
            ]),
    ]
}

/// Reads the row of a call of this user. An admin may read any row.
async fn row_of(shared: &Shared, caller: &Caller, call: CallId) -> Result<LedgerRow, Problem> {
    let filter = LedgerFilter::call(call);
    let filter = if caller.has(TokenScope::Admin) { filter } else { filter.of_user(&caller.user) };
    shared.row(&filter).await?.ok_or_else(Problem::not_found)
}

async fn row(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(call): Ids<String>,
) -> Result<Response, Problem> {
    Ok(json(&row_of(&shared, &caller, call_id(&call)?).await?))
}

/// The effect that was found out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResolutionBody {
    effect: EffectResolution,
}

async fn resolve(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(call): Ids<String>,
    Json(ResolutionBody { effect }): Json<ResolutionBody>,
) -> Result<Response, Problem> {
    let call = call_id(&call)?;
    let row = row_of(&shared, &caller, call).await?;
    // An admin sees the calls of others, and speaks for none of these users.
    let session = shared.runtime.user_with_id(&caller.user).find_session(&row.session).await?;
    session.ok_or_else(Problem::not_found)?.resolve(call, effect).await?;
    Ok(json(&row_of(&shared, &caller, call).await?))
}

/// The tools of the runtime.
#[derive(Debug, Serialize, JsonSchema)]
struct Tools {
    tools: Vec<ToolAnswer>,
}

/// A tool.
#[derive(Debug, Serialize, JsonSchema)]
struct ToolAnswer {
    name: Arc<str>,
    description: Arc<str>,
    category: Arc<str>,
    /// The JSON Schema of its arguments.
    parameters: Arc<Value>,
    effect: EffectPolicy,
    is_idempotent: bool,
}

async fn tools(State(shared): State<Arc<Shared>>, _: Caller) -> Response {
    let tools = shared.runtime.registry().iter().map(|tool| tool.spec());
    let tools = tools.map(|spec| ToolAnswer {
        name: spec.name.clone(),
        description: spec.description.clone(),
        category: spec.category.clone(),
        parameters: spec.parameters.clone(),
        effect: spec.effect,
        is_idempotent: spec.is_idempotent,
    });
    json(&Tools { tools: tools.collect() })
}

/// The arguments of a call without a model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallBody {
    /// The arguments, which must be an object.
    #[serde(default = "no_arguments")]
    arguments: Value,
    /// The session to which the call is appended. If absent, a new one.
    #[schemars(with = "Option<SessionName>")]
    session: Option<String>,
    /// Who is asked for an approval. It takes precedence over the header.
    ask: Option<Ask>,
    /// The language of questions and reasons.
    language: Option<LanguageTag>,
    /// The IANA name of the user's time zone.
    time_zone: Option<Arc<str>>,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// The end of a call without a model.
#[derive(Debug, Serialize, JsonSchema)]
struct CallAnswer {
    call: CallId,
    session: SessionId,
    /// The outcome as the text that a model would read.
    envelope: String,
    record: CallRecord,
    /// Whether the ledger has recorded this end.
    is_recorded: bool,
}

async fn call(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Ids(tool): Ids<String>,
    wishes: Wishes,
    Json(body): Json<CallBody>,
) -> Result<Response, Problem> {
    let ask = caller.asks(body.ask.or(wishes.ask), Ask::Here);
    let call = Call::new(caller.user.clone(), tool, body.arguments.to_string());
    let call = call.language(body.language.or(caller.language())).key(wishes.key).asks(ask.asks());
    let mut call = body.time_zone.into_iter().fold(call, Call::time_zone);
    if let Some(session) = body.session {
        let session = session_id(&session)?;
        let found = shared.runtime.user_with_id(&caller.user).find_session(&session).await?;
        found.ok_or_else(Problem::not_found)?;
        call = call.session(session);
    }
    let running = shared.runtime.begin(call).await?;
    let id = running.id();
    let ended = timeout(shared.limits.completion_wait, running.ended()).await;
    let CallReport { session, record, envelope, is_recorded } = ended.map_err(|_| {
        Problem::new(
            ProblemName::StillWaiting,
            "The call has not ended yet. Sent again with the same key, the request waits on.",
        )
        .with("call", id)
    })?;
    Ok(json(&CallAnswer { call: id, session, envelope, record, is_recorded }))
}
