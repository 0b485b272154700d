//! Finds the seal keys of a database: those that were given, or those of a file.

use std::path::PathBuf;

use madang_actors::ledger::SealKeys;

use super::key_file::{SealKeyError, SealKeyFile};

/// The source of the seal keys.
#[derive(Debug)]
pub(crate) enum Keys {
    /// The usual file of the user's configuration.
    Usual,
    File(SealKeyFile),
    Given(SealKeys),
}

/// A reason why a database has no keys here.
#[derive(Debug)]
pub(crate) enum NoKeys {
    Unusable(SealKeyError),
    /// None of the keys that sealed the database was found.
    Missing {
        /// The newest of them.
        key: String,
        /// The key file that was searched. `None` if the program passed the keys itself.
        keys: Option<PathBuf>,
    },
}

impl From<SealKeyError> for NoKeys {
    fn from(error: SealKeyError) -> Self {
        Self::Unusable(error)
    }
}

impl Keys {
    /// Reads the keys that were passed, or those of the file. Returns `None` if the file is
    /// missing.
    pub(crate) fn read(&self) -> Result<Option<SealKeys>, SealKeyError> {
        match self {
            Self::Given(keys) => Ok(Some(keys.clone())),
            Self::Usual | Self::File(_) => match self.file() {
                Ok(file) => file.read(),
                Err(_) => Ok(None),
            },
        }
    }

    fn file(&self) -> Result<SealKeyFile, SealKeyError> {
        match self {
            Self::File(file) => Ok(file.clone()),
            Self::Usual | Self::Given(_) => SealKeyFile::usual(),
        }
    }

    /// Returns the keys that sealed a database, whose names are known with the newest first, or fresh
    /// ones if nothing is sealed yet. `database` names it in the log.
    pub(crate) fn of_database(&self, database: &str, known: &[String]) -> Result<SealKeys, NoKeys> {
        let found = match self {
            Self::Given(keys) => keys.clone(),
            Self::Usual | Self::File(_) if known.is_empty() => self.file()?.read_or_create()?,
            Self::Usual | Self::File(_) => self.read()?.unwrap_or_default(),
        };
        let missing = missing(known, &found);
        if let Some(newest) = known.first()
            && missing.len() == known.len()
        {
            let keys = if let Self::Given(_) = self { None } else { self.file().ok() };
            let keys = keys.map(|file| file.path().to_owned());
            return Err(NoKeys::Missing { key: newest.clone(), keys });
        }
        for key in missing {
            tracing::warn!(%database, %key, "a seal key is missing: what it sealed counts for nothing");
        }
        Ok(found)
    }
}

/// Lists the keys of the database that were not found.
pub(crate) fn missing<'k>(known: &'k [String], found: &SealKeys) -> Vec<&'k str> {
    let is_there = |key: &str| found.ids().any(|id| id.to_string() == key);
    known.iter().map(String::as_str).filter(|key| !is_there(key)).collect()
}
