//! Reads a hub's listing of a repository, and checks all that it uses.

use std::path::{Component, Path};

use serde::Deserialize;

use super::choice;

/// A revision of a repository.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Listing {
    /// Its commit in hexadecimal.
    #[serde(rename = "sha")]
    pub(super) commit: String,
    /// Its GGUF files; no name leads out of the folder that it is joined to.
    #[serde(rename = "siblings")]
    pub(super) files: Vec<HubFile>,
}

/// A file of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct HubFile {
    #[serde(rename = "rfilename")]
    pub(super) name: String,
    /// The required content; `None` if the hub gives no checksum.
    #[serde(rename = "lfs")]
    pub(super) content: Option<Content>,
}

/// The required content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Content {
    /// In lower-case hexadecimal digits.
    pub(super) sha256: String,
    #[serde(rename = "size")]
    pub(super) bytes: u64,
}

/// The reason why a listing is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadListing {
    /// It differs from the hub's protocol.
    #[error("the listing is not what the protocol says")]
    Form(#[from] serde_json::Error),
    /// A commit or checksum is not a hash.
    #[error("{0:?} is not a hash")]
    NoHash(String),
    /// The name of a file could lead out of the cache.
    #[error("the file name {0:?} leads out of its folder")]
    Leads(String),
}

impl Listing {
    /// Reads the answer to `/api/models/OWNER/REPO/revision/main?blobs=true`.
    pub(super) fn read(json: &[u8]) -> Result<Self, BadListing> {
        let Self { commit, mut files } = serde_json::from_slice(json)?;
        files.retain(|file| choice::is_gguf(&file.name));
        for file in &mut files {
            if !stays_inside(&file.name) {
                return Err(BadListing::Leads(file.name.clone()));
            }
            if let Some(content) = &mut file.content {
                content.sha256 = hash(std::mem::take(&mut content.sha256), 64)?;
            }
        }
        Ok(Self { commit: hash(commit, 40)?, files })
    }
}

/// Requires a hash with this many hexadecimal digits.
pub(super) fn hash(text: String, digits: usize) -> Result<String, BadListing> {
    let is_hash = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hash { Ok(text.to_ascii_lowercase()) } else { Err(BadListing::NoHash(text)) }
}

/// Tells whether a path joined to a folder stays inside of it on every system, and can be shown in
/// a terminal.
fn stays_inside(name: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !matches!(c, '\\' | ':');
    let mut parts = name.split('/');
    name.chars().all(is_plain)
        && parts.all(|part| !matches!(part, "" | "." | ".."))
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789ABCDEF01234567";

    fn read(sibling: &Value) -> Result<Listing, BadListing> {
        Listing::read(
            json!({ "sha": COMMIT, "siblings": [sibling], "tags": [] }).to_string().as_bytes(),
        )
    }

    #[test]
    fn a_listing_has_the_models_with_what_they_must_turn_out_to_be() {
        let sha256 = "AB".repeat(32);
        let listed = json!({
            "sha": COMMIT,
            "siblings": [
                { "rfilename": "README.md", "size": 10, "blobId": "x" },
                { "rfilename": "../../no-model.txt" },
                { "rfilename": "Q8_0/m.gguf", "size": 7, "lfs": { "sha256": sha256, "size": 7, "pointerSize": 130 } },
                { "rfilename": "small.gguf", "size": 3 },
            ],
        });
        let listing = Listing::read(listed.to_string().as_bytes()).unwrap();
        let content = Content { sha256: sha256.to_lowercase(), bytes: 7 };
        let files = vec![
            HubFile { name: "Q8_0/m.gguf".to_owned(), content: Some(content) },
            HubFile { name: "small.gguf".to_owned(), content: None },
        ];
        assert_eq!(listing, Listing { commit: COMMIT.to_lowercase(), files });
    }

    #[test]
    fn a_name_that_leads_out_of_its_folder_spoils_the_listing() {
        for name in [
            "../m.gguf",
            "/m.gguf",
            "a/../../m.gguf",
            "a//m.gguf",
            "./m.gguf",
            "C:/m.gguf",
            "a\\..\\m.gguf",
            "a/./m.gguf",
            "m\u{1b}[2J.gguf",
            "m\n.gguf",
            "m\0.gguf",
        ] {
            let found = read(&json!({ "rfilename": name }));
            assert!(matches!(found, Err(BadListing::Leads(_))), "{name:?}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_hash_never_names_a_file() {
        for hash in ["", "..", "../../x", &"g".repeat(64), &"a".repeat(63)] {
            let lfs = json!({ "rfilename": "m.gguf", "lfs": { "sha256": hash, "size": 1 } });
            assert!(matches!(read(&lfs), Err(BadListing::NoHash(_))), "{hash}");
            let listing = json!({ "sha": hash, "siblings": [] }).to_string();
            assert!(
                matches!(Listing::read(listing.as_bytes()), Err(BadListing::NoHash(_))),
                "{hash}"
            );
        }
        for text in ["", "<html>", "[]", "{}", r#"{"sha":1,"siblings":[]}"#] {
            assert!(matches!(Listing::read(text.as_bytes()), Err(BadListing::Form(_))), "{text}");
        }
    }
}
