//! Tests that the model reads its own answers as it wrote them, so that each prompt continues the
//! one before.

use std::sync::{Arc, Mutex};

use madang::{
    LanguageTag, Runtime, TurnOptions,
    model::{self, Completion, CompletionRequest, FinishReason, PromptMessage},
    store::SqliteStore,
    tool::{Locale, WantedCall},
};
use madang_toolkits::{demonstration::Demonstration, life};
use serde_json::{Value, json};

use super::{LOCALES, PLACEHOLDERS, answer, called, completed, request, said, user};

/// The requests that the model got, each with what it answered.
type Heard = Arc<Mutex<Vec<(CompletionRequest, String)>>>;

fn search() -> PromptMessage {
    let data =
        json!({ "count": 2, "items": [{ "id": "a", "title": "A" }, { "id": "b", "title": "B" }] });
    called("search_catalog", &json!({}), &json!({ "status": "ok", "data": data }).to_string())
}

/// Returns the messages that the model reads.
async fn read(messages: Vec<PromptMessage>) -> Vec<PromptMessage> {
    let heard: Arc<Mutex<Vec<PromptMessage>>> = Arc::default();
    let hears = Arc::clone(&heard);
    let model = model::from_fn("played", move |request: CompletionRequest, _| {
        hears.lock().unwrap().clone_from(&request.messages);
        async { Ok(Completion::text("ok")) }
    });
    completed(&Demonstration::new(model), request(messages, Locale::EN)).await;
    heard.lock().unwrap().clone()
}

#[tokio::test]
async fn an_earlier_answer_by_code_is_read_as_its_placeholder() {
    for placeholder in PLACEHOLDERS {
        for locale in LOCALES {
            for calls in [vec![], vec![search()], vec![search(), called("ping", &json!({}), "{}")]]
            {
                let turn = [vec![user("find")], calls].concat();
                let told = answer(placeholder, request(turn.clone(), locale)).await;
                let chat = |text| [&turn[..], &[said(text), user("and now?")]].concat();
                assert_eq!(read(chat(&told)).await, chat(placeholder), "{placeholder} {locale:?}");
            }
        }
    }
}

#[tokio::test]
async fn asked_whether_it_worked_it_tells_of_the_last_turn_that_called_something() {
    for (locale, begin) in [
        (Locale::EN, "I did nothing this time."),
        (Locale::KO, "이번에는 아무것도 하지 않았습니다."),
    ] {
        for placeholder in PLACEHOLDERS {
            let turn = vec![user("find"), search()];
            let told = answer(placeholder, request(turn.clone(), locale)).await;
            let later = [&turn[..], &[said(&told), user("thanks"), said("ok"), user("well?")]];
            let again = answer(placeholder, request(later.concat(), locale)).await;
            assert!(again.starts_with(begin) && again.ends_with(&told), "{again}");
            let chat = |text| [&later.concat()[..], &[said(text), user("and now?")]].concat();
            let read = read(chat(&again)).await;
            assert_eq!(read[read.len() - 2], said(placeholder), "{locale:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_the_model_s_own_stays_as_it_is() {
    let told = answer("{which}", request(vec![user("find"), search()], Locale::EN)).await;
    for own in ["Hello!", &format!("{told} "), &told[1..], "{result} is a word"] {
        let chat = vec![user("find"), search(), said(own), user("and now?")];
        assert_eq!(read(chat.clone()).await, chat);
    }
    // The same words after other results are not the model's placeholder.
    let chat = vec![user("find"), called("ping", &json!({}), "{}"), said(&told), user("and now?")];
    assert_eq!(read(chat.clone()).await, chat);
}

#[tokio::test]
async fn the_prompt_of_a_turn_continues_that_of_the_turn_before() {
    let heard: Heard = Arc::default();
    let hears = Arc::clone(&heard);
    let model = model::from_fn("played", move |request: CompletionRequest, _| {
        let completion = match request.messages.last() {
            Some(PromptMessage::User { text }) if &**text == "how many?" => {
                Completion::text("{count}")
            }
            Some(PromptMessage::User { .. }) => Completion {
                tool_calls: vec![WantedCall::new(
                    "search_catalog",
                    "{\"category\":\"sleep\"}".to_owned(),
                )],
                finish: FinishReason::ToolCalls,
                ..Completion::default()
            },
            _ => Completion::text("{result}"),
        };
        hears.lock().unwrap().push((request, completion.text.clone()));
        async move { Ok(completion) }
    });
    let store = SqliteStore::in_memory().migrations("life", &life::MIGRATIONS).await.unwrap();
    let builder = Runtime::builder().model(Demonstration::new(model)).store(store);
    let runtime = builder.tools(life::tools()).start().await.unwrap();
    let session = runtime.user("kim").unwrap().session("chat").await.unwrap();
    let mut texts = Vec::new();
    for (text, language) in [
        ("수면에 좋은 것을 찾아 줘", LanguageTag::KO),
        ("find it again", LanguageTag::EN),
        ("how many?", LanguageTag::EN),
        ("또 찾아 줘", LanguageTag::KO),
    ] {
        let options = TurnOptions { language: Some(language), ..TurnOptions::default() };
        texts.push(session.send_with(text, options).await.unwrap().text().await.unwrap());
    }
    runtime.shutdown().await.unwrap();
    assert!(texts[0].starts_with("카탈로그에서") && texts[1].starts_with("Found"), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains('{')), "{texts:?}");
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 7);
    for ((before, answer), (after, _)) in heard.iter().zip(&heard[1..]) {
        let known = before.messages.len();
        assert_eq!(before.messages[..], after.messages[..known]);
        if !answer.is_empty() {
            assert_eq!(after.messages[known], said(answer));
        }
    }
    let envelope = heard.iter().find_map(|(request, _)| match request.messages.last() {
        Some(PromptMessage::ToolCall { envelope, .. }) => {
            serde_json::from_str::<Value>(envelope).ok()
        }
        _ => None,
    });
    assert!(envelope.unwrap()["data"]["count"].as_u64() > Some(0), "something was found");
}
