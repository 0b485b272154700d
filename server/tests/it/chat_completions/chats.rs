//! A loop of messages is one chat, an edited history another, and a long one is taken over from its
//! newest part.

use madang::Limits;
use madang_testing::{FakeTool, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::{Value, json};

use super::{PATH, ask, assistant, chats, said, say, user};
use crate::{
    http::Request,
    support::{Setup, says},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_of_five_messages_is_one_chat() {
    let tool = FakeTool::write("log");
    let script = [
        ScriptedCompletion::call("log", &json!({})).saying("I log it."),
        ScriptedCompletion::text("Logged.\n"),
    ];
    let test = Setup::new(ScriptedModel::repeating(script)).tool(tool).start().await;
    let mut messages = vec![json!({ "role": "system", "content": "Be brief." })];
    let mut known = None;
    for number in 0..5 {
        messages.push(user(&format!("day {number}")));
        let (text, chat) = say(&test, &messages).await;
        assert_eq!(text.trim_end(), "I log it.\n\nLogged.");
        assert_eq!(*known.get_or_insert(chat.clone()), chat, "message {number}");
        messages.push(assistant(text.trim_end())); // as clients trim it
    }
    assert_eq!(chats(&test).await, 1);
    let calls = test.get("/v1/ledger").await.ok(200);
    assert_eq!(calls["calls"].as_array().unwrap().len(), 5, "one ledger has all");
    // The same words of another user are another chat.
    let lees = ask(&messages[..2]).bearer(test.lee.reveal()).send(test.address).await;
    assert_ne!(lees.header("madang-session"), known.as_deref());
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_history_branches_into_a_chat_of_its_own_and_stays_there() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let mut answer = async |request: Request, text: &str| {
        let sent = test.send(request);
        let says = async { script.next().await };
        let (answer, seen) = tokio::join!(sent, async {
            let completion = says.await;
            let seen = completion.request().messages.len();
            completion.say(text);
            seen
        });
        (answer.header("madang-session").unwrap().to_owned(), seen)
    };
    let in_chat = |messages: &[Value]| ask(messages).header("x-conversation-id", "page-1");
    let (named, _) = answer(in_chat(&[user("a")]), "1").await;
    assert_eq!(named, "page-1");
    let (same, seen) = answer(in_chat(&[user("a"), assistant("1"), user("b")]), "2").await;
    assert_eq!((&*same, seen), ("page-1", 3));
    let mut edited = vec![user("a"), assistant("another"), user("c")];
    let (branch, seen) = answer(in_chat(&edited), "3").await;
    assert_ne!(branch, "page-1");
    assert_eq!(seen, 3, "the model reads the client's history");
    edited.extend([assistant("3"), user("d")]);
    let (again, seen) = answer(in_chat(&edited), "4").await;
    assert_eq!((&again, seen), (&branch, 5), "the branch goes on");
    let named = test.get("/v1/sessions/page-1").await.ok(200);
    assert_eq!(named["messages"].as_array().unwrap().len(), 4, "it is left as it was");
    // Its first text alone is edited, too: such a client sends its whole history.
    let (another, seen) = answer(in_chat(&[user("e")]), "5").await;
    assert_eq!((another == "page-1", seen), (false, 1));
    // A client of ours may leave the history to the server.
    let ours = ask(&[user("e")]).header("madang-session", "page-1");
    let (same, seen) = answer(ours, "6").await;
    assert_eq!((&*same, seen), ("page-1", 5));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_named_by_a_header_or_in_the_metadata_and_anothers_is_not_there() {
    let test = Setup::new(says("a")).start().await;
    let body = |name: &str| json!({ "messages": [user("hi")], "metadata": { "session": name } });
    for (header, name) in [
        ("madang-session", "mine"),
        ("x-openwebui-chat-id", "webui"),
        ("x-conversation-id", "page"),
    ] {
        let request = Request::post(PATH, &body("other")).header(header, name);
        let answer = test.send(request).await;
        assert_eq!((answer.status, answer.header("madang-session")), (200, Some(name)));
    }
    let answer = test.post(PATH, body("meta")).await;
    assert_eq!((answer.status, answer.header("madang-session")), (200, Some("meta")));
    let lees = Request::post(PATH, &body("meta")).bearer(test.lee.reveal());
    let lees = lees.send(test.address).await;
    assert_eq!((lees.status, &*lees.problem()), (404, "not-found"));
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_long_a_history_is_taken_over_from_its_newest_part_and_a_body_is_refused() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model)
        .limits(|limits| (limits.max_import_messages, limits.max_history_body_bytes) = (4, 10_000))
        .start()
        .await;
    let mut messages: Vec<_> =
        (0..10).flat_map(|n| [user(&format!("u{n}")), assistant(&format!("a{n}"))]).collect();
    messages.push(user("now"));
    let (answer, seen) = tokio::join!(test.send(ask(&messages)), async {
        let completion = script.next().await;
        let seen = completion.request().messages.len();
        completion.say("yes");
        seen
    });
    assert_eq!((said(&answer), seen), ("yes".to_owned(), 5));
    test.shutdown().await;

    let (model, mut script) = model_pair();
    let test = Setup::new(model)
        .limits(|limits| (limits.max_import_bytes, limits.max_history_body_bytes) = (8, 10_000))
        .start()
        .await;
    let (answer, seen) = tokio::join!(test.send(ask(&messages)), async {
        let completion = script.next().await;
        let seen = completion.request().messages.len();
        completion.say("yes");
        seen
    });
    assert_eq!((said(&answer), seen), ("yes".to_owned(), 5), "eight bytes are four texts");
    let long = test.send(ask(&[user(&"x".repeat(10_000))])).await;
    assert_eq!((long.status, &*long.problem()), (413, "too-long"));
    assert_eq!(long.header("x-should-retry"), Some("false"));
    let text = Limits::default().max_user_text_bytes;
    test.shutdown().await;

    let test = Setup::new(says("a")).start().await;
    let long = test.send(ask(&[user(&"x".repeat(text + 1))])).await;
    assert_eq!((long.status, &*long.problem()), (413, "too-long"), "a text is no history");
    test.shutdown().await;
}

/// Reading it all would cost seconds. It is another one even where it has the same words: white
/// space does not count.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_with_far_more_text_than_a_request_is_another_one() {
    let test =
        Setup::new(says("a")).limits(|limits| limits.max_page_bytes = 64 * 1024).start().await;
    test.open("long").await;
    let named = |messages: &[Value]| ask(messages).header("madang-session", "long");
    let mut history = Vec::new();
    for number in 0..6 {
        test.say("long", &format!("x{}", " ".repeat(60_000))).await;
        history.extend([user("x"), assistant("a")]);
        let with_next = [&history[..], &[user("b")]].concat();
        let found = test.send(named(&with_next)).await;
        assert_eq!(found.status, 200);
        let is_it = found.header("madang-session") == Some("long");
        assert_eq!(is_it, number < 5, "{number}");
        if is_it {
            history.extend([user("b"), assistant("a")]);
        }
    }
    let left = test.send(named(&[user("b")])).await;
    assert_eq!(left.header("madang-session"), Some("long"), "the history is left to this server");
    test.shutdown().await;
}
