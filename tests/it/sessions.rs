//! A user's chats are listed newest first, and the ledger is read page by page. It repeats nothing,
//! leaves nothing out, and shows no row of another user.
#![cfg(feature = "sqlite")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use madang::{
    Call, CallReport, Clock, Runtime, Session, Timestamp, UserId,
    approval::Decision,
    event::EventCursor,
    ledger::{Forget, LedgerFilter},
    model::Completion,
    store::{SessionPage, SessionSummary, SqliteStore, Store as _, StoreError},
    tool::{self, EffectPolicy, NoArguments, ToolContext, ToolResult},
};
use madang_testing::{HandScript, Probe, RuntimeHooks as _, model_pair};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{kim, wanted};

/// A clock that stands still until it is put forward.
#[derive(Debug, Clone, Default)]
struct Watch(Arc<AtomicI64>);

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Relaxed))
    }
}

/// A runtime on a database file, with a model that is driven by hand and a tool that asks.
struct Chats {
    runtime: Runtime,
    script: HandScript,
    watch: Watch,
    folder: TempDir,
}

async fn done(_: NoArguments, _: &ToolContext) -> ToolResult<&'static str> {
    Ok("done")
}

fn lee() -> UserId {
    UserId::new("lee").unwrap()
}

fn page(limit: usize) -> SessionPage {
    SessionPage::of(limit).unwrap()
}

fn names(page: &[SessionSummary]) -> Vec<&str> {
    page.iter().map(|summary| summary.session.as_str()).collect()
}

impl Chats {
    async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap(), Watch::default()).await
    }

    async fn at(folder: TempDir, watch: Watch) -> Self {
        let (model, script) = model_pair();
        let runtime = Runtime::builder()
            .model(model)
            .store(Self::store(folder.path()).await)
            .clock(watch.clone())
            .tool(tool::plain("send", "Sends.", done).effect(EffectPolicy::Destructive))
            .tool(tool::plain("look", "Looks.", done).effect(EffectPolicy::Read))
            .start()
            .await
            .unwrap();
        Self { runtime, script, watch, folder }
    }

    async fn store(folder: &Path) -> SqliteStore {
        SqliteStore::open(folder.join("chats.db")).await.unwrap()
    }

    /// Says this, and waits for the model's answer.
    async fn talk(&mut self, user: &str, session: &str, text: &str) -> Session {
        let session = self.runtime.user(user).unwrap().session(session).await.unwrap();
        let turn = session.send(text).await.unwrap();
        self.script.next().await.say("Well.");
        turn.ended().await.unwrap();
        session
    }

    async fn list(&self) -> Vec<SessionSummary> {
        self.runtime.user_with_id(&kim()).sessions(page(SessionPage::MAX_SESSIONS)).await.unwrap()
    }

    async fn call(&self, user: UserId) -> CallReport {
        self.runtime.begin(Call::new(user, "look", "{}")).await.unwrap().ended().await
    }

    async fn shutdown(self) -> (TempDir, Watch) {
        self.runtime.shutdown().await.unwrap();
        assert_eq!(self.runtime.running_tasks(), 0, "no task is left");
        (self.folder, self.watch)
    }
}

#[tokio::test]
async fn a_users_chats_have_pages_whose_positions_hold_in_one_moment_and_after_a_restart() {
    let mut chats = Chats::new().await;
    for name in ["d", "a", "e", "b", "c"] {
        chats.talk("kim", name, &format!(" {name}\n is \t said ")).await;
        chats.talk("lee", &format!("lee's {name}"), "hi").await;
    }
    // Neither a session that was only opened nor a call without a model is a chat.
    chats.runtime.user("kim").unwrap().session("opened").await.unwrap();
    let report = chats.call(kim()).await;
    assert!(report.session.as_str().starts_with("call-") && report.is_recorded);

    let all = chats.list().await;
    assert_eq!(names(&all), ["e", "d", "c", "b", "a"]);
    assert!(all.iter().all(|chat| chat.last_at == all[0].last_at), "one moment");
    assert_eq!(all[0].title, "e is said");
    let first = chats.runtime.user_with_id(&kim()).sessions(page(2)).await.unwrap();
    assert_eq!(first, all[..2]);
    let position = first[1].position().to_string();

    let (folder, watch) = chats.shutdown().await;
    let mut chats = Chats::at(folder, watch).await;
    // Meanwhile two chats move to the front.
    chats.watch.0.store(7, Relaxed);
    for name in ["a", "d"] {
        chats.talk("kim", name, "again").await;
    }
    let mut next = page(2).after(position.parse().unwrap());
    let mut rest = Vec::new();
    loop {
        let found = chats.runtime.user_with_id(&kim()).sessions(next.clone()).await.unwrap();
        let Some(last) = found.last() else { break };
        next = page(2).after(last.position());
        rest.extend(found);
    }
    assert_eq!(names(&rest), ["c", "b"]);
    assert_eq!(names(&chats.list().await), ["d", "a", "e", "c", "b"]);
    chats.shutdown().await;
}

#[tokio::test]
async fn a_chat_that_waits_says_so_and_a_reader_behind_its_cursor_misses_nothing() {
    let mut chats = Chats::new().await;
    let session = chats.runtime.user("kim").unwrap().session("s").await.unwrap();
    let turn = session.send("send it").await.unwrap();
    let id = turn.id();
    let completion = chats.script.next().await;
    let running = chats.list().await;
    assert_eq!((running[0].open_turn, running[0].waits), (Some(id), false));
    let call = Completion { tool_calls: vec![wanted("send", &json!({}))], ..Completion::default() };
    completion.finish(call);
    Probe::new(session.subscribe_after(EventCursor::START).await.unwrap()).approval_request().await;
    let waiting = chats.list().await;
    assert_eq!((waiting[0].open_turn, waiting[0].waits), (Some(id), true));
    assert_eq!(waiting[0].last, EventCursor::of_entry(1), "the call has not ended");

    // The request outlives the process, and so does the list.
    drop((session, turn));
    let (folder, watch) = chats.shutdown().await;
    let mut chats = Chats::at(folder, watch).await;
    assert_eq!(chats.list().await, waiting);
    let session = chats.runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut probe = Probe::new(session.subscribe_after(waiting[0].last).await.unwrap());
    let request = probe.approval_request().await;
    session.decide(&request, Decision::Approve).await.unwrap();
    chats.script.next().await.say("Sent.");
    probe.until_turns_ended(1).await;
    let lines = probe.lines();
    for line in ["call send", "model: Sent. (Complete)", "turn ended Answered"] {
        assert!(lines.contains(line), "{line} in {lines}");
    }
    assert!(!lines.contains("user: send it"), "{lines}");
    let ended = chats.list().await;
    let last = probe.events().last().unwrap().cursor;
    assert_eq!((ended[0].open_turn, ended[0].waits, ended[0].last), (None, false, last));
    chats.shutdown().await;
}

#[tokio::test]
async fn a_cleared_chat_is_called_by_what_is_said_next() {
    let mut chats = Chats::new().await;
    let session = chats.talk("kim", "s", "수면 습관").await;
    chats.talk("kim", "s", "second").await;
    let title = async |chats: &Chats| chats.list().await.remove(0).title;
    assert_eq!(title(&chats).await, "수면 습관");
    session.clear().await.unwrap();
    assert_eq!(title(&chats).await, "수면 습관");
    chats.talk("kim", "s", &"운동".repeat(60)).await;
    assert_eq!(title(&chats).await, "운동".repeat(40));
    chats.shutdown().await;
}

#[tokio::test]
async fn the_chats_of_a_forgotten_user_are_not_listed_and_those_of_others_are() {
    let mut chats = Chats::new().await;
    for (user, name) in [("kim", "s"), ("lee", "t")] {
        chats.talk(user, name, "a secret").await;
    }
    let (folder, watch) = chats.shutdown().await;
    let store = Chats::store(folder.path()).await;
    let at = Timestamp::from_millis(9);
    store.forget(&Forget { user: kim(), by: lee(), at, tables: Vec::new() }).await.unwrap();
    store.close().await;
    let chats = Chats::at(folder, watch).await;
    assert_eq!(chats.list().await, []);
    let others = chats.runtime.user_with_id(&lee()).sessions(page(9)).await.unwrap();
    assert_eq!(names(&others), ["t"]);
    chats.shutdown().await;
}

#[tokio::test]
async fn a_users_calls_are_read_in_pages_in_the_order_of_their_proposals() {
    let chats = Chats::new().await;
    let mut kims = Vec::new();
    let mut all = Vec::new();
    for number in 0..10 {
        let user = if number % 3 == 0 { lee() } else { kim() };
        let is_kims = user == kim();
        let report = chats.call(user).await;
        kims.extend(is_kims.then_some(report.record.id));
        all.push(report.record.id);
    }
    let of_all = LedgerFilter::default();
    let of_kim = LedgerFilter::default().of_user(&kim());
    for (filter, expected) in [(&of_all, &all), (&of_kim, &kims)] {
        for at_once in [1, 2, 3, 7, 20] {
            let mut read = Vec::new();
            let mut next = filter.clone().at_most(at_once);
            loop {
                let rows = chats.runtime.ledger(&next).await.unwrap();
                let Some(last) = rows.last() else { break };
                next = next.after(last.call);
                read.extend(rows.into_iter().map(|row| row.call));
            }
            assert_eq!(read, *expected, "{at_once} at once");
        }
    }
    // Behind the call of another user kim's page begins nowhere.
    let refused = chats.runtime.ledger(&of_kim.after(all[0])).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    chats.shutdown().await;
}
