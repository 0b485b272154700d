//! Reads the body of a chat completion, and passes over what does not count.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

/// A request with what counts of it.
#[derive(Default)]
pub(super) struct Body {
    pub(super) messages: Vec<Message>,
    pub(super) model: Option<Arc<str>>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    pub(super) metadata: Option<Metadata>,
    /// The options whose values are looked at before they are passed over or refused.
    pub(super) weighed: Map<String, Value>,
    /// The names of all options that are passed over if they are not refused.
    pub(super) ignored: Vec<String>,
}

/// How many names of ignored options the answer has, and how many bytes of each. They are in a
/// header.
pub(super) const MAX_IGNORED: usize = 32;
pub(super) const MAX_IGNORED_BYTES: usize = 64;

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyVisitor)
    }
}

/// Reads a body member by member, and keeps only what counts.
struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Body;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Body, A::Error> {
        let mut body = Body::default();
        let mut messages = None;
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            let is_there = match &*name {
                "messages" => {
                    messages = Some(members.next_value()?);
                    continue;
                }
                "model" => {
                    body.model = members.next_value()?;
                    continue;
                }
                "stream" => {
                    body.stream = members.next_value()?;
                    continue;
                }
                "stream_options" => {
                    body.stream_options = members.next_value()?;
                    continue;
                }
                "metadata" => {
                    body.metadata = members.next_value()?;
                    continue;
                }
                weighed if REFUSED.contains(&weighed) || weighed == TOOL_CHOICE => {
                    let value: Value = members.next_value()?;
                    let is_there = !value.is_null();
                    body.weighed.insert(weighed.to_owned(), value);
                    is_there
                }
                _ => members.next_value::<Option<IgnoredAny>>()?.is_some(),
            };
            if is_there && body.ignored.len() < MAX_IGNORED && name.len() <= MAX_IGNORED_BYTES {
                body.ignored.push(name.into_owned());
            }
        }
        body.messages = messages.ok_or_else(|| de::Error::missing_field("messages"))?;
        Ok(body)
    }
}

/// What counts of the client's own notes.
#[derive(Deserialize)]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) session: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct StreamOptions {
    #[serde(default)]
    pub(super) include_usage: bool,
}

#[derive(Deserialize)]
#[serde(expecting = "a message")]
pub(super) struct Message {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Option<Value>,
    #[serde(default)]
    pub(super) tool_calls: Option<Value>,
}

/// The option by which a request says that its tools must not be used.
pub(super) const TOOL_CHOICE: &str = "tool_choice";

/// Options that would change what the client's program relies on. They are refused, because
/// ignoring them would break it.
pub(super) const REFUSED: [&str; 8] = [
    "tools",
    "functions",
    "n",
    "response_format",
    "logprobs",
    "top_logprobs",
    "audio",
    "modalities",
];
