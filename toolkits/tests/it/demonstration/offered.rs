//! Tests which tools the model is offered, and what is said of the others.

use std::sync::{Arc, Mutex};

use madang::{
    model::{self, ChatModel, Completion, CompletionRequest, Deltas, PromptMessage},
    tool::{Locale, ToolSpec},
};
use madang_toolkits::demonstration::Demonstration;
use serde_json::json;

use super::{LOCALES, completed, request, said, specs, user};

type Requests = Arc<Mutex<Vec<CompletionRequest>>>;

/// Returns a model that says this, and the requests that it gets.
fn playing(text: &'static str) -> (impl ChatModel, Requests) {
    let heard: Requests = Arc::default();
    let hears = Arc::clone(&heard);
    let model = model::from_fn("played", move |request, deltas: Deltas| {
        hears.lock().unwrap().push(request);
        deltas.text(text);
        async move { Ok(Completion::text(text)) }
    });
    (Demonstration::new(model), heard)
}

fn foreign() -> ToolSpec {
    ToolSpec::new("send_mail", "Sends a mail.", json!({ "type": "object" }))
}

fn with_tools(
    messages: Vec<PromptMessage>,
    tools: Vec<ToolSpec>,
    locale: Locale,
) -> CompletionRequest {
    CompletionRequest { tools: tools.into(), ..request(messages, locale) }
}

#[tokio::test]
async fn a_tool_that_it_does_not_know_is_hidden_and_named_once() {
    for (locale, notice) in
        LOCALES.into_iter().zip(["이 대화의 다른 도구는 모릅니다.", "do not know the other tools"])
    {
        for text in ["Hello.", "{count}"] {
            let (model, heard) = playing(text);
            let tools = || [specs(), vec![foreign()]].concat();
            let (first, streamed) =
                completed(&model, with_tools(vec![user("hi")], tools(), locale)).await;
            assert_eq!(first.text, streamed);
            let (words, own) = first.text.split_once("\n\n").unwrap();
            assert!(words.contains(notice) && words.lines().count() == 1, "{words}");
            assert!(!own.contains('{'), "{own}");

            let chat = vec![user("hi"), said(&first.text), user("again")];
            let (second, streamed) = completed(&model, with_tools(chat, tools(), locale)).await;
            assert_eq!((&*second.text, &*streamed), (own, own));
            let heard = heard.lock().unwrap();
            assert_eq!(*heard[0].tools, specs());
            assert_eq!(*heard[1].messages, vec![user("hi"), said(text), user("again")]);
        }
    }
}

#[tokio::test]
async fn where_it_knows_no_tool_it_says_so_and_is_not_asked() {
    for locale in LOCALES {
        let (model, heard) = playing("Hello.");
        for messages in [vec![user("hi")], vec![user("hi"), said("?"), user("again")]] {
            let wanted = with_tools(messages, vec![foreign()], locale);
            let (completion, streamed) = completed(&model, wanted).await;
            assert_eq!(completion.text, streamed);
            let words = locale.pick("하나도 모릅니다", "none of the tools");
            assert!(completion.text.contains(words), "{}", completion.text);
        }
        assert!(heard.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn with_tools_that_it_knows_or_none_nothing_is_said_of_tools() {
    for tools in [specs(), Vec::new()] {
        let (model, heard) = playing("Hello.");
        let (completion, _) =
            completed(&model, with_tools(vec![user("hi")], tools.clone(), Locale::EN)).await;
        assert_eq!(completion.text, "Hello.");
        assert_eq!(*heard.lock().unwrap()[0].tools, tools);
    }
}

#[tokio::test]
async fn a_call_before_the_first_words_does_not_take_the_notice() {
    let (model, _) = playing("");
    let tools = || [specs(), vec![foreign()]].concat();
    let (first, streamed) =
        completed(&model, with_tools(vec![user("hi")], tools(), Locale::EN)).await;
    assert_eq!((&*first.text, &*streamed), ("", ""));
    let (model, _) = playing("{result}");
    let call =
        super::called("ping", &json!({}), &json!({ "status": "ok", "data": "pong" }).to_string());
    let (first, _) =
        completed(&model, with_tools(vec![user("hi"), call], tools(), Locale::EN)).await;
    assert!(
        first.text.contains("do not know") && first.text.ends_with("It answered 'pong'."),
        "{}",
        first.text
    );
}

#[test]
fn a_hidden_tool_is_not_reported_to_be_unconstrained() {
    let model = Demonstration::new(super::forwarded::Told::default());
    let tools = [specs(), vec![foreign()]].concat();
    let known: Vec<_> = specs().iter().map(|spec| spec.name.clone()).collect();
    let told: Vec<_> = model.unconstrained(&tools).into_iter().map(|one| one.tool).collect();
    assert_eq!(told, known);
    assert!(model.unconstrained(&[foreign()]).is_empty());
}
