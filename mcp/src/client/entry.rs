//! Reads a server of the configuration: how it is reached, and which of its words are trusted.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;

use super::{
    env_file,
    fields::Fields,
    limits::{CALL_TIMEOUT, START_TIMEOUT},
};

/// A server of the configuration.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) reach: Reach,
    /// Whether what the server says of its tools' effects counts.
    pub(super) is_trusted: bool,
    pub(super) is_optional: bool,
    pub(super) timeout: Duration,
    pub(super) start_timeout: Duration,
    pub(super) exclude: Vec<String>,
}

/// How a server is reached.
#[derive(Clone)]
pub(super) enum Reach {
    /// A program that is started and spoken to over its standard input and output.
    Command {
        program: String,
        arguments: Vec<String>,
        variables: BTreeMap<String, String>,
        folder: Option<PathBuf>,
    },
    /// An address that is asked over HTTP.
    Http { url: Url, headers: HeaderMap },
}

/// Variables and headers are not shown, because they contain secrets.
impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, .. } => {
                f.debug_struct("Command").field("program", program).finish_non_exhaustive()
            }
            Self::Http { url, .. } => {
                f.debug_struct("Http").field("host", &url.host_str()).finish_non_exhaustive()
            }
        }
    }
}

/// Reads an entry from its fields.
pub(super) fn entry_of(
    name: String,
    is_optional: bool,
    fields: &mut Fields<'_>,
) -> Result<Entry, String> {
    let path = fields.path.clone();
    let is_trusted = match fields.take("trust").as_ref().map(|trust| (trust, trust.as_str())) {
        None | Some((Value::Bool(false), _) | (_, Some("nothing"))) => false,
        Some((_, Some("annotations"))) => true,
        Some(_) => return Err(format!("{path}.trust is neither \"nothing\" nor \"annotations\"")),
    };
    let kind = fields.text("type")?;
    let reach = match (fields.text("command")?, address(fields)?) {
        (Some(_), Some(_)) => return Err(format!("{path} has both a command and a url")),
        (None, None) => return Err(format!("{path} has neither a command nor a url")),
        (Some(program), None) if program.is_empty() => {
            return Err(format!("{path}.command is empty"));
        }
        (Some(program), None) => Reach::Command {
            program,
            arguments: fields.texts("args")?,
            variables: variables(fields)?,
            folder: fields.place("cwd")?,
        },
        (None, Some((key, url))) => http(key, &url, fields)?,
    };
    let is_as_said = match kind.as_deref() {
        None => true,
        Some("stdio" | "local") => matches!(reach, Reach::Command { .. }),
        Some("http" | "streamable-http" | "streamable_http" | "streamableHttp" | "remote") => {
            matches!(reach, Reach::Http { .. })
        }
        Some("sse") => {
            return Err(format!(
                "{path}.type is \"sse\", which the protocol has given up: give the address of streamable HTTP"
            ));
        }
        Some(_) => return Err(format!("{path}.type is neither \"stdio\" nor \"http\"")),
    };
    if !is_as_said {
        return Err(format!("{path}.type does not go with its other keys"));
    }
    Ok(Entry {
        name,
        reach,
        is_trusted,
        is_optional,
        timeout: fields.seconds("timeout")?.unwrap_or(CALL_TIMEOUT),
        start_timeout: fields.seconds("startTimeout")?.unwrap_or(START_TIMEOUT),
        exclude: excluded(fields)?,
    })
}

/// Takes the address, for which clients have different names.
fn address(fields: &mut Fields<'_>) -> Result<Option<(&'static str, String)>, String> {
    let mut found = None;
    for key in ["url", "httpUrl", "serverUrl"] {
        let Some(url) = fields.text(key)? else { continue };
        if let Some((other, _)) = found {
            return Err(format!("{} has both {other} and {key}", fields.path));
        }
        found = Some((key, url));
    }
    Ok(found)
}

/// Takes the variables of a program. Those of the entry come before those of a file.
fn variables(fields: &mut Fields<'_>) -> Result<BTreeMap<String, String>, String> {
    let own = fields.table("env")?;
    let Some(file) = fields.place("envFile")? else { return Ok(own) };
    let of_file = env_file::read(&file);
    let of_file = of_file.map_err(|what| format!("{}.envFile {what}", fields.path))?;
    let mut variables: BTreeMap<_, _> = of_file.into_iter().collect();
    variables.extend(own);
    Ok(variables)
}

/// Takes the names of tools to leave out, for which clients have different names.
fn excluded(fields: &mut Fields<'_>) -> Result<Vec<String>, String> {
    let mut excluded = Vec::new();
    for key in ["exclude", "excludeTools", "disabledTools"] {
        excluded.extend(fields.texts(key)?);
    }
    Ok(excluded)
}

fn http(key: &str, url: &str, fields: &mut Fields<'_>) -> Result<Reach, String> {
    let path = fields.path.clone();
    let url = Url::parse(url).ok().filter(Url::has_host);
    let url = url.ok_or_else(|| format!("{path}.{key} is not an address"))?;
    match url.scheme() {
        "https" => {}
        "http" if is_this_machine(&url) => {}
        "http" => {
            return Err(format!(
                "{path}.{key} has no TLS: only addresses of this machine go without, others need https"
            ));
        }
        _ => return Err(format!("{path}.{key} is neither http nor https")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{path}.{key} has a name or a password in it: give them in headers"));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in fields.table("headers")? {
        let key = HeaderName::try_from(&name).map_err(|_| {
            format!("{path}.headers has {name:?}, which is not the name of a header")
        })?;
        if is_ours(&key) {
            return Err(format!("{path}.headers has {name}, which the protocol sets itself"));
        }
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("{path}.headers.{name} has characters that no header has"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(Reach::Http { url, headers })
}

/// Returns whether the transport sets this header itself.
fn is_ours(name: &HeaderName) -> bool {
    let name = name.as_str();
    let set = [
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "transfer-encoding",
    ];
    set.contains(&name) || name.starts_with("mcp-")
}

/// Returns whether requests to an address never leave this machine.
fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    ip.map_or(host == "localhost", |ip| ip.is_loopback())
}
