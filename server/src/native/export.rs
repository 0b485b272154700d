//! Exports a whole chat as a file, as JSON or as Markdown, a part at a time.

use std::{fmt::Write as _, sync::Arc};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use madang::{
    Timestamp,
    event::{ChatMessage, Content, plain},
    language::{Locale, Text},
    ledger::CallRecord,
};
use schemars::JsonSchema;
use serde_json::json;
use tracing::warn;

use crate::{
    auth::{caller::Caller, scope::TokenScope},
    extract::{OwnSession, Query, accepts, bad_value},
    forms::ExportForm,
    heavy,
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
    stream::{
        outlet::{BrokenOff, WrittenBody},
        pieces::json_bytes,
    },
    surface::iso8601::iso8601,
};

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/v1/sessions/{session}/export", Access::Scope(TokenScope::Chat), export).id("exportSession")
            .says("Returns the whole chat as a file, including what came before a clearing. A body that breaks off is not complete.")
            .query::<ExportForm>("format", "`json` or `markdown`. If absent, it is Markdown for a client that accepts `text/markdown`, and otherwise JSON.")
            .gives::<ExportedChat>(StatusCode::OK, "The chat.")
            .gives_text(MARKDOWN, "The chat for a person to read.")
            .refuses(&[ProblemName::Overloaded]),
    ]
}

/// A chat as a file.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: the file is written a part at a time")]
struct ExportedChat {
    session: String,
    title: String,
    exported_at: Timestamp,
    /// All entries in order. A call that had not ended is left out.
    messages: Vec<ChatMessage>,
}

/// The form of a file.
#[derive(Debug, Clone, Copy)]
enum Format {
    Json,
    Markdown(Locale),
}

async fn export(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    OwnSession(session): OwnSession,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let is_markdown = match query.get("format") {
        Some("json") => false,
        Some("markdown") => true,
        Some(_) => return Err(bad_value("format", "It is `json` or `markdown`.")),
        None => accepts(&headers, MARKDOWN),
    };
    let permit = shared.streams.take(&caller.user)?;
    let title = session.summary().await?.map_or_else(String::new, |listed| listed.title);
    let mut entries = session.entries();
    // Before the answer begins: a store that cannot be read is a problem, and not a broken file.
    let mut part = entries.next().await?;
    let format = if is_markdown {
        Format::Markdown(caller.locale_of(&shared.runtime, part.as_deref().unwrap_or_default()))
    } else {
        Format::Json
    };
    let (media_type, file) = match format {
        Format::Json => (JSON, "attachment; filename=\"chat.json\""),
        Format::Markdown(_) => ("text/markdown; charset=utf-8", "attachment; filename=\"chat.md\""),
    };
    let head = format.head(session.id().as_str(), &title, shared.now());
    let body = WrittenBody::new(shared.reader(&caller.user), |outlet| async move {
        let _permit = permit;
        outlet.send(head.into()).await?;
        let mut is_first = true;
        while let Some(messages) = part {
            let bytes = messages.iter().map(json_bytes).sum();
            let text = heavy::run(bytes, move || format.part(&messages, is_first)).await;
            is_first = false;
            outlet.send(text.into()).await?;
            part = entries.next().await.map_err(|error| {
                warn!(%error, "an export breaks off");
                BrokenOff
            })?;
        }
        outlet.send(format.tail().into()).await
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static(file)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::new(body)).into_response())
}

impl Format {
    /// Writes what comes before the entries.
    fn head(self, session: &str, title: &str, at: Timestamp) -> String {
        match self {
            Self::Json => {
                let head = json!({ "session": session, "title": title, "exported_at": at });
                let head = head.to_string();
                format!("{},\"messages\":[", head.trim_end_matches('}'))
            }
            Self::Markdown(locale) => {
                let title = if title.is_empty() { locale.pick("대화", "Chat") } else { title };
                format!("# {title}\n\n{}\n", iso8601(at))
            }
        }
    }

    /// Writes some entries.
    fn part(self, messages: &[ChatMessage], is_first: bool) -> String {
        let mut text = String::new();
        for (index, message) in messages.iter().enumerate() {
            match self {
                Self::Json => {
                    text.push_str(if is_first && index == 0 { "\n" } else { ",\n" });
                    let entry = serde_json::to_string(message);
                    text.push_str(&entry.expect("an entry of ours has text keys"));
                }
                Self::Markdown(locale) => {
                    markdown(&mut text, message, locale)
                        .expect("a string takes all that is written");
                }
            }
        }
        text
    }

    /// Writes what comes after the entries.
    const fn tail(self) -> &'static str {
        match self {
            Self::Json => "\n]}\n",
            Self::Markdown(_) => "\n",
        }
    }
}

/// Writes an entry for a person. No text of it can look like another entry: what was said is a
/// quotation, and a name is on one line.
fn markdown(text: &mut String, message: &ChatMessage, locale: Locale) -> std::fmt::Result {
    let at = iso8601(message.at);
    match &message.content {
        Content::User { text: said, .. } => {
            write!(text, "\n## {} ({at})\n\n", locale.pick("사용자", "User"))?;
            quote(text, said)
        }
        Content::Model { text: said, model, .. } => {
            let name = locale.pick("모델", "Model");
            match model {
                Some(model) => write!(text, "\n## {name} {} ({at})\n\n", plain(model.as_str()))?,
                None => write!(text, "\n## {name} ({at})\n\n")?,
            }
            quote(text, said)
        }
        Content::ToolCall(record) => call(text, record, &at, locale),
        Content::Notice { notice } => {
            write!(text, "\n*{}*\n", Text::Notice(*notice).in_locale(locale))
        }
        Content::Cleared => write!(text, "\n---\n"),
    }
}

/// Writes a text so that no heading and no code block of it reaches over its end.
fn quote(text: &mut String, said: &str) -> std::fmt::Result {
    said.split(['\n', '\r']).try_for_each(|line| writeln!(text, "> {line}"))
}

fn call(text: &mut String, record: &CallRecord, at: &str, locale: Locale) -> std::fmt::Result {
    let name = locale.pick("도구", "Tool");
    let details = json!({
        "arguments": record.arguments,
        "outcome": record.outcome,
        "effect": record.effect,
    });
    let details = format!("{details:#}");
    let fence = fence_around(&details);
    write!(text, "\n### {name} {} ({at})\n\n{fence}json\n{details}\n{fence}\n", plain(&record.name))
}

/// Returns a fence that is longer than any run of its letters in a text.
fn fence_around(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_in_its_text() {
        for (text, fence) in [("", "```"), ("a``b", "```"), ("```", "````"), ("`a`````", "``````")]
        {
            assert_eq!(fence_around(text), fence, "{text:?}");
        }
    }
}
