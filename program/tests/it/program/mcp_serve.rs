//! Tests `madang mcp serve` as an MCP client starts it: lines of JSON over the pipes.

use serde_json::{Value, json};

use super::{Ended, Home, RunningProgram, add_habit, signal};

fn request(id: u32, method: &str, params: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Starts the program and shakes hands.
fn started(home: &Home, capabilities: &Value) -> RunningProgram {
    let words = ["mcp", "serve", "--user", "kim", "--db", "madang.db"];
    let mut program = RunningProgram::start(home.command(&words));
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": { "name": "test", "version": "1" }
    });
    program.write(request(0, "initialize", &hello).as_bytes());
    let greeting = program.until("serverInfo");
    assert_eq!(message(&greeting)["result"]["protocolVersion"], "2025-11-25");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    program.write(format!("{initialized}\n").as_bytes());
    program
}

fn message(lines: &str) -> Value {
    serde_json::from_str(lines.lines().last().unwrap()).unwrap()
}

fn ledger(home: &Home) -> Vec<Value> {
    let ended = home.run(&["ledger", "--db", "madang.db"], "");
    ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ended_well(ended: &Ended) {
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
}

fn adding(id: u32) -> String {
    let arguments = add_habit()["tool_calls"][0]["arguments"].clone();
    request(id, "tools/call", &json!({ "name": "add_habit", "arguments": arguments }))
}

#[test]
fn a_client_lists_and_calls_the_tools_and_its_person_is_asked() {
    let home = Home::new();
    let mut program = started(&home, &json!({ "elicitation": {} }));
    program.write(request(1, "tools/list", &json!({})).as_bytes());
    let list = message(&program.until("\"tools\""))["result"]["tools"].clone();
    let names: Vec<_> = list.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(names.is_sorted_by_key(|name| name.as_str()) && names.len() > 5, "{names:?}");
    program.write(adding(2).as_bytes());
    let question = message(&program.until("elicitation/create"));
    // The environment is English, and the words of the call are Korean.
    let asked = question["params"]["message"].as_str().unwrap();
    assert!(asked.contains("새 습관을 추가합니다"), "{asked}");
    let answer = json!({ "action": "accept", "content": { "ok": true } });
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
    program.write(format!("{answer}\n").as_bytes());
    let result = message(&program.until("structuredContent"))["result"].clone();
    assert_eq!(result["isError"], false, "{result}");
    ended_well(&program.ended());
    let rows = ledger(&home);
    assert_eq!(
        (rows.len(), &rows[0]["effect"], &rows[0]["user"]),
        (1, &json!("committed"), &json!("kim"))
    );
}

#[test]
fn without_a_yes_nothing_is_done_whether_the_client_cannot_ask_leaves_or_is_ended() {
    let home = Home::new();
    let mut program = started(&home, &json!({}));
    program.write(adding(1).as_bytes());
    let result = message(&program.until("isError"))["result"].clone();
    assert_eq!(result["isError"], true, "{result}");
    ended_well(&program.ended());
    for is_signalled in [false, true] {
        let mut program = started(&home, &json!({ "elicitation": {} }));
        program.write(adding(1).as_bytes());
        program.until("elicitation/create");
        if is_signalled {
            // Its input stays open, and must not hold up the end.
            signal("TERM", program.child.id());
            let stdin = program.child.stdin.take();
            ended_well(&program.ended());
            drop(stdin);
        } else {
            ended_well(&program.ended());
        }
    }
    let ends: Vec<_> = ledger(&home)
        .iter()
        .map(|row| (row["effect"].clone(), row["outcome"]["reason"].clone()))
        .collect();
    let none = json!("none");
    let dismissed = json!("dismissed");
    assert_eq!(
        ends,
        [
            (none.clone(), json!("unreachable")),
            (none.clone(), dismissed.clone()),
            (none, dismissed)
        ]
    );
}

#[test]
fn a_client_that_speaks_something_else_is_one_sentence() {
    let home = Home::new();
    let ended = home.run(&["mcp", "serve", "--db", "madang.db"], "");
    ended_well(&ended);
    let input = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    let ended = home.run(&["mcp", "serve", "--db", "madang.db"], input);
    ended.failed_with(&["the MCP client did not begin as the protocol says"]);
}
