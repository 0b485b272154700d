//! Going by envelopes alone a model names, reads, changes and deletes every entry that was written, however long it is.

use std::{collections::BTreeMap, time::Duration};

use madang::{
    Call, Confirm, Decision, Limits, Locale, Runtime, UserId,
    store::SqliteStore,
    testing::ScriptedModel,
    toolkit::{life, notes},
};
use serde_json::{Value, json};

struct Reader {
    runtime: Runtime,
    _folder: tempfile::TempDir,
}

impl Reader {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let store = SqliteStore::open(path, [&*life::MIGRATIONS, &*notes::MIGRATIONS]).await;
        let mut limits = Limits::default();
        // A busy machine takes its time over two hundred blocks.
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
        Self { runtime, _folder: folder }
    }

    /// The data of the envelope, which keeps to its bound.
    async fn told(&self, tool: &str, arguments: Value) -> Value {
        let call = Call::new(UserId::new("kim").unwrap(), tool, arguments.to_string())
            .locale(Locale::En)
            .confirm(Confirm::Always(Decision::Approve));
        let report = self.runtime.dispatch(call).await.unwrap();
        let max = Limits::default().max_envelope_bytes;
        assert!(report.envelope.len() <= max, "{tool}: {}", report.envelope.len());
        let told: Value = serde_json::from_str(&report.envelope).unwrap();
        assert_eq!(told["status"], "ok", "{tool}: {told}");
        told["data"].clone()
    }

    /// Reads a block in parts.
    async fn content(&self, id: &str) -> String {
        let (mut content, mut offset) = (String::new(), 0);
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

    /// The ids of all entries of a list that is read on by its offset.
    async fn ids(&self, tool: &str, arguments: Value) -> Vec<String> {
        let mut ids = Vec::new();
        loop {
            let mut arguments = arguments.clone();
            arguments["offset"] = ids.len().into();
            let part = self.told(tool, arguments).await;
            let items = part["items"].as_array().unwrap();
            ids.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
            if ids.len() as u64 >= part["total"].as_u64().unwrap() {
                return ids;
            }
            assert!(!items.is_empty(), "{tool} goes on: {part}");
        }
    }
}

/// Texts of each length, of letters that take one byte to six of JSON.
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
    reader.runtime.shutdown().await.unwrap();
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
        let (created, failed) = (&made["blocksCreated"], &made["blocksFailed"]);
        assert_eq!(created.as_u64().unwrap() + failed.as_u64().unwrap(), count as u64 + 1);
        let ids = reader.ids("get_page_blocks", json!({ "pageId": page })).await;
        assert_eq!(ids.len() as u64, created.as_u64().unwrap());
    }
    reader.runtime.shutdown().await.unwrap();
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
    let index = reader.told("switch_to_index", json!({})).await;
    assert_eq!((&index["total"], &index["_truncated"]), (&json!(20), &json!(true)));
    reader.runtime.shutdown().await.unwrap();
}

#[tokio::test]
async fn every_habit_is_named_however_much_was_said_about_it() {
    let reader = Reader::new().await;
    let long = |letter: &str| letter.repeat(200);
    let mut habits = Vec::new();
    for item in ["morning-light", "daily-walk", "mediterranean", "late-coffee"] {
        let wanted = json!({
            "protocol_id": item, "frame_level": "L2", "framed_text": long("걷"),
            "anchor_when": long("아"), "anchor_after_what": long("🎭"), "dose_text": long("물")
        });
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
    for (id, ..) in &habits {
        let streak = reader.told("get_streak", json!({ "habit_id": id })).await;
        assert_eq!(&streak["habit_id"], id);
        reader.told("log_tracker_entry", json!({ "habit_id": id, "value": "done" })).await;
    }
    reader.runtime.shutdown().await.unwrap();
}
