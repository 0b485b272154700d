//! What each provider is sent: a chat with a thought, two calls at once and a later one.

use expect_test::{Expect, expect};
use madang_actors::{
    port::ChatModel as _,
    protocol::{
        CallId, CompletionId, CompletionRequest, LanguageTag, PromptMessage, SessionId, ToolSpec,
        UserId,
    },
};
use serde_json::json;
use uuid::Uuid;

use super::super::{Provider, RemoteModel, RemoteOptions, Style};

fn call(number: u128, name: &str, arguments: &str, opaque: Option<&str>) -> PromptMessage {
    PromptMessage::ToolCall {
        call: CallId::new(Uuid::from_u128(number)),
        name: name.into(),
        arguments: arguments.into(),
        envelope: r#"{"status":"ok"}"#.into(),
        opaque: opaque.map(Into::into),
    }
}

/// A chat in which this model thought, and asked for two tools at once.
fn request(opaque: &str) -> CompletionRequest {
    let messages = vec![
        PromptMessage::User { text: "look".into() },
        PromptMessage::Model { text: "I look.".into() },
        call(1, "look", r#"{"word":"x"}"#, Some(opaque)),
        call(2, "list", "{}", None),
        call(3, "list", r#""no object""#, None),
        PromptMessage::Model { text: "Seen.".into() },
        PromptMessage::User { text: "and now?".into() },
    ];
    let tool = ToolSpec::new("look", "Looks.", json!({ "type": "object" }));
    CompletionRequest {
        id: CompletionId::new(Uuid::nil()),
        session: SessionId::new("s").unwrap(),
        user: UserId::new("kim").unwrap(),
        system: Some("You look.".into()),
        instructions: Some("Briefly.".into()),
        messages: messages.into(),
        tools: [tool].into(),
        language: LanguageTag::EN,
        max_tokens: 100,
    }
}

fn model(provider: Provider) -> RemoteModel {
    let options = RemoteOptions::new(provider, "m").key("k").thinking_tokens(1_024);
    let options = options.url("https://models.example/v1");
    RemoteModel::new(options).unwrap()
}

fn check(provider: Provider, opaque: &str, expected: &Expect) {
    let model = model(provider);
    let body = model.body(&request(opaque), Style::default());
    expected.assert_eq(&serde_json::to_string_pretty(&body).unwrap());
    assert_eq!(model.info().name, format!("{}:m", provider.name()));
}

#[test]
fn openai_gets_the_calls_of_one_answer_in_one_message() {
    check(
        Provider::OpenAi,
        r#"{"model":"openai:m","calls":2}"#,
        &expect![[r#"
        {
          "model": "m",
          "messages": [
            {
              "role": "system",
              "content": "You look.\n\nBriefly."
            },
            {
              "role": "user",
              "content": "look"
            },
            {
              "role": "assistant",
              "content": "I look.",
              "tool_calls": [
                {
                  "id": "000000001",
                  "type": "function",
                  "function": {
                    "name": "look",
                    "arguments": "{\"word\":\"x\"}"
                  }
                },
                {
                  "id": "000000002",
                  "type": "function",
                  "function": {
                    "name": "list",
                    "arguments": "{}"
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_call_id": "000000001",
              "content": "{\"status\":\"ok\"}"
            },
            {
              "role": "tool",
              "tool_call_id": "000000002",
              "content": "{\"status\":\"ok\"}"
            },
            {
              "role": "assistant",
              "content": null,
              "tool_calls": [
                {
                  "id": "000000003",
                  "type": "function",
                  "function": {
                    "name": "list",
                    "arguments": "{\"arguments\":\"no object\"}"
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_call_id": "000000003",
              "content": "{\"status\":\"ok\"}"
            },
            {
              "role": "assistant",
              "content": "Seen."
            },
            {
              "role": "user",
              "content": "and now?"
            }
          ],
          "stream": true,
          "max_completion_tokens": 100,
          "stream_options": {
            "include_usage": true
          },
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": {
                  "type": "object"
                }
              }
            }
          ]
        }"#]],
    );
}

#[test]
fn anthropic_gets_thoughts_back_before_the_text_and_results_first() {
    let opaque = r#"{"model":"anthropic:m","calls":2,"thoughts":[{"type":"thinking","thinking":"Look first.","signature":"EqQB=="}]}"#;
    check(
        Provider::Anthropic,
        opaque,
        &expect![[r#"
        {
          "model": "m",
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "look"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "thinking",
                  "thinking": "Look first.",
                  "signature": "EqQB=="
                },
                {
                  "type": "text",
                  "text": "I look."
                },
                {
                  "type": "tool_use",
                  "id": "000000001",
                  "name": "look",
                  "input": {
                    "word": "x"
                  }
                },
                {
                  "type": "tool_use",
                  "id": "000000002",
                  "name": "list",
                  "input": {}
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "tool_result",
                  "tool_use_id": "000000001",
                  "content": "{\"status\":\"ok\"}"
                },
                {
                  "type": "tool_result",
                  "tool_use_id": "000000002",
                  "content": "{\"status\":\"ok\"}"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "tool_use",
                  "id": "000000003",
                  "name": "list",
                  "input": {
                    "arguments": "no object"
                  }
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "tool_result",
                  "tool_use_id": "000000003",
                  "content": "{\"status\":\"ok\"}"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "text",
                  "text": "Seen."
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "and now?"
                }
              ]
            }
          ],
          "stream": true,
          "max_tokens": 1124,
          "system": "You look.\n\nBriefly.",
          "tools": [
            {
              "name": "look",
              "description": "Looks.",
              "input_schema": {
                "type": "object"
              }
            }
          ],
          "thinking": {
            "type": "enabled",
            "budget_tokens": 1024
          }
        }"#]],
    );
}

#[test]
fn gemini_gets_the_signature_back_with_its_call() {
    let opaque = r#"{"model":"gemini:m","calls":2,"signature":"CiEB"}"#;
    check(
        Provider::Gemini,
        opaque,
        &expect![[r#"
        {
          "contents": [
            {
              "role": "user",
              "parts": [
                {
                  "text": "look"
                }
              ]
            },
            {
              "role": "model",
              "parts": [
                {
                  "text": "I look."
                },
                {
                  "functionCall": {
                    "id": "000000001",
                    "name": "look",
                    "args": {
                      "word": "x"
                    }
                  },
                  "thoughtSignature": "CiEB"
                },
                {
                  "functionCall": {
                    "id": "000000002",
                    "name": "list",
                    "args": {}
                  }
                }
              ]
            },
            {
              "role": "user",
              "parts": [
                {
                  "functionResponse": {
                    "id": "000000001",
                    "name": "look",
                    "response": {
                      "status": "ok"
                    }
                  }
                },
                {
                  "functionResponse": {
                    "id": "000000002",
                    "name": "list",
                    "response": {
                      "status": "ok"
                    }
                  }
                }
              ]
            },
            {
              "role": "model",
              "parts": [
                {
                  "functionCall": {
                    "id": "000000003",
                    "name": "list",
                    "args": {
                      "arguments": "no object"
                    }
                  }
                }
              ]
            },
            {
              "role": "user",
              "parts": [
                {
                  "functionResponse": {
                    "id": "000000003",
                    "name": "list",
                    "response": {
                      "status": "ok"
                    }
                  }
                }
              ]
            },
            {
              "role": "model",
              "parts": [
                {
                  "text": "Seen."
                }
              ]
            },
            {
              "role": "user",
              "parts": [
                {
                  "text": "and now?"
                }
              ]
            }
          ],
          "generationConfig": {
            "maxOutputTokens": 1124,
            "thinkingConfig": {
              "includeThoughts": true,
              "thinkingBudget": 1024
            }
          },
          "systemInstruction": {
            "parts": [
              {
                "text": "You look.\n\nBriefly."
              }
            ]
          },
          "tools": [
            {
              "functionDeclarations": [
                {
                  "name": "look",
                  "description": "Looks.",
                  "parametersJsonSchema": {
                    "type": "object"
                  }
                }
              ]
            }
          ]
        }"#]],
    );
}

#[test]
fn ollama_is_told_the_room_for_the_prompt() {
    check(
        Provider::Ollama,
        r#"{"model":"ollama:m","calls":2}"#,
        &expect![[r#"
        {
          "model": "m",
          "messages": [
            {
              "role": "system",
              "content": "You look.\n\nBriefly."
            },
            {
              "role": "user",
              "content": "look"
            },
            {
              "role": "assistant",
              "content": "I look.",
              "tool_calls": [
                {
                  "function": {
                    "name": "look",
                    "arguments": {
                      "word": "x"
                    }
                  }
                },
                {
                  "function": {
                    "name": "list",
                    "arguments": {}
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_name": "look",
              "content": "{\"status\":\"ok\"}"
            },
            {
              "role": "tool",
              "tool_name": "list",
              "content": "{\"status\":\"ok\"}"
            },
            {
              "role": "assistant",
              "content": "",
              "tool_calls": [
                {
                  "function": {
                    "name": "list",
                    "arguments": {
                      "arguments": "no object"
                    }
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_name": "list",
              "content": "{\"status\":\"ok\"}"
            },
            {
              "role": "assistant",
              "content": "Seen."
            },
            {
              "role": "user",
              "content": "and now?"
            }
          ],
          "stream": true,
          "options": {
            "num_predict": 100,
            "num_ctx": 16384
          },
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": {
                  "type": "object"
                }
              }
            }
          ],
          "think": true
        }"#]],
    );
}

#[test]
fn another_model_or_a_second_try_gets_no_signature_but_the_same_groups() {
    let of = |opaque: &str, is_stripped| {
        let style = Style { is_stripped, ..Style::default() };
        model(Provider::Gemini).body(&request(opaque), style).to_string()
    };
    let with = |model: &str| format!(r#"{{"model":"{model}","calls":2,"signature":"CiEB"}}"#);
    let own = of(&with("gemini:m"), false);
    assert!(own.contains("CiEB"));
    let without = own.replace(r#","thoughtSignature":"CiEB""#, "");
    assert_eq!(of(&with("gemini:other"), false), without);
    assert_eq!(of(&with("gemini:m"), true), without);
    // Text that is no opaque state of ours is left alone.
    assert!(!of("no JSON", false).contains("thoughtSignature"));
}

#[test]
fn the_oldest_messages_can_be_left_out() {
    let style = Style { left_out: 6, ..Style::default() };
    let body = model(Provider::OpenAi).body(&request(""), style);
    let texts = body["messages"].as_array().unwrap().iter();
    let texts: Vec<_> = texts.map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["You look.\n\nBriefly.", "and now?"]);
}
