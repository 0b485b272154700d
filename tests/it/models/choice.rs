//! A turn or a session chooses its model by name, and else the first is asked.

use std::sync::Arc;

use madang::{Error, IdempotencyKey, Runtime, TurnOptions, error::BuildError, event::EventKind};
use madang_testing::{MemoryStore, Probe, ScriptedCompletion, ScriptedModel, model_pair};

use super::{Three, asking, by, said};

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
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    session.send("hi").await.unwrap().ended().await.unwrap();
    assert_eq!(said(&session).await, [(None, "Hello.".to_owned())]);
    assert_eq!(runtime.models().count(), 0);
    let refused = session.send_with("hi", asking("default")).await;
    assert!(matches!(refused, Err(Error::UnknownModel { .. })), "{refused:?}");
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
    let cheap = runtime.user("kim").unwrap().session("cheap").await.unwrap();
    let turn = cheap.send("hi").await.unwrap();
    two.next().await.say("Hello.");
    turn.ended().await.unwrap();
    let turn = cheap.send_with("hi", asking("first")).await.unwrap();
    one.next().await.say("The turn's choice counts more.");
    turn.ended().await.unwrap();
    let other = runtime.user("kim").unwrap().session("other").await.unwrap();
    let turn = other.send("hi").await.unwrap();
    one.next().await.say("Hello.");
    turn.ended().await.unwrap();
    let wrong = runtime.user("kim").unwrap().session("wrong").await.unwrap();
    let refused = wrong.send("hi").await;
    assert!(matches!(&refused, Err(Error::UnknownModel { name }) if **name == *"fourth"));
    runtime.shutdown().await.unwrap();
}
