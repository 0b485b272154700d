//! Reads the request of a chat completion: what is used, what is ignored, and what is refused.

use std::sync::Arc;

use madang::session::{Imported, ImportedRole};
use serde_json::{Map, Value};

use super::body::{Body, REFUSED, TOOL_CHOICE};
use crate::{
    extract::misfit,
    problem::{Problem, ProblemName},
    surface::history::Sayings,
};

/// A request as the surface understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatRequest {
    /// The model's name, which the answer repeats.
    pub(crate) model: Option<Arc<str>>,
    /// The texts for the model that precede the chat.
    pub(crate) instructions: Option<Arc<str>>,
    /// The chat before the last text, as the client has it.
    pub(crate) history: Vec<Imported>,
    /// The last text of the user, which begins a turn.
    pub(crate) text: Arc<str>,
    /// Whether the answer is a stream.
    pub(crate) streams: bool,
    /// Whether the stream has the usage.
    pub(crate) includes_usage: bool,
    /// The chat that the request names in its metadata.
    pub(crate) session: Option<Arc<str>>,
    /// The names of ignored options, in the order of the request, up to a maximum.
    pub(crate) ignored: Vec<String>,
}

impl ChatRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// Returns a problem that names the parameter.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let body: Body = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let param = error.path().to_string();
            Problem::malformed(format!(
                "The body of the request cannot be read. At {param}: {}.",
                misfit(error.inner())
            ))
            .with("param", param)
        })?;
        for name in REFUSED {
            if body.weighed.get(name).is_some_and(|value| asks_for_more(name, value, &body.weighed))
            {
                return Err(unsupported(name));
            }
        }
        let mut instructions = Vec::new();
        let mut said = Sayings::default();
        for (at, message) in body.messages.into_iter().enumerate() {
            let param = format!("messages.{at}");
            let role = match message.role.as_str() {
                "system" | "developer" => None,
                "user" => Some(ImportedRole::User),
                "assistant" => Some(ImportedRole::Model),
                "tool" | "function" => return Err(unsupported(&param)),
                _ => {
                    let problem = Problem::malformed("A message has a role that is not known.");
                    return Err(problem.with("param", format!("{param}.role")));
                }
            };
            if message
                .tool_calls
                .is_some_and(|calls| calls.as_array().is_some_and(|all| !all.is_empty()))
            {
                return Err(unsupported(&format!("{param}.tool_calls")));
            }
            let text = text_of(message.content, &param)?;
            match role {
                None => instructions.push(text),
                // A client that lost an answer keeps an empty one, or none.
                Some(ImportedRole::Model) if text.trim().is_empty() => {}
                // It then has two texts of one side in a row.
                Some(role) => said.push(role, &text),
            }
        }
        let mut said = said.done();
        let Some(Imported { role: ImportedRole::User, text }) = said.pop() else {
            let problem = Problem::new(ProblemName::Empty, "The last message must be the user's.");
            return Err(problem.with("param", "messages"));
        };
        let session =
            body.metadata.as_ref().and_then(|metadata| metadata.session.as_ref()?.as_str());
        Ok(Self {
            model: body.model,
            instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n").into()),
            history: said,
            text,
            streams: body.stream.unwrap_or(false),
            includes_usage: body.stream_options.is_some_and(|options| options.include_usage),
            session: session.map(Into::into),
            ignored: body.ignored,
        })
    }
}

/// Returns whether an option asks for something that is not supported. Its usual values do not.
fn asks_for_more(name: &str, value: &Value, others: &Map<String, Value>) -> bool {
    match name {
        "tools" | "functions" => {
            let uses_none = others.get(TOOL_CHOICE).is_some_and(|choice| choice == "none");
            !uses_none && value.as_array().is_some_and(|all| !all.is_empty())
        }
        "n" => value.as_u64().is_some_and(|n| n > 1),
        "response_format" => value.get("type").is_some_and(|kind| kind != "text"),
        "logprobs" => value != false && !value.is_null(),
        "modalities" => value.as_array().is_some_and(|all| all.iter().any(|one| one != "text")),
        _ => !value.is_null(),
    }
}

/// Returns the text of a message, which is a string, or parts that are all text.
fn text_of(content: Option<Value>, param: &str) -> Result<String, Problem> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Array(parts)) => {
            let mut text = String::new();
            for (at, part) in parts.iter().enumerate() {
                let said = (part["type"] == "text").then(|| part["text"].as_str()).flatten();
                text.push_str(said.ok_or_else(|| unsupported(&format!("{param}.content.{at}")))?);
            }
            Ok(text)
        }
        Some(_) => {
            let problem = Problem::malformed("The content of a message is a text.");
            Err(problem.with("param", format!("{param}.content")))
        }
    }
}

/// Makes the problem of a parameter that this server does not support, with what to do instead.
fn unsupported(param: &str) -> Problem {
    let advice = match param {
        "tools" | "functions" => {
            "Tools of the client's own cannot be used. The model calls the tools of this server by itself. Leave it out."
        }
        "response_format" => {
            "Answers are text. Leave response_format out, and ask for the form in the message."
        }
        "n" => "There is one answer for each request. Leave n out, or send 1.",
        "audio" | "modalities" => "Answers are text. Leave it out.",
        "logprobs" | "top_logprobs" => "Probabilities are not given. Leave it out.",
        part if part.contains(".content.") => {
            "A message can have text alone. Leave images, sound and files out."
        }
        _ => {
            "Tool calls and their results are kept by this server. Send the texts of user and model alone."
        }
    };
    let problem = Problem::new(ProblemName::UnsupportedParameter, format!("{param}: {advice}"));
    problem.with("param", param)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::body::{MAX_IGNORED, MAX_IGNORED_BYTES},
        *,
    };

    fn read(body: &Value) -> Result<ChatRequest, Problem> {
        ChatRequest::read(body.to_string().as_bytes())
    }

    fn user(text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    #[test]
    fn a_request_gives_its_last_text_its_history_and_its_instructions() {
        let found = read(&json!({
            "model": "any", "stream": true, "stream_options": { "include_usage": true },
            "temperature": 0.3, "seed": null, "user": "u", "metadata": { "session": "chat-1" },
            "messages": [
                { "role": "system", "content": "Be brief." }, user("Hi"),
                { "role": "assistant", "content": [{ "type": "text", "text": "Hel" }, { "type": "text", "text": "lo" }] },
                { "role": "developer", "content": "No jokes." }, user("Bye"),
            ],
        }))
        .unwrap();
        assert_eq!(
            found,
            ChatRequest {
                model: Some("any".into()),
                instructions: Some("Be brief.\n\nNo jokes.".into()),
                history: vec![Imported::user("Hi"), Imported::model("Hello")],
                text: "Bye".into(),
                streams: true,
                includes_usage: true,
                session: Some("chat-1".into()),
                ignored: vec!["temperature".into(), "user".into()],
            }
        );
    }

    #[test]
    fn what_is_passed_over_is_told_in_a_bounded_header() {
        let mut body = json!({ "messages": [user("a")], "temperature": 1 });
        for number in 0..1_000 {
            body[format!("x{number}")] = json!([number]);
        }
        body["y".repeat(1_000)] = json!(1);
        let ignored = read(&body).unwrap().ignored;
        assert_eq!((ignored.len(), &*ignored[0]), (MAX_IGNORED, "temperature"));
        assert!(ignored.iter().all(|name| name.len() <= MAX_IGNORED_BYTES));
    }

    /// As many texts of one side as fit into a body. If each were joined anew, they would take
    /// minutes.
    #[test]
    fn a_hundred_thousand_texts_of_one_side_are_read_in_one_go() {
        let texts: Vec<_> = (0..100_000).map(|_| user("a text of thirty bytes or more")).collect();
        let begun = tokio::time::Instant::now();
        let found = read(&json!({ "messages": texts })).unwrap();
        assert_eq!(found.text.len(), 100_000 * 32 - 2);
        let took = begun.elapsed();
        assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    }

    #[test]
    fn two_texts_of_one_side_in_a_row_are_one() {
        let lost = json!({ "role": "assistant", "content": " " });
        for messages in [json!([user("a"), user("b")]), json!([user("a"), lost, user("b")])] {
            let found = read(&json!({ "messages": messages })).unwrap();
            assert_eq!((&*found.text, found.history.len()), ("a\n\nb", 0));
        }
    }

    #[test]
    fn what_would_break_the_clients_program_is_refused_with_its_name() {
        let image = json!([{ "type": "image_url", "image_url": { "url": "data:" } }]);
        for (extra, param) in [
            (json!({ "tools": [{}] }), "tools"),
            (json!({ "functions": [{}] }), "functions"),
            (json!({ "n": 2 }), "n"),
            (json!({ "response_format": { "type": "json_object" } }), "response_format"),
            (json!({ "logprobs": true }), "logprobs"),
            (json!({ "modalities": ["audio"] }), "modalities"),
            (json!({ "messages": [{ "role": "tool", "content": "x" }, user("a")] }), "messages.0"),
            (
                json!({ "messages": [user("a"), { "role": "assistant", "tool_calls": [{}] }, user("a")] }),
                "messages.1.tool_calls",
            ),
            (json!({ "messages": [{ "role": "user", "content": image }] }), "messages.0.content.0"),
        ] {
            let mut body = json!({ "messages": [user("a")] });
            body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let problem = read(&body).unwrap_err();
            assert_eq!(problem.name(), ProblemName::UnsupportedParameter, "{extra}");
            assert_eq!(problem.openai()["error"]["param"], param);
        }
    }

    #[test]
    fn the_page_names_each_option_that_is_refused() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/serve.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, table) = page.split_once("### Chat Completions").unwrap();
        for name in REFUSED {
            assert!(table.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn usual_values_of_the_same_options_are_passed_over() {
        let found = read(&json!({
            "messages": [user("a")], "n": 1, "logprobs": false, "tools": [], "response_format": { "type": "text" },
        }));
        assert_eq!(found.unwrap().ignored, ["n", "logprobs", "tools", "response_format"]);
        let unused = json!({ "messages": [user("a")], "tools": [{}], "tool_choice": "none" });
        assert!(read(&unused).is_ok());
    }

    #[test]
    fn a_body_that_cannot_be_read_names_the_param() {
        for (body, param) in [
            (json!({ "messages": 3 }), "messages"),
            (json!({ "messages": [{ "content": "a" }] }), "messages[0]"),
            (json!({ "messages": [{ "role": "wizard", "content": "a" }] }), "messages.0.role"),
            (json!({ "messages": [{ "role": "user", "content": 3 }] }), "messages.0.content"),
        ] {
            let problem = read(&body).unwrap_err();
            assert_eq!(problem.name(), ProblemName::Malformed, "{body}");
            assert_eq!(problem.openai()["error"]["param"], param, "{body}");
        }
        assert_eq!(ChatRequest::read(b"{").unwrap_err().name(), ProblemName::Malformed);
    }

    #[test]
    fn a_chat_that_does_not_end_with_the_user_has_nothing_to_answer() {
        for messages in [json!([]), json!([user("a"), { "role": "assistant", "content": "a" }])] {
            let problem = read(&json!({ "messages": messages })).unwrap_err();
            assert_eq!(problem.name(), ProblemName::Empty, "{messages}");
            assert_eq!(problem.openai()["error"]["param"], "messages");
        }
    }
}
