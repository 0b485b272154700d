//! However a process writes its answer, the call ends at once, and as the server said if that can
//! be read.

use futures_util::future::join_all;
use madang::ledger::Effect;
use madang_test_support::mcp_server::{Script, calls, says, tool};
use madang_testing::ScriptedModel;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    AT_ONCE,
    Comes::{self, Done, Refused},
    FAILED, LOST, Row, TIMEOUT, UNCLEAR, each_ends_at_once,
};
use crate::support::{ConfigFolder, LEGACY, NEWEST, Scene, told, until, with};

/// An answer in which all is right, and its result.
const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"hello"}]}}"#;
const RESULT: &str = r#"{"content":[{"type":"text","text":"hello"}]}"#;

fn hello() -> Comes {
    Done(json!("hello"))
}

/// What the model reads of a result that is not kept.
fn too_many() -> Comes {
    let hint = "it ended well, but its result is too large or too deep to be shown";
    Done(json!({ "_truncated": true, "_hint": hint }))
}

/// A line that answers with this result.
fn result(result: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}\n").into()
}

/// A line that answers with a text, written like this.
fn text(text: &str) -> Vec<u8> {
    result(&format!("{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}"))
}

/// A line that answers with a structure, written like this.
fn structure(structure: &str) -> Vec<u8> {
    result(&format!("{{\"content\":[],\"structuredContent\":{structure}}}"))
}

/// A line with these members beside the id.
fn members(members: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,{members}}}\n").into()
}

/// An answer behind something else, or with something behind it.
fn around(before: &str, after: &str) -> Vec<u8> {
    format!("{before}{HELLO}{after}\n").into()
}

/// Answers that can be read.
fn readable() -> Vec<Row> {
    let pretty = "{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": $ID,\n  \"result\": {\n    \"content\": [\n      {\n        \"type\": \"text\",\n        \"text\": \"hello\"\n      }\n    ]\n  }\n}\n";
    let progress = |token: &str, progress: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{token},\"progress\":{progress}}}}}\n"
        )
    };
    let tells = |rest: &str| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{rest}}}\n");
    vec![
        ("plain", around("", ""), hello()),
        ("blank_lines", around("\n\r\n\n", "\n\n"), hello()),
        ("crlf", around("", "\r"), hello()),
        ("bom", around("\u{feff}", ""), hello()),
        ("blanks_around", around("  \t", "  "), hello()),
        ("log_before", around("DEBUG: working on it\n{\"level\":30,\"msg\":\"pino log\"}\n", ""), hello()),
        ("log_with_our_id", around("{\"level\":50,\"id\":$ID,\"error\":{\"code\":1},\"result\":2}\n", ""), hello()),
        ("log_of_its_answer", around(&format!("sending {HELLO}\n"), ""), hello()),
        ("log_that_opens", around("{\n[\n{ \"jsonrpc\": \n", ""), hello()),
        ("echo_of_the_call", around("{\"jsonrpc\":\"2.0\",\"id\":$ID,\"method\":\"tools/call\",\"params\":{}}\n", ""), hello()),
        ("half_an_echo", around("{\"jsonrpc\":\"2.0\",\"id\":$ID,\"method\":\"tools/call\",\"par\n", ""), hello()),
        ("other_ids_first", around("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":98,\"res\n", ""), hello()),
        ("error_without_id_first", around("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}\n", ""), hello()),
        ("twice", around("", "\n{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[]}}"), hello()),
        ("two_in_a_line", around("", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}"), hello()),
        ("rubbish_behind_it", around("", " and more"), hello()),
        ("a_list_of_one", around("[", "]"), hello()),
        ("indented", pretty.into(), hello()),
        ("id_as_text", (HELLO.replace("$ID", "\"$ID\"") + "\n").into_bytes(), hello()),
        ("id_as_fraction", (HELLO.replace("$ID", "$ID.0") + "\n").into_bytes(), hello()),
        ("no_version", format!("{{\"id\":$ID,\"result\":{RESULT}}}\n").into(), hello()),
        ("version_1", (HELLO.replace("\"2.0\"", "1.0") + "\n").into_bytes(), hello()),
        ("members_in_disorder", format!("{{\"result\":{RESULT},\"id\":$ID,\"x\":[],\"jsonrpc\":\"2.0\"}}\n").into(), hello()),
        ("error_null", members(&format!("\"result\":{RESULT},\"error\":null")), hello()),
        ("error_false", members(&format!("\"error\":false,\"result\":{RESULT}")), hello()),
        ("method_echoed", members(&format!("\"method\":\"tools/call\",\"result\":{RESULT}")), hello()),
        ("rubbish_in_another_member", members(&format!("\"result\":{RESULT},\"took\":undefined")), hello()),
        ("lone_surrogate", text(r#""bad \ud83d end""#), Done(json!("bad \u{fffd} end"))),
        ("pair_of_surrogates", text(r#""good \ud83d\ude00 end \ude00""#), Done(json!("good 😀 end \u{fffd}"))),
        ("no_utf_8", [&b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}\n"[..]].concat(), Done(json!("caf\u{fffd}"))),
        ("hidden_letters", text(r#""a\u200bb\u202e\u001b[2J\udb40\udc41\ufeff""#), Done(json!("a\u{200b}b\u{202e}\u{1b}[2J\u{e0041}\u{feff}"))),
        ("nul_in_a_text", text(r#""a\u0000b""#), Done(json!("a\0b"))),
        ("tab_in_a_text", text("\"a\tb\""), Done(json!("a\tb"))),
        ("nan", structure(r#"{"v":NaN,"w":[Infinity,-Infinity]}"#), Done(json!({ "v": null, "w": [null, null] }))),
        ("too_large_a_number", structure(r#"{"v":1e400,"w":-1.5e3}"#), Done(json!({ "v": "1e400", "w": -1500.0 }))),
        ("whole_numbers", structure(r#"{"a":9007199254740993,"b":18446744073709551615,"c":-9223372036854775808}"#), Done(json!({ "a": 9_007_199_254_740_993_u64, "b": u64::MAX, "c": i64::MIN }))),
        ("whole_number_of_100_bits", structure(r#"{"v":123456789012345678901234567890}"#), Done(json!({ "v": "123456789012345678901234567890" }))),
        ("digits_in_a_list", structure(r#"{"a":[0.1234567890123456789,{"b":-18446744073709551616}],"c":0.30000000000000004}"#), Done(json!({ "a": ["0.1234567890123456789", { "b": "-18446744073709551616" }], "c": 0.300_000_000_000_000_04 }))),
        ("digits_beside_their_text", result(r#"{"content":[{"type":"text","text":"{\"v\": 123456789012345678901234567890}"}],"structuredContent":{"v":123456789012345678901234567890}}"#), Done(json!({ "v": "123456789012345678901234567890" }))),
        ("digits_in_a_text", text("\"123456789012345678901234567890\""), Done(json!("123456789012345678901234567890"))),
        ("same_key_twice", structure(r#"{"a":1,"a":2}"#), Done(json!({ "a": 2 }))),
        ("structured", structure(r#"{"a":1}"#), Done(json!({ "a": 1 }))),
        ("structured_list", structure("[1,2]"), Done(json!([1, 2]))),
        ("structured_null", result(r#"{"content":[{"type":"text","text":"hello"}],"structuredContent":null}"#), hello()),
        ("is_error_null", result(r#"{"content":[{"type":"text","text":"hello"}],"isError":null}"#), hello()),
        ("many_values", structure(&format!("[{}0]", "0,".repeat(200_000))), too_many()),
        ("many_blocks", result(&format!("{{\"content\":[{}],\"isError\":null}}", vec!["{}"; 200_000].join(","))), too_many()),
        ("content_as_text", result(r#"{"content":"hello"}"#), hello()),
        ("content_as_block", result(r#"{"content":{"type":"text","text":"hello"}}"#), hello()),
        ("text_beside_structure", result(r#"{"content":[{"type":"text","text":"three pages"}],"structuredContent":{"count":3}}"#), Done(json!({ "result": { "count": 3 }, "text": "three pages" }))),
        ("text_of_structure", result(r#"{"content":[{"type":"text","text":"{\"count\": 3}"}],"structuredContent":{"count":3}}"#), Done(json!({ "count": 3 }))),
        ("text_of_resource", result(r#"{"content":[{"type":"resource","resource":{"uri":"repo://a","text":"hello"}}]}"#), Done(json!({ "uri": "repo://a", "text": "hello" }))),
        ("no_error_as_text", result(r#"{"content":[{"type":"text","text":"hello"}],"isError":"false"}"#), hello()),
        ("unknown_block", result(r#"{"content":[{"type":"hologram"}]}"#), Done(json!({ "result": [], "left_out": ["hologram"] }))),
        ("odd_progress", around(&[progress("\"nobody\"", "1"), progress("$TOKEN", "\"half\""), progress("$TOKEN", "-1e300")].concat(), ""), hello()),
        ("odd_news", around(&[tells("message\",\"params\":{\"level\":\"loud\",\"data\":1}"), tells("unknown/thing\""), tells("cancelled\",\"params\":{}"), tells("cancelled\",\"params\":{\"requestId\":$ID}")].concat(), ""), hello()),
        ("asks_to_sample", around("{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":1}}\n{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n", ""), hello()),
        ("loud", Vec::new(), hello()),
    ]
}

/// Answers by which the server says that it did nothing.
fn refusing() -> Vec<Row> {
    let error = |error: &str| members(&format!("\"error\":{error}"));
    vec![
        ("arguments_refused", error(r#"{"code":-32602,"message":"Invalid arguments"}"#), Refused("Invalid arguments")),
        ("refused_beside_a_result", members(&format!("\"error\":{{\"code\":-32602,\"message\":\"no\"}},\"result\":{RESULT}")), Refused("no")),
        ("refused_beside_null", members(r#""error":{"code":-32602,"message":"no"},"result":null"#), Refused("no")),
        ("code_as_text", error(r#"{"code":"-32602","message":"no"}"#), Refused("no")),
        ("code_as_fraction", error(r#"{"code":-32602.0,"message":"no"}"#), Refused("no")),
        ("words_as_object", error(r#"{"code":-32601,"message":{"a":1}}"#), Refused(r#"{"a":1}"#)),
        ("no_words", error(r#"{"code":-32601}"#), Refused("")),
        ("words_no_utf_8", [&b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-32602,\"message\":\"caf\xe9\"}}\n"[..]].concat(), Refused("caf\u{fffd}")),
        ("is_error_of_many_blocks", result(&format!("{{\"isError\":true,\"content\":[{}]}}", vec!["{}"; 200_000].join(","))), Refused("its words are too many to be shown")),
        ("is_error_as_text", result(r#"{"content":[{"type":"text","text":"boom"}],"isError":"true"}"#), Refused("boom")),
        ("is_error_alone", result(r#"{"isError":true}"#), Refused("")),
        ("is_error", result(r#"{"content":[{"type":"text","text":"disk full"}],"isError":true}"#), Refused("disk full")),
    ]
}

/// Answers that say neither.
fn unclear() -> Vec<Row> {
    let error = |error: &str| members(&format!("\"error\":{error}"));
    let deep = |depth: usize| structure(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    vec![
        ("failed", error(r#"{"code":-32603,"message":"oops"}"#), FAILED),
        ("code_of_its_own", error(r#"{"code":1000000,"message":"oops"}"#), FAILED),
        ("code_far_off", error(r#"{"code":1e300,"message":"oops"}"#), FAILED),
        ("no_code", error(r#"{"message":"oops"}"#), FAILED),
        ("error_as_text", error(r#""oops""#), FAILED),
        ("error_as_number", error("7"), UNCLEAR),
        ("error_as_list", error("[]"), UNCLEAR),
        ("neither", members(r#""x":1"#), UNCLEAR),
        ("misspelt", members(&format!("\"results\":{RESULT}")), UNCLEAR),
        ("result_null", result("null"), UNCLEAR),
        ("both_null", members(r#""result":null,"error":null"#), UNCLEAR),
        ("result_of_another_method", result(r#"{"tools":[]}"#), UNCLEAR),
        ("content_null", result(r#"{"content":null}"#), UNCLEAR),
        ("flag_null_alone", result(r#"{"isError":null}"#), UNCLEAR),
        ("empty_result", result("{}"), UNCLEAR),
        ("old_result", result(r#"{"toolResult":{"a":1}}"#), UNCLEAR),
        ("a_task", result(r#"{"resultType":"task","taskId":"1"}"#), UNCLEAR),
        (
            "cut_off",
            "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"te\n".into(),
            UNCLEAR,
        ),
        ("line_break_in_a_text", text("\"line one\nline two\""), UNCLEAR),
        ("trailing_comma", result(r#"{"content":[],}"#), UNCLEAR),
        ("undefined", structure("{\"a\":undefined}"), UNCLEAR),
        ("nested_too_deep", deep(300), too_many()),
        ("nested_far_too_deep", deep(1 << 20), too_many()),
    ]
}

async fn scene(version: &str, rows: &[Row], more: Value) -> Scene {
    let folder = ConfigFolder::new();
    let names = rows.iter().map(|(name, ..)| *name).chain(["echo"]);
    let tools: Value = names.map(tool).collect();
    for (name, bytes, _) in rows.iter().filter(|(name, ..)| *name != "loud") {
        says(folder.notes(), name, bytes);
    }
    let entry = Script::new(folder.notes(), version, &tools).entry();
    let config = folder.configured(&json!({ "s": with(entry, more) }));
    Scene::of(folder, config, ScriptedModel::new([])).await
}

#[tokio::test]
async fn each_answer_ends_its_call_at_once_as_its_server_said() {
    let rows =
        || -> Vec<Row> { [readable(), refusing(), unclear()].into_iter().flatten().collect() };
    let play = async |version| {
        let rows = rows();
        let scene = scene(version, &rows, json!({ "timeout": TIMEOUT })).await;
        each_ends_at_once(&scene, &rows, version).await;
        let starts = std::fs::read_to_string(scene.folder.notes().join("starts")).unwrap();
        assert_eq!(starts.lines().count(), 1, "the server runs on");
        scene.end().await;
    };
    tokio::join!(play(LEGACY), play(NEWEST));
}

#[tokio::test]
async fn an_answer_that_ends_the_connection_ends_its_call_and_the_server_comes_back() {
    let huge = text(&format!("\"{}\"", "x".repeat(9 << 20)));
    let rows: [Row; 4] = [
        ("exits", b"$DIE".into(), LOST),
        ("exits_in_mid_answer", b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":$DIE".into(), UNCLEAR),
        ("exits_without_line_break", format!("{HELLO}$DIE").into(), hello()),
        ("huge", huge, LOST),
    ];
    let scene = scene(LEGACY, &rows, json!({ "timeout": TIMEOUT })).await;
    for (name, _, comes) in &rows {
        until("the server is back", async || {
            scene.call("s__echo").await.record.effect == Effect::Committed
        })
        .await;
        let begun = Instant::now();
        let report = scene.call(&format!("s__{name}")).await;
        assert_eq!(comes.missed(&report), None, "{name}");
        assert!(begun.elapsed() < AT_ONCE, "{name}");
        assert_eq!(calls(scene.folder.notes(), name).len(), 1, "{name} is sent once");
    }
    scene.end().await;
}

#[tokio::test]
async fn a_call_that_nothing_answers_ends_at_its_deadline() {
    let rows: [Row; 5] = [
        ("silent", Vec::new(), LOST),
        ("answers_others", "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n".into(), LOST),
        (
            "error_without_id",
            "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"?\"}}\n".into(),
            LOST,
        ),
        ("id_null", "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"content\":[]}}\n".into(), LOST),
        ("noise", "{\"level\":30,\"id\":$ID}\n<html>\n".into(), LOST),
    ];
    let scene = scene(LEGACY, &rows, json!({ "timeout": 0.3 })).await;
    let names = rows.iter().map(|(name, ..)| format!("s__{name}"));
    let reports = names.map(|name| {
        let scene = &scene;
        async move { scene.call(&name).await }
    });
    for report in join_all(reports).await {
        assert_eq!((report.record.effect, &told(&report)[0]), (Effect::Unknown, &json!("timeout")));
    }
    scene.end().await;
}
