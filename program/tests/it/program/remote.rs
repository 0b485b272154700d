//! `--remote`: a model that runs elsewhere, with a key that no log has.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::mpsc,
    thread,
};

use serde_json::{Value, json};

use super::{Home, PATIENCE, RunningProgram};

const KEY: &str = "sk-that-no-log-may-have";

/// Answers requests in order, one a connection. Gives its address, and what was asked: the headers
/// and the body.
fn provider(frames: Vec<Vec<Value>>) -> (String, mpsc::Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (asks, asked) = mpsc::channel();
    thread::spawn(move || {
        for (frames, connection) in frames.into_iter().zip(listener.incoming()) {
            let mut connection = BufReader::new(connection.unwrap());
            let mut head = String::new();
            let mut length = 0;
            while !head.ends_with("\r\n\r\n") {
                let begin = head.len();
                connection.read_line(&mut head).unwrap();
                if let Some(value) = head[begin..].strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            connection.read_exact(&mut body).unwrap();
            asks.send((head, serde_json::from_slice(&body).unwrap())).unwrap();
            let frames: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let answer = format!("{head}{frames}data: [DONE]\n\n");
            connection.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, asked)
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({ "choices": [{ "delta": delta, "finish_reason": finish }] })
}

#[test]
fn a_remote_model_calls_a_tool_and_answers_and_its_key_is_in_no_log() {
    let home = Home::new();
    let function =
        json!({ "name": "search_catalog", "arguments": r#"{"category":"sleep","limit":1}"# });
    let call = json!({ "tool_calls": [{ "index": 0, "id": "a", "function": function }] });
    let (url, asked) = provider(vec![
        vec![chunk(&call, Some("tool_calls"))],
        vec![chunk(&json!({ "content": "Sleep well." }), Some("stop"))],
    ]);
    let mut command =
        home.command(&["chat", "--remote", "openai:any-model", "--remote-url", &url, "--verbose"]);
    command.env("MADANG_REMOTE_KEY", KEY).env("RUST_LOG", "trace");
    let mut chat = RunningProgram::start(command);
    chat.feed(b"what helps me sleep?\n");
    let ended = chat.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("Sleep well."), "{}", ended.out);
    let (head, body) = asked.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with("POST /v1/chat/completions ") && head.contains(KEY), "{head}");
    assert_eq!(body["model"], "any-model");
    let (_, body) = asked.recv_timeout(PATIENCE).unwrap();
    assert_eq!(body["messages"].as_array().unwrap().last().unwrap()["role"], "tool");
    assert!(ended.err.contains("reqwest") || ended.err.contains("hyper"), "the log has the client");
    assert!(!ended.err.contains(KEY) && !ended.out.contains(KEY), "{}", ended.err);
}

#[test]
fn another_model_answers_if_the_first_has_too_much_to_do_and_the_events_say_which() {
    let home = Home::new();
    let script = home.script(&[json!({ "error": "Overloaded" }), json!({ "text": "I am back." })]);
    let (url, asked) = provider(vec![vec![chunk(&json!({ "content": "Hello." }), Some("stop"))]]);
    let other = format!("openai:org/any-model@{url}");
    let ended = home.run(
        &["chat", "--script", script.to_str().unwrap(), "--fall-back", &other, "--json"],
        "hi\nand again\n",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (_, body) = asked.recv_timeout(PATIENCE).unwrap();
    assert_eq!(body["model"], "org/any-model");
    let events = ended.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said: Vec<_> = events
        .filter(|event| event["type"] == "model_message")
        .map(|event| [event["model"].clone(), event["text"].clone()])
        .collect();
    let host = url.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let other = json!(format!("openai:org/any-model@{host}"));
    assert_eq!(said, [[other, json!("Hello.")], [json!("default"), json!("I am back.")]]);
}

#[test]
fn the_key_of_another_address_is_not_sent_to_a_provider_that_has_a_key_of_its_own() {
    let home = Home::new();
    for fallback in ["openai:m", "anthropic:m", "gemini:m"] {
        let arguments = ["chat", "--remote", "openai:m", "--remote-url", "http://127.0.0.1:1/v1"];
        let mut command = home.command(&[&arguments[..], &["--fall-back", fallback]].concat());
        command.env("MADANG_REMOTE_KEY", KEY);
        let ended = RunningProgram::start(command).ended();
        assert_eq!(ended.code, Some(1), "{fallback}: {ended:?}");
        assert!(ended.err.contains("this provider wants a key"), "{fallback}: {}", ended.err);
    }
}

#[test]
fn a_wrong_choice_is_told_in_one_sentence() {
    let home = Home::new();
    for (arguments, code, said) in [
        (&["--remote", "openai:m"][..], 1, "set OPENAI_API_KEY"),
        (&["--remote", "openai"], 2, "give PROVIDER:MODEL"),
        (&["--remote", "none:m"], 2, "there is no provider \"none\""),
        (&["--remote-url", "http://127.0.0.1:1"], 2, "--remote"),
        (&["--remote", "openai:m", "--remote-url", "nonsense"], 1, "is not an address"),
        (&["--remote", "openai:m", "--script", "x"], 2, "cannot be used with"),
        (&["--fall-back", "openai"], 2, "give PROVIDER:MODEL"),
        (&["--fall-back", "openai:a*b"], 2, "the name of a model has"),
        (&["--remote", "ollama:m", "--fall-back", "openai:m"], 1, "set OPENAI_API_KEY"),
        (&["--remote", "ollama:m", "--fall-back", "ollama:m"], 1, "two models are named ollama:m"),
    ] {
        let ended = home.run(&[&["chat"], arguments].concat(), "");
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
        assert!(ended.err.contains(said), "{arguments:?}: {}", ended.err);
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
    }
}
