//! A watcher sees each turn, completion and call, its end and its cost, and never the text of a
//! user, model or tool.
//!
//! - `watchers` keeps the spans and the metrics of one thread, so that tests run beside one
//!   another.
//! - `commits` tests what is measured of the store.

mod commits;
mod watchers;

use expect_test::expect;
use madang::{
    Call, Error, Limits,
    approval::{Approver, Decision},
    event::TurnEnding,
    model::{Completion, FinishReason, Usage},
    telemetry::{METRICS, MetricKind, describe},
};
use madang_testing::{Probe, ScriptedCompletion, ScriptedModel, model_pair};
use metrics::set_default_local_recorder;
use serde_json::json;
use watchers::{Meters, Spans};

use crate::support::{TestRuntime, dispatched, kim, wanted};

const USAGE: Usage = Usage { prompt_tokens: 30, cached_tokens: 20, completion_tokens: 5 };

/// Asks, and waits for the end of the turn.
async fn turn(test: &TestRuntime, session: &str) -> TurnEnding {
    let session = test.runtime.user("kim").unwrap().session(session).await.unwrap();
    session.send("go").await.unwrap().ended().await.unwrap().ending
}

#[tokio::test]
async fn a_turn_is_a_span_and_its_completions_and_calls_are_inside_of_it() {
    let (spans, _watching) = Spans::watch();
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("chat-1").await.unwrap();
    let turn = session.send("go").await.unwrap();
    let tool_calls = vec![wanted("note", &json!({ "name": "a" }))];
    let finish = FinishReason::ToolCalls;
    script.next().await.finish(Completion {
        tool_calls,
        finish,
        usage: USAGE,
        text: String::new(),
        left_out: 0,
    });
    let text = "Noted.".to_owned();
    script.next().await.finish(Completion { text, usage: USAGE, ..Completion::default() });
    turn.ended().await.unwrap();
    test.shutdown().await;
    expect![[r#"
        invoke_agent
          gen_ai.conversation.id=chat-1
          gen_ai.operation.name=invoke_agent
          gen_ai.usage.cache_read.input_tokens=40
          gen_ai.usage.input_tokens=60
          gen_ai.usage.output_tokens=10
          madang.turn.ending=answered
          madang.turn.id=<id>
          madang.turn.resumed=false
          user.id=kim
            chat
              gen_ai.conversation.id=chat-1
              gen_ai.operation.name=chat
              gen_ai.request.max_tokens=1024
              gen_ai.request.model=by hand
              gen_ai.response.finish_reasons=tool_calls
              gen_ai.usage.cache_read.input_tokens=20
              gen_ai.usage.input_tokens=30
              gen_ai.usage.output_tokens=5
              madang.completion.finish=tool_calls
              madang.completion.id=<id>
              otel.name=chat by hand
            execute_tool
              gen_ai.conversation.id=chat-1
              gen_ai.operation.name=execute_tool
              gen_ai.tool.call.id=<id>
              gen_ai.tool.name=note
              madang.tool.outcome=ok
              madang.turn.id=<id>
              otel.name=execute_tool note
              user.id=kim
            chat
              gen_ai.conversation.id=chat-1
              gen_ai.operation.name=chat
              gen_ai.request.max_tokens=1024
              gen_ai.request.model=by hand
              gen_ai.response.finish_reasons=stop
              gen_ai.usage.cache_read.input_tokens=20
              gen_ai.usage.input_tokens=30
              gen_ai.usage.output_tokens=5
              madang.completion.finish=stop
              madang.completion.id=<id>
              otel.name=chat by hand"#]]
    .assert_eq(&spans.tree());
    let all = spans.all();
    let turns: Vec<_> = all.iter().filter_map(|span| span.fields.get("madang.turn.id")).collect();
    assert_eq!(turns.len(), 2, "the turn and the call");
    assert_eq!(turns[0], turns[1]);
}

#[tokio::test]
async fn what_fails_says_of_which_type_in_its_own_span() {
    let (spans, _watching) = Spans::watch();
    let script = [ScriptedCompletion::call("rule_note", &json!({ "name": "a" }))
        .and_call("note", &json!({ "name": 7 }))
        .and_call("no_such_tool", &json!({}))];
    let test = TestRuntime::new(ScriptedModel::new(script)).await;
    assert_eq!(turn(&test, "s").await, TurnEnding::Failed, "the script has run out");
    test.shutdown().await;
    let mut errors = Vec::new();
    for span in spans.all() {
        let of = |field| span.fields.get(field).map_or("", String::as_str).to_owned();
        let [operation, tool, error, status] =
            ["gen_ai.operation.name", "gen_ai.tool.name", "error.type", "otel.status_code"].map(of);
        errors.push(format!("{operation} {tool}: {error} {status}"));
    }
    expect![[r#"
        invoke_agent : model ERROR
        chat :  
        execute_tool rule_note: r3_quota ERROR
        execute_tool note: validation ERROR
        execute_tool _unknown: unknown_tool ERROR
        chat : ScriptExhausted ERROR"#]]
    .assert_eq(&errors.join("\n"));
}

#[tokio::test]
async fn a_dismissal_is_an_end_and_no_error() {
    let (spans, _watching) = Spans::watch();
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    let completion = script.next().await;
    session.dismiss().await.unwrap();
    completion.cancelled().await;
    drop(completion);
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
    test.shutdown().await;
    expect![[r#"
        invoke_agent
          gen_ai.conversation.id=s
          gen_ai.operation.name=invoke_agent
          gen_ai.usage.cache_read.input_tokens=0
          gen_ai.usage.input_tokens=0
          gen_ai.usage.output_tokens=0
          madang.turn.ending=dismissed
          madang.turn.id=<id>
          madang.turn.resumed=false
          user.id=kim
            chat
              gen_ai.conversation.id=s
              gen_ai.operation.name=chat
              gen_ai.request.max_tokens=1024
              gen_ai.request.model=by hand
              gen_ai.usage.cache_read.input_tokens=0
              gen_ai.usage.input_tokens=0
              gen_ai.usage.output_tokens=0
              madang.completion.finish=cancelled
              madang.completion.id=<id>
              otel.name=chat by hand"#]]
    .assert_eq(&spans.tree());
}

#[tokio::test]
async fn a_call_without_a_model_is_inside_of_the_callers_span() {
    let (spans, _watching) = Spans::watch();
    let test = TestRuntime::without_model().await;
    let outer = tracing::info_span!(target: "madang_embedder", "request");
    let call = Call::new(kim(), "search", "{}");
    tracing::Instrument::instrument(dispatched(&test.runtime, call), outer).await.unwrap();
    test.shutdown().await;
    let tree = spans.tree();
    assert!(tree.starts_with("request\n    execute_tool\n"), "{tree}");
}

#[tokio::test]
async fn turns_completions_calls_and_commits_are_counted_and_measured() {
    let meters = Meters::default();
    let _watching = set_default_local_recorder(&meters);
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("go").await.unwrap();
    assert_eq!(meters.sum("madang.permits.held{madang.bound=awake_sessions}"), Some(1.0));
    assert_eq!(meters.sum("madang.permits.held{madang.bound=running_turns}"), Some(1.0));
    let tool_calls = vec![wanted("note", &json!({ "name": "a" })), wanted("gone", &json!({}))];
    let finish = FinishReason::ToolCalls;
    script.next().await.finish(Completion {
        tool_calls,
        finish,
        usage: USAGE,
        text: String::new(),
        left_out: 0,
    });
    script.next().await.finish(Completion {
        text: "Noted.".to_owned(),
        usage: USAGE,
        ..Completion::default()
    });
    turn.ended().await.unwrap();
    test.shutdown().await;
    let counted: Vec<_> = meters
        .names()
        .into_iter()
        .map(|series| {
            let kind =
                METRICS.iter().find(|metric| series.starts_with(&format!("{}{{", metric.name)));
            let kind = kind.unwrap_or_else(|| panic!("{series} is not in METRICS")).kind;
            let is_seconds = series.contains(".duration{");
            let value = match kind {
                MetricKind::Histogram if is_seconds => format!("{} times", meters.count(&series)),
                MetricKind::Histogram if series.starts_with("madang.store.group.jobs") => {
                    assert!(meters.sum(&series) >= Some(4.0), "the jobs of the turn");
                    "some".to_owned()
                }
                MetricKind::Counter | MetricKind::Gauge | MetricKind::Histogram | _ => {
                    meters.sum(&series).unwrap().to_string()
                }
            };
            let value = if series.contains("store.commit") { "some".to_owned() } else { value };
            format!("{series} {value}")
        })
        .collect();
    expect![[r#"
        gen_ai.client.operation.duration{gen_ai.operation.name=chat,gen_ai.request.model=by hand} 2 times
        gen_ai.client.token.usage{gen_ai.operation.name=chat,gen_ai.request.model=by hand,gen_ai.token.type=input} 60
        gen_ai.client.token.usage{gen_ai.operation.name=chat,gen_ai.request.model=by hand,gen_ai.token.type=output} 10
        gen_ai.execute_tool.duration{gen_ai.operation.name=execute_tool,gen_ai.tool.name=note} 1 times
        gen_ai.invoke_agent.duration{gen_ai.operation.name=invoke_agent,madang.turn.ending=answered} 1 times
        madang.completion.cached_tokens{gen_ai.request.model=by hand} 40
        madang.completion.wait.duration{gen_ai.request.model=by hand} 2 times
        madang.completions{gen_ai.request.model=by hand,madang.completion.finish=stop} 1
        madang.completions{gen_ai.request.model=by hand,madang.completion.finish=tool_calls} 1
        madang.permits.held{madang.bound=awake_sessions} 0
        madang.permits.held{madang.bound=queued_bytes} 0
        madang.permits.held{madang.bound=running_calls} 0
        madang.permits.held{madang.bound=running_turns} 0
        madang.store.commit.duration{} some
        madang.store.group.jobs{} some
        madang.tool_calls{gen_ai.tool.name=_unknown,madang.tool.outcome=error,error.type=unknown_tool} 1
        madang.tool_calls{gen_ai.tool.name=note,madang.tool.outcome=ok} 1
        madang.turns{madang.turn.ending=answered} 1"#]].assert_eq(&counted.join("\n"));
}

#[tokio::test]
async fn a_refusal_is_counted_by_its_bound_and_every_permit_is_given_back() {
    let meters = Meters::default();
    let _watching = set_default_local_recorder(&meters);
    let limits = Limits { max_running_turns_per_user: 1, ..Limits::default() };
    let (model, mut script) = model_pair();
    let test = TestRuntime::with_limits(model, limits).await;
    let [first, second] = [
        test.runtime.user("kim").unwrap().session("1").await.unwrap(),
        test.runtime.user("kim").unwrap().session("2").await.unwrap(),
    ];
    let turn = first.send("go").await.unwrap();
    for _ in 0..2 {
        assert!(matches!(second.send("go").await, Err(Error::Overloaded(_))));
    }
    script.next().await.say("ok");
    turn.ended().await.unwrap();
    drop((first, second));
    test.shutdown().await;
    let refused = "madang.refusals{madang.bound=running_turns,madang.bound.scope=user}";
    assert_eq!(meters.sum(refused), Some(2.0));
    for series in meters.names().iter().filter(|name| name.starts_with("madang.permits.held")) {
        assert_eq!(meters.sum(series), Some(0.0), "{series}");
    }
}

#[tokio::test]
async fn a_thousand_names_of_sessions_users_and_unknown_tools_make_no_new_series() {
    let meters = Meters::default();
    let _watching = set_default_local_recorder(&meters);
    let one = |number: usize| {
        let name = format!("tool_{number}");
        [ScriptedCompletion::call(name, &json!({})), ScriptedCompletion::text("Done.")]
    };
    let test = TestRuntime::new(ScriptedModel::new((0..=1000).flat_map(one))).await;
    let mut after_the_first = Vec::new();
    for number in 0..=1000 {
        let user = format!("user-{number}");
        let session =
            test.runtime.user(&user).unwrap().session(&format!("session-{number}")).await.unwrap();
        session.send("go").await.unwrap().ended().await.unwrap();
        if number == 0 {
            after_the_first = meters.names();
        }
    }
    assert_eq!(meters.names(), after_the_first);
    let calls = "madang.tool_calls{gen_ai.tool.name=_unknown,madang.tool.outcome=error,error.type=unknown_tool}";
    assert_eq!(meters.sum(calls), Some(1001.0));
    test.shutdown().await;
}

#[tokio::test]
async fn what_people_models_and_tools_say_is_in_no_span_and_in_no_metric() {
    const SECRET: &str = "open sesame";
    let (spans, _watching) = Spans::watch();
    let meters = Meters::default();
    let _measuring = set_default_local_recorder(&meters);
    let named = json!({ "name": SECRET });
    let script = [
        ScriptedCompletion::call("echo", &named)
            .and_call("note", &named)
            .and_call("save", &named)
            .and_call("fail", &named)
            .and_call("panic_text", &named)
            .and_call(SECRET, &named)
            .and_call("strict", &json!({ SECRET: SECRET })),
        ScriptedCompletion::text(SECRET),
        ScriptedCompletion::error(SECRET),
    ];
    let test = TestRuntime::new(ScriptedModel::new(script)).await;
    let session = test.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe());
    let first = session.send(SECRET).await.unwrap();
    let request = probe.approval_request().await;
    session.decide(&request, Decision::DenyWith { message: SECRET.into() }).await.unwrap();
    assert_eq!(first.ended().await.unwrap().ending, TurnEnding::Answered);
    let second = session.send(SECRET).await.unwrap();
    assert_eq!(second.ended().await.unwrap().ending, TurnEnding::Failed);
    let call = Call::new(kim(), SECRET, format!("{{\"name\":\"{SECRET}\"}}"))
        .approver(Approver::Decided(Decision::Deny));
    test.runtime.begin(call).await.unwrap().ended().await;
    test.shutdown().await;
    assert!(probe.lines().contains(SECRET), "it was said");
    assert_eq!(spans.all().len(), 2 + 3 + 7 + 1, "turns, completions, calls, the direct call");
    for span in spans.all() {
        assert!(!format!("{span:?}").contains("sesame"), "{span:?}");
    }
    for series in meters.names() {
        assert!(!series.contains("sesame"), "{series}");
    }
}

#[test]
fn every_metric_is_described_with_its_unit() {
    let meters = Meters::default();
    metrics::with_local_recorder(&meters, describe);
    expect![[r#"
        madang.turns counter count
        gen_ai.invoke_agent.duration histogram seconds
        madang.completions counter count
        gen_ai.client.operation.duration histogram seconds
        madang.completion.wait.duration histogram seconds
        gen_ai.server.time_to_first_token histogram seconds
        madang.completion.token.rate histogram count_per_second
        madang.completion.cached_tokens histogram count
        gen_ai.client.token.usage histogram count
        madang.tool_calls counter count
        gen_ai.execute_tool.duration histogram seconds
        madang.store.group.jobs histogram count
        madang.store.commit.duration histogram seconds
        madang.refusals counter count
        madang.permits.held gauge count"#]]
    .assert_eq(&meters.described().join("\n"));
}
