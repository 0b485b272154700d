//! Servers over HTTP: the same promises, and a credential that goes to its server alone.

use std::sync::{Arc, Mutex};

use madang::ledger::Effect;
use madang_mcp::{McpConfig, McpServers};
use madang_testing::ScriptedModel;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    time::Instant,
};

use crate::{
    fake::{Mind, Reply, Script, calls, tool},
    support::{ConfigFolder, LEGACY, NEWEST, Scene, told, until},
};

/// The mode of a server that ends each stream at once and wants it to be asked for again without any pause.
const HASTY: &str = "hasty";

/// A server over HTTP in this process, with the mind of the scripted one.
struct HttpServer {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl HttpServer {
    async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let mind = Arc::new(Mutex::new(Mind::new(script.0.clone())));
        // The mode is empty, that of a hasty server, or the address to which everything is sent on.
        let (kept, mode) = (Arc::clone(&heads), script.0["mode"].as_str().unwrap().to_owned());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&mind), Arc::clone(&kept), mode.clone()));
            }
        });
        Self { url, heads }
    }
}

/// Answers one connection until it ends or the mind lets it die.
async fn answer(
    stream: TcpStream,
    mind: Arc<Mutex<Mind>>,
    heads: Arc<Mutex<Vec<String>>>,
    mode: String,
) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let is_post = head.starts_with("POST");
        heads.lock().unwrap().push(head);
        let is_hasty = mode == HASTY;
        if !mode.is_empty() && !is_hasty {
            let moved =
                format!("HTTP/1.1 307 Moved\r\nlocation: {mode}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(moved.as_bytes()).await.unwrap();
            continue;
        }
        let is_call = || String::from_utf8_lossy(&body).contains("tools/call");
        if is_hasty && (!is_post || is_call()) {
            let event = "id: 1\nretry: 0\ndata: \n\n";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
            let answer = format!("{head} {}\r\n\r\n{event}", event.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
            continue;
        }
        if !is_post {
            stream.write_all(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            continue;
        }
        let message: Value = serde_json::from_slice(&body).unwrap();
        let replies = mind.lock().unwrap().hear(&message);
        let is_reply =
            |reply: &Reply| matches!(reply, Reply::Say(said) if said["id"] == message["id"]);
        let noise = replies.iter().any(|reply| matches!(reply, Reply::Noise(_)));
        if replies.iter().any(|reply| matches!(reply, Reply::Die)) {
            return;
        }
        let said = replies.into_iter().find(is_reply);
        match said {
            _ if noise => {
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    100 << 20
                );
                stream.write_all(head.as_bytes()).await.unwrap();
                let piece = vec![b' '; 1 << 20];
                for _ in 0..100 {
                    if stream.write_all(&piece).await.is_err() {
                        return;
                    }
                }
            }
            Some(Reply::Say(said)) if !message["id"].is_null() => {
                let body = said.to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all((head + &body).as_bytes()).await.unwrap();
            }
            _ if message["id"].is_null() => {
                stream
                    .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
                    .await
                    .unwrap();
            }
            // It hangs.
            _ => {}
        }
    }
}

fn configured(folder: &ConfigFolder, url: &str, more: &Value) -> McpConfig {
    let mut entry = json!({ "url": url, "headers": { "Authorization": "Bearer ${SECRET}" } });
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let text = json!({ "mcpServers": { "s": entry } }).to_string();
    McpConfig::parse(&text, folder.file(), &|name| (name == "SECRET").then(|| "s3cret".to_owned()))
        .unwrap()
}

async fn scene(version: &str, names: &[&str], more: Value) -> (Scene, HttpServer) {
    let folder = ConfigFolder::new();
    let tools: Value = names.iter().map(|name| tool(name)).collect();
    let server = HttpServer::start(Script::new(folder.notes(), version, &tools)).await;
    let config = configured(&folder, &server.url, &more);
    (Scene::of(folder, config, ScriptedModel::new([])).await, server)
}

#[tokio::test]
async fn a_call_goes_there_with_its_id_and_the_header_of_the_configuration() {
    for version in [LEGACY, NEWEST] {
        let (scene, server) = scene(version, &["echo"], json!({})).await;
        let report = scene.call("s__echo").await;
        assert_eq!(told(&report)["call"], json!(report.record.id.to_string()), "{version}");
        let heads = server.heads.lock().unwrap().clone();
        assert!(
            heads.iter().all(|head| head.contains("authorization: Bearer s3cret")),
            "{heads:?}"
        );
        scene.end().await;
    }
}

#[tokio::test]
async fn a_lost_connection_leaves_the_effect_unknown_and_is_not_tried_again() {
    for version in [LEGACY, NEWEST] {
        let (scene, _server) = scene(version, &["die", "echo"], json!({})).await;
        let report = scene.call("s__die").await;
        assert_eq!(report.record.effect, Effect::Unknown, "{version}");
        assert_eq!(calls(scene.folder.notes(), "die").len(), 1);
        until("the server is there", async || {
            scene.call("s__echo").await.record.effect == Effect::Committed
        })
        .await;
        scene.end().await;
    }
}

#[tokio::test]
async fn an_answer_of_100_mb_is_not_kept_and_a_silent_one_has_a_deadline() {
    let (scene, _server) = scene(LEGACY, &["flood", "hang"], json!({ "timeout": 5 })).await;
    assert_eq!(scene.call("s__flood").await.record.effect, Effect::Unknown);
    let report = scene.call("s__hang").await;
    assert_eq!(
        (report.record.effect, told(&report)[0].clone()),
        (Effect::Unknown, json!("timeout"))
    );
    scene.end().await;
}

#[tokio::test]
async fn a_server_that_ends_its_streams_is_asked_for_the_rest_at_our_own_pace() {
    let folder = ConfigFolder::new();
    let script = Script::new(folder.notes(), LEGACY, &json!([tool("echo")])).mode(HASTY);
    let server = HttpServer::start(script).await;
    let config = configured(&folder, &server.url, &json!({ "timeout": 1 }));
    let begun = Instant::now();
    let scene = Scene::of(folder, config, ScriptedModel::new([])).await;
    let report = scene.call("s__echo").await;
    assert_eq!((report.record.effect, &told(&report)[0]), (Effect::Unknown, &json!("timeout")));
    scene.end().await;
    let most = 2 + begun.elapsed().as_millis() / 100;
    let heads = server.heads.lock().unwrap().clone();
    let count = |start: &str| heads.iter().filter(|head| head.starts_with(start)).count();
    let resumed = heads.iter().filter(|head| head.contains("last-event-id: 1")).count();
    assert!(resumed > 1, "the rest is asked for: {heads:?}");
    assert!(count("GET") as u128 <= most, "{} streams, at most {most}", count("GET"));
}

#[tokio::test]
async fn no_redirect_is_followed_and_no_secret_is_shown() {
    let folder = ConfigFolder::new();
    let script = || Script::new(folder.notes(), LEGACY, &json!([]));
    let elsewhere = HttpServer::start(script()).await;
    let server = HttpServer::start(script().mode(&elsewhere.url)).await;
    let config = configured(&folder, &server.url, &json!({}));
    let error = McpServers::start(&config).await.unwrap_err();
    assert!(!format!("{error:?} {config:?}").contains("s3cret"));
    assert!(error.to_string().contains("could not be started"), "{error}");
    assert!(!server.heads.lock().unwrap().is_empty());
    assert_eq!(elsewhere.heads.lock().unwrap().len(), 0, "nothing is sent there");
}
