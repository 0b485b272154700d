//! The reasons why a model cannot be downloaded, one sentence each, with advice.

use std::{
    error::Error,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::Duration,
};

use indicatif::HumanBytes;

use super::{choice::NoChoice, listing::BadListing, name::HubName, sum::Sum};

/// The error of a connection, a reader or a parser.
pub(super) type Cause = Box<dyn Error + Send + Sync>;

/// The reason why a model cannot be downloaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum HubError {
    /// The host does not answer, or not completely.
    #[error("failed to reach {host}: check the network and try again; what has come is kept")]
    Unreachable {
        host: String,
        #[source]
        cause: Cause,
    },
    /// The hub is overloaded or out of order.
    #[error("{host} cannot serve this now ({status}): try again {}; what has come is kept", later(*.after))]
    Busy { host: String, status: u16, after: Option<Duration> },
    /// The connection ended during the download.
    #[error(
        "the download of {file} broke off after {} of {}: try again, and it goes on from there",
        HumanBytes(*.have), HumanBytes(*.bytes)
    )]
    BrokenOff {
        file: String,
        have: u64,
        bytes: u64,
        #[source]
        cause: Cause,
    },
    /// The hub requires a token.
    #[error(
        "{name} does not exist or is not public: check its name, or give a token that may read it in HF_TOKEN"
    )]
    NeedsToken { name: HubName },
    /// The hub knows the token and refuses it.
    #[error(
        "the hub refuses {name} to this token: ask for access on the page of the model, or give another token in HF_TOKEN"
    )]
    Forbidden { name: HubName },
    /// No such repository or file exists.
    #[error("there is no {name} on {host}: check its name")]
    NotFound { name: HubName, host: String },
    /// The answer's status is not in the protocol.
    #[error("{host} answers with status {status}, which no hub does: check HF_ENDPOINT")]
    Status { host: String, status: u16 },
    /// The hub redirects without end.
    #[error(
        "{host} sends from address to address without end: check HF_ENDPOINT, or try again later"
    )]
    Circle { host: String },
    /// The redirect leads to an address that cannot be trusted.
    #[error("{host} sends to an address that is not safe to follow: check HF_ENDPOINT")]
    Astray {
        host: String,
        #[source]
        cause: Option<url::ParseError>,
    },
    /// The connection cannot be made safe.
    #[error(
        "no safe connection to {host}: check the clock of this machine and its way to the network"
    )]
    Unsafe {
        host: String,
        #[source]
        cause: ureq::Error,
    },
    /// The answer is not a listing.
    #[error(
        "{host} answers with something that is no hub's listing: check HF_ENDPOINT, and use no repository that you do not trust"
    )]
    Listing {
        host: String,
        #[source]
        cause: BadListing,
    },
    /// The listing is longer than the bound.
    #[error("the listing of {name} has more than {} MiB: give a smaller repository", .max_bytes >> 20)]
    TooLong { name: HubName, max_bytes: u64 },
    /// No file in the repository fits.
    #[error("{}", nothing_fits(.name, .cause))]
    NoModel { name: HubName, cause: NoChoice },
    /// The hub gives no checksum to compare.
    #[error(
        "the hub gives no checksum for {file}, so that it cannot be trusted: download it yourself and give it with --model"
    )]
    NoChecksum { file: String },
    /// The file's length differs from the listing's.
    #[error(
        "{host} has {file} in another length than its own listing says ({has} instead of {should} bytes): try again later, or give another model"
    )]
    Length { host: String, file: String, has: u64, should: u64 },
    /// The answer is for another commit.
    #[error(
        "{host} answers with another commit than the one in {name}: give another, or leave it out"
    )]
    OtherCommit { host: String, name: HubName },
    /// The file's checksum is not the one that the person gave.
    #[error(
        "{} has the checksum {has} and not the one that was given with --sha256: it is not used; check which file you mean",
        .path.display()
    )]
    OtherSum { path: PathBuf, has: Sum },
    /// The file cannot be read for its checksum.
    #[error("failed to read {}: check the cache", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The received bytes have another checksum.
    #[error(
        "what came as {file} has another checksum than the hub promised, and was deleted: try again, and give another model if it stays so"
    )]
    Checksum { file: String },
    /// The cache cannot be written.
    #[error("{}", unwritten(.path, .cause))]
    Cache {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Another program holds the file and makes no progress.
    #[error("another program downloads {file} and has not come further for {} s: end it and try again", .waited.as_secs())]
    Held { file: String, waited: Duration },
    /// No hub may be asked, and the cache does not have the model.
    #[error("{name} is not in {}, and HF_HUB_OFFLINE is set: unset it to download the model", .cache.display())]
    Offline { name: HubName, cache: PathBuf },
    /// No variable names the cache.
    #[error("neither HF_HOME, XDG_CACHE_HOME nor HOME names a folder for models: set HF_HOME")]
    NoCache,
    /// The endpoint is not an address.
    #[error(
        "HF_ENDPOINT is no address of a hub: give one like https://huggingface.co, or unset it"
    )]
    Endpoint {
        #[source]
        cause: Option<url::ParseError>,
    },
    /// The token cannot be sent.
    #[error("the token for the hub has letters that no token has: set HF_TOKEN anew")]
    Token,
}

impl HubError {
    /// Tells whether another attempt may succeed.
    pub(super) fn passes(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Busy { .. } | Self::BrokenOff { .. })
    }

    /// Returns the wait that the hub asks for.
    pub(super) fn asked(&self) -> Option<Duration> {
        if let Self::Busy { after, .. } = self { *after } else { None }
    }

    /// Tells whether an older model will do, because this error says nothing against it.
    pub(super) fn leaves_the_older(&self) -> bool {
        self.passes() || matches!(self, Self::Cache { .. } | Self::Held { .. })
    }
}

fn later(after: Option<Duration>) -> String {
    after.map_or_else(|| "later".to_owned(), |after| format!("in {} s", after.as_secs()))
}

fn nothing_fits(name: &HubName, cause: &NoChoice) -> String {
    match cause {
        NoChoice::NoModel => format!(
            "{name} has no GGUF file: give a repository that has, often one whose name ends in GGUF"
        ),
        NoChoice::NotOfThese(there) => {
            format!("{name} is not there; the repository has {}", there.join(", "))
        }
        NoChoice::NoPart(part) => {
            format!("{name} is not whole on the hub, {part} is missing: give another model")
        }
    }
}

fn unwritten(path: &Path, cause: &io::Error) -> String {
    let shown = path.display();
    let is_one_of = |kinds: &[ErrorKind]| kinds.contains(&cause.kind());
    if is_one_of(&[ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge]) {
        return format!(
            "there is no room for {shown}: make some, or name another cache with HF_HUB_CACHE; what has come is kept"
        );
    }
    if is_one_of(&[ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem]) {
        return format!(
            "{shown} may not be written: make the cache writable, or name another with HF_HUB_CACHE"
        );
    }
    format!("failed to write {shown}: check the cache, or name another with HF_HUB_CACHE")
}
