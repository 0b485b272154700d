//! The files of the page, each with its tag, and all with their version.

use std::{borrow::Cow, path::Path};

use madang::{approval::Digest, language::Locale};
use sha2::{Digest as _, Sha256};

use super::files::FILES;

/// The words of the page.
const WORDS: &str = "texts.txt";

/// The folder in which the index names the other files.
const FOLDER: &str = "assets/";

/// The files of a server.
#[derive(Debug)]
pub(crate) struct Assets {
    files: Vec<Asset>,
    pub(super) version: String,
}

#[derive(Debug, Clone)]
pub(super) struct Asset {
    pub(super) name: Cow<'static, str>,
    pub(super) bytes: Cow<'static, [u8]>,
    pub(super) tag: String,
}

impl Asset {
    pub(super) fn new(
        name: impl Into<Cow<'static, str>>,
        bytes: impl Into<Cow<'static, [u8]>>,
    ) -> Self {
        let name = name.into();
        let bytes = bytes.into();
        let tag = format!("\"{}\"", hex(Sha256::new().chain_update(&bytes)));
        Self { name, bytes, tag }
    }

    /// Marks the index as requested by a person.
    pub(super) fn opened_by_a_person(self) -> Self {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.replacen("<html ", "<html data-opened=\"person\" ", 1);
        Self::new(self.name, text.into_bytes())
    }

    pub(super) fn media_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map(|(_, kind)| kind) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("json") => "application/json",
            Some("svg") => "image/svg+xml",
            Some("txt") => "text/plain; charset=utf-8",
            Some(_) | None => "application/octet-stream",
        }
    }
}

impl Assets {
    /// Takes the files of the program, with these sentences in the words of a new chat.
    pub(crate) fn new(about_model: &[(Locale, String)]) -> Self {
        let files = FILES.iter().map(|(name, bytes)| match *name {
            WORDS => (WORDS, Cow::Owned(with_sentences(bytes, about_model).into_bytes())),
            name => (name, Cow::Borrowed(*bytes)),
        });
        let files: Vec<_> = files.collect();
        let mut all = Sha256::new();
        for (name, bytes) in &files {
            all.update(format!("{name}\0{}\0", bytes.len()));
            all.update(bytes);
        }
        let version = hex(all)[..16].to_owned();
        let file = |(name, bytes): (&'static str, Cow<'static, [u8]>)| match name {
            "index.html" => {
                let text = String::from_utf8_lossy(&bytes);
                let text = text.replace(&format!("\"{FOLDER}"), &format!("\"{FOLDER}{version}/"));
                Asset::new(name, text.into_bytes())
            }
            name => Asset::new(name, bytes),
        };
        Self { files: files.into_iter().map(file).collect(), version }
    }

    pub(super) fn find(&self, name: &str) -> Option<Asset> {
        self.files.iter().find(|file| file.name == name).cloned()
    }
}

/// Adds these sentences to what the words of the page say in a new chat, in Korean and in English.
fn with_sentences(words: &[u8], about_model: &[(Locale, String)]) -> String {
    let mut room = "";
    let words = String::from_utf8_lossy(words);
    let lines = words.lines().map(|line| {
        if line.starts_with('[') {
            room = line;
        }
        match line.strip_prefix("empty=").and_then(|texts| texts.split_once('|')) {
            Some((korean, english)) if room == "[chat]" => {
                let mut texts = [(Locale::KO, korean.to_owned()), (Locale::EN, english.to_owned())];
                for (language, sentence) in about_model {
                    for (_, text) in texts.iter_mut().filter(|(one, _)| one == language) {
                        // A line is one key, and a bar separates its languages.
                        *text = format!("{text} {}", sentence.replace(['\n', '\r', '|'], " "));
                    }
                }
                let [(_, korean), (_, english)] = texts;
                format!("empty={korean}|{english}\n")
            }
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Reads a file of a folder, for work on it. Returns `None` if there is none, or if its name leads
/// out of the folder.
pub(super) async fn read(folder: &Path, name: &str) -> Option<Asset> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.starts_with('.') || !name.bytes().all(is_fit) {
        return None;
    }
    let path = folder.join(name);
    let name = name.to_owned();
    let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
    read.ok()?.ok().map(|bytes| Asset::new(name, bytes))
}

fn hex(hash: Sha256) -> String {
    Digest::new(hash.finalize().into()).to_string()
}
