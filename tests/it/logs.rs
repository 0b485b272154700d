//! What the log says of a call, and how loud: the table of dispatch, and the stacks of panics and
//! of handlers that fail.

use std::{
    env,
    fmt::{Debug, Write as _},
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang::{
    Error, Limits, Runtime,
    approval::{Approver, Decision},
    tool::{self, ToolContext, ToolResult},
};
use madang_testing::{FakeTool, MemoryStore, ScriptedModel, listen};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
};

use crate::support::{TestRuntime, dispatched, kind};

/// Keeps what the library logs on this thread.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let meta = event.metadata();
        if meta.target().starts_with("madang") {
            let mut words = String::new();
            event.record(&mut Words(&mut words));
            self.0.lock().unwrap().push((*meta.level(), words));
        }
    }
}

impl Log {
    fn keep() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::registry().with(log.clone());
        (log, listen(subscriber))
    }

    /// Gives what was logged since the last time.
    fn take(&self) -> Vec<(Level, String)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn a_tool_whose_name_other_programs_do_not_take_is_told_at_the_start() {
    let (log, _watching) = Log::keep();
    let start = async |name: &'static str| {
        let builder = Runtime::builder().model(ScriptedModel::new([])).store(MemoryStore::new());
        builder.tool(FakeTool::read(name)).start().await.unwrap().shutdown().await.unwrap();
        log.take().iter().any(|(level, said)| *level == Level::WARN && said.contains(name))
    };
    let longest: &'static str = "x".repeat(64).leak();
    let longer: &'static str = "x".repeat(65).leak();
    assert_eq!((start(longest).await, start(longer).await), (false, true));
}

/// Gives the loudest level of these entries.
fn loudest(said: &[(Level, String)]) -> Option<Level> {
    // The loudest is the least of levels.
    said.iter().map(|(level, _)| *level).min()
}

#[tokio::test]
async fn each_end_of_a_call_is_logged_as_loud_as_the_table_says() {
    let (log, _guard) = Log::keep();
    let mut limits = Limits::default();
    // Two calls wait for these, and no other may reach them.
    limits.decision_timeout = Duration::from_secs(2);
    limits.transaction_deadline = Duration::from_secs(2);
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    log.take();
    let approve = || Approver::Decided(Decision::Approve);
    let silent = || Approver::Ask(Box::new(|_| Box::pin(async { None })));
    let named = json!({ "name": "a" });
    for (tool, arguments, confirm, end, level) in [
        ("foo", json!({}), approve(), "unknown_tool", Level::WARN),
        ("save", json!({ "name": 1 }), approve(), "validation", Level::INFO),
        ("save", json!([1]), approve(), "validation", Level::INFO),
        ("echo", json!({ "name": "a", "invented": 1 }), Approver::None, "ok", Level::INFO),
        ("save", named.clone(), Approver::None, "unreachable", Level::DEBUG),
        ("save", named.clone(), Approver::Decided(Decision::Deny), "denied", Level::DEBUG),
        ("save", named.clone(), silent(), "expired", Level::DEBUG),
        ("panic_text", json!({}), approve(), "handler_error", Level::ERROR),
        ("fail", json!({}), approve(), "handler_error", Level::ERROR),
        ("slow_mail", json!({}), approve(), "timeout", Level::ERROR),
        ("slow_note", named.clone(), approve(), "timeout", Level::ERROR),
    ] {
        let report = test.call(tool, &arguments, confirm).await;
        let said = log.take();
        assert_eq!(kind(&report), end, "{tool} {arguments}");
        assert_eq!(loudest(&said), Some(level), "{tool} {arguments} {end}: {said:?}");
    }
    for (tool, arguments, end) in [
        ("search", json!({}), "ok"),
        ("rule_note", named, "r3_quota"),
        ("save", json!({ "name": "quiet" }), "ok"),
    ] {
        let report = test.call(tool, &arguments, approve()).await;
        let said = log.take();
        assert_eq!(kind(&report), end);
        assert!(loudest(&said).is_none_or(|level| level >= Level::DEBUG), "{tool}: {said:?}");
    }
    test.gate.open(2);
    test.shutdown().await;
}

#[tokio::test]
async fn a_bound_that_is_reached_is_told_at_info() {
    let (log, _guard) = Log::keep();
    let limits = Limits { max_running_calls: 1, ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let nothing = json!({});
    let slow = test.call("slow_read", &nothing, Approver::None);
    let refused = async {
        test.gate.begun(1).await;
        log.take();
        let report = test.call("search", &json!({}), Approver::None).await;
        let said = log.take();
        test.gate.open(1);
        (kind(&report), loudest(&said))
    };
    let (_, refused) = tokio::join!(slow, refused);
    assert_eq!(refused, ("overloaded".to_owned(), Some(Level::INFO)));
    test.shutdown().await;
}

#[tokio::test]
async fn nothing_failed_where_too_much_is_stored_of_a_user() {
    let (log, _guard) = Log::keep();
    let limits = Limits { max_stored_bytes_per_user: 1, ..Limits::default() };
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let named = json!({ "name": "a" });
    assert_eq!(kind(&test.call("note", &named, Approver::None).await), "ok");
    log.take();
    for tool in ["note", "search", "save"] {
        let report = test.call(tool, &named, Approver::Decided(Decision::Approve)).await;
        let said = log.take();
        assert_eq!(kind(&report), "overloaded", "{tool}");
        assert_eq!(loudest(&said), Some(Level::INFO), "{tool}: {said:?}");
    }
    let session = test.runtime.user("kim").unwrap().session("1").await.unwrap();
    assert!(matches!(session.send("hi").await, Err(Error::Overloaded(_))));
    test.shutdown().await;
    let said = log.take();
    assert!(loudest(&said).is_none_or(|level| level >= Level::INFO), "{said:?}");
}

/// A call without a question takes a handler's time and little more: the least of many, for others
/// use the machine.
#[tokio::test]
async fn a_call_ends_within_100_ms() {
    let test = TestRuntime::without_model().await;
    let mut least = [Duration::MAX; 2];
    for _ in 0..50 {
        for (least, (tool, arguments)) in
            least.iter_mut().zip([("search", json!({})), ("note", json!({ "name": "a" }))])
        {
            let began = Instant::now();
            assert_eq!(kind(&test.call(tool, &arguments, Approver::None).await), "ok");
            *least = began.elapsed().min(*least);
        }
    }
    assert!(least.iter().all(|time| *time < Duration::from_millis(100)), "{least:?}");
    test.shutdown().await;
}

/// Set where this program is to panic.
const PANICS: &str = "MADANG_TEST_PANICS";

/// What the program says that [`panics_and_fails_with_the_hook`] is.
fn says() -> String {
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["logs::panics_and_fails_with_the_hook", "--exact", "--ignored", "--nocapture"]);
    program.env(PANICS, "1").env_remove("RUST_BACKTRACE").env_remove("RUST_LIB_BACKTRACE");
    let output = program.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[inline(never)]
fn here_it_panics() -> ToolResult<()> {
    panic!("too bad")
}

#[inline(never)]
fn here_it_fails() -> ToolResult<()> {
    Err(std::io::Error::other("no such luck"))?
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn panics(_: Nothing, _: &ToolContext) -> ToolResult<()> {
    here_it_panics()
}

async fn fails(_: Nothing, _: &ToolContext) -> ToolResult<()> {
    here_it_fails()
}

#[tokio::test]
#[ignore = "a process of its own, for the hook is the process's"]
async fn panics_and_fails_with_the_hook() {
    if env::var_os(PANICS).is_none() {
        return;
    }
    let (log, _guard) = Log::keep();
    let runtime = Runtime::builder()
        .model(ScriptedModel::new([]))
        .store(MemoryStore::new())
        .tools([
            Arc::new(tool::plain("panics", "Panics.", panics)) as Arc<dyn tool::Tool>,
            Arc::new(tool::plain("fails", "Fails.", fails)),
        ])
        .panic_hook()
        .start()
        .await
        .unwrap();
    for tool in ["panics", "fails"] {
        let call = madang::Call::new(crate::support::kim(), tool, "{}");
        let report =
            dispatched(&runtime, call.approver(Approver::Decided(Decision::Approve))).await;
        assert_eq!(kind(&report.unwrap()), "handler_error");
    }
    runtime.shutdown().await.unwrap();
    for (level, said) in log.take() {
        println!("{level} {said}");
    }
}

#[test]
fn a_panic_and_a_failing_handler_log_their_stack_though_no_variable_asks_for_it() {
    let said = says();
    for (what, function) in [("a panic", "here_it_panics"), ("a handler failed", "here_it_fails")] {
        let (_, behind) = said.split_once(what).unwrap_or_else(|| panic!("{what}: {said}"));
        assert!(behind.contains(function), "{what}: {said}");
    }
    assert!(said.contains("too bad") && said.contains("no such luck"), "{said}");
}
