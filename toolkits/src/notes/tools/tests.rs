//! Tests what a model gets from tools that depend on the session's context.
use madang::{
    CallId, SessionId, SystemClock, UserId,
    tool::{Access, EffectPolicy, Locale, Need, Prepared},
};
use madang_testing::Logs;
use serde_json::json;
use sqlx::Connection;
use tracing::Level;

use super::{
    super::{
        MIGRATIONS,
        block::{BlockId, NewBlock},
    },
    *,
};

/// A database and a user that calls its tools in one session.
struct ToolFixture {
    db: SqliteConnection,
    ctx: ToolContext,
}

impl ToolFixture {
    async fn new() -> Self {
        let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        MIGRATIONS.run(&mut db).await.unwrap();
        let ctx = ToolContext {
            session: SessionId::new("s").unwrap(),
            user: UserId::new("kim").unwrap(),
            call: CallId::new(uuid::Uuid::nil()),
            locale: Locale::KO,
            time_zone: "Asia/Seoul".into(),
            clock: Arc::new(SystemClock),
            cancelled: Default::default(),
            progress: Default::default(),
            extensions: Default::default(),
        };
        Self { db, ctx }
    }

    async fn call(&mut self, name: &str, arguments: Value) -> ToolOutcome {
        let tool = tools().into_iter().find(|tool| &*tool.spec().name == name).unwrap();
        let access = match tool.needs() {
            None => Access::None,
            Some(Need::Reader(_)) => Access::Read(&mut self.db),
            Some(Need::Transaction(_)) => Access::Transaction(&mut self.db),
        };
        match tool.call(arguments, Prepared::default(), &self.ctx, access).await {
            Ok(outcome) => outcome,
            Err(ToolFault::Rule(error)) => ToolOutcome::Err(error),
            Err(fault @ (ToolFault::Unexpected { .. } | _)) => panic!("{fault:?}"),
        }
    }

    async fn done(&mut self, name: &str, arguments: Value) -> Value {
        match self.call(name, arguments).await {
            ToolOutcome::Ok(ok) => ok.data,
            other @ (ToolOutcome::Err(_) | ToolOutcome::Cancelled(_)) => {
                panic!("{name}: {other:?}")
            }
        }
    }

    async fn refused(&mut self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments).await {
            ToolOutcome::Err(error) => error.code.into_owned(),
            other @ (ToolOutcome::Ok(_) | ToolOutcome::Cancelled(_)) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn only_a_deletion_asks_and_what_only_reads_gets_nothing_to_write_with() {
    let of = |effect: EffectPolicy| -> Vec<String> {
        let tools = tools().into_iter().filter(|tool| tool.spec().effect == effect);
        tools.map(|tool| tool.spec().name.to_string()).collect()
    };
    assert_eq!(of(EffectPolicy::Destructive), ["delete_page", "delete_block"]);
    let reading = [
        "query_pages",
        "list_pages",
        "get_block",
        "query_blocks",
        "get_page_blocks",
        "get_current_context",
        "ping",
    ];
    assert_eq!(of(EffectPolicy::Read), reading);
    for tool in tools() {
        let reads = tool.spec().effect == EffectPolicy::Read;
        let can_write = matches!(tool.needs(), Some(Need::Transaction(_)));
        assert_ne!(reads, can_write, "{}", tool.spec().name);
    }
}

#[tokio::test]
async fn a_block_that_could_not_be_made_is_told_and_logged_without_its_text() {
    let logs = Logs::keep(Level::WARN);
    let mut fixture = ToolFixture::new().await;
    let blocks = json!([{ "content": "a" }, { "content": "secret\nline" }]);
    let made =
        fixture.done("create_page_with_blocks", json!({ "title": "p", "blocks": blocks })).await;
    assert_eq!(made["failedBlocks"], json!([{ "index": 1, "code": "newline" }]));
    let said = logs.text();
    let id = made["id"].as_str().unwrap();
    for part in ["WARN", "index=1", "newline", id] {
        assert!(said.contains(part), "{part} is in {said:?}");
    }
    assert!(!said.contains("secret"), "{said:?}");
}

#[tokio::test]
async fn navigation_leads_along_the_tree_and_back() {
    let mut fixture = ToolFixture::new().await;
    let top = fixture.done("create_page", json!({ "title": "프로젝트" })).await["id"].clone();
    let inner = json!({ "title": "마당", "parentId": top });
    let inner = fixture.done("create_page", inner).await["id"].clone();
    assert_eq!(fixture.refused("go_back", json!({})).await, "no_history");
    assert_eq!(fixture.refused("switch_to_note_view", json!({})).await, "no_page_open");
    let index = fixture.done("switch_to_index", json!({})).await;
    assert_eq!((&index["view"], &index["total"]), (&json!("index"), &json!(2)));
    assert_eq!(index["items"][1], json!({ "id": inner, "title": "마당", "depth": 1 }));
    let page = json!({
        "view": "page", "pageId": inner, "pageTitle": "마당", "path": "프로젝트/마당", "blockCount": 0
    });
    assert_eq!(fixture.done("navigate_to_path", json!({ "path": "프로젝트/마당" })).await, page);
    let directory = fixture.done("navigate_to_path", json!({ "path": "프로젝트" })).await;
    assert_eq!(directory["view"], "directory");
    assert_eq!(fixture.done("switch_to_note_view", json!({})).await, page, "the last page");
    assert_eq!(fixture.done("go_back", json!({})).await, directory);
    assert_eq!(fixture.done("go_back", json!({})).await, page);
    assert_eq!(fixture.done("go_back", json!({})).await["view"], "index");
    assert_eq!(fixture.done("go_forward", json!({})).await, page);
    let by_path = json!({ "pagePath": "프로젝트.md" });
    assert_eq!(fixture.done("switch_to_note_view", by_path).await["pageId"], top);
    assert_eq!(fixture.refused("go_forward", json!({})).await, "no_history");
    for path in ["../x", "/etc/passwd", "C:\\x", "프로젝트/../../x"] {
        let refused = fixture.refused("navigate_to_path", json!({ "path": path })).await;
        assert_eq!(refused, "outside_workspace", "{path}");
    }
    let both = json!({ "pageId": top, "pagePath": "프로젝트" });
    assert_eq!(fixture.refused("switch_to_note_view", both).await, "validation");
}

#[tokio::test]
async fn a_block_goes_below_another_as_its_first_child_where_it_has_any() {
    let mut fixture = ToolFixture::new().await;
    let blocks = json!([{ "content": "a" }, { "content": "b", "indent": 1 }, { "content": "c" }]);
    let made =
        fixture.done("create_page_with_blocks", json!({ "title": "p", "blocks": blocks })).await;
    let [a, b, c] = [0, 1, 2].map(|place| made["blocks"][place]["id"].clone());
    for (below, content, parent) in
        [(&a, "first in a", &a), (&b, "behind b", &a), (&c, "behind c", &Value::Null)]
    {
        let wanted = json!({ "blockId": below, "content": content });
        let inserted = fixture.done("insert_block_below", wanted).await;
        assert_eq!(
            (&inserted["parentId"], &inserted["pageId"]),
            (parent, &made["id"]),
            "{content}"
        );
    }
    let page = fixture.done("get_page_blocks", json!({ "pageId": made["id"] })).await;
    let contents: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|item| &item["content"]).collect();
    assert_eq!(contents, ["a", "first in a", "b", "behind b", "c", "behind c"]);
    let nowhere = json!({ "blockId": uuid::Uuid::nil(), "content": "x" });
    assert_eq!(fixture.refused("insert_block_below", nowhere).await, "not_found");
}

#[tokio::test]
async fn what_a_screen_focuses_is_where_the_next_block_goes() {
    let mut fixture = ToolFixture::new().await;
    let content = json!({ "content": "new" });
    assert_eq!(
        fixture.refused("insert_block_below_current", content.clone()).await,
        "no_page_open"
    );
    let blocks = json!([{ "content": "a" }, { "content": "b", "indent": 1 }, { "content": "c" }]);
    let made =
        fixture.done("create_page_with_blocks", json!({ "title": "p", "blocks": blocks })).await;
    fixture.done("open_page", json!({ "pageId": made["id"] })).await;
    let none = fixture.done("get_current_context", json!({})).await;
    assert_eq!(
        none,
        json!({
            "page": { "id": made["id"], "title": "p" },
            "focusedBlock": null, "selectedBlocks": [], "hasSelection": false, "hasFocus": false
        })
    );
    let last = fixture.done("insert_block_below_current", json!({ "content": "last" })).await;
    let first: BlockId = serde_json::from_value(made["blocks"][0]["id"].clone()).unwrap();
    let session = fixture.ctx.session.clone();
    let mut notes = NotesRepository::new(&mut fixture.db, &fixture.ctx.user);
    notes.focus(&session, Some(first), &[first]).await.unwrap();
    let context = fixture.done("get_current_context", json!({})).await;
    assert_eq!(context["focusedBlock"], json!({ "id": first, "content": "a" }));
    assert_eq!([&context["hasFocus"], &context["hasSelection"]], [&json!(true); 2]);
    fixture.done("insert_block_below_current", content).await;
    let page = fixture.done("get_page_blocks", json!({ "pageId": made["id"] })).await;
    let lines: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (&item["content"], &item["depth"]))
        .collect();
    let [a, new, b, c, end] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!([a.0, new.0, b.0, c.0, end.0], ["a", "new", "b", "c", "last"]);
    assert_eq!([new.1, b.1, end.1], [1, 1, 0]);
    assert_eq!(last["parentId"], Value::Null);
    let deleted = fixture.done("get_block", json!({ "id": last["id"] })).await;
    assert_eq!(deleted["order"], 2);
}

#[tokio::test]
async fn a_page_gets_another_title_and_stays_the_page_that_it_is() {
    let mut fixture = ToolFixture::new().await;
    let blocks = json!([{ "content": "a" }, { "content": "b", "indent": 1 }]);
    let made =
        fixture.done("create_page_with_blocks", json!({ "title": "Plan", "blocks": blocks })).await;
    let inner = json!({ "title": "inner", "parentId": made["id"] });
    let inner = fixture.done("create_page", inner).await;
    let renamed = json!({ "id": made["id"], "title": "Caf\u{e9}" });
    assert_eq!(fixture.done("rename_page", renamed.clone()).await, renamed);
    assert_eq!(
        fixture.done("rename_page", renamed.clone()).await,
        renamed,
        "once more is the same"
    );
    let page = fixture.done("get_page_blocks", json!({ "pageId": made["id"] })).await;
    assert_eq!((&page["pageTitle"], &page["total"]), (&json!("Caf\u{e9}"), &json!(2)));
    let found = |query: &str| json!({ "query": query });
    assert_eq!(fixture.done("query_pages", found("Plan")).await["total"], 0);
    assert_eq!(fixture.done("query_pages", found("caf\u{e9}")).await["items"][0]["id"], made["id"]);
    let by_path = json!({ "path": "caf\u{e9}/inner" });
    assert_eq!(fixture.done("navigate_to_path", by_path).await["pageId"], inner["id"]);
    for taken in ["CAFE\u{301}", " caf\u{e9}\u{200b}", "Caf\u{e9}"] {
        let wanted = json!({ "id": inner["id"], "title": taken });
        assert_eq!(fixture.refused("rename_page", wanted).await, "title_taken", "{taken:?}");
    }
    let own = json!({ "id": made["id"], "title": "CAF\u{c9}" });
    assert_eq!(
        fixture.done("rename_page", own).await["title"],
        "CAF\u{c9}",
        "its own in other letters"
    );
    for (title, code) in [("a\nb", "validation"), ("\u{9b}31m", "validation"), (" ", "validation")]
    {
        let wanted = json!({ "id": made["id"], "title": title });
        assert_eq!(fixture.refused("rename_page", wanted).await, code, "{title:?}");
    }
    let nowhere = json!({ "id": uuid::Uuid::nil(), "title": "x" });
    assert_eq!(fixture.refused("rename_page", nowhere.clone()).await, "not_found");
    assert_eq!(fixture.refused("delete_page", nowhere).await, "not_found");
}

#[tokio::test]
async fn the_page_of_another_user_is_neither_renamed_nor_deleted_nor_in_the_way() {
    let mut fixture = ToolFixture::new().await;
    let made = fixture.done("create_page", json!({ "title": "p" })).await;
    fixture.ctx.user = UserId::new("lee").unwrap();
    let own = fixture.done("create_page", json!({ "title": "q" })).await;
    let theirs = json!({ "id": made["id"], "title": "x" });
    assert_eq!(fixture.refused("rename_page", theirs).await, "not_found");
    assert_eq!(fixture.refused("delete_page", json!({ "id": made["id"] })).await, "not_found");
    let same = json!({ "id": own["id"], "title": "p" });
    assert_eq!(fixture.done("rename_page", same).await["title"], "p");
}

#[tokio::test]
async fn a_page_that_contains_pages_stays_until_those_are_gone() {
    let mut fixture = ToolFixture::new().await;
    let top = fixture.done("create_page", json!({ "title": "top" })).await["id"].clone();
    let inner = json!({ "title": "inner", "parentId": top });
    let inner = fixture.done("create_page", inner).await["id"].clone();
    assert_eq!(fixture.refused("delete_page", json!({ "id": top })).await, "has_pages");
    for id in [&inner, &top] {
        assert_eq!(fixture.done("delete_page", json!({ "id": id })).await["deleted"], true);
    }
    assert_eq!(fixture.done("list_pages", json!({})).await["total"], 0);
}

#[tokio::test]
async fn a_chat_whose_open_page_is_gone_is_told_what_to_do() {
    let mut fixture = ToolFixture::new().await;
    let first = fixture.done("create_page", json!({ "title": "first" })).await["id"].clone();
    let blocks = json!([{ "content": "a" }, { "content": "b", "indent": 1 }]);
    let made =
        fixture.done("create_page_with_blocks", json!({ "title": "p", "blocks": blocks })).await;
    fixture.done("open_page", json!({ "pageId": first })).await;
    fixture.done("open_page", json!({ "pageId": made["id"] })).await;
    let deleted = fixture.done("delete_page", json!({ "id": made["id"] })).await;
    assert_eq!((&deleted["title"], &deleted["blocksDeleted"]), (&json!("p"), &json!(2)));
    for (name, arguments) in [
        ("insert_block_below_current", json!({ "content": "x" })),
        ("switch_to_note_view", json!({})),
    ] {
        let ToolOutcome::Err(error) = fixture.call(name, arguments).await else { panic!("{name}") };
        assert_eq!(error.code, "page_gone", "{name}");
        assert!(error.reason.contains("open_page"), "{name}: {}", error.reason);
    }
    assert_eq!(fixture.done("get_current_context", json!({})).await["page"], Value::Null);
    for id in made["blocks"].as_array().unwrap() {
        assert_eq!(fixture.refused("get_block", json!({ "id": id["id"] })).await, "not_found");
    }
    assert_eq!(fixture.done("query_blocks", json!({ "query": "a" })).await["total"], 0);
    assert_eq!(fixture.done("query_pages", json!({ "query": "p" })).await["total"], 0);
    assert_eq!(fixture.done("go_back", json!({})).await["pageId"], first, "past what is gone");
}

#[tokio::test]
async fn a_full_page_goes_as_a_whole() {
    let mut fixture = ToolFixture::new().await;
    let blocks = (0..super::super::page::MAX_PAGE_BLOCKS)
        .map(|number| NewBlock { content: format!("line {number}"), indent: number as u32 % 100 });
    let mut notes = NotesRepository::new(&mut fixture.db, &fixture.ctx.user);
    let made = notes.create_page_with_blocks("p", None, blocks.collect()).await.unwrap();
    let id = made.page.id.to_string();
    let deleted = fixture.done("delete_page", json!({ "id": id })).await;
    assert_eq!(deleted["blocksDeleted"], 20_000);
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM notes_blocks")
        .fetch_one(&mut fixture.db)
        .await
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn what_is_looked_for_or_repeated_has_no_control_character() {
    let mut fixture = ToolFixture::new().await;
    fixture.done("create_page", json!({ "title": "a" })).await;
    for (name, argument) in [
        ("query_pages", "query"),
        ("query_blocks", "query"),
        ("navigate_to_path", "path"),
        ("ping", "message"),
    ] {
        for text in ["a\u{7}", "\u{1b}[2J", "\u{9b}"] {
            let arguments = json!({ argument: text });
            assert_eq!(fixture.refused(name, arguments).await, "validation", "{name}: {text:?}");
        }
    }
}
