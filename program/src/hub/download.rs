//! Downloads one file: resumes a partial one, and gives it its final name only with the right
//! checksum.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

use indicatif::{HumanBytes, ProgressBar};
use sha2::{Digest as _, Sha256};

use super::{
    bar::begins_at,
    cache::{self, HubCache},
    client::Client,
    error::HubError,
    listing::{Content, HubFile},
    lock::Lock,
    name::HubName,
    retry::Retry,
    sum::digits,
};

/// The bytes of one read of a partial file.
const PIECE_BYTES: usize = 256 << 10;

/// Downloads files of one commit.
#[derive(Debug)]
pub(super) struct Download<'a> {
    pub(super) client: &'a Client,
    pub(super) name: &'a HubName,
    pub(super) commit: &'a str,
    pub(super) cache: &'a HubCache,
    pub(super) bar: &'a ProgressBar,
}

/// A partial file with the checksum of its bytes.
struct Growing<'a> {
    file: File,
    path: &'a Path,
    sum: Sha256,
    bytes: u64,
    /// Whether it begins with an earlier program's part.
    has_older_part: bool,
}

/// The end of an attempt.
enum Came {
    /// The file has its final name.
    Complete,
    /// The checksum was wrong, and the file is deleted.
    Wrong { has_older_part: bool },
}

impl Download<'_> {
    /// Puts the file into the cache under its checksum. `before` is the bar's count of other files.
    ///
    /// Received bytes stay after a failure, a drop or a kill.
    pub(super) async fn file(
        &self,
        (file, content): (&HubFile, &Content),
        before: u64,
        waits: impl FnOnce(),
    ) -> Result<(), HubError> {
        let blob = self.cache.blob(content);
        let growing = self.cache.incomplete(content);
        if cache::is_complete(&blob, content) {
            return Ok(());
        }
        cache::create_folder_of(&blob).map_err(unwritten(&blob))?;
        let _lock = Lock::take(&self.cache.lock(content), &blob, &file.name, waits).await?;
        // The earlier holder of the lock may have completed it.
        if cache::is_complete(&blob, content) {
            return Ok(());
        }
        loop {
            match self.attempt((file, content), &growing, before).await? {
                Came::Complete => return fs::rename(&growing, &blob).map_err(unwritten(&blob)),
                // Only once: the next attempt begins with an empty file.
                Came::Wrong { has_older_part: true } => {
                    tracing::info!(
                        file = file.name,
                        "what an earlier download had left was spoiled"
                    );
                }
                Came::Wrong { has_older_part: false } => {
                    let file = &file.name;
                    return Err(HubError::new(format!(
                        "what came as {file} has another checksum than the hub promised, and was deleted: try again, and give another model if it stays so"
                    )));
                }
            }
        }
    }

    async fn attempt(
        &self,
        (file, content): (&HubFile, &Content),
        path: &Path,
        before: u64,
    ) -> Result<Came, HubError> {
        let shows = |bytes| self.bar.set_position(before + bytes);
        let mut growing = Growing::open(path, content, shows).map_err(unwritten(path))?;
        let mut retry = Retry::downloading();
        while growing.bytes < content.bytes {
            begins_at(self.bar, before + growing.bytes);
            let had = growing.bytes;
            let Err(error) = self.piece((file, content), &mut growing, before).await else {
                continue;
            };
            let gained = growing.bytes.saturating_sub(had);
            let Some(wait) = retry.failed(gained, error.asked()).filter(|_| error.passes()) else {
                return Err(error);
            };
            tracing::info!(file = file.name, ?wait, "a download broke off: {error}");
            self.bar.set_message(error.to_string());
            tokio::time::sleep(wait).await;
        }
        let has_older_part = growing.has_older_part;
        if growing.is(content).map_err(unwritten(path))? {
            return Ok(Came::Complete);
        }
        fs::remove_file(path).map_err(unwritten(path))?;
        Ok(Came::Wrong { has_older_part })
    }

    /// Receives as much as one connection gives.
    async fn piece(
        &self,
        (file, content): (&HubFile, &Content),
        growing: &mut Growing<'_>,
        before: u64,
    ) -> Result<(), HubError> {
        let mut bytes =
            self.client.bytes(self.name, self.commit, (file, content), growing.bytes).await?;
        if bytes.from != growing.bytes {
            growing.begin_anew().map_err(unwritten(growing.path))?;
        }
        while growing.bytes < content.bytes {
            let came = bytes.next().await.and_then(|piece| {
                piece.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof).into())
            });
            let piece = came.map_err(|cause| {
                let have = HumanBytes(growing.bytes);
                let all = HumanBytes(content.bytes);
                let file = &file.name;
                HubError::new(format!(
                    "the download of {file} broke off after {have} of {all}: try again, and it goes on from there"
                ))
                .retry(None)
                .because(cause)
            })?;
            // Bytes beyond the end are dropped; the checksum decides about those before it.
            let left = content.bytes - growing.bytes;
            let piece = piece.as_ref();
            let piece = &piece[..piece.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            growing.add(piece).map_err(unwritten(growing.path))?;
            self.bar.set_position(before + growing.bytes);
        }
        Ok(())
    }
}

impl<'a> Growing<'a> {
    /// Opens the partial file and reads it for its checksum; reports its length meanwhile.
    fn open(path: &'a Path, content: &Content, says: impl Fn(u64)) -> io::Result<Self> {
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut growing = Self { file, path, sum: Sha256::new(), bytes: 0, has_older_part: false };
        if growing.file.metadata()?.len() > content.bytes {
            growing.begin_anew()?;
        }
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = growing.file.read(&mut piece)?;
            if read == 0 {
                growing.has_older_part = growing.bytes > 0;
                return Ok(growing);
            }
            growing.sum.update(&piece[..read]);
            growing.bytes += read as u64;
            says(growing.bytes);
        }
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        io::Seek::rewind(&mut self.file)?;
        (self.sum, self.bytes, self.has_older_part) = (Sha256::new(), 0, false);
        Ok(())
    }

    fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.sum.update(piece);
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// Checks the file and syncs it, since its name promises the content forever, also after a
    /// power cut.
    fn is(self, content: &Content) -> io::Result<bool> {
        if digits(&self.sum.finalize()) != content.sha256 {
            return Ok(false);
        }
        self.file.sync_all()?;
        Ok(true)
    }
}

fn unwritten(path: &Path) -> impl Fn(io::Error) -> HubError {
    move |cause| HubError::unwritten(path, cause)
}
