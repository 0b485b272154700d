//! What a model gets from tools that depend on where their session stands.
use madang_actors::{
    port::{Access, Need, Prepared, SystemClock},
    protocol::{CallId, EffectPolicy, Locale, SessionId, UserId},
};
use serde_json::json;
use sqlx::Connection;

use super::{super::MIGRATIONS, *};

/// A database with a user who speaks to it in one session.
struct Desk {
    db: SqliteConnection,
    ctx: ToolContext,
}

impl Desk {
    async fn new() -> Self {
        let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        MIGRATIONS.run(&mut db).await.unwrap();
        let ctx = ToolContext {
            session: SessionId::new("s").unwrap(),
            user: UserId::new("kim").unwrap(),
            call: CallId::new(uuid::Uuid::nil()),
            locale: Locale::Ko,
            time_zone: "Asia/Seoul".into(),
            clock: Arc::new(SystemClock),
            cancelled: Default::default(),
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
            Err(fault @ ToolFault::Unexpected { .. }) => panic!("{fault:?}"),
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
    assert_eq!(of(EffectPolicy::Destructive), ["delete_block"]);
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
async fn navigation_leads_along_the_tree_and_back() {
    let mut desk = Desk::new().await;
    let top = desk.done("create_page", json!({ "title": "프로젝트" })).await["id"].clone();
    let inner = json!({ "title": "마당", "parentId": top });
    let inner = desk.done("create_page", inner).await["id"].clone();
    assert_eq!(desk.refused("go_back", json!({})).await, "no_history");
    assert_eq!(desk.refused("switch_to_note_view", json!({})).await, "no_page_open");
    let index = desk.done("switch_to_index", json!({})).await;
    assert_eq!((&index["view"], &index["total"]), (&json!("index"), &json!(2)));
    assert_eq!(index["items"][1], json!({ "id": inner, "title": "마당", "depth": 1 }));
    let page = json!({
        "view": "page", "pageId": inner, "pageTitle": "마당", "path": "프로젝트/마당", "blockCount": 0
    });
    assert_eq!(desk.done("navigate_to_path", json!({ "path": "프로젝트/마당" })).await, page);
    let directory = desk.done("navigate_to_path", json!({ "path": "프로젝트" })).await;
    assert_eq!(directory["view"], "directory");
    assert_eq!(desk.done("switch_to_note_view", json!({})).await, page, "the last page");
    assert_eq!(desk.done("go_back", json!({})).await, directory);
    assert_eq!(desk.done("go_back", json!({})).await, page);
    assert_eq!(desk.done("go_back", json!({})).await["view"], "index");
    assert_eq!(desk.done("go_forward", json!({})).await, page);
    let by_path = json!({ "pagePath": "프로젝트.md" });
    assert_eq!(desk.done("switch_to_note_view", by_path).await["pageId"], top);
    assert_eq!(desk.refused("go_forward", json!({})).await, "no_history");
    for path in ["../x", "/etc/passwd", "C:\\x", "프로젝트/../../x"] {
        let refused = desk.refused("navigate_to_path", json!({ "path": path })).await;
        assert_eq!(refused, "outside_workspace", "{path}");
    }
    let both = json!({ "pageId": top, "pagePath": "프로젝트" });
    assert_eq!(desk.refused("switch_to_note_view", both).await, "validation");
}

#[tokio::test]
async fn a_block_goes_below_another_as_its_first_child_where_it_has_any() {
    let mut desk = Desk::new().await;
    let blocks = json!([{ "content": "a" }, { "content": "b", "indent": 1 }, { "content": "c" }]);
    let made =
        desk.done("create_page_with_blocks", json!({ "title": "p", "blocks": blocks })).await;
    let [a, b, c] = [0, 1, 2].map(|place| made["blocks"][place]["id"].clone());
    for (below, content, parent) in
        [(&a, "first in a", &a), (&b, "behind b", &a), (&c, "behind c", &Value::Null)]
    {
        let wanted = json!({ "blockId": below, "content": content });
        let inserted = desk.done("insert_block_below", wanted).await;
        assert_eq!(
            (&inserted["parentId"], &inserted["pageId"]),
            (parent, &made["id"]),
            "{content}"
        );
    }
    let page = desk.done("get_page_blocks", json!({ "pageId": made["id"] })).await;
    let contents: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|item| &item["content"]).collect();
    assert_eq!(contents, ["a", "first in a", "b", "behind b", "c", "behind c"]);
    let nowhere = json!({ "blockId": uuid::Uuid::nil(), "content": "x" });
    assert_eq!(desk.refused("insert_block_below", nowhere).await, "not_found");
}

#[tokio::test]
async fn what_a_screen_focuses_is_where_the_next_block_goes() {
    let mut desk = Desk::new().await;
    let content = json!({ "content": "new" });
    assert_eq!(desk.refused("insert_block_below_current", content.clone()).await, "no_page_open");
    let blocks = json!([{ "content": "a" }, { "content": "b", "indent": 1 }, { "content": "c" }]);
    let made =
        desk.done("create_page_with_blocks", json!({ "title": "p", "blocks": blocks })).await;
    desk.done("open_page", json!({ "pageId": made["id"] })).await;
    let none = desk.done("get_current_context", json!({})).await;
    assert_eq!(
        none,
        json!({
            "page": { "id": made["id"], "title": "p" },
            "focusedBlock": null, "selectedBlocks": [], "hasSelection": false, "hasFocus": false
        })
    );
    let last = desk.done("insert_block_below_current", json!({ "content": "last" })).await;
    let first: BlockId = serde_json::from_value(made["blocks"][0]["id"].clone()).unwrap();
    let session = desk.ctx.session.clone();
    let mut notes = NotesRepository::new(&mut desk.db, &desk.ctx.user);
    notes.focus(&session, Some(first), &[first]).await.unwrap();
    let context = desk.done("get_current_context", json!({})).await;
    assert_eq!(context["focusedBlock"], json!({ "id": first, "content": "a" }));
    assert_eq!([&context["hasFocus"], &context["hasSelection"]], [&json!(true); 2]);
    desk.done("insert_block_below_current", content).await;
    let page = desk.done("get_page_blocks", json!({ "pageId": made["id"] })).await;
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
    let deleted = desk.done("get_block", json!({ "id": last["id"] })).await;
    assert_eq!(deleted["order"], 2);
}
