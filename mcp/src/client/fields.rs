//! Takes the fields of an entry one by one, each of the type that it must have.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde_json::{Map, Value};

use super::{expand::Variables, limits::MAX_TIMEOUT};

/// The fields of an entry that were not read yet.
pub(super) struct Fields<'a> {
    pub(super) path: String,
    pub(super) left: Map<String, Value>,
    pub(super) variables: Variables<'a>,
}

impl Fields<'_> {
    /// Takes a field. Returns `None` if it is null or missing.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.left.shift_remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => self.expanded(key, &text).map(Some),
            Some(_) => Err(format!("{}.{key} is not a text", self.path)),
        }
    }

    /// Takes the path of a file or folder. `~` is the user's home, and a relative path is in the
    /// workspace.
    pub(super) fn place(&mut self, key: &str) -> Result<Option<PathBuf>, String> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let home = (self.variables.environment)("HOME");
        let place = match (text.strip_prefix('~'), home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                PathBuf::from(home + rest)
            }
            _ => self.variables.workspace.join(text),
        };
        Ok(Some(place))
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("{}.{key} is not a list of texts", self.path);
        let texts = match self.left.shift_remove(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(texts)) => texts,
            Some(_) => return Err(wrong()),
        };
        let texts = texts.iter().map(|text| self.expanded(key, &written(text).ok_or_else(wrong)?));
        texts.collect()
    }

    pub(super) fn table(&mut self, key: &str) -> Result<BTreeMap<String, String>, String> {
        let wrong = || format!("{}.{key} is not an object of texts", self.path);
        let table = match self.left.shift_remove(key) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(table)) => table,
            Some(_) => return Err(wrong()),
        };
        let pairs = table.into_iter().filter(|(_, value)| !value.is_null());
        let pairs = pairs.map(|(name, value)| {
            let text = written(&value).ok_or_else(wrong)?;
            let text = self.expanded(&format!("{key}.{name}"), &text)?;
            Ok((name, text))
        });
        pairs.collect()
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, String> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(format!("{}.{key} is neither true nor false", self.path)),
        }
    }

    pub(super) fn seconds(&mut self, key: &str) -> Result<Option<Duration>, String> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let seconds = seconds.filter(|time| !time.is_zero() && *time <= MAX_TIMEOUT);
        let most = MAX_TIMEOUT.as_secs();
        seconds.map(Some).ok_or_else(|| {
            format!("{}.{key} is not a number of seconds above 0 and up to {most}", self.path)
        })
    }

    fn expanded(&self, key: &str, text: &str) -> Result<String, String> {
        self.variables.expand(text).map_err(|what| format!("{}.{key} {what}", self.path))
    }
}

/// Writes a value as a program or a header gets it, because people leave out the quotes of ports
/// and switches.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
