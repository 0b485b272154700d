//! Tests that a call with any JSON from model, tool or person has an end, and its records can be
//! read.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use madang::{
    Call, Limits, Runtime, UserId,
    approval::{Approver, Decision},
    event::TurnEnding,
    ledger::LedgerFilter,
    store::SqliteStore,
    tool::{self, EffectPolicy, NoArguments, Tool, ToolContext, ToolOutcome, ToolResult, ToolSpec},
};
use madang::{store::Store, tool::BoxFuture};
use madang_testing::{
    MemoryStore, ScriptedCompletion, ScriptedModel,
    hostile::{self, dismantle, is_deeper},
};
use serde_json::{Value, json};
use sqlx::SqliteConnection;

/// The next results of the tools.
type Next = Arc<Mutex<Option<ToolOutcome>>>;

fn next(ctx: &ToolContext) -> ToolOutcome {
    let next = ctx.extension::<Next>().unwrap().lock().unwrap().take();
    next.unwrap_or_else(|| ToolOutcome::ok(Value::Null))
}

async fn plain(_: NoArguments, ctx: &ToolContext) -> ToolResult<ToolOutcome> {
    Ok(next(ctx))
}

async fn reading(
    _: NoArguments,
    _: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    Ok(next(ctx))
}

/// Writes a row, which must not stay if the result cannot be stored.
async fn writing(
    _: NoArguments,
    db: &mut SqliteConnection,
    ctx: &ToolContext,
) -> ToolResult<ToolOutcome> {
    sqlx::query(
        "INSERT INTO notes_changes (user_id, kind, block_ids) VALUES ('kim', 'navigated', '[]')",
    )
    .execute(db)
    .await?;
    Ok(next(ctx))
}

fn tools() -> Vec<Arc<dyn Tool>> {
    let anything = ToolSpec::new("anything", "Takes anything.", json!({ "type": "object" }));
    vec![
        Arc::new(tool::plain("plain", "Gives it.", plain).effect(EffectPolicy::Read)),
        Arc::new(tool::reading("reading", "Gives it.", reading)),
        Arc::new(tool::transactional("writing", "Gives it.", writing).effect(EffectPolicy::Write)),
        Arc::new(tool::from_schema(anything, |arguments, _| async move {
            Ok(ToolOutcome::ok(arguments))
        })),
    ]
}

async fn started(
    path: &Path,
    model: ScriptedModel,
    next: Next,
    limits: Limits,
) -> (Runtime, SqliteStore) {
    let store = SqliteStore::open(path)
        .migrations("notes", &madang_toolkits::notes::MIGRATIONS)
        .await
        .unwrap();
    let runtime = Runtime::builder()
        .model(model)
        .store(store.clone())
        .tools(tools())
        .extension(next)
        .limits(limits)
        .start()
        .await
        .unwrap();
    (runtime, store)
}

fn kim() -> UserId {
    UserId::new("kim").unwrap()
}

/// Checks that a program that just started can read all records.
async fn is_readable(path: &Path, calls: usize) {
    let (runtime, store) =
        started(path, ScriptedModel::new([]), Next::default(), Limits::default()).await;
    let rows = runtime.ledger(&LedgerFilter::default()).await.unwrap();
    assert_eq!(rows.len(), calls);
    for row in &rows {
        assert_eq!(row.unreadable, [""; 0], "{row:?}");
        let session = runtime.user_with_id(&row.user).session(row.session.as_str()).await.unwrap();
        assert!(!session.state().await.unwrap().messages.is_empty());
    }
    for session in store.recorded_sessions().await.unwrap() {
        store
            .session_ledger(&session)
            .await
            .unwrap()
            .unwrap()
            .audit(None, Some(madang::store::Store::keys(&store)))
            .unwrap();
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn every_result_has_its_end_and_every_row_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let given = Next::default();
    let (runtime, store) =
        started(&path, ScriptedModel::new([]), given.clone(), Limits::default()).await;
    let mut values = Vec::new();
    hostile::for_each_value(|name, value| values.push((name, value)));
    let mut calls = 0;
    let mut written = 0;
    for (index, (name, value)) in values.into_iter().enumerate() {
        let outcome = ToolOutcome::ok(value);
        let fits = outcome.storable(Limits::default().max_outcome_bytes).is_ok();
        let tool = ["plain", "reading", "writing"][index % 3];
        *given.lock().unwrap() = Some(outcome);
        let report = runtime.begin(Call::new(kim(), tool, "{}")).await.unwrap().ended().await;
        calls += 1;
        let code = report.outcome().unwrap().code();
        assert_eq!(code, (!fits).then_some("handler_error"), "{name} from {tool}");
        assert!(report.envelope.len() <= Limits::default().max_envelope_bytes, "{name}");
        written += i64::from(fits && tool == "writing");
    }
    let mut reader = store.reader().await.unwrap();
    let db = reader.connection().downcast_mut::<SqliteConnection>().unwrap();
    let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM notes_changes");
    let found = count.fetch_one(db).await.unwrap();
    drop(reader);
    assert_eq!(found, written, "what a refused result came with is undone");
    runtime.shutdown().await.unwrap();
    is_readable(&path, calls).await;
}

#[tokio::test]
async fn every_text_of_arguments_has_its_end_and_every_row_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut limits = Limits::default();
    // The largest depth and length that an embedder may set.
    limits.max_arguments_depth = usize::MAX;
    limits.max_arguments_bytes = usize::MAX;
    limits.max_queued_bytes_per_user = 64 << 20;
    let (runtime, _store) =
        started(&path, ScriptedModel::new([]), Next::default(), limits.clone()).await;
    let mut calls = 0;
    for (name, text) in hostile::argument_texts() {
        let report =
            runtime.begin(Call::new(kim(), "anything", text.as_str())).await.unwrap().ended().await;
        assert!(report.outcome().is_some(), "{name}");
        // The beginning of a text that is too long to store.
        calls += 1;
    }
    runtime.shutdown().await.unwrap();
    is_readable(&path, calls).await;
}

#[tokio::test]
async fn of_too_long_arguments_each_store_has_the_beginning_and_the_outcome_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let sqlite = SqliteStore::open(&path)
        .migrations("notes", &madang_toolkits::notes::MIGRATIONS)
        .await
        .unwrap();
    let builder = || Runtime::builder().model(ScriptedModel::new([]));
    for builder in [builder().store(MemoryStore::new()), builder().store(sqlite)] {
        let any = ToolSpec::new("anything", "Takes anything.", json!({ "type": "object" }));
        let any = tool::from_schema(any, |given, _| async move { Ok(ToolOutcome::ok(given)) });
        let runtime = builder.tool(any).start().await.unwrap();
        // A part of it would be valid JSON too.
        let arguments = format!("{{}}{}", " ".repeat(3 << 20));
        let call =
            Call::new(kim(), "anything", arguments).approver(Approver::Decided(Decision::Approve));
        let report = runtime.begin(call).await.unwrap().ended().await;
        let Some(ToolOutcome::Err(error)) = report.outcome() else { panic!("{report:?}") };
        assert_eq!(error.code, "validation");
        assert!(error.reason.contains("1048576"), "{}", error.reason);
        let rows = runtime.ledger(&LedgerFilter::default()).await.unwrap();
        let [row] = &*rows else { panic!("{} rows", rows.len()) };
        assert!(format!("{row:?}").len() < 8_000, "{}", format!("{row:?}").len());
        assert!(row.raw_arguments.ends_with("…(+3144706 bytes)"), "{}", row.raw_arguments);
        runtime.shutdown().await.unwrap();
    }
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = file.unwrap().metadata().unwrap().len();
        assert!(bytes < 1 << 20, "the file has them nowhere: {bytes}");
    }
}

#[tokio::test]
async fn every_edit_of_a_person_is_run_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let (runtime, _store) =
        started(&path, ScriptedModel::new([]), Next::default(), Limits::default()).await;
    let mut edits = Vec::new();
    hostile::for_each_value(|name, value| {
        let is_droppable = !is_deeper(&value, 1_100);
        if !is_droppable {
            return dismantle(value);
        }
        let arguments = Value::Object([("a".to_owned(), value)].into_iter().collect());
        edits.push((name, arguments));
    });
    let calls = edits.len();
    for (name, arguments) in edits {
        // An unfit answer leaves the question open; then a denial follows.
        let answers = Mutex::new(vec![Decision::Deny, Decision::Edit { arguments }]);
        let ask = move |_| -> BoxFuture<'static, Option<Decision>> {
            let next = answers.lock().unwrap().pop();
            Box::pin(async { next })
        };
        let call = Call::new(kim(), "anything", "{}").approver(Approver::Ask(Box::new(ask)));
        let report = runtime.begin(call).await.unwrap().ended().await;
        let fits = matches!(report.outcome(), Some(ToolOutcome::Ok(_) | ToolOutcome::Cancelled(_)));
        assert!(fits, "{name}: {report:?}");
    }
    runtime.shutdown().await.unwrap();
    is_readable(&path, calls).await;
}

#[tokio::test]
async fn a_document_of_127_levels_closes_no_chat() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let given = Next::default();
    *given.lock().unwrap() = Some(ToolOutcome::ok(hostile::lists(127)));
    let model = ScriptedModel::new([
        ScriptedCompletion::call("plain", &json!({})),
        ScriptedCompletion::text("Here it is."),
    ]);
    let (runtime, _store) = started(&path, model, given, Limits::default()).await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let end = session.send("fetch it").await.unwrap().ended().await.unwrap();
    assert_eq!(end.ending, TurnEnding::Answered);
    runtime.shutdown().await.unwrap();
    is_readable(&path, 1).await;
}
