//! Tests which files are read, and how each mistake is named.

use std::time::Duration;

use super::*;
use crate::client::entry::Reach;

fn parsed(text: &str) -> Result<McpConfig, String> {
    let variable = |name: &str| (name == "GH_TOKEN").then(|| "s3cret".to_owned());
    McpConfig::parse(text, "mcp.json", &variable).map_err(|error| error.to_string())
}

#[test]
fn the_usual_file_is_read_and_odd_keys_are_named() {
    let text = r#"{
        "inputs": [],
        "mcpServers": {
            "files": {"type": "stdio", "command": "npx", "args": ["-y", "${GH_TOKEN}"], "env": {"A": "b"}, "cwd": "/tmp", "autoApprove": []},
            "gh": {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${GH_TOKEN}"}, "trust": "annotations",
                   "optional": true, "timeout": 1.5, "exclude": ["x"]},
            "off": {"command": "no", "disabled": true}
        }
    }"#;
    let config = parsed(text).unwrap();
    let servers: Vec<_> = config.entries().iter().map(|entry| &*entry.name).collect();
    assert_eq!(servers, ["files", "gh"]);
    assert_eq!(
        config.warnings(),
        [
            "the key inputs is not known, and was not read",
            "the key mcpServers.files.autoApprove is not known, and was not read"
        ]
    );
    let [files, gh] = config.entries() else { panic!("two servers") };
    assert!(!files.is_trusted && !files.is_optional);
    let Reach::Command { arguments, .. } = &files.reach else { panic!("a command") };
    assert_eq!(arguments, &["-y", "s3cret"]);
    assert!(gh.is_trusted && gh.is_optional);
    assert_eq!(gh.timeout, Duration::from_millis(1_500));
    let Reach::Http { headers, .. } = &gh.reach else { panic!("an address") };
    assert_eq!(headers["authorization"], "Bearer s3cret");
    let shown = format!("{config:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn what_is_left_out_is_not_judged() {
    let config = parsed(
        r#"{"mcpServers": {
            "off": {"command": 1, "env": {"K": "${GONE}"}, "type": "sse", "disabled": true},
            "": {"enabled": false},
            "odd": {"url": "http://example.org", "optional": true},
            "needs": {"command": "a", "env": {"K": "${GONE}"}, "optional": true},
            "s": {"command": "a", "enabled": true, "disabled": false}
        }}"#,
    );
    let config = config.unwrap();
    let servers: Vec<_> = config.entries().iter().map(|entry| &*entry.name).collect();
    assert_eq!(servers, ["s"]);
    assert_eq!(
        config.warnings(),
        [
            "mcpServers.odd.url has no TLS: only addresses of this machine go without, others need https; the server is optional, and is left out",
            "mcpServers.needs.env.K needs the variable GONE, which the environment does not have; the server is optional, and is left out",
        ]
    );
}

#[test]
fn files_of_other_clients_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("keys.env"), "A=of file\nB=of file\n").unwrap();
    let read = |text: &str| {
        let variable = |name: &str| match name {
            "GH_TOKEN" => Some("s3cret".to_owned()),
            "HOME" => Some("/home/kim".to_owned()),
            _ => None,
        };
        McpConfig::parse(text, folder.path().join(".vscode/mcp.json"), &variable).unwrap()
    };
    let config = read(
        r#"{
            // asked for by the editor
            "inputs": [],
            "servers": { "s": { "type": "stdio", "command": "npx", "args": ["-p", 8080, true],
                "envFile": "${workspaceFolder}/keys.env", "cwd": "~/x",
                "env": { "B": "${env:GH_TOKEN}", "C": 1, "D": null, "E": "${GONE:-e}" }, }, },
        }"#,
    );
    let Reach::Command { arguments, variables, folder: cwd, .. } = &config.entries()[0].reach
    else {
        panic!("a command")
    };
    assert_eq!(arguments, &["-p", "8080", "true"]);
    let variables: Vec<_> = variables.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(variables, [("A", "of file"), ("B", "s3cret"), ("C", "1"), ("E", "e")]);
    assert_eq!(cwd.as_deref(), Some(Path::new("/home/kim/x")));
    for entry in [
        r#"{"mcp": {"servers": {"s": {"type": "http", "url": "https://e.org/mcp"}}}}"#,
        r#"{"mcpServers": {"s": {"serverUrl": "https://e.org/mcp", "disabledTools": ["x"]}}}"#,
        r#"{"mcpServers": {"s": {"httpUrl": "https://e.org/mcp", "trust": false}}}"#,
        r#"{"mcpServers": {"s": {"type": "streamable-http", "url": "https://e.org/mcp"}}}"#,
    ] {
        let config = read(entry);
        assert_eq!((config.entries().len(), config.warnings().len()), (1, 0), "{entry}");
        let Reach::Http { url, .. } = &config.entries()[0].reach else { panic!("an address") };
        assert_eq!(url.as_str(), "https://e.org/mcp");
    }
}

#[test]
fn each_mistake_is_one_sentence_with_file_and_key() {
    let server = |fields: &str| format!(r#"{{"mcpServers": {{"gh": {{{fields}}}}}}}"#);
    let table = [
        ("{".to_owned(), "the file is not JSON: EOF while parsing an object at line 1 column 1"),
        ("[]".to_owned(), "the file is not a JSON object"),
        ("{}".to_owned(), "the key mcpServers is missing: the file has nothing"),
        (
            r#"{"context_servers": {}, "theme": 1}"#.to_owned(),
            "the key mcpServers is missing: the file has context_servers, theme",
        ),
        (
            r#"{"mcpServers": {}, "servers": {}}"#.to_owned(),
            "the file has both mcpServers and servers",
        ),
        (r#"{"servers": {"gh": {"command": 1}}}"#.to_owned(), "servers.gh.command is not a text"),
        (
            server(r#""url": "https://a.org", "serverUrl": "https://a.org""#),
            "mcpServers.gh has both url and serverUrl",
        ),
        (
            server(r#""type": "sse", "url": "https://example.org/sse""#),
            r#"mcpServers.gh.type is "sse", which the protocol has given up: give the address of streamable HTTP"#,
        ),
        (
            server(r#""command": "a", "env": {"B": "${input:key}"}"#),
            "mcpServers.gh.env.B has ${input:key}, which an editor would ask for: put it into a variable of the environment, and write ${NAME}",
        ),
        (
            server(r#""command": "a", "envFile": "/nonexistent/env""#),
            "mcpServers.gh.envFile names /nonexistent/env, which cannot be read: No such file or directory (os error 2)",
        ),
        (
            server(r#""command": "a", "disabled": 1"#),
            "mcpServers.gh.disabled is neither true nor false",
        ),
        (r#"{"mcpServers": []}"#.to_owned(), "mcpServers is not an object of servers"),
        (r#"{"mcpServers": {"gh": 1}}"#.to_owned(), "mcpServers.gh is not an object"),
        (server(""), "mcpServers.gh has neither a command nor a url"),
        (server(r#""command": "a", "url": "b""#), "mcpServers.gh has both a command and a url"),
        (server(r#""command": 1"#), "mcpServers.gh.command is not a text"),
        (server(r#""command": """#), "mcpServers.gh.command is empty"),
        (server(r#""command": "a", "args": "b""#), "mcpServers.gh.args is not a list of texts"),
        (
            server(r#""command": "a", "env": {"B": [1]}"#),
            "mcpServers.gh.env is not an object of texts",
        ),
        (
            server(r#""command": "a", "env": {"B": "${C}"}"#),
            "mcpServers.gh.env.B needs the variable C, which the environment does not have",
        ),
        (
            server(r#""command": "a", "optional": 1"#),
            "mcpServers.gh.optional is neither true nor false",
        ),
        (
            server(r#""command": "a", "timeout": 0"#),
            "mcpServers.gh.timeout is not a number of seconds above 0 and up to 86400",
        ),
        (
            server(r#""command": "a", "trust": true"#),
            r#"mcpServers.gh.trust is neither "nothing" nor "annotations""#,
        ),
        (
            server(r#""command": "a", "trust": "all""#),
            r#"mcpServers.gh.trust is neither "nothing" nor "annotations""#,
        ),
        (
            server(r#""command": "a", "type": "http""#),
            "mcpServers.gh.type does not go with its other keys",
        ),
        (server(r#""url": "example.org""#), "mcpServers.gh.url is not an address"),
        (server(r#""url": "ftp://example.org""#), "mcpServers.gh.url is neither http nor https"),
        (
            server(r#""url": "http://example.org""#),
            "mcpServers.gh.url has no TLS: only addresses of this machine go without, others need https",
        ),
        (
            server(r#""url": "https://a:b@example.org""#),
            "mcpServers.gh.url has a name or a password in it: give them in headers",
        ),
        (
            server(r#""url": "https://example.org", "headers": {"Host": "x"}"#),
            "mcpServers.gh.headers has Host, which the protocol sets itself",
        ),
        (
            server(r#""url": "https://example.org", "headers": {"A": "x\ny"}"#),
            "mcpServers.gh.headers.A has characters that no header has",
        ),
    ];
    for (text, sentence) in table {
        assert_eq!(parsed(&text).unwrap_err(), format!("mcp.json: {sentence}"), "{text}");
    }
    for fine in ["http://127.0.0.1:1/mcp", "http://[::1]/", "http://localhost:8/"] {
        assert!(parsed(&server(&format!(r#""url": "{fine}""#))).is_ok(), "{fine}");
    }
}
