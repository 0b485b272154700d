//! Secrets and texts stand in no log, no metric and no problem.

use std::{
    io,
    sync::{Arc, LazyLock, Mutex},
};

use madang_testing::{FakeTool, ScriptedCompletion, ScriptedModel};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use serde_json::json;

use crate::{http::Request, support::Setup};

/// Keeps all that is logged and measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caught(Arc<Mutex<String>>);

impl Caught {
    /// Keeps from the first call on what all threads log and measure, those of other tests as well.
    pub(crate) fn of_all_threads() -> &'static Self {
        static KEPT: LazyLock<Caught> = LazyLock::new(|| {
            let kept = Caught::default();
            metrics::set_global_recorder(kept.clone()).unwrap();
            let writer = kept.clone();
            let logs = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_ansi(false)
                .with_writer(move || writer.clone())
                .finish();
            tracing::subscriber::set_global_default(logs).unwrap();
            kept
        });
        &KEPT
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    fn keep(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }

    fn key(&self, key: &Key) {
        self.keep(&format!("metric {} {:?}\n", key.name(), key.labels().collect::<Vec<_>>()));
    }
}

impl io::Write for Caught {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.keep(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Recorder for Caught {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.key(key);
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.key(key);
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.key(key);
        Histogram::noop()
    }
}

/// Calls of MCP clients of both kinds.
#[cfg(feature = "mcp")]
async fn mcp_calls(test: &crate::support::TestServer) {
    use crate::mcp_client::{Session, call_with, forms, result, retry_of};
    let params = json!({
        "name": "keep", "arguments": { "word": "canary-of-an-mcp-call" },
        "_meta": { "io.madang/idempotencyKey": "canary-of-an-mcp-key" },
    });
    let asked = result(&test.send(call_with(params.clone(), &forms())).await);
    let no = json!({ "action": "decline" });
    let answered = test.send(retry_of(params.clone(), &forms(), &asked["requestState"], &no)).await;
    assert_eq!(result(&answered)["isError"], true);
    let session = Session::begin(test, test.kim.reveal(), &json!({})).await;
    assert_eq!(result(&session.call_with(1, &params).send(test.address).await)["isError"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_and_no_text_is_logged_measured_or_told_in_a_problem() {
    let kept = Caught::of_all_threads();
    let script = [
        ScriptedCompletion::call("keep", &json!({ "word": "canary-of-the-call" })),
        ScriptedCompletion::text("canary-of-the-model"),
    ];
    let tool = FakeTool::destructive("keep").consequence("canary-of-the-question");
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    test.open("s").await;
    let wrong = format!("mdg_{}", "canary-of-a-guess");
    let login = test.login(&test.kim).await;
    let [(_, cookie), (_, proof)] = login.clone();
    let mut events = test.stream("/v1/sessions/s/events").await;
    test.post("/v1/sessions/s/turns", json!({ "text": "canary-of-the-user" })).await.ok(202);
    let request = events.until("approval_requested").await.pop().unwrap().data;
    let path = format!("/v1/approvals/{}/decision", request["call"].as_str().unwrap());
    let message = json!({
        "digest": request["digest"], "decision": "deny_with", "message": "canary-of-the-denial",
    });
    test.post(&path, message).await.ok(200);
    events.until("turn_ended").await;
    let said = json!([{
        "id": "canary-of-a-key", "role": "user", "content": "canary-of-the-user",
        "parts": [{ "type": "text", "text": "canary-of-the-user" }],
    }]);
    for (path, body) in [
        ("/v1/chat/completions", json!({ "messages": said })),
        ("/ag-ui", json!({ "threadId": "t", "runId": "r", "messages": said })),
        ("/api/chat", json!({ "id": "u", "messages": said })),
    ] {
        test.post(path, body).await; // its whole answer, which is the user's
    }
    #[cfg(feature = "mcp")]
    mcp_calls(&test).await;
    let mut problems = String::new();
    for refused in [
        Request::get("/v1/me").bearer(&wrong),
        Request::get("/v1/me").header("authorization", "Basic canary-of-a-guess"),
        Request::get("/v1/me").header("cookie", &format!("{cookie}0")),
        Request::post("/v1/login", &json!({ "token": wrong })),
        Request::post("/v1/sessions/s/turns", &json!({ "text": ["canary-of-the-user"] }))
            .headers(&login),
        Request::post("/v1/sessions/s/turns", &json!({ "text": ["canary-of-the-user"] }))
            .bearer(test.kim.reveal()),
        Request::post(
            "/v1/chat/completions",
            &json!({ "messages": [{ "role": "canary-of-a-role" }] }),
        )
        .bearer(test.kim.reveal()),
        Request::post("/v1/chat/completions", &json!({ "messages": ["canary-of-the-user"] }))
            .bearer(test.kim.reveal()),
        Request::post("/ag-ui", &json!({ "threadId": ["canary-of-the-user"], "messages": [] }))
            .bearer(test.kim.reveal()),
        Request::post("/api/chat", &json!({ "id": "s", "messages": ["canary-of-the-user"] }))
            .bearer(test.kim.reveal()),
        Request::get("/v1/sessions/s/events?after=canary-of-a-query").bearer(test.kim.reveal()),
        Request::get("/v1/canary-of-a-path").bearer(test.kim.reveal()),
    ] {
        let answer = refused.send(test.address).await;
        assert!(answer.status >= 400);
        problems.push_str(answer.text());
    }
    let secrets =
        [test.kim.reveal().to_owned(), cookie.split_once('=').unwrap().1.to_owned(), proof];
    test.shutdown().await;
    let kept = kept.text();
    // What is looked for would be found: the answers and the refusals are there.
    assert!(kept.contains("answered") && kept.contains("refused"), "{kept}");
    assert!(kept.contains("metric http.server.request.duration"), "{kept}");
    assert!(kept.contains("/v1/sessions/{session}/turns"));
    // The library of MCP logs messages at `debug` and below, which the program leaves out, but no
    // secret.
    let (of_mcp, ours): (Vec<_>, Vec<_>) = kept.lines().partition(|line| line.contains(" rmcp::"));
    assert_eq!(of_mcp.is_empty(), !cfg!(feature = "mcp"));
    let leaks = of_mcp.iter().find(|line| secrets.iter().any(|secret| line.contains(secret)));
    assert!(leaks.is_none(), "{leaks:?}");
    let ours = ours.join("\n");
    for (source, text) in [("logs and metrics", &ours), ("problems", &problems)] {
        for secret in secrets.iter().map(String::as_str).chain(["canary"]) {
            let line = text.lines().find(|line| line.contains(secret));
            assert!(line.is_none(), "{source} have {secret}: {line:?}");
        }
    }
}
