//! What a test lets the scripted server say word by word, in files beside its notes.

use std::{fs, path::Path};

use serde_json::Value;

/// What a server does about a message.
#[derive(Debug)]
pub enum ServerReply {
    /// A message.
    Say(Value),
    /// The bytes that a test wants to be said.
    Said(Vec<u8>),
    /// Bytes that are no message.
    Noise(Vec<u8>),
    /// The server ends.
    Die,
}

/// Lets the server answer a method, a part of a list (`METHOD.CURSOR`) or a call of a tool by these
/// bytes. Those of `start` it writes first of all. `$ID` and `$TOKEN` become those of the request,
/// and at `$DIE` the server ends. Without any byte it is silent.
pub fn says(notes: &Path, what: &str, bytes: &[u8]) {
    let folder = notes.join("says");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(what.replace('/', "_")), bytes).unwrap();
}

/// What a message asks about, in the words of [`says`].
pub(super) fn subject(message: &Value) -> String {
    let method = message["method"].as_str().unwrap_or_default();
    match (method, message["params"]["cursor"].as_str()) {
        ("tools/call", _) => message["params"]["name"].as_str().unwrap().to_owned(),
        (method, Some(cursor)) => format!("{method}.{cursor}"),
        (method, None) => method.to_owned(),
    }
}

/// What the server says about a subject, if a test has told it.
pub(super) fn said(notes: &Path, subject: &str, message: &Value) -> Option<Vec<ServerReply>> {
    let bytes = fs::read(notes.join("says").join(subject.replace('/', "_"))).ok()?;
    let token = &message["params"]["_meta"]["progressToken"];
    let bytes = replaced(&bytes, b"$ID", message["id"].to_string().as_bytes());
    let bytes = replaced(&bytes, b"$TOKEN", token.to_string().as_bytes());
    Some(match bytes.strip_suffix(b"$DIE") {
        Some(last) => vec![ServerReply::Said(last.to_vec()), ServerReply::Die],
        None => vec![ServerReply::Said(bytes)],
    })
}

fn replaced(bytes: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(what.len()).position(|part| part == what) {
        made.extend_from_slice(&rest[..at]);
        made.extend_from_slice(with);
        rest = &rest[at + what.len()..];
    }
    made.extend_from_slice(rest);
    made
}
