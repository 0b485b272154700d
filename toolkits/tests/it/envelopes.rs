//! Tests that envelopes alone let a model name, read, change and delete every entry of any length.

use std::{collections::BTreeMap, time::Duration};

use madang::{
    Call, LanguageTag, Limits, Runtime, SessionId, UserId,
    approval::{Approver, Decision},
    store::SqliteStore,
};
use madang_testing::ScriptedModel;
use madang_toolkits::{life, notes};
use serde_json::{Value, json};

/// A model that sees only envelopes.
pub(crate) struct Reader {
    runtime: Runtime,
    /// The session of all calls, or a new one for each.
    session: Option<SessionId>,
    _folder: tempfile::TempDir,
}

impl Reader {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let store = SqliteStore::open(path)
            .migrations("life", &life::MIGRATIONS)
            .migrations("notes", &notes::MIGRATIONS)
            .await;
        let mut limits = Limits::default();
        // A busy machine needs time for two hundred blocks.
        limits.transaction_deadline = Duration::from_secs(20);
        let runtime = Runtime::builder()
            .limits(limits)
            .model(ScriptedModel::new([]))
            .store(store.unwrap())
            .tools(life::tools())
            .tools(notes::tools())
            .start()
            .await
            .unwrap();
        Self { runtime, session: None, _folder: folder }
    }

    /// Makes all calls in one session, for tools that use the session's context.
    pub(crate) async fn in_one_session() -> Self {
        Self { session: Some(SessionId::new("read").unwrap()), ..Self::new().await }
    }

    /// Returns the data of the envelope, which keeps to its bound.
    pub(crate) async fn told(&self, tool: &str, arguments: Value) -> Value {
        let mut call = Call::new(UserId::new("kim").unwrap(), tool, arguments.to_string())
            .language(LanguageTag::EN)
            .approver(Approver::Decided(Decision::Approve));
        if let Some(session) = &self.session {
            call = call.session(session.clone());
        }
        let report = self.runtime.begin(call).await.unwrap().ended().await;
        let max = Limits::default().max_envelope_bytes;
        assert!(report.envelope.len() <= max, "{tool}: {}", report.envelope.len());
        let told: Value = serde_json::from_str(&report.envelope).unwrap();
        assert_eq!(told["status"], "ok", "{tool}: {told}");
        told["data"].clone()
    }

    pub(crate) async fn shutdown(self) {
        self.runtime.shutdown().await.unwrap();
    }

    /// Reads a block in parts.
    pub(crate) async fn content(&self, id: &str) -> String {
        let mut content = String::new();
        let mut offset = 0;
        loop {
            let part = self.told("get_block", json!({ "id": id, "offset": offset })).await;
            assert_eq!(part["id"], id);
            assert_eq!(part["_truncated"], Value::Null, "a part fits: {part}");
            content.push_str(part["content"].as_str().unwrap());
            let Some(next) = part["nextOffset"].as_u64() else { return content };
            assert!(next > offset, "it goes on");
            assert_eq!(content.chars().count() as u64, next);
            offset = next;
        }
    }

    /// Lists the ids of all entries, from one part to the next.
    pub(crate) async fn ids(&self, tool: &str, arguments: Value) -> Vec<String> {
        let items = self.items(tool, arguments, "nextOffset").await;
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Lists all entries in the same way.
    pub(crate) async fn items(&self, tool: &str, arguments: Value, next: &str) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let mut arguments = arguments.clone();
            arguments["offset"] = all.len().into();
            let part = self.told(tool, arguments).await;
            all.extend(part["items"].as_array().unwrap().iter().cloned());
            let Some(next) = part.get(next) else {
                assert_eq!(part["total"], all.len(), "{tool} says how to go on: {part}");
                return all;
            };
            assert!(!part["items"].as_array().unwrap().is_empty(), "{tool} goes on: {part}");
            assert_eq!(*next, all.len(), "{tool} leaves none out: {part}");
        }
    }

    /// Reads a habit's texts in parts.
    pub(crate) async fn texts(&self, habit: &Value) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        let mut offset = json!(0);
        loop {
            let part = self.told("get_habit", json!({ "habit_id": habit, "offset": offset })).await;
            assert_eq!(part["_truncated"], Value::Null, "a part fits: {part}");
            assert_eq!(part["habit_id"], *habit);
            let is_text = |name: &str| name.ends_with("_text") || name.starts_with("anchor_");
            for (name, text) in part.as_object().unwrap().iter().filter(|(name, _)| is_text(name)) {
                let read = texts.insert(name.clone(), text.as_str().unwrap().to_owned());
                assert_eq!(read, None, "{name} is read once");
            }
            let Some(next) = part.get("next_offset") else { return texts };
            assert_eq!(*next, texts.len(), "it goes on");
            offset = next.clone();
        }
    }
}

/// Texts of each length, of letters that take one to six bytes of JSON.
fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for letter in ["x", "é", "가", "🎭", "\"", "\\", "\t"] {
        for count in [0, 1, 200, 639, 640, 2_047, 10_000] {
            texts.push(letter.repeat(count));
        }
    }
    texts
}

#[tokio::test]
async fn every_block_is_named_read_changed_and_deleted() {
    let reader = Reader::new().await;
    let title = "🎭".repeat(200);
    let page = reader.told("create_page", json!({ "title": title })).await;
    assert_eq!(page["title"], title, "a name is whole");
    let page = page["id"].as_str().unwrap();
    let mut written = BTreeMap::new();
    for content in texts() {
        let made = reader.told("create_block", json!({ "pageId": page, "content": content })).await;
        written.insert(made["id"].as_str().unwrap().to_owned(), content);
    }
    let mut listed = reader.ids("get_page_blocks", json!({ "pageId": page })).await;
    assert_eq!(listed.len(), written.len());
    listed.sort_unstable();
    assert!(listed.iter().eq(written.keys()), "each is named");
    for (id, content) in &written {
        assert_eq!(&reader.content(id).await, content);
    }
    let found = reader.ids("query_blocks", json!({ "query": "가", "limit": 100 })).await;
    assert_eq!(found.len(), 6, "all but the empty one: {found:?}");
    for id in written.keys() {
        let longer = "나".repeat(10_000);
        let changed = reader.told("update_block", json!({ "id": id, "content": longer })).await;
        assert_eq!(changed["id"], id.as_str());
        assert_eq!(reader.told("delete_block", json!({ "id": id })).await["deleted"], true);
    }
    let left = reader.told("get_page_blocks", json!({ "pageId": page })).await;
    assert_eq!([&left["total"], &left["pageTitle"]], [&json!(0), &json!(title)]);
    reader.shutdown().await;
}

#[tokio::test]
async fn a_page_of_many_blocks_is_made_and_each_of_them_found_again() {
    let reader = Reader::new().await;
    for (count, letter, length) in
        [(199, "가", 1_000), (199, "x", 5), (3, "🎭", 10_000), (40, "a\nb", 1)]
    {
        let blocks: Vec<_> = (0..count)
            .map(|n| json!({ "content": format!("{n}{}", letter.repeat(length)) }))
            .collect();
        let mut all = blocks.clone();
        all.push(json!({ "content": "fits" }));
        let made = reader
            .told(
                "create_page_with_blocks",
                json!({ "title": format!("{count} {letter:?}"), "blocks": all }),
            )
            .await;
        let page = made["id"].as_str().unwrap();
        let created = &made["blocksCreated"];
        let failed = &made["blocksFailed"];
        assert_eq!(created.as_u64().unwrap() + failed.as_u64().unwrap(), count as u64 + 1);
        let ids = reader.ids("get_page_blocks", json!({ "pageId": page })).await;
        assert_eq!(ids.len() as u64, created.as_u64().unwrap());
    }
    reader.shutdown().await;
}

#[tokio::test]
async fn every_page_is_named_by_its_id_and_its_title() {
    let reader = Reader::new().await;
    let mut pages = Vec::new();
    for n in 0..30 {
        let title = format!("{n:02}{}", "쪽".repeat(198));
        let made = reader.told("create_page", json!({ "title": title })).await;
        pages.push(made["id"].as_str().unwrap().to_owned());
    }
    let listed = reader.ids("list_pages", json!({ "includeDirectories": true })).await;
    assert_eq!(listed, pages, "by title");
    for (n, id) in pages.iter().enumerate() {
        let opened = reader.told("open_page", json!({ "pageId": id })).await;
        let shown = opened["pageTitle"].as_str().unwrap();
        assert_eq!(shown.chars().count(), 200, "{n}: a name is whole");
    }
    for id in &pages[20..] {
        let title = format!("{id}{}", "🎭".repeat(164));
        let renamed = reader.told("rename_page", json!({ "id": id, "title": title })).await;
        assert_eq!((&renamed["id"], &renamed["title"]), (&json!(id), &json!(title)));
        let deleted = reader.told("delete_page", json!({ "id": id })).await;
        assert_eq!((&deleted["id"], &deleted["title"]), (&json!(id), &json!(title)));
    }
    pages.truncate(20);
    let index = reader.told("switch_to_index", json!({})).await;
    assert_eq!((&index["total"], &index["_truncated"]), (&json!(20), &json!(true)));
    assert_eq!(reader.ids("switch_to_index", json!({})).await, pages, "in reading order");
    for limit in [1, 7, 50] {
        let found = json!({ "query": "쪽", "limit": limit });
        let mut found = reader.ids("query_pages", found).await;
        found.sort_unstable();
        let mut wanted = pages.clone();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{limit} at once");
    }
    reader.shutdown().await;
}

#[tokio::test]
async fn every_habit_is_named_however_much_was_said_about_it() {
    let reader = Reader::new().await;
    let long = |letter: &str| letter.repeat(200);
    let words = BTreeMap::from(
        [
            ("framed_text", long("걷")),
            ("anchor_when", long("\"")),
            ("anchor_after_what", long("🎭")),
            ("dose_text", long("물")),
        ]
        .map(|(name, text)| (name.to_owned(), text)),
    );
    let mut habits = Vec::new();
    for item in ["morning-light", "daily-walk", "mediterranean", "late-coffee"] {
        let mut wanted = json!({ "protocol_id": item, "frame_level": "L2" });
        let texts = words.iter().map(|(name, text)| (name.clone(), json!(text)));
        wanted.as_object_mut().unwrap().extend(texts);
        let added = reader.told("add_habit", wanted).await;
        habits.push((
            added["habit_id"].clone(),
            added["title"].clone(),
            added["started_on"].clone(),
        ));
    }
    let listed = reader.told("list_active_habits", json!({})).await;
    let shown = listed["items"].as_array().unwrap();
    let of = |item: &Value| {
        (item["habit_id"].clone(), item["title"].clone(), item["started_on"].clone())
    };
    assert_eq!(shown.iter().map(of).collect::<Vec<_>>(), habits);
    assert_eq!(listed["count"], 4);
    for (id, title, started_on) in &habits {
        assert_eq!(reader.texts(id).await, words);
        let streak = reader.told("get_streak", json!({ "habit_id": id })).await;
        assert_eq!(&streak["habit_id"], id);
        reader.told("log_tracker_entry", json!({ "habit_id": id, "value": "done" })).await;
        let ended = reader.told("end_habit", json!({ "habit_id": id })).await;
        assert_eq!((&ended["habit_id"], &ended["title"]), (id, title));
        let read = reader.told("get_habit", json!({ "habit_id": id })).await;
        assert_eq!(read["started_on"], *started_on, "what has ended can be read still");
    }
    assert_eq!(reader.told("list_active_habits", json!({})).await["count"], 0);
    reader.shutdown().await;
}

#[tokio::test]
async fn every_recorded_day_is_named_read_and_corrected_however_long_its_note_is() {
    let reader = Reader::new().await;
    let added = json!({ "protocol_id": "daily-walk", "frame_level": "L2", "framed_text": "걷기" });
    let habit = reader.told("add_habit", added).await["habit_id"].clone();
    let read = || reader.items("list_tracker_entries", json!({ "habit_id": habit }), "next_offset");
    assert_eq!(read().await, Vec::<Value>::new());
    let mut written = Vec::new();
    for day in 1..=28 {
        let notes = ["🎭".repeat(200), "\"".repeat(200), "걷".repeat(200), "x".to_owned()];
        let entry = json!({
            "habit_id": habit, "value": if day % 2 == 0 { "done" } else { "blank" },
            "date": format!("2024-02-{day:02}"), "note": notes[day % 4]
        });
        reader.told("log_tracker_entry", entry.clone()).await;
        let mut entry = entry;
        entry.as_object_mut().unwrap().remove("habit_id");
        written.insert(0, entry);
    }
    assert_eq!(read().await, written, "the newest first");
    for entry in &mut written {
        entry["note"] = json!("나".repeat(200));
        let mut wanted = entry.clone();
        wanted["habit_id"] = habit.clone();
        reader.told("correct_tracker_entry", wanted).await;
    }
    assert_eq!(read().await, written);
    reader.shutdown().await;
}
