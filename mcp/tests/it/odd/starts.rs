//! However a server greets us and lists its tools, the start ends in time: with the tools that can
//! be read, or with one sentence.

use madang_mcp::McpServers;
use madang_test_support::mcp_server::{Script, says, tool};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::{AT_ONCE, schemas::SCHEMAS};
use crate::support::{ConfigFolder, LEGACY, NEWEST, PATIENCE, with};

/// A server that starts in some odd way.
struct Odd {
    name: &'static str,
    tools: Value,
    says: Vec<(&'static str, Vec<u8>)>,
    starts: Starts,
}

/// What must come of it.
enum Starts {
    /// These tools are there, and warnings name these others.
    With(Vec<&'static str>, Vec<&'static str>),
    /// It does not start, for this reason.
    Not(&'static str),
}

fn odd(name: &'static str, starts: Starts) -> Odd {
    Odd { name, tools: json!([tool("echo")]), says: Vec::new(), starts }
}

impl Odd {
    /// It answers this, or writes it at its start.
    fn says(mut self, what: &'static str, bytes: impl AsRef<[u8]>) -> Self {
        self.says.push((what, bytes.as_ref().to_vec()));
        self
    }

    /// It answers this with that result.
    fn result(self, what: &'static str, result: &Value) -> Self {
        self.says(what, format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n"))
    }

    fn lists(mut self, tools: Value) -> Self {
        self.tools = tools;
        self
    }
}

fn echo() -> Starts {
    Starts::With(vec!["s__echo"], Vec::new())
}

/// A greeting with these members in place of its own.
fn greeting(more: Value) -> Value {
    let greeting = json!({
        "protocolVersion": LEGACY, "capabilities": { "tools": {} },
        "serverInfo": { "name": "fake", "version": "1" },
    });
    with(greeting, more)
}

fn greetings() -> Vec<Odd> {
    let unread = || Starts::Not("its answer to the greeting cannot be read");
    let none = || Starts::Not("its answer to the greeting is none");
    let unknown = || Starts::Not("of the protocol, which is not known");
    vec![
        odd("noise_first", echo()).says("start", "🚀 My MCP server v1.0 starting...\n\n[INFO] loaded 3 tools\n"),
        odd("json_first", echo()).says("start", "{\"level\":30,\"time\":1,\"msg\":\"listening\"}\n[1,2]\n\"text\"\nnull\n"),
        odd("open_brace_first", echo()).says("start", "{\n"),
        odd("bom_first", echo()).says("start", "\u{feff}"),
        odd("no_utf_8_first", echo()).says("start", b"\xff\xfe\x00 \xe9\n"),
        odd("answer_first", echo()).says("start", "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n"),
        odd("nonsense_to_the_newest", echo()).says("server/discover", "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"res\n"),
        odd("yes_to_the_newest", echo()).result("server/discover", &json!({})),
        odd("text_to_the_newest", echo()).says("server/discover", "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":\"what?\"}\n"),
        odd("greets_with_error_null", echo()).says("initialize", format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":null,\"result\":{}}}\n", greeting(json!({})))),
        odd("greets_with_half_a_letter", echo()).says("initialize", format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}}\n", greeting(json!({ "instructions": "SURR" }))).replace("SURR", "\\ud83d")),
        odd("greets_indented", echo()).says("initialize", serde_json::to_string_pretty(&json!({ "jsonrpc": "2.0", "id": "$ID", "result": greeting(json!({})) })).unwrap() + "\n"),
        odd("greeting_cut_off", unread()).says("initialize", "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\n"),
        odd("greeting_refused", Starts::Not("it refuses to be greeted (code -32603)")).says("initialize", "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"message\":\"no\"}}\n"),
        odd("greeting_null", unread()).result("initialize", &Value::Null),
        odd("version_of_the_future", unknown()).result("initialize", &greeting(json!({ "protocolVersion": "2099-01-01" }))),
        odd("version_too_old", unknown()).result("initialize", &greeting(json!({ "protocolVersion": "2024-10-07" }))),
        odd("version_null", none()).result("initialize", &greeting(json!({ "protocolVersion": null }))),
        odd("capabilities_null", none()).result("initialize", &greeting(json!({ "capabilities": null }))),
        odd("no_capability_for_tools", echo()).result("initialize", &greeting(json!({ "capabilities": { "prompts": {} } }))),
        odd("no_name", none()).result("initialize", &greeting(json!({ "serverInfo": null }))),
        odd("exits_at_the_greeting", Starts::Not("it")).says("initialize", "$DIE"),
        odd("exits_at_the_newest", Starts::Not("it")).says("server/discover", "$DIE"),
        odd("asks_at_once", echo()).says("notifications/initialized", "{\"jsonrpc\":\"2.0\",\"id\":\"r1\",\"method\":\"roots/list\"}\n{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"ping\"}\n"),
        odd("tells_2000_changes", echo()).says("notifications/initialized", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n".repeat(2000)),
    ]
}

fn lists() -> Vec<Odd> {
    let many = |count: u32| (0..count).map(|number| tool(&format!("t{number}"))).collect::<Value>();
    let list = |next: Value, names: &[&str]| json!({ "tools": names.iter().map(|name| tool(name)).collect::<Value>(), "nextCursor": next });
    let pages = (0..9).fold(
        odd("many_parts", Starts::With(vec!["s__t0", "s__t8"], Vec::new())),
        |odd, part| {
            let what: &'static str = [
                "tools/list",
                "tools/list.1",
                "tools/list.2",
                "tools/list.3",
                "tools/list.4",
                "tools/list.5",
                "tools/list.6",
                "tools/list.7",
                "tools/list.8",
            ][part];
            let next = if part < 8 { json!((part + 1).to_string()) } else { Value::Null };
            odd.result(what, &list(next, &[&format!("t{part}")]))
        },
    );
    let refused = || Starts::Not("it refuses the question for its tools (code -32601)");
    let unread = || Starts::Not("its answer to the question for its tools cannot be read");
    let without = || Starts::Not("it answers the question for its tools without any list");
    vec![
        odd("list_not_found", refused()).says("tools/list", "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n"),
        odd("list_cut_off", unread()).says("tools/list", "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"tools\":[\n"),
        odd("list_null", without()).result("tools/list", &json!({ "tools": null })),
        odd("list_as_object", without()).result("tools/list", &json!({ "tools": { "echo": {} } })),
        odd("list_with_error_null", echo()).says("tools/list", format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":null,\"result\":{}}}\n", list(Value::Null, &["echo"]))),
        odd("list_with_half_a_letter", echo()).says("tools/list", format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}}\n", list(Value::Null, &["echo"])).replace("Does echo", "Does \\ud83d")),
        odd("list_that_exits", Starts::Not("its connection was lost before it told its tools")).says("tools/list", "$DIE"),
        odd("cursor_empty", echo()).result("tools/list", &list(json!(""), &["echo"])),
        odd("cursor_a_number", echo()).result("tools/list", &list(json!(7), &["echo"])),
        odd("cursor_that_returns", Starts::With(vec!["s__echo", "s__t"], vec!["leads back"])).result("tools/list", &list(json!("same"), &["echo"])).result("tools/list.same", &list(json!("same"), &["t"])),
        pages,
        odd("empty_list", Starts::With(Vec::new(), Vec::new())).lists(json!([])),
        odd("too_many", Starts::With(vec!["s__t0", "s__t127"], vec!["more than 128 tools"])).lists(many(200)),
        odd("listed_twice", echo()).lists(json!([tool("echo"), tool("echo")])),
        odd("two_of_one_name", Starts::With(vec!["s__echo"], vec!["\"x\""])).lists(json!([tool("echo"), tool("x"), with(tool("x"), json!({ "description": "Another." }))])),
        odd("names_that_collide", Starts::With(vec!["s__other"], vec!["get-user", "get_user"])).lists(json!([tool("get-user"), tool("get_user"), tool("other")])),
        odd("names_that_differ_in_case", Starts::With(vec!["s__other"], vec!["getUser", "getuser"])).lists(json!([tool("getUser"), tool("getuser"), tool("other")])),
        odd("odd_names", Starts::With(vec!["s__get_user", "s__get_issue", "s__create_item", "s__admin_tools_list", "s__a_b", "s__1st"], vec!["has 129 bytes", "has 0 bytes"]))
            .lists(json!([tool("get.user"), tool("get-issue"), tool("Create_Item"), tool("admin/tools/list"), tool("a b"), tool(&"y".repeat(128)), tool(&"z".repeat(129)), tool("도구"), tool(""), tool("1st")])),
        odd("no_tools_but_other_things", echo()).lists(json!([7, null, "x", {}, { "name": 7 }, tool("echo")])),
    ]
}

/// A server whose tools have a schema each. The tools of those that are taken are there, and a
/// warning names the others.
fn odd_schemas() -> Odd {
    let mut tools = Vec::new();
    let mut there = Vec::new();
    let mut gone = Vec::new();
    let letters: Value = (0..3000).map(|number| format!("v{number:05}")).collect();
    let deep = (0..60)
        .fold(json!({}), |within, _| json!({ "type": "object", "properties": { "n": within } }));
    let made = [
        (
            "long_enum",
            true,
            json!({ "type": "object", "properties": { "a": { "enum": letters } } }),
        ),
        ("deep", false, deep),
    ];
    let written = SCHEMAS
        .map(|(name, is_taken, schema)| (name, is_taken, serde_json::from_str(schema).unwrap()));
    for (name, is_taken, schema) in made.into_iter().chain(written) {
        tools.push(with(tool(name), json!({ "inputSchema": schema })));
        if is_taken { there.push(&*format!("s__{name}").leak()) } else { gone.push(name) }
    }
    odd("odd_schemas", Starts::With(there, gone)).lists(Value::Array(tools))
}

/// Starts a server, and says what is wrong with what came of it.
async fn missed(odd: Odd, version: &str) -> Option<String> {
    let folder = ConfigFolder::new();
    for (what, bytes) in &odd.says {
        says(folder.notes(), what, bytes);
    }
    let entry = Script::new(folder.notes(), version, &odd.tools).entry();
    let config = folder.configured(&json!({ "s": entry }));
    let begun = Instant::now();
    let started = timeout(PATIENCE, McpServers::start(&config)).await.unwrap();
    let took = begun.elapsed();
    let late = (took > AT_ONCE).then(|| format!("it took {took:?}"));
    let wrong = match (started, &odd.starts) {
        (Err(error), Starts::Not(reason)) => {
            let error = error.to_string();
            (!error.contains(reason)).then_some(error)
        }
        (Err(error), Starts::With(..)) => Some(error.to_string()),
        (Ok(servers), starts) => {
            let names: Vec<_> =
                servers.tools().iter().map(|tool| tool.spec().name.to_string()).collect();
            let warnings = servers.warnings().join("\n");
            servers.close().await;
            let is_so = match starts {
                Starts::Not(_) => false,
                Starts::With(there, named) => {
                    there.iter().all(|name| names.iter().any(|there| there == name))
                        && named.iter().all(|name| {
                            warnings.contains(name) && !names.contains(&format!("s__{name}"))
                        })
                }
            };
            (!is_so).then(|| format!("{names:?} {warnings}"))
        }
    };
    wrong.or(late).map(|what| format!("{}: {what}", odd.name))
}

#[tokio::test]
async fn each_odd_start_ends_with_what_can_be_read_or_in_one_sentence() {
    let all: Vec<_> = [greetings(), lists(), vec![odd_schemas()]].into_iter().flatten().collect();
    let legacy = futures_util::future::join_all(all.into_iter().map(|odd| missed(odd, LEGACY)));
    let newest = futures_util::future::join_all(lists().into_iter().map(|odd| missed(odd, NEWEST)));
    let (legacy, newest) = tokio::join!(legacy, newest);
    let wrong: Vec<_> = legacy.into_iter().chain(newest).flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
