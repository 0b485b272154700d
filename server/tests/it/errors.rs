//! What goes wrong is told by one status and one name each, in the language and the form of the
//! client.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use madang::{
    Limits, SessionId, UserId,
    model::ModelError,
    store::{SqliteStore, Store, StoreError},
    tool::BoxFuture,
};
use madang_testing::{
    End, FakeTool, Gate, MemoryStore, Read, ScriptedCompletion, ScriptedModel, SteppedStore, Steps,
    model_pair,
};
use serde_json::{Value, json};

use crate::{
    http::{Answer, Request},
    support::{Setup, TestServer, says},
};

/// Checks status and name, and what each answer with a problem has.
fn is(answer: &Answer, status: u16, name: &str) -> Value {
    assert_eq!((answer.status, &*answer.problem()), (status, name), "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = answer.json();
    assert_eq!(body["status"], status);
    for member in ["title", "detail", "trace"] {
        assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member}");
    }
    let may_retry = answer.header("x-should-retry") != Some("false");
    assert!(may_retry || (400..500).contains(&status));
    body
}

fn waits(answer: &Answer) {
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    let millis: u64 = answer.header("retry-after-ms").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds) && millis.div_ceil(1_000).max(1) == seconds);
}

const TURNS: &str = "/v1/sessions/s/turns";

async fn plain() -> TestServer {
    let test = Setup::new(says("a")).start().await;
    test.open("s").await;
    test
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_empty_or_too_long() {
    let test = plain().await;
    let empty = test.post(TURNS, json!({ "text": " \n" })).await;
    is(&empty, 422, "empty");
    assert_eq!(empty.header("x-should-retry"), Some("false"));
    let max = Limits::default().max_user_text_bytes;
    let long = test.post(TURNS, json!({ "text": "x".repeat(max + 1) })).await;
    let body = is(&long, 413, "too-long");
    assert_eq!((&body["bytes"], &body["max_bytes"]), (&json!(max + 1), &json!(max)));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_long_of_another_type_or_of_another_form() {
    let test = plain().await;
    let head = |kind: &str| Request::new("POST", TURNS).header("content-type", kind);
    let announced = head("application/json").header("content-length", "300000");
    let body = is(&test.send(announced).await, 413, "too-long");
    assert_eq!(body["max_bytes"], 256 * 1024);
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"]
    {
        let answer = test.send(head(kind).body("{\"text\":\"hi\"}")).await;
        is(&answer, 415, "unsupported-media-type");
    }
    let untyped = Request::new("POST", TURNS).body("{\"text\":\"hi\"}");
    is(&test.send(untyped).await, 415, "unsupported-media-type");
    for (body, pointer) in [
        ("{", ""),
        ("[]", ""),
        ("{}", ""),
        ("{\"text\":1}", "/text"),
        ("{\"text\":\"hi\",\"Ask\":\"none\"}", "/Ask"),
        ("{\"text\":\"hi\",\"ask\":\"nobody\"}", "/ask"),
        ("{\"text\":\"hi\",\"language\":\"ko_KR\"}", "/language"),
        ("{\"text\":\"hi\",\"on_dismiss\":\"never\"}", "/on_dismiss"),
    ] {
        let answer = test.send(head("application/json").body(body)).await;
        let told = is(&answer, 400, "malformed");
        assert_eq!(told["problems"][0]["pointer"], pointer, "{body}");
    }
    for (body, pointer) in [
        (json!({ "text": "hi", "time_zone": "Mars/Olympus" }), "/time_zone"),
        (json!({ "text": "hi", "model": "nobody" }), "/model"),
    ] {
        let told = is(&test.post(TURNS, body).await, 422, "unknown-value");
        assert_eq!(told["problems"][0]["pointer"], pointer);
    }
    // Serde reads the members of a struct from a list as well.
    let list = test.post("/v1/sessions/s/forks", json!([null, null])).await;
    is(&list, 400, "malformed");
    let key = Request::post(TURNS, &json!({ "text": "hi" })).header("idempotency-key", "\"");
    is(&test.send(key).await, 400, "malformed");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_cannot_be_one_and_a_thing_that_is_not_there() {
    let test = plain().await;
    for id in ["", "..", ".", "a\nb", &"x".repeat(300)] {
        is(&test.post("/v1/sessions", json!({ "id": id })).await, 400, "malformed");
    }
    is(&test.get("/v1/sessions/%2e%2e").await, 400, "malformed");
    is(&test.get("/v1/sessions/%ff").await, 400, "malformed");
    for path in [
        "/v1/sessions/nowhere",
        "/v1/sessions/s/turns/no-uuid",
        "/v1/sessions/s/turns/00000000-0000-0000-0000-000000000000",
        "/v1/calls/no-uuid",
        "/v1/calls/00000000-0000-0000-0000-000000000000",
        "/v1/nothing",
        "/metrics",
    ] {
        is(&test.get(path).await, 404, "not-found");
    }
    for query in ["sessions?limit=0", "sessions?limit=101", "sessions?limit=x", "ledger?limit=0"] {
        is(&test.get(&format!("/v1/{query}")).await, 400, "malformed");
    }
    for query in ["sessions?before=x", "sessions?before=7.ff", "inbox?after=x", "ledger?after=x"] {
        is(&test.get(&format!("/v1/{query}")).await, 422, "unknown-value");
    }
    let no_call = "/v1/ledger?after=00000000-0000-0000-0000-000000000000";
    let told = is(&test.get(no_call).await, 422, "unknown-value");
    assert_eq!(told["problems"][0]["pointer"], "?after");
    for (query, status) in [("all=1", 400), ("all=false", 200), ("all=", 200)] {
        assert_eq!(test.get(&format!("/v1/ledger?{query}")).await.status, status, "{query}");
    }
    let other = test.send(Request::new("PUT", "/v1/sessions")).await;
    is(&other, 405, "method-not-allowed");
    let mut allowed: Vec<_> = other.header("allow").unwrap().split(',').collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "HEAD", "POST"]);
    test.shutdown().await;
}

/// The description has these lengths, because a pattern counts characters.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_has_256_bytes_of_any_characters() {
    let test = plain().await;
    for letter in ["x", "é", "가", "🙂"] {
        let most = 256 / letter.len();
        let id = letter.repeat(most);
        let opened = test.post("/v1/sessions", json!({ "id": id })).await.ok(201);
        assert_eq!(opened["session"], id);
        let long = json!({ "id": letter.repeat(most + 1) });
        is(&test.post("/v1/sessions", long).await, 400, "malformed");
    }
    let mixed = "x".repeat(253) + "가";
    test.post("/v1/sessions", json!({ "id": mixed })).await.ok(201);
    test.shutdown().await;
}

/// Reads the ledger behind a call of another user, of another session, or of no user at all.
async fn reads_behind_a_call_of_no_list(store: impl Store) {
    let script = [ScriptedCompletion::call("look", &json!({})), ScriptedCompletion::text("a")];
    let model = ScriptedModel::repeating(script);
    let test = Setup::over(model, store).tool(FakeTool::read("look")).start().await;
    test.open("s").await;
    test.open("empty").await;
    test.say("s", "hi").await;
    let rows = test.get("/v1/ledger").await.ok(200);
    let call = rows["calls"][0]["call"].as_str().unwrap();
    let behind = |query: &str| Request::get(&format!("/v1/ledger?after={query}"));
    let unknown = behind("00000000-0000-0000-0000-000000000000").bearer(test.lee.reveal());
    let mut unknown = is(&unknown.send(test.address).await, 422, "unknown-value");
    unknown["trace"].take();
    for (whose, query) in
        [(&test.lee, call.to_owned()), (&test.kim, format!("{call}&session=empty"))]
    {
        for media_type in ["application/json", "application/jsonl"] {
            let asked = behind(&query).bearer(whose.reveal()).header("accept", media_type);
            let mut told = is(&asked.send(test.address).await, 422, "unknown-value");
            told["trace"].take();
            assert_eq!(told, unknown, "nothing tells whether the call exists");
        }
    }
    assert_eq!(test.send(behind(call)).await.ok(200)["calls"], json!([]));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_ledger_behind_a_call_that_is_not_in_the_list() {
    reads_behind_a_call_of_no_list(MemoryStore::new()).await;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("m.db")).await.unwrap();
    reads_behind_a_call_of_no_list(store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_of_a_session_a_user_and_of_all() {
    let (model, mut script) = model_pair();
    let mut limits = Limits::default();
    (limits.max_running_turns_per_user, limits.max_running_turns) = (1, 2);
    let test = Setup::new(model).build(|builder| builder.limits(limits)).start().await;
    for session in ["s", "t"] {
        test.open(session).await;
    }
    test.post(TURNS, json!({ "text": "hi" })).await.ok(202);
    let busy = test.post(TURNS, json!({ "text": "hi" })).await;
    let body = is(&busy, 409, "busy");
    assert!(body["turn"].is_string() && body.get("approval_request").is_none());
    waits(&busy);
    let full = test.post("/v1/sessions/t/turns", json!({ "text": "hi" })).await;
    let body = is(&full, 429, "too-many");
    assert_eq!(
        (&body["bound"], &body["scope"], &body["max"]),
        (&json!("running_turns"), &json!("user"), &json!(1))
    );
    waits(&full);
    let lee = test.lee.reveal();
    let of_lee = async |path: &str, body: Value| {
        Request::post(path, &body).bearer(lee).send(test.address).await
    };
    of_lee("/v1/sessions", json!({ "id": "l" })).await.ok(201);
    of_lee("/v1/sessions/l/turns", json!({ "text": "hi" })).await.ok(202);
    let clear = test.post("/v1/sessions/s/clear", json!({})).await;
    is(&clear, 409, "busy");
    for _ in 0..2 {
        script.next().await.say("done");
    }
    test.shutdown().await;

    let (model, mut script) = model_pair();
    let mut limits = Limits::default();
    (limits.max_running_turns_per_user, limits.max_running_turns) = (1, 1);
    let test = Setup::new(model).build(|builder| builder.limits(limits)).start().await;
    test.open("s").await;
    test.post(TURNS, json!({ "text": "hi" })).await.ok(202);
    let lee = test.lee.reveal();
    let open = Request::post("/v1/sessions", &json!({ "id": "l" })).bearer(lee);
    open.send(test.address).await.ok(201);
    let full = Request::post("/v1/sessions/l/turns", &json!({ "text": "hi" })).bearer(lee);
    let full = full.send(test.address).await;
    assert_eq!(is(&full, 503, "overloaded")["scope"], "all");
    waits(&full);
    script.next().await.say("done");
    test.shutdown().await;
}

/// A store that cannot be read while the flag is set.
#[derive(Debug, Default)]
struct Fails(Arc<AtomicBool>);

impl Steps for Fails {
    fn owner<'a>(
        &'a self,
        of: &'a dyn Store,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Read<Option<UserId>>> {
        if self.0.load(Ordering::Relaxed) {
            let cause = "secret: the disk is on fire";
            return Box::pin(async move { Err(StoreError::unavailable(cause)) });
        }
        of.owner(session)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_reached_and_its_cause_is_not_told() {
    let fails = Arc::<AtomicBool>::default();
    let store = SteppedStore::new(MemoryStore::new(), Fails(fails.clone()));
    let test = Setup::over(says("a"), store).start().await;
    test.open("s").await;
    fails.store(true, Ordering::Relaxed);
    let answer = test.post(TURNS, json!({ "text": "hi" })).await;
    is(&answer, 503, "store");
    waits(&answer);
    assert!(!answer.text().contains("fire"), "{}", answer.text());
    fails.store(false, Ordering::Relaxed);
    test.say("s", "hi").await;
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_room_is_not_told_to_wait() {
    let usual = Limits::default();
    let limits = Limits { max_stored_bytes_per_user: usual.max_user_text_bytes, ..usual };
    let test = Setup::new(says("a")).build(|builder| builder.limits(limits)).start().await;
    test.open("s").await;
    test.say("s", &"x".repeat(60_000)).await;
    test.say("s", &"x".repeat(60_000)).await;
    let full = test.post(TURNS, json!({ "text": "hi" })).await;
    is(&full, 429, "too-many");
    assert_eq!(full.header("retry-after"), None);
    assert_eq!(full.header("x-should-retry"), Some("false"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_is_known_that_is_not_and_that_may_still_come() {
    let gate = Gate::new();
    let timeout = std::time::Duration::from_millis(20);
    let slow = FakeTool::write("slow").gate(&gate).with_spec(|spec| spec.timeout(timeout));
    let test = Setup::new(ScriptedModel::new([]))
        .tool(slow)
        .tool(FakeTool::write("quick"))
        .tool(FakeTool::write("breaks").end(End::Panic("secret")))
        .start()
        .await;
    let call = async |tool: &str| -> String {
        let answer = test.post(&format!("/v1/tools/{tool}/calls"), json!({})).await.ok(200);
        answer["call"].as_str().unwrap().to_owned()
    };
    let resolve = async |call: &str, effect: &str| {
        test.post(&format!("/v1/calls/{call}/resolve"), json!({ "effect": effect })).await
    };
    let known = call("quick").await;
    let body = is(&resolve(&known, "none").await, 409, "not-unknown");
    assert_eq!(body["effect"], "committed");
    let running = call("slow").await;
    is(&resolve(&running, "none").await, 409, "still-runs");
    let unknown = call("breaks").await;
    is(&resolve(&unknown, "perhaps").await, 400, "malformed");
    let row = test.get(&format!("/v1/calls/{unknown}")).await.ok(200);
    assert_eq!(row["effect"], "unknown");
    let session = row["session"].as_str().unwrap();
    let open = test.get(&format!("/v1/sessions/{session}/unresolved")).await.ok(200);
    assert_eq!(open["calls"][0]["call"], unknown.as_str());
    let row = resolve(&unknown, "committed").await.ok(200);
    assert_eq!((&row["effect"], &row["resolved_by"]["user"]), (&json!("committed"), &json!("kim")));
    is(&resolve(&unknown, "none").await, 409, "not-unknown");
    let lees = Request::post(&format!("/v1/calls/{running}/resolve"), &json!({ "effect": "none" }));
    is(&lees.bearer(test.lee.reveal()).send(test.address).await, 404, "not-found");
    gate.open();
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_type_of_a_problem_is_an_address_that_tells_what_it_means() {
    let test = plain().await;
    let empty = test.post(TURNS, json!({ "text": "" })).await;
    let at = empty.json()["type"].as_str().unwrap().to_owned();
    let meaning = Request::get(&at).send(test.address).await.ok(200);
    let expected = json!({
        "name": "empty", "title": "The text is empty", "status": 422, "may_be_repeated": false,
    });
    assert_eq!(meaning, expected);
    is(&Request::get("/problems/no-such-one").send(test.address).await, 404, "not-found");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tools_and_models_do_is_a_result_and_no_problem() {
    let script = [
        ScriptedCompletion::call("breaks", &json!({})),
        ScriptedCompletion::error(ModelError::SCRIPT_EXHAUSTED),
    ];
    let test = Setup::new(ScriptedModel::repeating(script))
        .tool(FakeTool::read("breaks").end(End::Refuse("r1_closed", "closed today")))
        .start()
        .await;
    test.open("s").await;
    let ended = test.say("s", "hi").await;
    assert_eq!(ended["calls"][0]["outcome"]["code"], "r1_closed");
    assert_eq!((&ended["ending"], &ended["error"]["code"]), (&json!("failed"), &json!("model")));
    assert!(ended["error"]["text"].is_string());
    let path = format!("{TURNS}/{}", ended["turn"].as_str().unwrap());
    let status = test.get(&path).await.ok(200);
    assert_eq!((&status["status"], &status["ending"]), (&json!("ended"), &json!("failed")));
    assert_eq!(status["error"], ended["error"]);
    let korean = Request::get(&path).header("accept-language", "ko").bearer(test.kim.reveal());
    let korean = korean.send(test.address).await.ok(200);
    assert_eq!(korean["error"]["text"], "LLM 응답 실패: ScriptExhausted");
    let direct = test.post("/v1/tools/breaks/calls", json!({})).await.ok(200);
    assert_eq!(direct["record"]["outcome"]["code"], "r1_closed");
    let unknown = test.post("/v1/tools/no_such_tool/calls", json!({})).await.ok(200);
    assert_eq!(unknown["record"]["outcome"]["status"], "error");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_is_in_english_whatever_language_the_client_names() {
    let test = plain().await;
    let request = Request::get("/v1/sessions/nowhere").header("accept-language", "ko-KR,en;q=0.5");
    let mut korean = is(&test.send(request).await, 404, "not-found");
    let mut english = is(&test.get("/v1/sessions/nowhere").await, 404, "not-found");
    assert_eq!(english["title"], "Not found");
    assert_ne!(korean["trace"].take(), english["trace"].take());
    assert_eq!(korean, english);
    let me = test.send(Request::get("/v1/me").header("accept-language", "ko")).await.ok(200);
    assert_eq!(me["language"], "ko");
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let traced = Request::get("/v1/sessions/nowhere")
        .header("traceparent", &format!("00-{trace}-b7ad6b7169203331-01"));
    assert_eq!(test.send(traced).await.json()["trace"], trace);
    test.shutdown().await;
}
