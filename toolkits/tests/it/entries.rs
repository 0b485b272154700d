//! Tests every tool that writes entries, with texts of any size. From envelopes alone, a model
//! names each entry, reads it in parts, changes it and ends it. Fails for a registered tool without
//! a row here.

use std::collections::{BTreeMap, BTreeSet};

use madang::tool::ToolRegistry;
use madang_toolkits::{life, notes};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::envelopes::Reader;

/// The tools for the entries of one kind.
struct Tools {
    make: &'static [&'static str],
    /// Each lists all entries, in parts.
    list: &'static [&'static str],
    /// Each reads the texts of one entry, in parts.
    read: &'static [&'static str],
    change: &'static [&'static str],
    end: &'static [&'static str],
}

const PAGES: Tools = Tools {
    make: &["create_page", "create_page_with_blocks"],
    list: &["list_pages", "query_pages", "switch_to_index"],
    read: &["open_page", "switch_to_note_view", "navigate_to_path"],
    change: &["rename_page"],
    end: &["delete_page"],
};
const BLOCKS: Tools = Tools {
    make: &["create_block", "insert_block_below", "insert_block_below_current"],
    list: &["get_page_blocks", "query_blocks"],
    read: &["get_block"],
    change: &["update_block", "append_to_block"],
    end: &["delete_block"],
};
/// A habit keeps its first words; another habit has others.
const HABITS: Tools = Tools {
    make: &["add_habit"],
    list: &["list_active_habits"],
    read: &["get_habit"],
    change: &[],
    end: &["end_habit"],
};
/// A recorded day can be corrected and stays a day.
const DAYS: Tools = Tools {
    make: &["log_tracker_entry"],
    list: &["list_tracker_entries"],
    read: &["list_tracker_entries"],
    change: &["correct_tracker_entry"],
    end: &[],
};
/// These write no entry, and name only the one that the context points to.
const OTHERS: &[&str] = &[
    "search_catalog",
    "query_protocol",
    "get_streak",
    "get_current_context",
    "go_back",
    "go_forward",
    "ping",
];

#[test]
fn each_registered_tool_stands_in_one_row() {
    let mut registry = ToolRegistry::new();
    registry.register_all(life::tools()).unwrap();
    registry.register_all(notes::tools()).unwrap();
    let registered: BTreeSet<&str> = registry.iter().map(|tool| &*tool.spec().name).collect();
    let rows = [PAGES, BLOCKS, HABITS, DAYS];
    let of = |tools: &Tools| [tools.make, tools.list, tools.read, tools.change, tools.end].concat();
    let named: BTreeSet<&str> = rows.iter().flat_map(of).chain(OTHERS.iter().copied()).collect();
    assert_eq!(named, registered);
}

/// A letter, and the number of its repeats.
type Drawn = (&'static str, usize);

fn drawn() -> impl Strategy<Value = Drawn> {
    let letter = prop::sample::select(vec!["x", "é", "가", "🎭", "\"", "\\", "\t", "{", "…(+9)"]);
    // The bounds of the schema, and the sizes around an envelope's bound.
    let count = prop_oneof![0..12_usize, 150..250_usize, 300..2_100_usize, 9_000..10_000_usize];
    (letter, count)
}

/// The most repeats of it.
fn text((letter, count): Drawn, max: usize) -> String {
    letter.repeat(count).chars().take(max).collect()
}

fn id(told: &Value) -> String {
    told["id"].as_str().unwrap().to_owned()
}

/// Lists pages by their ids, as a list names them.
async fn listed_pages(reader: &Reader, tool: &str) -> BTreeMap<String, String> {
    let arguments = match tool {
        "list_pages" => json!({ "includeDirectories": true, "limit": 7 }),
        "query_pages" => json!({ "query": "page", "limit": 7 }),
        "switch_to_index" => json!({}),
        tool => panic!("no arguments for {tool}"),
    };
    let items = reader.items(tool, arguments, "nextOffset").await;
    items.iter().map(|item| (id(item), item["title"].as_str().unwrap().to_owned())).collect()
}

async fn pages(reader: &Reader, drawn: &[Drawn]) {
    let mut written = BTreeMap::new();
    for (n, drawn) in drawn.iter().enumerate() {
        let title = format!("page {n} {}.", text(*drawn, 180));
        // A title cannot have such a letter.
        let title = title.replace('\t', "t");
        let tool = PAGES.make[n % PAGES.make.len()];
        let blocks = json!([{ "content": text(*drawn, 10_000) }]);
        let made = match tool {
            "create_page" => reader.told(tool, json!({ "title": title })).await,
            "create_page_with_blocks" => {
                reader.told(tool, json!({ "title": title, "blocks": blocks })).await
            }
            tool => panic!("no arguments for {tool}"),
        };
        written.insert(id(&made), title);
    }
    for change in PAGES.change {
        for (n, (id, title)) in written.iter_mut().enumerate() {
            *title = format!("{title} {n}");
            let changed = reader.told(change, json!({ "id": id, "title": title })).await;
            assert_eq!((&changed["id"], &changed["title"]), (&json!(id), &json!(title)));
        }
    }
    for list in PAGES.list {
        assert_eq!(listed_pages(reader, list).await, written, "{list}");
    }
    for (id, title) in &written {
        let shown = reader.told("switch_to_note_view", json!({ "pageId": id })).await;
        for read in PAGES.read {
            let arguments = match *read {
                "open_page" | "switch_to_note_view" => json!({ "pageId": id }),
                "navigate_to_path" => json!({ "path": shown["path"] }),
                tool => panic!("no arguments for {tool}"),
            };
            let told = reader.told(read, arguments).await;
            assert_eq!(
                (&told["pageId"], &told["pageTitle"]),
                (&json!(id), &json!(title)),
                "{read}"
            );
        }
    }
    let ends = PAGES.end.iter().cycle();
    for (id, end) in written.keys().zip(ends) {
        assert_eq!(reader.told(end, json!({ "id": id })).await["id"], id.as_str());
    }
    assert!(listed_pages(reader, PAGES.list[0]).await.is_empty());
}

async fn blocks(reader: &Reader, drawn: &[Drawn]) {
    let page = id(&reader.told("create_page", json!({ "title": "of blocks" })).await);
    reader.told("open_page", json!({ "pageId": page })).await;
    let first = json!({ "pageId": page, "content": "word" });
    let first = id(&reader.told("create_block", first).await);
    let mut written = BTreeMap::from([(first.clone(), "word".to_owned())]);
    for (n, drawn) in drawn.iter().enumerate() {
        let content = format!("word {}", text(*drawn, 9_000));
        let tool = BLOCKS.make[n % BLOCKS.make.len()];
        let arguments = match tool {
            "create_block" => json!({ "pageId": page, "content": content }),
            "insert_block_below" => json!({ "blockId": first, "content": content }),
            "insert_block_below_current" => json!({ "content": content }),
            tool => panic!("no arguments for {tool}"),
        };
        written.insert(id(&reader.told(tool, arguments).await), content);
    }
    let turned: Vec<Drawn> = drawn.iter().rev().copied().collect();
    for (n, ((id, content), drawn)) in written.iter_mut().zip(turned).enumerate() {
        let more = text(drawn, 900);
        let tool = BLOCKS.change[n % BLOCKS.change.len()];
        let arguments = match tool {
            "update_block" => {
                *content = format!("word {more}");
                json!({ "id": id, "content": content })
            }
            "append_to_block" => {
                *content = format!("{content}|{more}");
                json!({ "id": id, "text": more, "separator": "|" })
            }
            tool => panic!("no arguments for {tool}"),
        };
        assert_eq!(reader.told(tool, arguments).await["id"], id.as_str(), "{tool}");
    }
    for list in BLOCKS.list {
        let arguments = match *list {
            "get_page_blocks" => json!({ "pageId": page }),
            "query_blocks" => json!({ "query": "word", "pageId": page, "limit": 7 }),
            tool => panic!("no arguments for {tool}"),
        };
        let mut listed = reader.ids(list, arguments).await;
        listed.sort_unstable();
        assert!(listed.iter().eq(written.keys()), "{list}: {listed:?}");
    }
    for (id, content) in &written {
        for read in BLOCKS.read {
            assert_eq!(*read, "get_block", "it is read so");
            assert_eq!(&reader.content(id).await, content);
        }
    }
    for (id, end) in written.keys().zip(BLOCKS.end.iter().cycle()) {
        assert_eq!(reader.told(end, json!({ "id": id })).await["deleted"], true);
    }
    assert_eq!(reader.told("get_page_blocks", json!({ "pageId": page })).await["total"], 0);
    reader.told("delete_page", json!({ "id": page })).await;
}

async fn habits(reader: &Reader, drawn: &[Drawn]) {
    let mut written = BTreeMap::new();
    let items = ["morning-light", "daily-walk", "mediterranean", "late-coffee"];
    for (item, drawn) in items.iter().zip(drawn.chunks(4)) {
        let names = ["framed_text", "anchor_when", "anchor_after_what", "dose_text"];
        let texts = names.iter().zip(drawn).map(|(name, drawn)| {
            let text = format!("걷기 {}.", text(*drawn, 190).replace('\t', "t"));
            ((*name).to_owned(), text)
        });
        let texts: BTreeMap<String, String> = texts.collect();
        let mut wanted = json!({ "protocol_id": item, "frame_level": "L2" });
        wanted.as_object_mut().unwrap().extend(texts.iter().map(|(k, v)| (k.clone(), json!(v))));
        let added = reader.told(HABITS.make[0], wanted).await;
        written.insert(added["habit_id"].as_i64().unwrap(), (added["title"].clone(), texts));
    }
    for list in HABITS.list {
        let listed = reader.told(list, json!({})).await;
        let named = |item: &Value| (item["habit_id"].as_i64().unwrap(), item["title"].clone());
        let named: BTreeMap<_, _> = listed["items"].as_array().unwrap().iter().map(named).collect();
        let expected: BTreeMap<_, _> =
            written.iter().map(|(id, (title, _))| (*id, title.clone())).collect();
        assert_eq!(named, expected, "{list}");
    }
    for (id, (_, texts)) in &written {
        for read in HABITS.read {
            assert_eq!(*read, "get_habit", "it is read so");
            assert_eq!(&reader.texts(&json!(id)).await, texts);
        }
        days(reader, *id, drawn).await;
    }
    for (id, end) in written.keys().zip(HABITS.end.iter().cycle()) {
        assert_eq!(reader.told(end, json!({ "habit_id": id })).await["habit_id"], *id);
    }
    assert_eq!(reader.told(HABITS.list[0], json!({})).await["count"], 0);
}

async fn days(reader: &Reader, habit: i64, drawn: &[Drawn]) {
    let note = |drawn: &Drawn| format!("{}.", text(*drawn, 190).replace('\t', "t"));
    let mut written = BTreeMap::new();
    for (n, drawn) in drawn.iter().enumerate() {
        let date = format!("2024-02-{:02}", 1 + n);
        let entry = json!({ "value": if n % 2 == 0 { "done" } else { "blank" }, "date": date, "note": note(drawn) });
        let mut arguments = entry.clone();
        arguments["habit_id"] = json!(habit);
        reader.told(DAYS.make[0], arguments).await;
        written.insert(date, entry);
    }
    for (n, (entry, drawn)) in written.values_mut().zip(drawn.iter().rev()).enumerate() {
        entry["note"] = json!(note(drawn));
        let mut arguments = entry.clone();
        arguments["habit_id"] = json!(habit);
        reader.told(DAYS.change[n % DAYS.change.len()], arguments).await;
    }
    for list in DAYS.list.iter().chain(DAYS.read) {
        let mut listed = reader.items(list, json!({ "habit_id": habit }), "next_offset").await;
        // The newest entry comes first.
        listed.reverse();
        assert!(listed.iter().eq(written.values()), "{list}: {listed:?}");
    }
}

#[test]
fn each_entry_that_was_written_is_named_read_changed_and_ended_whatever_its_size() {
    let threads = tokio::runtime::Runtime::new().unwrap();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    // One case takes about two seconds; `make soak` runs more.
    let cases = std::env::var("PROPTEST_CASES").map_or(3, |_| config.cases / 100);
    let mut runner = TestRunner::new(ProptestConfig { cases, max_shrink_iters: 20, ..config });
    let sizes = prop::collection::vec(drawn(), 1..16);
    let ended = runner.run(&sizes, |drawn| {
        threads.block_on(async {
            let reader = Reader::in_one_session().await;
            pages(&reader, &drawn).await;
            blocks(&reader, &drawn).await;
            habits(&reader, &drawn).await;
            reader.shutdown().await;
        });
        Ok(())
    });
    ended.unwrap();
}
