//! The possible contents of a disk after a cut: all synced bytes, and any part of the rest.

use std::{collections::BTreeMap, fs, io, path::Path, sync::Arc};

use super::{Event, FileEvent};
use crate::dice::Dice;

/// The bytes that a disk writes whole or not at all.
const SECTOR: usize = 512;

/// The synced files of a folder, and the later changes of each.
#[derive(Debug, Default)]
pub struct Disk(BTreeMap<Arc<str>, File>);

#[derive(Debug, Default)]
struct File {
    /// `None` if the file does not exist.
    synced: Option<Vec<u8>>,
    since: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    /// A write within one sector.
    Write {
        at: usize,
        bytes: Box<[u8]>,
    },
    Truncate {
        size: usize,
    },
    Delete,
}

/// The fate of changes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// All are lost.
    Drops,
    /// Some sectors of each write remain, in any order.
    Tears,
    /// Each write remains complete, in any order.
    Reorders,
}

impl Disk {
    /// Applies one event. Lines of the oracle change no disk.
    pub fn take(&mut self, event: &Event) {
        let Event::File { name, what } = event else { return };
        let file = self.0.entry(name.clone()).or_default();
        match what {
            FileEvent::Write { at, bytes } => {
                let mut at = *at;
                let mut rest = &**bytes;
                while !rest.is_empty() {
                    let (piece, behind) = rest.split_at((SECTOR - at % SECTOR).min(rest.len()));
                    file.since.push(Change::Write { at, bytes: piece.into() });
                    (at, rest) = (at + piece.len(), behind);
                }
            }
            FileEvent::Truncate { size } => file.since.push(Change::Truncate { size: *size }),
            FileEvent::Delete { is_synced } => {
                file.since.push(Change::Delete);
                if *is_synced {
                    file.sync();
                }
            }
            FileEvent::Sync { with_folder } => {
                file.sync();
                if *with_folder {
                    self.0.values_mut().for_each(File::sync_removal);
                }
            }
        }
    }

    /// Writes a possible state after a cut at this moment into an empty folder. Returns the number
    /// of lost changes.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn cut(&self, cut: Cut, dice: &mut Dice, folder: &Path) -> io::Result<usize> {
        let mut lost = 0;
        for (name, File { synced, since }) in &self.0 {
            let mut left = match cut {
                Cut::Drops => Vec::new(),
                Cut::Tears => {
                    let odds = 2 + dice.below(3);
                    since.iter().filter(|_| !dice.once_in(odds)).cloned().collect()
                }
                Cut::Reorders => since.clone(),
            };
            lost += since.len() - left.len();
            shuffle(&mut left, dice);
            let mut content = synced.clone();
            left.iter().for_each(|change| change.apply(&mut content));
            if let Some(content) = content {
                fs::write(folder.join(&**name), content)?;
            }
        }
        Ok(lost)
    }
}

impl File {
    fn sync(&mut self) {
        for change in self.since.drain(..) {
            change.apply(&mut self.synced);
        }
    }

    /// Makes the removal durable, but none of the later writes.
    fn sync_removal(&mut self) {
        let removed = self.since.iter().rposition(|change| matches!(change, Change::Delete));
        if let Some(at) = removed {
            self.since.drain(..=at);
            self.synced = None;
        }
    }
}

impl Change {
    fn apply(&self, content: &mut Option<Vec<u8>>) {
        match self {
            Self::Write { at, bytes } => {
                let content = content.get_or_insert_default();
                let end = at + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*at..end].copy_from_slice(bytes);
            }
            Self::Truncate { size } => content.get_or_insert_default().resize(*size, 0),
            Self::Delete => *content = None,
        }
    }
}

fn shuffle<T>(items: &mut [T], dice: &mut Dice) {
    for end in (1..items.len()).rev() {
        items.swap(end, dice.index(end + 1));
    }
}
