//! A turn speaks the language that was chosen for it: English, Korean, or one that the application
//! adds.

use std::sync::{Arc, Mutex};

use madang::{
    Call, LanguageTag, Runtime, Session, TurnOptions, UserId,
    approval::{Approver, Decision},
    event::{EventCursor, EventKind, StreamItem},
    language::{Language, Text},
    tool::{self, EffectPolicy, NoArguments, ToolContext, ToolResult},
};
use madang_testing::{FakeTool, MemoryStore, ScriptedModel};

use crate::support::data;

#[derive(Debug)]
struct French;

impl Language for French {
    fn tag(&self) -> LanguageTag {
        LanguageTag::new("fr").unwrap()
    }

    fn say(&self, text: &Text<'_>) -> Option<String> {
        if let Text::ModelFailed(_) = text {
            Some("le modèle a échoué".to_owned())
        } else if let Text::RunTool(name) = text {
            Some(format!("Exécute l'outil {name}."))
        } else {
            None
        }
    }
}

const ENGLISH: &str = "the model failed";
const KOREAN: &str = "LLM 응답 실패";
const FRENCH: &str = "le modèle a échoué";

fn tag(text: &str) -> LanguageTag {
    text.parse().unwrap()
}

/// A runtime whose model fails each turn.
async fn failing(store: &MemoryStore, default: Option<&str>) -> Runtime {
    let builder = Runtime::builder().model(ScriptedModel::new([])).store(store.clone());
    let builder = builder.add_language(&French);
    let builder = match default {
        Some(default) => builder.language(tag(default)),
        None => builder,
    };
    builder.start().await.unwrap()
}

/// What a turn in this language, or in none, says of its failure.
async fn failure(session: &Session, language: Option<&str>) -> String {
    failure_over(session, "hello", language).await
}

/// The same of a turn with this text.
async fn failure_over(session: &Session, text: &str, language: Option<&str>) -> String {
    let options = TurnOptions { language: language.map(tag), ..TurnOptions::default() };
    let mut events = session.send_with(text, options).await.unwrap().events();
    while let Some(item) = events.next().await {
        let StreamItem::Event(event) = item else { continue };
        if let EventKind::Error { text, .. } = &event.kind {
            return text.clone();
        }
    }
    panic!("the model has failed")
}

#[tokio::test]
async fn each_turn_of_a_session_speaks_its_own_language_and_is_read_again_in_it() {
    let store = MemoryStore::new();
    let runtime = failing(&store, None).await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let turns = [
        (Some("fr"), FRENCH),
        (Some("ko"), KOREAN),
        (None, ENGLISH),
        (Some("fr-CA"), FRENCH),
        (Some("ko-KR"), KOREAN),
        (Some("tlh"), ENGLISH),
    ];
    for (language, begins) in turns {
        let says = failure(&session, language).await;
        assert!(says.starts_with(begins), "{language:?}: {says}");
    }
    runtime.shutdown().await.unwrap();

    // What the next start reads from the store is in the same languages.
    let runtime = failing(&store, Some("ko")).await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut items = session.subscribe_after(EventCursor::START).await.unwrap();
    for (language, begins) in turns {
        let says = loop {
            let Some(StreamItem::Event(event)) = items.next().await else { continue };
            if let EventKind::Error { text, .. } = &event.kind {
                break text.clone();
            }
        };
        assert!(says.starts_with(begins), "{language:?}: {says}");
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_turn_that_names_no_language_takes_the_runtimes() {
    for (default, begins) in [(None, ENGLISH), (Some("ko"), KOREAN), (Some("fr-CH"), FRENCH)] {
        let runtime = failing(&MemoryStore::new(), default).await;
        let session = runtime.user("kim").unwrap().session("s").await.unwrap();
        let says = failure(&session, None).await;
        assert!(says.starts_with(begins), "{default:?}: {says}");
        let plain = session.send("hello").await.unwrap().text().await.unwrap_err().to_string();
        assert!(plain.contains(begins), "{default:?}: {plain}");
        runtime.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn a_turn_for_which_no_language_is_named_speaks_that_of_its_text() {
    let korean = "오늘 습관 보여줘";
    let texts = [
        ("show my habits please", None, ENGLISH),
        (korean, None, KOREAN),
        // Too short to tell: as before.
        ("ok", None, KOREAN),
        (korean, Some("en"), ENGLISH),
        ("Now in English again, please", None, ENGLISH),
        ("ok", None, ENGLISH),
    ];
    let store = MemoryStore::new();
    let runtime = failing(&store, None).await;
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    for (text, named, begins) in texts {
        let says = failure_over(&session, text, named).await;
        assert!(says.starts_with(begins), "{text}: {says}");
    }
    runtime.shutdown().await.unwrap();

    let named = failing(&MemoryStore::new(), Some("en")).await;
    let session = named.user("kim").unwrap().session("s").await.unwrap();
    let says = failure_over(&session, korean, None).await;
    assert!(says.starts_with(ENGLISH), "the application has named one: {says}");
    named.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_call_for_which_no_language_is_named_speaks_that_of_its_arguments() {
    let builder = Runtime::builder().model(ScriptedModel::new([])).store(MemoryStore::new());
    let runtime = builder.start().await.unwrap();
    for (arguments, says) in [
        (r#"{"title": "장보기 목록"}"#, "알 수 없는 도구: fly"),
        (r#"{"title": "the list of groceries"}"#, "unknown tool: fly"),
    ] {
        let call = Call::new(UserId::new("kim").unwrap(), "fly", arguments);
        let report = runtime.begin(call).await.unwrap().ended().await;
        let outcome = report.outcome().unwrap().to_string();
        assert!(outcome.contains(says), "{arguments}: {outcome}");
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_question_is_asked_in_the_language_of_its_call() {
    let builder = Runtime::builder().model(ScriptedModel::new([])).store(MemoryStore::new());
    let runtime = builder.add_language(&French).tool(FakeTool::destructive("wipe"));
    let runtime = runtime.start().await.unwrap();
    for (language, says) in [
        ("fr", "Exécute l'outil wipe."),
        ("ko", "도구 wipe을(를) 실행합니다."),
        ("en-GB", "Runs the tool wipe."),
        ("tlh", "Runs the tool wipe."),
    ] {
        let heard = Arc::new(Mutex::new(String::new()));
        let hears = heard.clone();
        let asks = Approver::Ask(Box::new(move |request| {
            *hears.lock().unwrap() = request.consequence.to_string();
            Box::pin(async { Some(Decision::Approve) })
        }));
        let call = Call::new(UserId::new("kim").unwrap(), "wipe", "{}").approver(asks);
        runtime.begin(call.language(tag(language))).await.unwrap().ended().await;
        assert_eq!(*heard.lock().unwrap(), says, "{language}");
    }
    runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_tool_reads_the_tag_that_was_chosen_whether_or_not_the_runtime_speaks_it() {
    async fn told(_: NoArguments, ctx: &ToolContext) -> ToolResult<String> {
        Ok(ctx.locale.tag().to_string())
    }
    let builder = Runtime::builder().model(ScriptedModel::new([])).store(MemoryStore::new());
    let builder = builder.tool(tool::plain("told", "Tells.", told).effect(EffectPolicy::Read));
    let runtime = builder.start().await.unwrap();
    for language in ["en", "pt-br", "tlh"] {
        let call = Call::new(UserId::new("kim").unwrap(), "told", "{}").language(tag(language));
        let report = runtime.begin(call).await.unwrap().ended().await;
        assert_eq!(data(report.outcome().unwrap()), language);
    }
    runtime.shutdown().await.unwrap();
}
