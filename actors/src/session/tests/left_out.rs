//! A turn that broke the model down is said to the person, and the chat goes on without its text.

use crate::{
    port::ModelError,
    protocol::{Completion, Content, Limits, Notice, PromptMessage, TurnEnding, WantedCall},
    test_runtime::{TestRuntime, in_time},
    testing::{FakeTool, HandScript, model_pair},
};

/// The texts that the model is asked with next.
async fn asked(script: &mut HandScript) -> (Vec<String>, crate::testing::HandCompletion) {
    let completion = in_time(script.next()).await;
    let messages = completion.request().messages.iter().map(|message| match message {
        PromptMessage::User { text } | PromptMessage::Model { text } => text.to_string(),
        PromptMessage::ToolCall { name, arguments, envelope, .. } => {
            format!("{name} {arguments} {envelope}")
        }
    });
    (messages.collect(), completion)
}

#[tokio::test]
async fn a_chat_goes_on_without_the_text_that_broke_the_model_down() {
    let (model, mut script) = model_pair();
    let look = [FakeTool::read("look")];
    let runtime = TestRuntime::with_tools(Limits::default(), model, look).await;
    let slot = runtime.slot("s").await;
    let ended = runtime.ask(&slot, "boom").await.unwrap();
    let (_, first) = asked(&mut script).await;
    let call = |name: &str| WantedCall::new(name, r#"{"at": "boom"}"#);
    let tool_calls = vec![call("look"), call("boom")];
    first.finish(Completion { tool_calls, ..Completion::default() });
    let (told, second) = asked(&mut script).await;
    assert_eq!(told[0], "boom");
    second.fail(ModelError::KILLED_ENGINE);
    assert_eq!(in_time(ended).await.unwrap().ending, TurnEnding::Failed);
    let state = runtime.state(&slot).await;
    let notice = Content::Notice { notice: Notice::TurnLeftOut };
    assert_eq!(state.messages.last().map(|message| &message.content), Some(&notice));

    let ended = runtime.ask(&slot, "hello").await.unwrap();
    let (told, completion) = asked(&mut script).await;
    assert!(!told.concat().contains("boom"), "{told:?}");
    assert!(told[0].contains("left out") || told[0].contains("뺐습니다"), "{told:?}");
    assert!(told[1].starts_with("look {} {\"status\":"), "what the call did is told: {told:?}");
    assert!(told[2].starts_with("unknown_tool {} {\"status\":"), "{told:?}");
    assert_eq!(told[3], "hello");
    completion.say("Hi.");
    assert_eq!(in_time(ended).await.unwrap().ending, TurnEnding::Answered);
}

#[tokio::test]
async fn a_turn_that_failed_in_another_way_is_read_again() {
    let (model, mut script) = model_pair();
    let none: [FakeTool; 0] = [];
    let runtime = TestRuntime::with_tools(Limits::default(), model, none).await;
    let slot = runtime.slot("s").await;
    let ended = runtime.ask(&slot, "first").await.unwrap();
    asked(&mut script).await.1.fail(ModelError::ENGINE_DIED);
    in_time(ended).await.unwrap();
    let _ended = runtime.ask(&slot, "second").await.unwrap();
    let (told, _completion) = asked(&mut script).await;
    assert_eq!(told, ["first", "second"]);
}
