//! Finds a repository's files in the cache that llama.cpp and the hub's own tools share.
//!
//! ```text
//! CACHE/models--OWNER--REPO/blobs/SHA256                  the bytes, under their checksum
//!                           blobs/SHA256.incomplete       as many of them as have come
//!                           snapshots/COMMIT/FILE.gguf    a link to a blob, with the name that it has in that commit
//!                           refs/main                     the newest commit that is here
//! CACHE/.locks/models--OWNER--REPO/SHA256.lock            held by the program that downloads the blob
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    choice::choose,
    listing::{Content, HubFile},
    name::HubName,
};

/// A repository's files in the cache.
#[derive(Debug)]
pub(super) struct HubCache {
    folder: PathBuf,
    locks: PathBuf,
}

/// The variables that name the cache, in order, and the folder below each.
const CACHES: [(&str, &str); 6] = [
    ("LLAMA_CACHE", ""),
    ("HF_HUB_CACHE", ""),
    ("HUGGINGFACE_HUB_CACHE", ""),
    ("HF_HOME", "hub"),
    ("XDG_CACHE_HOME", "huggingface/hub"),
    ("HOME", ".cache/huggingface/hub"),
];

/// Finds the cache as llama.cpp does.
pub(super) fn folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    CACHES.iter().find_map(|(name, below)| {
        let folder = variable(name).filter(|folder| !folder.as_os_str().is_empty())?;
        Some(if below.is_empty() { folder } else { folder.join(below) })
    })
}

impl HubCache {
    pub(super) fn new(folder: &Path, name: &HubName) -> Self {
        let name_of_folder = format!("models--{}--{}", name.owner(), name.repository());
        Self {
            locks: folder.join(".locks").join(&name_of_folder),
            folder: folder.join(name_of_folder),
        }
    }

    pub(super) fn blob(&self, content: &Content) -> PathBuf {
        self.folder.join("blobs").join(&content.sha256)
    }

    pub(super) fn incomplete(&self, content: &Content) -> PathBuf {
        self.folder.join("blobs").join(format!("{}.incomplete", content.sha256))
    }

    pub(super) fn lock(&self, content: &Content) -> PathBuf {
        self.locks.join(format!("{}.lock", content.sha256))
    }

    /// Returns the path of the file under its own name.
    pub(super) fn link(&self, commit: &str, file: &str) -> PathBuf {
        self.folder.join("snapshots").join(commit).join(file)
    }

    fn newest(&self) -> PathBuf {
        self.folder.join("refs").join("main")
    }

    /// Tells whether the complete file exists under its own name.
    pub(super) fn has(&self, commit: &str, file: &str, content: &Content) -> bool {
        is_complete(&self.link(commit, file), content)
    }

    /// Finds a complete model in the cache by its first file. Asks no hub.
    pub(super) fn snapshot(&self, name: &HubName) -> Option<PathBuf> {
        let snapshots = self.folder.join("snapshots");
        let newest = fs::read_to_string(self.newest()).ok();
        let newest = newest.and_then(|commit| Some(snapshots.join(only_hash(commit.trim())?)));
        let all = match name.commit() {
            Some(commit) => vec![snapshots.join(commit)],
            None => newest.into_iter().chain(latest_first(&snapshots)).collect(),
        };
        all.into_iter().find_map(|snapshot| {
            let mut names = Vec::new();
            names_below(&snapshot, "", &mut names);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let chosen = choose(&names, name.quant()).ok()?;
            Some(snapshot.join(chosen.first()?))
        })
    }

    /// Returns the commit of a file and its checksum, which is its blob's name; `None` if it is not
    /// a link to a blob.
    pub(super) fn origin(&self, file: &Path) -> Option<(String, String)> {
        let below = file.strip_prefix(self.folder.join("snapshots")).ok()?;
        let commit = below.components().next()?.as_os_str().to_str()?;
        let blob = fs::canonicalize(file).ok()?;
        let sum = only_hash(blob.file_name()?.to_str()?)?;
        Some((commit.to_owned(), sum.to_owned()))
    }

    /// Tells whether the complete content exists under any name.
    pub(super) fn holds(&self, content: &Content) -> bool {
        is_complete(&self.blob(content), content)
    }

    /// Gives a blob its name in this commit.
    pub(super) fn put_under(
        &self,
        commit: &str,
        file: &HubFile,
        content: &Content,
    ) -> io::Result<()> {
        let link = self.link(commit, &file.name);
        create_folder_of(&link)?;
        // A rename leaves no moment without the earlier file.
        let fresh = temporary(&link);
        point(&fresh, &file.name, &self.blob(content))?;
        fs::rename(&fresh, &link)
    }

    /// Records that this commit is the newest, for programs that cannot ask the hub.
    pub(super) fn is_newest(&self, commit: &str) -> io::Result<()> {
        let newest = self.newest();
        if fs::read_to_string(&newest).is_ok_and(|known| known.trim() == commit) {
            return Ok(());
        }
        create_folder_of(&newest)?;
        let fresh = temporary(&newest);
        fs::write(&fresh, commit)?;
        fs::rename(&fresh, &newest)
    }
}

/// Tells whether a file of the right length exists. A file with its final name has passed its
/// checksum.
pub(super) fn is_complete(path: &Path, content: &Content) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == content.bytes)
}

pub(super) fn create_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Adds the sizes of all files with this beginning of the name.
pub(super) fn bytes_named(path: &Path) -> u64 {
    let (Some(folder), Some(name)) =
        (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return 0;
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let named =
        files.filter(|file| file.file_name().to_str().is_some_and(|it| it.starts_with(name)));
    named.filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum()
}

/// Makes a name beside this one that no other process takes.
fn temporary(path: &Path) -> PathBuf {
    path.with_added_extension(format!("{}.tmp", std::process::id()))
}

/// Links relatively, as the hub's tools do, so that the cache can be moved or mounted elsewhere.
#[cfg(unix)]
fn point(link: &Path, file: &str, blob: &Path) -> io::Result<()> {
    let up = "../".repeat(file.split('/').count() + 1);
    let target = Path::new(&up).join("blobs").join(blob.file_name().unwrap_or_default());
    match std::os::unix::fs::symlink(&target, link) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(link)?;
            std::os::unix::fs::symlink(target, link)
        }
        done => done,
    }
}

/// Links the bytes under a second name, since few programs may make symbolic links here.
#[cfg(not(unix))]
fn point(link: &Path, _: &str, blob: &Path) -> io::Result<()> {
    match fs::hard_link(blob, link) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(link)?;
            fs::hard_link(blob, link)
        }
        done => done,
    }
}

fn only_hash(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())).then_some(text)
}

/// Lists the snapshots of all commits, the newest first. A model may be of an older commit.
fn latest_first(snapshots: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(snapshots)
        .into_iter()
        .flatten()
        .flatten()
        .map(|folder| (folder.metadata().and_then(|folder| folder.modified()).ok(), folder.path()))
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// Lists the files below a folder by relative paths, as the hub writes them, without dangling
/// links.
fn names_below(folder: &Path, before: &str, names: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{before}{name}");
        match fs::metadata(entry.path()) {
            // A linked folder could lead in a circle; the cache never has one.
            Ok(found) if found.is_dir() && entry.file_type().is_ok_and(|kind| kind.is_dir()) => {
                names_below(&entry.path(), &format!("{path}/"), names);
            }
            Ok(found) if found.is_file() => names.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_llama_cpp_and_the_hubs_tools_look() {
        let found = |set: &[(&str, &str)]| {
            folder(|name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
            })
        };
        let mut set = Vec::new();
        assert_eq!(found(&set), None);
        for (variable, value, folder) in [
            ("HOME", "/home/kim", "/home/kim/.cache/huggingface/hub"),
            ("XDG_CACHE_HOME", "/cache", "/cache/huggingface/hub"),
            ("HF_HOME", "/hf", "/hf/hub"),
            ("HUGGINGFACE_HUB_CACHE", "/old", "/old"),
            ("HF_HUB_CACHE", "/hub", "/hub"),
            ("LLAMA_CACHE", "/llama", "/llama"),
        ] {
            set.push((variable, ""));
            let unset = found(&set);
            set.pop();
            assert_eq!(unset, found(&set), "an empty {variable} counts as none");
            set.push((variable, value));
            assert_eq!(found(&set), Some(folder.into()));
        }
    }

    #[test]
    fn each_file_has_its_place() {
        let cache = HubCache::new(Path::new("/c"), &"some-one/a_model:Q4_0".parse().unwrap());
        let content = Content { sha256: "ab".to_owned(), bytes: 1 };
        for (path, expected) in [
            (cache.blob(&content), "/c/models--some-one--a_model/blobs/ab"),
            (cache.incomplete(&content), "/c/models--some-one--a_model/blobs/ab.incomplete"),
            (cache.lock(&content), "/c/.locks/models--some-one--a_model/ab.lock"),
            (cache.link("12", "x/m.gguf"), "/c/models--some-one--a_model/snapshots/12/x/m.gguf"),
            (cache.newest(), "/c/models--some-one--a_model/refs/main"),
        ] {
            assert_eq!(path, Path::new(expected));
        }
    }

    #[test]
    fn a_model_of_an_older_commit_is_still_here() {
        let folder = tempfile::tempdir().unwrap();
        let cache = |quant: &str| {
            HubCache::new(folder.path(), &format!("some-one/a_model:{quant}").parse().unwrap())
        };
        let older = "a".repeat(40);
        let newer = "b".repeat(40);
        for (commit, file) in [(&older, "m-Q4_K_M.gguf"), (&newer, "m-Q8_0.gguf")] {
            let path = cache("Q8_0").link(commit, file);
            create_folder_of(&path).unwrap();
            fs::write(path, "GGUF").unwrap();
        }
        create_folder_of(&cache("Q8_0").newest()).unwrap();
        cache("Q8_0").is_newest(&newer).unwrap();
        for (quant, commit) in [("Q4_K_M", &older), ("Q8_0", &newer)] {
            let cache = cache(quant);
            let file = format!("m-{quant}.gguf");
            let name = format!("some-one/a_model:{quant}").parse::<HubName>().unwrap();
            assert_eq!(cache.snapshot(&name), Some(cache.link(commit, &file)));
            assert_eq!(cache.snapshot(&name.at(commit)), Some(cache.link(commit, &file)));
            let other = if *commit == older { &newer } else { &older };
            assert_eq!(cache.snapshot(&name.at(other)), None, "that commit is not here");
        }
        assert_eq!(cache("Q2_K").snapshot(&"some-one/a_model:Q2_K".parse().unwrap()), None);
    }
}
