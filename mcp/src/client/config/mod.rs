//! Reads the configuration: the file `mcpServers` of other clients, with some additional keys.

use std::{
    env, fs,
    io::Read as _,
    path::{self, Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{
    entry::{Entry, entry_of},
    error::McpConfigError,
    expand::Variables,
    fields::Fields,
    jsonc::plain_json,
    limits::{MAX_CONFIG_BYTES, MAX_SERVERS},
    text::cut,
};

/// The servers that a file names: `{"mcpServers": {"gh": {"command": "gh-mcp", "args": [], "env":
/// {}}}}`, or `{"url": .., "headers": {}}`.
///
/// In addition to the usual keys, an entry may have these. With `"trust": "annotations"`, the
/// server's annotations decide which of its tools ask. With `"optional": true`, the start continues
/// without the server, even if the entry has a mistake. `"timeout"` and `"startTimeout"` are in
/// seconds. `"exclude"` lists tools to leave out. With `"disabled": true` the entry is not read.
/// [`warnings`](Self::warnings) names all other keys.
///
/// Comments, trailing commas and the equivalent keys of other clients are accepted too.
#[derive(Debug, Clone)]
pub struct McpConfig {
    path: PathBuf,
    entries: Vec<Entry>,
    warnings: Vec<String>,
}

impl McpConfig {
    /// Reads a file. `${NAME}` and `${env:NAME}` in its texts are variables of the environment.
    /// This blocks the calling thread.
    ///
    /// # Errors
    /// Returns a [`McpConfigError`], which names the file, the key and the mistake.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, McpConfigError> {
        let path = path.into();
        let text = read_text(&path);
        let text = text.map_err(|what| McpConfigError { path: path.clone(), what })?;
        Self::parse(&text, path, &|name| env::var(name).ok())
    }

    /// Reads a text as the content of this file, with variables from `variable`. Files that
    /// `envFile` names are read from the disk.
    ///
    /// # Errors
    /// Returns a [`McpConfigError`], which names the file, the key and the mistake.
    pub fn parse(
        text: &str,
        path: impl Into<PathBuf>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, McpConfigError> {
        let path = path.into();
        let mut warnings = Vec::new();
        let absolute = path::absolute(&path).unwrap_or_else(|_| path.clone());
        let variables = Variables { environment: variable, workspace: workspace(&absolute) };
        match entries(text, variables, &mut warnings) {
            Ok(entries) => Ok(Self { path, entries, warnings }),
            Err(what) => Err(McpConfigError { path, what }),
        }
    }

    /// Returns what is odd in the file but no reason to stop: keys that are not read here, and
    /// optional servers with a mistake.
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

/// Returns the folder that an editor would have open: the folder of the file, or the one around the
/// editor's own folder.
fn workspace(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(file);
    let is_of_editor = folder.file_name().is_some_and(|name| {
        [".vscode", ".cursor", ".gemini", ".kiro"].iter().any(|editor| name == *editor)
    });
    folder.parent().filter(|_| is_of_editor).unwrap_or(folder)
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
    variables: Variables<'_>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Entry>, String> {
    let whole: Value = serde_json::from_str(&plain_json(text))
        .map_err(|error| format!("the file is not JSON: {error}"))?;
    let Value::Object(mut whole) = whole else {
        return Err("the file is not a JSON object".to_owned());
    };
    let (key, servers) = servers(&mut whole)?;
    warnings.extend(whole.keys().map(|key| not_read(key)));
    let mut entries = Vec::new();
    for (name, entry) in servers {
        let path = format!("{key}.{name}");
        let Value::Object(left) = entry else { return Err(format!("{path} is not an object")) };
        let mut fields = Fields { path, left, variables };
        // A server that is left out is not judged, and neither are its values or the variables that
        // it would need.
        if fields.flag("disabled")? == Some(true) || fields.flag("enabled")? == Some(false) {
            continue;
        }
        if name.trim().is_empty() {
            return Err(format!("{key} has a server without a name"));
        }
        let is_optional = fields.flag("optional")? == Some(true);
        match entry_of(name, is_optional, &mut fields) {
            Ok(entry) => {
                entries.push(entry);
                let unknown = fields.left.keys();
                let unknown = unknown.map(|key| not_read(&format!("{}.{key}", fields.path)));
                warnings.extend(unknown);
            }
            Err(what) if is_optional => {
                warnings.push(format!("{what}; the server is optional, and is left out"));
            }
            Err(what) => return Err(what),
        }
    }
    if entries.len() > MAX_SERVERS {
        let count = entries.len();
        return Err(format!("{key} has {count} servers, and at most {MAX_SERVERS} are taken"));
    }
    Ok(entries)
}

/// Takes the servers out of a file. They are under `mcpServers`, or as VS Code has them: under
/// `servers` of a file of their own, or under `mcp` of its settings.
fn servers(whole: &mut Map<String, Value>) -> Result<(&'static str, Map<String, Value>), String> {
    let mut found = Vec::new();
    for key in ["mcpServers", "servers"] {
        found.extend(whole.shift_remove(key).map(|servers| (key, servers)));
    }
    let of_settings = whole.get_mut("mcp").and_then(Value::as_object_mut);
    let of_settings = of_settings.and_then(|mcp| mcp.shift_remove("servers"));
    if let Some(servers) = of_settings {
        whole.shift_remove("mcp");
        found.push(("mcp.servers", servers));
    }
    match (found.pop(), found.pop()) {
        (Some((key, Value::Object(servers))), None) => Ok((key, servers)),
        (Some((key, _)), None) => Err(format!("{key} is not an object of servers")),
        (Some((one, _)), Some((other, _))) => Err(format!("the file has both {other} and {one}")),
        (None, _) => {
            let keys: Vec<_> = whole.keys().map(|key| &**key).collect();
            let keys = match &*keys {
                [] => "nothing".to_owned(),
                keys => keys.join(", "),
            };
            Err(format!("the key mcpServers is missing: the file has {}", cut(&keys, 256)))
        }
    }
}

fn not_read(key: &str) -> String {
    format!("the key {key} is not known, and was not read")
}

#[cfg(test)]
mod tests;
