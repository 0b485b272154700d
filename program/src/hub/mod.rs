//! Downloads models by their names on a hub (`--hf`, `madang fetch`), into the cache that llama.cpp
//! and the hub's own tools share.
//!
//! `name` parses the name and `settings` the environment. `client` asks the hub (`address` builds
//! the addresses) for a `listing`, in which `choice` finds the files. `download` brings each under
//! its `lock`, resumes parts, and retries by `retry`. `cache` knows the paths of files, and `sum`
//! compares a checksum that the person gave.
//!
//! Invariants:
//! - A file has its final name only with the right checksum.
//! - The token goes to the hub only, and no name leads out of the cache.
//! - Without a network, a model in the cache still works.

mod address;
mod bar;
mod cache;
mod choice;
mod client;
mod download;
mod error;
mod listing;
mod lock;
mod name;
mod retry;
mod settings;
mod sum;

use std::{
    env,
    path::{Path, PathBuf},
};

use indicatif::HumanBytes;

use crate::{failure::Failure, language::UiLanguage, output, texts::Text};
use bar::bar;
use cache::HubCache;
use client::{Bounds, Client};
use download::Download;
use error::HubError;
use listing::{Content, HubFile, Listing};
pub(crate) use name::HubName;
use retry::Retry;
use settings::Settings;
pub(crate) use sum::Sum;

/// Downloads the missing files of the model, and returns the path of its (first) file.
///
/// Without a network, or if the cache cannot be written, uses the model in the cache. Refuses a
/// file whose checksum is not the wanted one, wherever it comes from. Blocks the thread, as loading
/// a model does.
pub(crate) async fn fetch(
    name: &HubName,
    wanted: Option<&Sum>,
    locale: UiLanguage,
) -> Result<PathBuf, Failure> {
    let settings = Settings::of(|name| env::var_os(name)).map_err(Failure::of)?;
    let path = bring(settings, name, locale).await.map_err(Failure::of)?;
    let Some(wanted) = wanted else { return Ok(path) };
    match Sum::of(&path) {
        Ok(has) if has == *wanted => Ok(path),
        Ok(has) => Err(Failure::new(format!(
            "{} has the checksum {has} and not the one that was given with --sha256: it is not used; check which file you mean",
            path.display()
        ))),
        Err(cause) => {
            let path = path.display();
            Err(Failure::because(format!("failed to read {path}: check the cache"), cause))
        }
    }
}

async fn bring(
    settings: Settings,
    name: &HubName,
    locale: UiLanguage,
) -> Result<PathBuf, HubError> {
    let Settings { cache: folder, endpoint, token, is_offline } = settings;
    let cache = HubCache::new(&folder, name);
    let snapshot = cache.snapshot(name);
    if is_offline {
        return snapshot.ok_or_else(|| {
            let cache = folder.display();
            HubError::new(format!(
                "{name} is not in {cache}, and HF_HUB_OFFLINE is set: unset it to download the model"
            ))
        });
    }
    let is_private = settings::is_private(&endpoint);
    if token.is_some() && !is_private {
        let host = address::host(&endpoint);
        output::notice(&Text::TokenKeptBack { host: &host }.in_locale(locale));
    }
    let client = Client::new(endpoint, token.filter(|_| is_private), Bounds::USUAL)?;
    let retry = if snapshot.is_some() { Retry::once() } else { Retry::asking() };
    match (update(&client, &cache, name, (retry, snapshot.as_deref()), locale).await, snapshot) {
        (Err(error), Some(snapshot)) if error.leaves_the_older() => {
            output::notice(&Text::OlderModel { why: &error.to_string() }.in_locale(locale));
            Ok(snapshot)
        }
        (result, _) => result,
    }
}

/// Downloads the hub's present version.
async fn update(
    client: &Client,
    cache: &HubCache,
    name: &HubName,
    (retry, snapshot): (Retry, Option<&Path>),
    locale: UiLanguage,
) -> Result<PathBuf, HubError> {
    let Listing { commit, files } = listing(client, name, retry).await?;
    let model = model(name, &files)?;
    // Before use: another program may have written it. The older one stays available by its commit.
    if let Some((older, had)) = snapshot.and_then(|snapshot| cache.origin(snapshot))
        && had != model[0].1.sha256
    {
        let now = name.at(&commit).to_string();
        let older = name.at(&older).to_string();
        output::notice(&Text::ModelChanged { now: &now, older: &older }.in_locale(locale));
    }
    let missing = model.iter().filter(|(file, content)| !cache.has(&commit, &file.name, content));
    let missing: Vec<_> = missing.copied().collect();
    if !missing.is_empty() {
        download(client, cache, name, (&commit, &missing), locale).await?;
    }
    let (first, _) = model[0];
    let path = cache.link(&commit, &first.name);
    // If the cache has the whole model but cannot be written, only this note is lost.
    if name.commit().is_none()
        && let Err(cause) = cache.is_newest(&commit)
    {
        tracing::info!("failed to note the newest commit: {cause}");
    }
    Ok(path)
}

async fn listing(client: &Client, name: &HubName, mut retry: Retry) -> Result<Listing, HubError> {
    loop {
        match client.listing(name).await {
            Err(error) if error.passes() => match retry.failed(0, error.asked()) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(error),
            },
            result => return result,
        }
    }
}

/// Returns the files of the wanted model, at least one; the first is opened.
fn model<'a>(
    name: &HubName,
    files: &'a [HubFile],
) -> Result<Vec<(&'a HubFile, &'a Content)>, HubError> {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let chosen = choice::choose(&names, name.quant())
        .map_err(|cause| HubError::new(cause.sentence(name)))?;
    let found = |name: &&str| files.iter().find(|file| file.name == **name);
    let chosen = chosen.iter().filter_map(found);
    let with_content = |file: &'a HubFile| {
        let content = file.content.as_ref();
        let content = content.ok_or_else(|| {
            let file = &file.name;
            HubError::new(format!(
                "the hub gives no checksum for {file}, so that it cannot be trusted: download it yourself and give it with --model"
            ))
        })?;
        Ok((file, content))
    };
    chosen.map(with_content).collect()
}

async fn download(
    client: &Client,
    cache: &HubCache,
    name: &HubName,
    (commit, files): (&str, &[(&HubFile, &Content)]),
    locale: UiLanguage,
) -> Result<(), HubError> {
    let link = |file: &HubFile, content: &Content| {
        cache
            .put_under(commit, file, content)
            .map_err(|cause| HubError::unwritten(&cache.link(commit, &file.name), cause))
    };
    // A file of another commit with this content needs only another name.
    let (here, coming): (Vec<_>, Vec<_>) =
        files.iter().copied().partition(|(_, content)| cache.holds(content));
    for (file, content) in here {
        link(file, content)?;
    }
    if coming.is_empty() {
        return Ok(());
    }
    let bytes = coming.iter().fold(0_u64, |sum, (_, content)| sum.saturating_add(content.bytes));
    let bar = bar(bytes);
    let name_shown = name.to_string();
    let size = HumanBytes(bytes).to_string();
    let line = |text: Text<'_>| bar.suspend(|| output::notice(&text.in_locale(locale)));
    line(Text::Downloading { model: &name_shown, size: &size });
    let download = Download { client, name, commit, cache, bar: &bar };
    let mut before = 0;
    for (file, content) in coming {
        let waits = || line(Text::AnotherDownloads { file: &file.name });
        download.file((file, content), before, waits).await?;
        link(file, content)?;
        before = before.saturating_add(content.bytes);
    }
    Ok(())
}
