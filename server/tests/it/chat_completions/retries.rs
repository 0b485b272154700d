//! A try: what is sent again joins its turn, and a refusal says whether and when to try again.

use madang::{Limits, model::ModelError, store::SqliteStore};
use madang_server::MIGRATIONS;
use madang_testing::{FakeTool, ScriptedCompletion, ScriptedModel, model_pair};
use serde_json::json;

use super::{ask, assistant, chats, open, said, say, stream, streamed, user};
use crate::{
    http::{Answer, StreamEnd},
    support::{Setup, says},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_tried_again_joins_its_turn_and_the_same_wish_anew_begins_one() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let tried = |count: &str| stream(&[user("hi")]).header("x-stainless-retry-count", count);
    let first = open(&test, tried("0")).await;
    let turn = first.header("madang-turn").unwrap().to_owned();
    let completion = script.next().await;
    drop(first);
    let mut second = open(&test, tried("1")).await;
    assert_eq!(second.header("madang-turn"), Some(&*turn), "it runs");
    completion.say("once");
    let (told, end) = second.end().await;
    assert_eq!((streamed(&told), end), ("once".to_owned(), StreamEnd::Whole));
    let mut third = open(&test, tried("2")).await;
    assert_eq!(third.header("madang-turn"), Some(&*turn), "it has ended");
    assert_eq!(streamed(&third.end().await.0), "once");
    assert!(script.try_next().is_none(), "the model was asked once");

    // A client that regenerates sends the same, and counts from 0.
    let again = open(&test, tried("0")).await;
    assert_ne!(again.header("madang-turn"), Some(&*turn));
    script.next().await.say("twice");
    // The first try of this one never came.
    let lost = open(&test, stream(&[user("lost")]).header("x-stainless-retry-count", "1")).await;
    assert_ne!(lost.header("madang-turn"), Some(&*turn));
    script.next().await.say("found");
    // Another user's try is another.
    let lees = tried("1").bearer(test.lee.reveal()).stream(test.address).await;
    assert_ne!(lees.header("madang-turn"), Some(&*turn));
    script.next().await.say("lee's");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_a_key_is_one_turn_and_another_text_is_refused() {
    let test = Setup::new(says("once")).start().await;
    let keyed = |text: &str| ask(&[user(text)]).header("idempotency-key", "\"k\"");
    let first = test.send(keyed("hi")).await;
    let second = test.send(keyed("hi")).await;
    assert_eq!(first.ok(200), second.ok(200));
    assert_eq!(chats(&test).await, 1);
    let other = test.send(keyed("other")).await;
    assert_eq!((other.status, &*other.problem()), (422, "key-reused"));
    assert_eq!(other.header("x-should-retry"), Some("false"));
    test.shutdown().await;
}

/// A client that gives up and sends again, or two tabs, may come at the same moment.
#[tokio::test(flavor = "multi_thread")]
async fn sixteen_requests_under_one_key_at_once_are_one_turn_and_run_its_tool_once() {
    let folder = tempfile::tempdir().unwrap();
    for (at, remembers) in [false, true].into_iter().enumerate() {
        let script =
            [ScriptedCompletion::call("look", &json!({})), ScriptedCompletion::text("seen")];
        let tool = FakeTool::write("look");
        let runs = tool.runs();
        let store = SqliteStore::open(folder.path().join(format!("{at}.db")));
        let store = store.migrations("server", &MIGRATIONS).await.unwrap();
        let setup = Setup::over(ScriptedModel::repeating(script), store).tool(tool);
        let setup = if remembers { setup.remembering() } else { setup };
        let test = std::sync::Arc::new(setup.start().await);
        for (round, history) in [vec![], vec![user("hi"), assistant("hello")]].iter().enumerate() {
            let answers: Vec<_> = (0..16)
                .map(|_| {
                    let messages = [&history[..], &[user("look")]].concat();
                    let key = format!("\"k{round}\"");
                    let request = ask(&messages).header("idempotency-key", &key);
                    let test = test.clone();
                    tokio::spawn(async move { test.send(request).await })
                })
                .collect();
            let mut turns = std::collections::BTreeSet::new();
            for answer in answers {
                let answer = answer.await.unwrap();
                assert_eq!(said(&answer), "seen");
                turns.insert(answer.header("madang-turn").unwrap().to_owned());
            }
            assert_eq!((turns.len(), runs.count()), (1, round + 1), "remembers: {remembers}");
            assert_eq!(chats(&test).await, round + 1, "no empty chat is left");
        }
        std::sync::Arc::into_inner(test).unwrap().shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_at_once_says_how_long_to_wait() {
    let (model, mut script) = model_pair();
    let limits = Limits { max_running_turns_per_user: 1, ..Limits::default() };
    let test = Setup::new(model).build(|builder| builder.limits(limits)).start().await;
    let mut running = open(&test, stream(&[user("hi")])).await;
    let waits = |answer: &Answer, status: u16| {
        assert_eq!(answer.status, status, "{}", answer.text());
        let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds));
        assert!(answer.header("retry-after-ms").is_some());
        assert_eq!(answer.header("x-should-retry"), None, "the client tries again by itself");
    };
    let full = test.send(ask(&[user("me too")])).await;
    waits(&full, 429);
    assert_eq!(full.json()["error"]["type"], "rate_limit_error");
    assert_eq!(full.problem(), "too-many");
    let session = running.header("madang-session").unwrap().to_owned();
    let busy = ask(&[user("and this")]).header("madang-session", &session);
    let busy = test.send(busy).await;
    waits(&busy, 409);
    assert_eq!(busy.header("madang-turn"), running.header("madang-turn"), "which turn runs");
    script.next().await.say("done");
    running.end().await;
    let later = test.send(ask(&[user("me too")]).header("x-stainless-retry-count", "1"));
    let (later, ()) = tokio::join!(later, async { script.next().await.say("now") });
    assert_eq!(said(&later), "now");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_overloaded_is_a_429() {
    let (model, mut script) = model_pair();
    let test = Setup::new(model).start().await;
    let sent = test.send(ask(&[user("hi")]));
    let (answer, ()) =
        tokio::join!(sent, async { script.next().await.fail(ModelError::OVERLOADED) });
    assert_eq!((answer.status, &*answer.problem()), (429, "too-many"), "{}", answer.text());
    assert!(answer.header("retry-after").is_some());
    test.shutdown().await;
}

/// The answer says after which time to come again, and a client that does so is answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_begins_anew_where_the_model_was_too_busy_and_nothing_was_done() {
    let overloaded = || ScriptedCompletion::error(ModelError::OVERLOADED);
    let script = [
        overloaded(),
        ScriptedCompletion::text("now"),
        ScriptedCompletion::call("look", &json!({})),
        overloaded(),
        overloaded(),
    ];
    let tool = FakeTool::write("look");
    let runs = tool.runs();
    let test = Setup::new(ScriptedModel::new(script)).tool(tool).start().await;
    let tries = async |text: &str, count: u32| {
        let request = ask(&[user(text)]).header("x-stainless-retry-count", &count.to_string());
        let answer = test.send(request).await;
        (answer.status, answer.header("madang-turn").unwrap().to_owned())
    };
    let first = tries("hi", 0).await;
    let again = tries("hi", 1).await;
    assert_eq!((first.0, again.0), (429, 200));
    assert_ne!(first.1, again.1);
    assert_eq!(tries("hi", 2).await, again, "the next retry joins the turn that was begun");

    let first = tries("look", 0).await;
    let again = tries("look", 1).await;
    assert_eq!((first.0, &first), (429, &again), "what was done is not done again");
    assert_eq!(runs.count(), 1);

    let keyed = || ask(&[user("keyed")]).header("idempotency-key", "\"k\"");
    let first = test.send(keyed()).await;
    let again = test.send(keyed()).await;
    assert_eq!(first.header("madang-turn"), again.header("madang-turn"), "a key is one turn");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_and_a_try_are_remembered_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.db");
    let store = async || {
        let options = SqliteStore::open(&path).migrations("server", &MIGRATIONS);
        options.await.unwrap()
    };
    let (model, mut script) = model_pair();
    let mut test = Setup::over(model, store().await).remembering().start().await;
    let (first, ()) = tokio::join!(test.send(ask(&[user("hi")])), async {
        script.next().await.say("hello");
    });
    let chat = first.header("madang-session").unwrap().to_owned();
    let next = [user("hi"), assistant("hello"), user("and?")];
    let tried = |count: &str| ask(&next).header("x-stainless-retry-count", count);
    let address = test.address;
    let token = test.kim.reveal().to_owned();
    let begun = tried("0").bearer(&token).send(address);
    let begun = tokio::spawn(begun);
    let completion = script.next().await;
    test.stop();
    let cut = begun.await.unwrap();
    assert_eq!((cut.status, &*cut.problem()), (503, "draining"));
    let turn = cut.header("madang-turn").unwrap();
    test.ended().await.unwrap();
    drop(completion);

    let test = Setup::over(says("again"), store().await).remembering().start().await;
    let joined = test.send(tried("1")).await;
    assert_eq!((said(&joined), joined.header("madang-turn")), ("again".to_owned(), Some(turn)));
    assert_eq!(joined.header("madang-session"), Some(&*chat));
    let more = [&next[..], &[assistant("again"), user("more")]].concat();
    assert_eq!(say(&test, &more).await.1, chat);
    assert_eq!(chats(&test).await, 1);
    test.shutdown().await;
}
