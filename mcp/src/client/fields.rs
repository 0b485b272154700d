//! Takes the fields of an entry one by one, each of the type that it must have.

use std::{collections::BTreeMap, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{expand::expand, limits::MAX_TIMEOUT};

/// The fields of an entry that were not read yet.
pub(super) struct Fields<'a> {
    pub(super) path: String,
    pub(super) left: Map<String, Value>,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Fields<'_> {
    /// Takes a field that may be null or not there; an error where it is something else than this.
    fn take<T: DeserializeOwned>(&mut self, key: &str, what: &str) -> Result<Option<T>, String> {
        let value = self.left.shift_remove(key).unwrap_or_default();
        serde_json::from_value(value).map_err(|_| format!("{}.{key} is {what}", self.path))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        let text = self.take::<String>(key, "not a text")?;
        text.map(|text| self.expanded(key, &text)).transpose()
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>, String> {
        let texts: Vec<String> = self.take(key, "not a list of texts")?.unwrap_or_default();
        texts.iter().map(|text| self.expanded(key, text)).collect()
    }

    pub(super) fn table(&mut self, key: &str) -> Result<BTreeMap<String, String>, String> {
        let table = self.take::<BTreeMap<_, String>>(key, "not an object of texts")?;
        let pairs = table.into_iter().flatten().map(|(name, text)| {
            let text = self.expanded(&format!("{key}.{name}"), &text)?;
            Ok((name, text))
        });
        pairs.collect()
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<bool, String> {
        Ok(self.take(key, "neither true nor false")?.unwrap_or_default())
    }

    pub(super) fn seconds(&mut self, key: &str) -> Result<Option<Duration>, String> {
        let Some(value) = self.left.shift_remove(key) else { return Ok(None) };
        let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let seconds = seconds.filter(|time| !time.is_zero() && *time <= MAX_TIMEOUT);
        let most = MAX_TIMEOUT.as_secs();
        seconds.map(Some).ok_or_else(|| {
            format!("{}.{key} is no number of seconds above 0 and up to {most}", self.path)
        })
    }

    fn expanded(&self, key: &str, text: &str) -> Result<String, String> {
        expand(text, self.variable).map_err(|what| format!("{}.{key} {what}", self.path))
    }
}
