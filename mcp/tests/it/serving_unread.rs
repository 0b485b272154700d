//! A client whose message cannot be read is told so at once, over pipes and over HTTP, and its
//! other messages count.

use serde_json::{Value, json};

use crate::{
    raw::{Raw, call},
    serving::Offered,
};

/// A message that is none, the id in the error, and its code.
type Row = (Vec<u8>, Value, i64);

const NO_JSON: i64 = -32_700;
const NO_MESSAGE: i64 = -32_600;
const NO_PARAMS: i64 = -32_602;

fn rows() -> Vec<Row> {
    let of = |text: &str| -> Vec<u8> { text.into() };
    let said = |text: &str| {
        of(&format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"look","arguments":{{"text":{text}}}}}}}"#
        ))
    };
    let no_utf_8 =
        [&br#"{"jsonrpc":"2.0","id":"a","method":"ping","x":"caf"#[..], b"\xe9\"}"].concat();
    vec![
        (said(r#""half \ud83d""#), json!(7), NO_MESSAGE),
        (said("NaN"), json!(7), NO_MESSAGE),
        (said("1e400"), json!(7), NO_MESSAGE),
        (said("123456789012345678901234567890"), json!(7), NO_PARAMS),
        (said(&format!("{}{}", "[".repeat(300), "]".repeat(300))), json!(7), NO_MESSAGE),
        (of(r#"{"jsonrpc":"2.0","id":7,"method":"tools/ca"#), json!(7), NO_MESSAGE),
        (of(r#"{"jsonrpc":"2.0","id":7,"method":"ping"} and more"#), json!(7), NO_MESSAGE),
        (of(r#"{"id":7,"method":"ping"}"#), json!(7), NO_MESSAGE),
        (of(r#"{"jsonrpc":"2.0","id":7,"method":1}"#), json!(7), NO_MESSAGE),
        (of(r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#), json!(7), NO_MESSAGE),
        (of(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), Value::Null, NO_MESSAGE),
        (of(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), Value::Null, NO_MESSAGE),
        (of("{}"), Value::Null, NO_MESSAGE),
        (of("[]"), Value::Null, NO_MESSAGE),
        (of("7"), Value::Null, NO_MESSAGE),
        (of("{"), Value::Null, NO_JSON),
        (of("hello"), Value::Null, NO_JSON),
        (no_utf_8, json!("a"), NO_MESSAGE),
        (b"\xff".to_vec(), Value::Null, NO_JSON),
    ]
}

fn told(error: &Value) -> (Value, Value) {
    (error["id"].clone(), error["error"]["code"].clone())
}

#[tokio::test]
async fn a_line_that_is_no_message_is_answered_and_the_next_one_counts() {
    let offered = Offered::new().await;
    let mut client = Raw::begin(&offered, json!({})).await;
    for (line, id, code) in rows() {
        client.write_bytes(&[&line, &b"\r\n"[..]].concat()).await;
        let name = String::from_utf8_lossy(&line);
        assert_eq!(told(&client.read().await), (id, json!(code)), "{name}");
        client.write(&call(8, "look")).await;
        assert!(client.read().await["result"].is_object(), "{name}");
    }
}

#[tokio::test]
async fn what_wants_no_answer_gets_none() {
    let offered = Offered::new().await;
    let mut client = Raw::begin(&offered, json!({})).await;
    for line in [
        "",
        " \t",
        r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":7}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":"\ud83d"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":"\ud83d"}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#,
        r#"{"jsonrpc":"2.0","error":"\ud83d"}"#,
    ] {
        client.write_bytes(format!("{line}\n").as_bytes()).await;
        client.write(&call(8, "look")).await;
        assert_eq!(client.read().await["id"], 8, "{line}");
    }
}

#[tokio::test]
async fn a_line_without_end_is_refused_before_it_ends() {
    let offered = Offered::new().await;
    let mut client = Raw::begin(&offered, json!({})).await;
    let begin = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":""#;
    client.write_bytes(begin).await;
    for _ in 0..9 {
        client.write_bytes(&vec![b'x'; 1 << 20]).await;
    }
    assert_eq!(told(&client.read().await), (json!(7), json!(NO_MESSAGE)));
    client.write_bytes(b"\"}}\n").await;
    client.write(&call(8, "look")).await;
    assert_eq!(client.read().await["id"], 8, "the rest of the line is no message");
}

#[tokio::test]
async fn an_answer_to_a_question_that_cannot_be_read_is_no_yes() {
    let offered = Offered::new().await;
    let mut client = Raw::begin(&offered, json!({ "elicitation": {} })).await;
    client.write(&call(8, "remove")).await;
    let asked = client.read().await;
    assert_eq!(asked["method"], "elicitation/create");
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"ok":true,"reason":"\ud83d"}}}}}}"#,
        asked["id"]
    );
    client.write_bytes(format!("{answer}\n").as_bytes()).await;
    let ended = client.read().await;
    assert_eq!((&ended["id"], &ended["result"]["isError"]), (&json!(8), &json!(true)));
    assert_eq!(offered.runs(), 0);
}

#[cfg(feature = "http")]
mod over_http {
    use bytes::Bytes;
    use http::StatusCode;
    use http_body_util::BodyExt as _;
    use madang_mcp::{EndpointLimits, ToolEndpoint};

    use super::*;
    use crate::endpoint::{initialize, kim, site};

    #[tokio::test]
    async fn a_body_that_is_no_message_is_answered_with_the_error_of_a_line() {
        let offered = Offered::new().await;
        let endpoint = ToolEndpoint::new(offered.runtime, [7; 32], EndpointLimits::default());
        for (body, id, code) in rows() {
            let name = String::from_utf8_lossy(&body).into_owned();
            let mut request = initialize("localhost:8137", None);
            *request.body_mut() = Bytes::from(body);
            let answer = endpoint.answer(kim(), site(), request).await.unwrap();
            let kind = answer.headers()["content-type"].clone();
            // A message whose parameters are refused is still one.
            let is_message = code == NO_PARAMS;
            let status = if is_message { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            assert_eq!(
                (answer.status(), kind.to_str().unwrap()),
                (status, "application/json"),
                "{name}"
            );
            let read = answer.into_body().collect().await.unwrap().to_bytes();
            let error: Value = serde_json::from_slice(&read).unwrap();
            assert_eq!(told(&error), (id, json!(code)), "{name}");
        }
    }
}
