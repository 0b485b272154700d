//! Several models in one runtime: each turn is asked of the model that it chose, and of the next one where that is
//! overloaded or unreachable and has said nothing. Messages and calls say which model they come from.

use std::{path::Path, sync::Arc};

use madang::{
    Health, History, IdempotencyKey, Limits, ModelName, Runtime, Session, TurnOptions,
    error::{BuildError, ReplyError, TurnError, TurnRefused},
    event::{Content, Ending, EventKind, TurnEnding},
    ledger::LedgerFilter,
    model::{ChatModel, Completion, CompletionRequest, ModelError, PromptMessage},
    store::SqliteStore,
    tool::WantedCall,
};
use madang_testing::{
    FakeTool, HandCompletion, HandDrivenModel, HandScript, MemoryStore, Probe, RuntimeHooks as _,
    ScriptedCompletion, ScriptedModel, model_pair,
};

use crate::support::PATIENCE;

fn name(name: &str) -> ModelName {
    ModelName::new(name).unwrap()
}

fn asking(model: &str) -> TurnOptions {
    TurnOptions { can_ask: true, model: Some(name(model)), ..TurnOptions::default() }
}

/// Three models that are driven by hand: the first without a name, then `second` and `third`.
struct Three {
    runtime: Runtime,
    session: Session,
    scripts: [HandScript; 3],
}

impl Three {
    async fn new() -> Self {
        Self::of([model_pair(), model_pair(), model_pair()], Limits::default()).await
    }

    async fn of(pairs: [(HandDrivenModel, HandScript); 3], limits: Limits) -> Self {
        let [(first, one), (second, two), (third, three)] = pairs;
        let builder = Runtime::builder().model(first);
        let builder = builder.add_model("second", second).add_model("third", third);
        let builder = builder.store(MemoryStore::new()).limits(limits).tool(FakeTool::read("look"));
        let runtime = builder.start().await.unwrap();
        let session = runtime.session("kim", "s").await.unwrap();
        Self { runtime, session, scripts: [one, two, three] }
    }

    async fn next(&mut self, model: usize) -> HandCompletion {
        self.scripts[model].next().await
    }

    /// Ends the runtime, which has asked no model but those that the test saw.
    async fn shutdown(mut self) {
        self.runtime.shutdown().await.unwrap();
        assert!(self.scripts.iter_mut().all(|script| script.try_next().is_none()));
    }
}

/// The models that spoke in a chat, with what they said.
async fn said(session: &Session) -> Vec<(Option<String>, String)> {
    let messages = session.state().await.unwrap().messages;
    let said = messages.iter().filter_map(|message| {
        let Content::Model { text, model, .. } = &message.content else { return None };
        Some((model.as_ref().map(ToString::to_string), text.to_string()))
    });
    said.collect()
}

fn by(model: &str, text: &str) -> (Option<String>, String) {
    (Some(model.to_owned()), text.to_owned())
}

fn call(opaque: Option<&str>) -> Completion {
    let call = WantedCall { opaque: opaque.map(Into::into), ..WantedCall::new("look", "{}") };
    Completion { tool_calls: vec![call], ..Completion::default() }
}

#[tokio::test]
async fn a_turn_is_asked_of_the_model_that_it_chose_and_else_of_the_first() {
    let mut three = Three::new().await;
    let names: Vec<_> = three.runtime.models().map(ToString::to_string).collect();
    assert_eq!(names, ["default", "second", "third"]);
    let mut probe = Probe::new(three.session.subscribe());
    for (chosen, model) in
        [(Some("third"), 2), (None, 0), (Some("default"), 0), (Some("second"), 1)]
    {
        let options = chosen.map_or_else(TurnOptions::default, asking);
        let turn = three.session.send_with("hi", options).await.unwrap();
        three.next(model).await.say(names[model].as_str());
        assert_eq!(turn.text().await.unwrap(), names[model]);
    }
    let order = [2, 0, 0, 1].map(|model| by(&names[model], &names[model]));
    assert_eq!(said(&three.session).await, order);
    probe.until_turns_ended(4).await;
    let told = probe.events().iter().filter_map(|event| {
        let EventKind::ModelMessage { model, .. } = &event.kind else { return None };
        model.as_ref().map(ToString::to_string)
    });
    assert_eq!(told.collect::<Vec<_>>(), ["third", "default", "default", "second"]);
    three.shutdown().await;
}

#[tokio::test]
async fn the_only_model_of_a_runtime_needs_no_name_and_says_none() {
    let model = ScriptedModel::repeating([ScriptedCompletion::text("Hello.")]);
    let builder = Runtime::builder().model(model).store(MemoryStore::new());
    let runtime = builder.start().await.unwrap();
    let session = runtime.session("kim", "s").await.unwrap();
    session.send("hi").await.unwrap().ended().await.unwrap();
    assert_eq!(said(&session).await, [(None, "Hello.".to_owned())]);
    assert_eq!(runtime.models().count(), 0);
    let refused = session.send_with("hi", asking("default")).await;
    assert!(matches!(refused, Err(TurnRefused::UnknownModel { .. })), "{refused:?}");
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_name_that_no_model_has_is_refused_before_anything_is_stored() {
    let mut three = Three::new().await;
    let key = IdempotencyKey::new("1").ok();
    let keyed = |model: &str| TurnOptions { key: key.clone(), ..asking(model) };
    let refused = three.session.send_with("hi", keyed("fourth")).await.unwrap_err();
    assert_eq!(refused.to_string(), "no model of this runtime is named \"fourth\"");
    assert!(three.session.state().await.unwrap().messages.is_empty(), "nothing began");
    // The key was not used up.
    let turn = three.session.send_with("hi", keyed("second")).await.unwrap();
    // Under one key the options of the first submit count, the model among them.
    let again = three.session.send_with("hi", keyed("third")).await.unwrap();
    assert_eq!(again.id(), turn.id());
    three.next(1).await.say("Hello.");
    assert_eq!(again.text().await.unwrap(), "Hello.");
    let ended = three.session.send_with("hi", keyed("default")).await.unwrap();
    assert_eq!(ended.text().await.unwrap(), "Hello.");
    three.shutdown().await;
}

#[tokio::test]
async fn names_that_are_none_or_the_same_are_refused_at_the_start() {
    async fn refused(names: &[&str], has_first: bool) -> BuildError {
        let model = || ScriptedModel::new([]);
        let mut builder = Runtime::builder().store(MemoryStore::new());
        if has_first {
            builder = builder.model(model());
        }
        let builder = names.iter().fold(builder, |builder, name| builder.add_model(*name, model()));
        builder.start().await.unwrap_err()
    }
    assert!(matches!(refused(&[], false).await, BuildError::NoModel));
    let same = "two models are named small; give each a name of its own";
    assert_eq!(refused(&["small", "small"], false).await.to_string(), same);
    let taken = "two models are named default; give each a name of its own";
    assert_eq!(refused(&["default"], true).await.to_string(), taken);
    let wrong = refused(&["a b"], false).await;
    assert!(matches!(wrong, BuildError::ModelName { .. }), "{wrong:?}");
    assert!(
        wrong.to_string().starts_with("no model can be named \"a b\": the name of a model has")
    );
}

#[tokio::test]
async fn a_session_has_a_model_of_its_own_where_the_application_says_so() {
    let ((first, mut one), (second, mut two)) = (model_pair(), model_pair());
    let of_session = |user: &madang::UserId, session: &madang::SessionId| -> Option<Arc<str>> {
        match (user.as_str(), session.as_str()) {
            ("kim", "cheap") => Some("second".into()),
            ("kim", "wrong") => Some("fourth".into()),
            _ => None,
        }
    };
    let builder = Runtime::builder().add_model("first", first).add_model("second", second);
    let builder = builder.model_of(of_session).store(MemoryStore::new());
    let runtime = builder.start().await.unwrap();
    let cheap = runtime.session("kim", "cheap").await.unwrap();
    let turn = cheap.send("hi").await.unwrap();
    two.next().await.say("Hello.");
    turn.ended().await.unwrap();
    let turn = cheap.send_with("hi", asking("first")).await.unwrap();
    one.next().await.say("The turn's choice counts more.");
    turn.ended().await.unwrap();
    let other = runtime.session("kim", "other").await.unwrap();
    let turn = other.send("hi").await.unwrap();
    one.next().await.say("Hello.");
    turn.ended().await.unwrap();
    let wrong = runtime.session("kim", "wrong").await.unwrap();
    let refused = wrong.send("hi").await;
    assert!(matches!(&refused, Err(TurnRefused::UnknownModel { name }) if **name == *"fourth"));
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_next_model_answers_where_one_is_overloaded_or_unreachable() {
    for kind in [ModelError::OVERLOADED, ModelError::CONNECTION_LOST] {
        let mut three = Three::new().await;
        let mut probe = Probe::new(three.session.subscribe());
        let turn = three.session.send("hi").await.unwrap();
        let completion = three.next(0).await;
        let first = completion.request().id;
        completion.fail(kind);
        let completion = three.next(1).await;
        assert_ne!(completion.request().id, first);
        assert_eq!(completion.request().last_user_text(), "hi");
        completion.say("Hello.");
        assert_eq!(turn.text().await.unwrap(), "Hello.", "{kind}");
        assert_eq!(said(&three.session).await, [by("second", "Hello.")]);
        probe.until_turns_ended(1).await;
        assert!(!probe.lines().to_lowercase().contains("error"), "{}", probe.lines());
        // The next completion begins with the turn's own model.
        let turn = three.session.send("again").await.unwrap();
        three.next(0).await.say("I am back.");
        assert_eq!(turn.text().await.unwrap(), "I am back.");
        three.shutdown().await;
    }
}

#[tokio::test]
async fn the_order_leads_on_and_never_back() {
    let mut three = Three::new().await;
    let turn = three.session.send_with("private", asking("second")).await.unwrap();
    three.next(1).await.fail(ModelError::OVERLOADED);
    three.next(2).await.fail(ModelError::CONNECTION_LOST);
    let end = turn.ended().await.unwrap();
    assert_eq!(end.error, Some(TurnError::model("ConnectionLost")), "that of the last one");
    let turn = three.session.send_with("private", asking("third")).await.unwrap();
    three.next(2).await.fail(ModelError::OVERLOADED);
    assert_eq!(turn.ended().await.unwrap().error, Some(TurnError::model("Overloaded")));
    three.shutdown().await;
}

#[tokio::test]
async fn where_all_fail_the_error_of_the_last_is_told_and_no_model_is_asked_twice() {
    let mut three = Three::new().await;
    let mut probe = Probe::new(three.session.subscribe());
    let turn = three.session.send("hi").await.unwrap();
    three.next(0).await.fail(ModelError::CONNECTION_LOST);
    three.next(1).await.fail(ModelError::OVERLOADED);
    three.next(2).await.fail(ModelError::REFUSED);
    let failed = turn.text().await.unwrap_err();
    let ReplyError::Failed { error, .. } = failed else { panic!("{failed:?}") };
    assert_eq!(error, TurnError::model("Refused"));
    probe.until_turns_ended(1).await;
    let is_error = |kind: &EventKind| matches!(kind, EventKind::Error { .. });
    assert_eq!(probe.events().iter().filter(|event| is_error(&event.kind)).count(), 1);
    three.shutdown().await;
}

#[tokio::test]
async fn no_other_model_is_asked_behind_words_or_thoughts_or_a_first_token() {
    type Speaks = fn(&HandCompletion);
    let ways: [(Speaks, &str); 3] = [
        (|completion| completion.delta("Hel"), "Hel"),
        (|completion| completion.think("Hm."), ""),
        // A call is on its way: nothing of it can be shown yet.
        (|completion| completion.deltas().push(madang::model::CompletionDelta::Began), ""),
    ];
    for (speaks, words) in ways {
        let mut three = Three::new().await;
        let turn = three.session.send("hi").await.unwrap();
        let completion = three.next(0).await;
        speaks(&completion);
        completion.fail(ModelError::CONNECTION_LOST);
        let error = turn.ended().await.unwrap().error;
        assert_eq!(error, Some(TurnError::model("ConnectionLost")), "{words:?}");
        let kept: Vec<_> = (!words.is_empty()).then(|| by("default", words)).into_iter().collect();
        assert_eq!(said(&three.session).await, kept);
        three.shutdown().await;
    }
}

#[tokio::test]
async fn no_other_model_is_asked_for_any_other_failure() {
    let mut three = Three::new().await;
    for kind in [
        ModelError::TIMEOUT,
        ModelError::ENGINE_DIED,
        ModelError::BAD_OUTPUT,
        ModelError::UNAUTHORIZED,
        ModelError::PROMPT_TOO_LONG,
    ] {
        let turn = three.session.send("hi").await.unwrap();
        three.next(0).await.fail(kind);
        assert_eq!(turn.ended().await.unwrap().error, Some(TurnError::model(kind)));
    }
    three.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_models_of_one_completion_share_its_time() {
    let mut three = Three::new().await;
    let limits = Limits::default();
    let begun = tokio::time::Instant::now();
    let turn = three.session.send("hi").await.unwrap();
    let completion = three.next(0).await;
    tokio::time::sleep(limits.first_token_timeout * 3 / 4).await;
    completion.fail(ModelError::CONNECTION_LOST);
    let silent = three.next(1).await;
    assert_eq!(turn.ended().await.unwrap().error, Some(TurnError::model("Timeout")));
    assert!(begun.elapsed() < limits.first_token_timeout * 5 / 4, "{:?}", begun.elapsed());
    drop(silent);
    three.shutdown().await;
}

#[tokio::test]
async fn a_dismissal_stops_the_model_that_was_fallen_back_to() {
    let mut three = Three::new().await;
    let turn = three.session.send("hi").await.unwrap();
    three.next(0).await.fail(ModelError::OVERLOADED);
    let completion = three.next(1).await;
    three.session.dismiss().await.unwrap().stored().await.unwrap();
    tokio::time::timeout(PATIENCE, completion.cancelled()).await.unwrap();
    completion.fail(ModelError::OVERLOADED);
    assert_eq!(turn.ended().await.unwrap().ending, TurnEnding::Dismissed);
    assert!(said(&three.session).await.is_empty());
    three.shutdown().await;
}

#[tokio::test]
async fn words_that_are_cut_off_are_those_of_the_model_that_spoke() {
    let mut three = Three::new().await;
    let mut probe = Probe::new(three.session.subscribe());
    let turn = three.session.send("hi").await.unwrap();
    three.next(0).await.fail(ModelError::OVERLOADED);
    let completion = three.next(1).await;
    completion.delta("Hel");
    probe.until_streamed("Hel").await;
    three.session.dismiss().await.unwrap();
    turn.ended().await.unwrap();
    assert_eq!(said(&three.session).await, [by("second", "Hel")]);
    three.shutdown().await;
}

/// What a model gets back with its calls.
fn given_back(request: &CompletionRequest) -> Vec<Option<&str>> {
    let opaque = request.messages.iter().filter_map(|message| match message {
        PromptMessage::ToolCall { opaque, .. } => Some(opaque.as_deref()),
        PromptMessage::User { .. } | PromptMessage::Model { .. } => None,
    });
    opaque.collect()
}

#[tokio::test]
async fn what_one_model_wants_back_with_its_calls_reaches_no_other() {
    let mut three = Three::new().await;
    let mut probe = Probe::new(three.session.subscribe());
    let turn = three.session.send("look").await.unwrap();
    three.next(0).await.finish(call(Some("sealed by the first")));
    let completion = three.next(0).await;
    assert_eq!(given_back(completion.request()), [Some("sealed by the first")]);
    completion.fail(ModelError::OVERLOADED);
    let completion = three.next(1).await;
    assert_eq!(given_back(completion.request()), [None], "the call is told, and no more");
    completion.finish(call(Some("sealed by the second")));
    let completion = three.next(0).await;
    assert_eq!(given_back(completion.request()), [Some("sealed by the first"), None]);
    completion.fail(ModelError::OVERLOADED);
    let completion = three.next(1).await;
    assert_eq!(given_back(completion.request()), [None, Some("sealed by the second")]);
    completion.say("Seen.");
    turn.ended().await.unwrap();
    let rows = three.runtime.ledger(&LedgerFilter::default()).await.unwrap();
    let models: Vec<_> = rows.iter().filter_map(|row| row.model.clone()).collect();
    assert_eq!(models, [name("default"), name("second")]);
    probe.until_turns_ended(1).await;
    let told = probe.events().iter().filter_map(|event| {
        if let EventKind::ToolCallProposed { model, .. } = &event.kind {
            return model.clone();
        }
        let EventKind::ToolCallEnded { record } = &event.kind else { return None };
        record.model.clone()
    });
    let twice = [name("default"), name("default"), name("second"), name("second")];
    assert_eq!(told.collect::<Vec<_>>(), twice);
    three.shutdown().await;
}

#[tokio::test]
async fn a_full_queue_of_one_model_holds_back_no_turn_of_another() {
    let (first, second) = (model_pair(), model_pair());
    let mut limits = Limits::default();
    limits.max_waiting_completions = 1;
    let pairs = [
        (first.0.max_concurrent(1), first.1),
        (second.0.max_concurrent(1), second.1),
        model_pair(),
    ];
    let mut three = Three::of(pairs, limits).await;
    let session = |name: &'static str| three.runtime.session("kim", name);
    let sessions = [
        session("a").await.unwrap(),
        session("b").await.unwrap(),
        session("c").await.unwrap(),
        session("d").await.unwrap(),
    ];
    let third = || asking("third");
    let running = sessions[0].send_with("1", asking("second")).await.unwrap();
    let first_of_second = three.next(1).await;
    let waiting = sessions[1].send_with("2", asking("second")).await.unwrap();
    // The queue of the second is full: its turn goes on to the third, and one of the first is not held back.
    let next = sessions[2].send_with("3", asking("second")).await.unwrap();
    three.next(2).await.say("From the third.");
    assert_eq!(next.text().await.unwrap(), "From the third.");
    let other = sessions[3].send("4").await.unwrap();
    three.next(0).await.say("From the first.");
    assert_eq!(other.text().await.unwrap(), "From the first.");
    let other = sessions[3].send_with("5", third()).await.unwrap();
    three.next(2).await.say("From the third.");
    assert_eq!(other.text().await.unwrap(), "From the third.");
    first_of_second.say("One.");
    assert_eq!(running.text().await.unwrap(), "One.");
    three.next(1).await.say("Two.");
    assert_eq!(waiting.text().await.unwrap(), "Two.");
    three.shutdown().await;
}

#[tokio::test]
async fn health_names_the_model_whose_actor_fails_and_the_others_go_on() {
    let mut limits = Limits::default();
    limits.max_restarts = 0;
    let mut three = Three::of([model_pair(), model_pair(), model_pair()], limits).await;
    let mut health = three.runtime.actors().health.clone();
    three.runtime.actors().llms[1].actor().kill();
    let broken = Health::Unhealthy { actor: "llm", model: Some(name("second")) };
    let unhealthy = health.wait_for(|health| *health == broken);
    drop(tokio::time::timeout(PATIENCE, unhealthy).await.unwrap().unwrap());
    assert_eq!(three.runtime.health(), broken);
    let turn = three.session.send_with("hi", asking("second")).await.unwrap();
    assert_eq!(turn.ended().await.unwrap().error, Some(TurnError::model("EngineDied")));
    for (model, at) in [("default", 0), ("third", 2)] {
        let turn = three.session.send_with("hi", asking(model)).await.unwrap();
        three.next(at).await.say("Hello.");
        assert_eq!(turn.text().await.unwrap(), "Hello.");
    }
    three.shutdown().await;
}

#[tokio::test]
async fn an_actor_that_comes_back_is_that_of_its_own_model() {
    let mut three = Three::new().await;
    let llm = three.runtime.actors().llms[1].clone();
    let gone = llm.actor();
    gone.kill();
    llm.after(&gone).await;
    assert_eq!(three.runtime.health(), Health::Healthy);
    for (model, at) in [("second", 1), ("default", 0), ("third", 2)] {
        let turn = three.session.send_with("hi", asking(model)).await.unwrap();
        three.next(at).await.say("Hello.");
        assert_eq!(turn.text().await.unwrap(), "Hello.");
    }
    three.shutdown().await;
}

/// A runtime over a file with these models, in this order.
async fn over(file: &Path, models: Vec<(&str, Arc<dyn ChatModel>)>) -> (Runtime, Session) {
    let store = SqliteStore::options(file).open().await.unwrap();
    let mut builder = Runtime::builder().store(store).tool(FakeTool::read("look"));
    for (name, model) in models {
        builder = builder.add_model(name, model);
    }
    let runtime = builder.start().await.unwrap();
    let session = runtime.session("kim", "s").await.unwrap();
    (runtime, session)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_goes_on_with_its_model_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chats.db");
    let ((first, _one), (second, mut two)) = (model_pair(), model_pair());
    let (runtime, session) =
        over(&file, vec![("first", Arc::new(first)), ("second", Arc::new(second))]).await;
    session.send_with("look", asking("second")).await.unwrap();
    two.next().await.finish(call(Some("sealed")));
    let completion = two.next().await;
    runtime.shutdown().await.unwrap();
    drop((completion, session, runtime));

    // The order is another one now.
    let ((second, mut two), (first, mut one)) = (model_pair(), model_pair());
    let (runtime, session) =
        over(&file, vec![("other", Arc::new(first)), ("second", Arc::new(second))]).await;
    let turn = session.turn().await.unwrap().expect("the turn goes on");
    let completion = two.next().await;
    assert_eq!(given_back(completion.request()), [Some("sealed")]);
    completion.say("Seen.");
    turn.ended().await.unwrap();
    assert_eq!(said(&session).await, [by("second", "Seen.")]);
    assert!(one.try_next().is_none());
    runtime.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_model_is_here_no_more_goes_on_with_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chats.db");
    let ((first, _one), (second, mut two)) = (model_pair(), model_pair());
    let (runtime, session) =
        over(&file, vec![("first", Arc::new(first)), ("second", Arc::new(second))]).await;
    session.send_with("look", asking("second")).await.unwrap();
    two.next().await.finish(call(Some("sealed")));
    let completion = two.next().await;
    runtime.shutdown().await.unwrap();
    drop((completion, session, runtime));

    let ((first, mut one), (third, mut three)) = (model_pair(), model_pair());
    let (runtime, session) =
        over(&file, vec![("first", Arc::new(first)), ("third", Arc::new(third))]).await;
    let turn = session.turn().await.unwrap().expect("the turn goes on");
    let completion = one.next().await;
    assert_eq!(given_back(completion.request()), [None]);
    completion.say("Seen.");
    turn.ended().await.unwrap();
    assert_eq!(said(&session).await, [by("first", "Seen.")]);
    assert!(three.try_next().is_none());
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_chat_in_memory_knows_who_spoke_too() {
    let (first, mut one) = model_pair();
    let second = ScriptedModel::repeating([ScriptedCompletion::text("From the second.")]);
    let builder = Runtime::builder().add_model("first", first).add_model("second", second);
    let builder = builder.history(History::InMemory).store(MemoryStore::new());
    let runtime = builder.start().await.unwrap();
    let session = runtime.session("kim", "s").await.unwrap();
    let turn = session.send("hi").await.unwrap();
    one.next().await.fail(ModelError::CONNECTION_LOST);
    turn.ended().await.unwrap();
    let messages = session.state().await.unwrap().messages;
    assert!(messages.iter().any(|message| matches!(
        &message.content,
        Content::Model { ending: Ending::Complete, model: Some(model), .. } if *model == name("second")
    )));
    runtime.shutdown().await.unwrap();
}
