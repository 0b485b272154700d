//! Reads the configuration: the file that other clients have, `mcpServers`, with some keys of our own.

use std::{
    env, fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    entry::{Entry, entry_of},
    error::McpConfigError,
    fields::Fields,
    limits::{MAX_CONFIG_BYTES, MAX_SERVERS},
};

/// The servers that a file names: `{"mcpServers": {"gh": {"command": "gh-mcp", "args": [], "env": {}}}}`, or `{"url": ..,
/// "headers": {}}`.
///
/// Beside the usual keys an entry may say `"trust": "annotations"` (what the server says of its tools counts) and
/// `"optional": true` (the start goes on without it). It may also have `"timeout"` and `"startTimeout"` in seconds,
/// `"exclude"` (tools left out) and `"disabled": true`. Other keys are named by [`warnings`](Self::warnings).
#[derive(Debug, Clone)]
pub struct McpConfig {
    path: PathBuf,
    entries: Vec<Entry>,
    warnings: Vec<String>,
}

impl McpConfig {
    /// Reads a file. `${NAME}` in its texts is a variable of the environment.
    ///
    /// # Errors
    /// [`McpConfigError`] names the file, the key and its mistake.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, McpConfigError> {
        let path = path.into();
        let text = read_text(&path);
        let text = text.map_err(|what| McpConfigError { path: path.clone(), what })?;
        Self::parse(&text, path, &|name| env::var(name).ok())
    }

    /// Reads a text as the content of this file, with variables from elsewhere.
    ///
    /// # Errors
    /// [`McpConfigError`] names the file, the key and its mistake.
    pub fn parse(
        text: &str,
        path: impl Into<PathBuf>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, McpConfigError> {
        let path = path.into();
        let mut warnings = Vec::new();
        match entries(text, variable, &mut warnings) {
            Ok(entries) => Ok(Self { path, entries, warnings }),
            Err(what) => Err(McpConfigError { path, what }),
        }
    }

    /// Gives what is odd in the file, but no reason to stop: keys that nothing here reads.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = fs::File::open(path)
        .and_then(|file| file.take(MAX_CONFIG_BYTES + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(format!("the file cannot be read: {error}")),
        Ok(_) if text.len() as u64 > MAX_CONFIG_BYTES => {
            Err(format!("the file has more than {MAX_CONFIG_BYTES} bytes"))
        }
        Ok(_) => Ok(text),
    }
}

fn entries(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Entry>, String> {
    let whole: Value =
        serde_json::from_str(text).map_err(|error| format!("the file is not JSON: {error}"))?;
    let Value::Object(mut whole) = whole else {
        return Err("the file is not a JSON object".to_owned());
    };
    let Some(servers) = whole.shift_remove("mcpServers") else {
        return Err("the key mcpServers is missing".to_owned());
    };
    warnings
        .extend(whole.keys().map(|key| format!("the key {key} is not known, and was not read")));
    let Value::Object(servers) = servers else {
        return Err("mcpServers is not an object of servers".to_owned());
    };
    if servers.len() > MAX_SERVERS {
        return Err(format!(
            "mcpServers has {} servers, and at most {MAX_SERVERS} are taken",
            servers.len()
        ));
    }
    let mut entries = Vec::new();
    for (name, entry) in servers {
        let path = format!("mcpServers.{name}");
        let Value::Object(left) = entry else { return Err(format!("{path} is not an object")) };
        let mut fields = Fields { path, left, variable };
        if name.trim().is_empty() {
            return Err("mcpServers has a server without a name".to_owned());
        }
        let is_disabled = fields.flag("disabled")?;
        let entry = entry_of(name, &mut fields)?;
        let unknown = fields
            .left
            .keys()
            .map(|key| format!("the key {}.{key} is not known, and was not read", fields.path));
        warnings.extend(unknown);
        if !is_disabled {
            entries.push(entry);
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
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
    fn each_mistake_is_one_sentence_with_file_and_key() {
        let server = |fields: &str| format!(r#"{{"mcpServers": {{"gh": {{{fields}}}}}}}"#);
        let table = [
            (
                "{".to_owned(),
                "the file is not JSON: EOF while parsing an object at line 1 column 1",
            ),
            ("[]".to_owned(), "the file is not a JSON object"),
            ("{}".to_owned(), "the key mcpServers is missing"),
            (r#"{"mcpServers": []}"#.to_owned(), "mcpServers is not an object of servers"),
            (r#"{"mcpServers": {"gh": 1}}"#.to_owned(), "mcpServers.gh is not an object"),
            (server(""), "mcpServers.gh has neither a command nor a url"),
            (server(r#""command": "a", "url": "b""#), "mcpServers.gh has both a command and a url"),
            (server(r#""command": 1"#), "mcpServers.gh.command is not a text"),
            (server(r#""command": """#), "mcpServers.gh.command is empty"),
            (server(r#""command": "a", "args": "b""#), "mcpServers.gh.args is not a list of texts"),
            (
                server(r#""command": "a", "env": {"B": 1}"#),
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
                "mcpServers.gh.timeout is no number of seconds above 0 and up to 86400",
            ),
            (
                server(r#""command": "a", "trust": "all""#),
                r#"mcpServers.gh.trust is neither "nothing" nor "annotations""#,
            ),
            (
                server(r#""command": "a", "type": "http""#),
                "mcpServers.gh.type does not go with its other keys",
            ),
            (server(r#""url": "example.org""#), "mcpServers.gh.url is no address"),
            (
                server(r#""url": "ftp://example.org""#),
                "mcpServers.gh.url is neither http nor https",
            ),
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
}
