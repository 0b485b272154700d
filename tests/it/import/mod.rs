//! A chat can begin with a history that was kept elsewhere: all of it or nothing, as text and
//! nothing else.
//!
//! - `beside` imports twice at once, and beside a turn.
//! - `faults` lets the store fail, and loses the actor.
//! - `hostile` imports texts that look like calls, approvals and notices.
//! - `readers` reads an imported history live, later, after a restart, and after its user was
//!   forgotten.

mod beside;
mod faults;
mod hostile;
mod readers;

use madang::{
    Error, Limits, Session, TurnId,
    error::{Bound, Scope},
    event::{ChatMessage, Content, Ending, EntryOrigin},
    model::PromptMessage,
    session::Imported,
};
use madang_testing::{Paused, RuntimeHooks as _, ScriptedModel, model_pair};
use tokio::task::JoinHandle;

use crate::support::{PATIENCE, TestRuntime};

fn history() -> Vec<Imported> {
    vec![
        Imported::user("I am Kim."),
        Imported::model("Hello, Kim."),
        Imported::user("I like tea."),
        Imported::model("Good to know."),
    ]
}

/// The entries of a chat as words.
fn words(messages: &[ChatMessage]) -> Vec<String> {
    let from = |origin: &EntryOrigin| if origin.is_chat() { "" } else { " (imported)" };
    let word = |message: &ChatMessage| match &message.content {
        Content::User { text, origin, .. } => format!("user {text}{}", from(origin)),
        Content::Model { text, ending: Ending::Complete, model: None, origin } => {
            format!("model {text}{}", from(origin))
        }
        other @ (Content::Model { .. }
        | Content::ToolCall(_)
        | Content::Notice { .. }
        | Content::Cleared) => format!("{other:?}"),
    };
    messages.iter().map(word).collect()
}

const HISTORY: [&str; 4] = [
    "user I am Kim. (imported)",
    "model Hello, Kim. (imported)",
    "user I like tea. (imported)",
    "model Good to know. (imported)",
];

async fn messages(session: &Session) -> Vec<ChatMessage> {
    session.state().await.unwrap().messages
}

async fn session_of(test: &TestRuntime) -> Session {
    test.runtime.user("kim").unwrap().session("s").await.unwrap()
}

async fn empty_chat() -> (TestRuntime, Session) {
    let test = TestRuntime::new(ScriptedModel::new([])).await;
    let session = session_of(&test).await;
    (test, session)
}

/// Begins an import and holds it back on its way to the store.
async fn under_way(
    test: &TestRuntime,
    session: &Session,
) -> (JoinHandle<Result<TurnId, Error>>, Paused) {
    let _ = messages(session).await; // awake
    let paused = test.store.pause().await;
    let importing = session.clone();
    let import = tokio::spawn(async move { importing.import(history()).await });
    let is_sent = async {
        while test.runtime.held(Bound::QueuedBytes) == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, is_sent).await.expect("it is sent in time");
    let _ = messages(session).await; // the session has handled the import before
    (import, paused)
}

#[tokio::test]
async fn the_model_reads_an_imported_history_like_any_chat() {
    let (model, mut script) = model_pair();
    let test = TestRuntime::new(model).await;
    let session = session_of(&test).await;
    let turn = session.import(history()).await.unwrap();
    let answer = session.send("What do I like?").await.unwrap();
    let completion = script.next().await;
    let user = |text: &str| PromptMessage::User { text: text.into() };
    let model = |text: &str| PromptMessage::Model { text: text.into() };
    let prompt = [
        user("I am Kim."),
        model("Hello, Kim."),
        user("I like tea."),
        model("Good to know."),
        user("What do I like?"),
    ];
    assert_eq!(**completion.request().messages, prompt);
    completion.say("Tea.");
    assert_eq!(answer.text().await.unwrap(), "Tea.");
    let messages = messages(&session).await;
    let said = ["user What do I like?", "model Tea."];
    assert_eq!(words(&messages), [&HISTORY[..], &said].concat());
    let seqs: Vec<_> = messages.iter().map(|message| message.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5, 6]);
    let of_import = messages.iter().filter(|message| message.turn == turn).count();
    assert_eq!(of_import, 4, "it is a turn of its own");
    assert_eq!(test.runtime.held(Bound::QueuedBytes), 0);
    test.shutdown().await;
}

#[tokio::test]
async fn only_a_chat_without_any_entry_takes_a_history() {
    let test =
        TestRuntime::new(ScriptedModel::repeating([madang_testing::ScriptedCompletion::text(
            "Hello.",
        )]))
        .await;
    let session = session_of(&test).await;
    session.send("hi").await.unwrap().ended().await.unwrap();
    let refused = session.import(history()).await;
    assert!(matches!(refused, Err(Error::HasBegun)), "{refused:?}");
    session.clear().await.unwrap();
    let refused = session.import(history()).await;
    assert!(matches!(refused, Err(Error::HasBegun)), "cleared is not empty: {refused:?}");

    let called = test.runtime.user("kim").unwrap().session("called").await.unwrap();
    let call = madang::Call::new(crate::support::kim(), "search", "{}");
    test.runtime.begin(call.session(called.id().clone())).await.unwrap().ended().await;
    let refused = called.import(history()).await;
    assert!(matches!(refused, Err(Error::HasBegun)), "a call is an entry: {refused:?}");

    let again = test.runtime.user("kim").unwrap().session("again").await.unwrap();
    again.import(history()).await.unwrap();
    let refused = again.import(history()).await;
    assert!(matches!(refused, Err(Error::HasBegun)), "{refused:?}");
    assert_eq!(words(&messages(&again).await), HISTORY);

    let cleared = test.runtime.user("kim").unwrap().session("empty").await.unwrap();
    cleared.clear().await.unwrap();
    cleared.import(history()).await.expect("clearing an empty chat leaves it empty");
    test.shutdown().await;
}

fn with(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[tokio::test]
async fn a_history_keeps_to_its_bounds() {
    let limits = with(|limits| {
        limits.max_imported_messages = 4;
        limits.max_imported_bytes = 44;
        limits.max_queued_bytes_per_user = 44;
    });
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let session = session_of(&test).await;
    let too_many = [history(), vec![Imported::user("!")]].concat();
    let refused = session.import(too_many).await;
    let is_so = matches!(refused, Err(Error::TooManyMessages { messages: 5, max_messages: 4 }));
    assert!(is_so, "{refused:?}");
    let mut too_long = history();
    too_long[3] = Imported::model("Good to know!!");
    let refused = session.import(too_long).await;
    assert!(matches!(refused, Err(Error::TooLong { bytes: 45, max_bytes: 44 })), "{refused:?}");
    for empty in [vec![], vec![Imported::user("hi"), Imported::model(" \n\t")]] {
        let refused = session.import(empty).await;
        assert!(matches!(refused, Err(Error::Empty)), "{refused:?}");
    }
    assert_eq!(words(&messages(&session).await), [""; 0], "nothing of it was stored");
    session.import(history()).await.expect("it has as many messages and bytes as it may");
    test.shutdown().await;
}

#[tokio::test]
async fn the_bytes_of_a_history_count_like_those_of_a_text() {
    let limits = with(|limits| limits.max_queued_bytes_per_user = 43);
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let refused = session_of(&test).await.import(history()).await;
    let Err(Error::Overloaded(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!((refusal.bound, refusal.scope, refusal.max), (Bound::QueuedBytes, Scope::User, 43));
    test.shutdown().await;

    let limits = with(|limits| limits.max_stored_bytes_per_user = 4 * 256);
    let test = TestRuntime::with_limits(ScriptedModel::new([]), limits).await;
    let session = session_of(&test).await;
    session.import(history()).await.expect("nothing is stored before");
    let Err(Error::Overloaded(refusal)) = session.send("hi").await else { panic!("let in") };
    assert_eq!(refusal.bound, Bound::StoredBytes, "what was imported counts");
    let other = test.runtime.user("kim").unwrap().session("other").await.unwrap();
    let Err(Error::Overloaded(refusal)) = other.import(history()).await else { panic!("let in") };
    assert_eq!(refusal.bound, Bound::StoredBytes);
    assert_eq!(words(&messages(&other).await), [""; 0]);
    test.shutdown().await;
}
