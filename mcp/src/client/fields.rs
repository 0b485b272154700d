//! Takes the fields of an entry one by one, each of the type that it must have.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{expand::expand, limits::MAX_TIMEOUT};

/// The fields of an entry that were not read yet.
pub(super) struct Fields<'a> {
    pub(super) place: String,
    pub(super) left: Map<String, Value>,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Fields<'_> {
    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.left.shift_remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => self.expanded(key, &text).map(Some),
            Some(_) => Err(format!("{}.{key} is not a text", self.place)),
        }
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>, String> {
        let wrong = format!("{}.{key} is not a list of texts", self.place);
        match self.left.shift_remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let text = |item: Value| match item.as_str() {
                    Some(text) => self.expanded(key, text),
                    None => Err(wrong.clone()),
                };
                items.into_iter().map(text).collect()
            }
            Some(_) => Err(wrong),
        }
    }

    pub(super) fn table(&mut self, key: &str) -> Result<Vec<(String, String)>, String> {
        let wrong = format!("{}.{key} is not an object of texts", self.place);
        match self.left.shift_remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Object(fields)) => {
                let pair = |(name, value): (String, Value)| {
                    let text = value.as_str().ok_or_else(|| wrong.clone())?;
                    let text = self.expanded(&format!("{key}.{name}"), text)?;
                    Ok((name, text))
                };
                fields.into_iter().map(pair).collect()
            }
            Some(_) => Err(wrong),
        }
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<bool, String> {
        match self.left.shift_remove(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(format!("{}.{key} is neither true nor false", self.place)),
        }
    }

    pub(super) fn seconds(&mut self, key: &str) -> Result<Option<Duration>, String> {
        let Some(value) = self.left.shift_remove(key) else { return Ok(None) };
        let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let seconds = seconds.filter(|time| !time.is_zero() && *time <= MAX_TIMEOUT);
        let most = MAX_TIMEOUT.as_secs();
        seconds.map(Some).ok_or_else(|| {
            format!("{}.{key} is no number of seconds above 0 and up to {most}", self.place)
        })
    }

    fn expanded(&self, key: &str, text: &str) -> Result<String, String> {
        expand(text, self.variable).map_err(|what| format!("{}.{key} {what}", self.place))
    }
}
