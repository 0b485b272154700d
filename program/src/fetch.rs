//! `madang fetch`: downloads a model from a hub into the cache.

use crate::{args::Fetch, failure::Failure, hub, output};

/// Downloads the model, and prints the path of its (first) file.
pub(crate) async fn run(wanted: &Fetch) -> Result<(), Failure> {
    let path = hub::fetch(&wanted.name, wanted.sha256.as_ref(), wanted.locale).await?;
    output::foreign(&path.display().to_string())
}
