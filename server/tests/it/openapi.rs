//! The description of the interface is what the server does.

use expect_test::expect_file;
use serde_json::Value;

use crate::{
    http::Request,
    support::{Setup, says},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_description_is_the_one_in_the_repository() {
    let test = Setup::new(says("a")).start().await;
    let text = Request::get("/openapi.json").send(test.address).await.ok(200);
    let text = serde_json::to_string_pretty(&text).unwrap() + "\n";
    expect_file!["../../openapi.json"].assert_eq(&text);
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_route_that_is_described_exists_and_asks_for_what_it_says() {
    let test = Setup::new(says("a")).start().await;
    let text = Request::get("/openapi.json").send(test.address).await.ok(200);
    let mut seen = 0;
    for (path, operations) in text["paths"].as_object().unwrap() {
        let path = path.replace(['{', '}'], "");
        for (method, operation) in operations.as_object().unwrap() {
            seen += 1;
            let answer = Request::new(&method.to_uppercase(), &path).send(test.address).await;
            let is_public = operation["security"] == Value::Array(Vec::new());
            assert_eq!(answer.status == 401, !is_public, "{method} {path}: {}", answer.text());
            assert_ne!(answer.status, 405, "{method} {path}");
            let status = answer.status.to_string();
            assert!(operation["responses"].get(&status).is_some(), "{method} {path}: {status}");
        }
    }
    assert!(seen > 25, "{seen}");
    test.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_example_is_a_body_that_its_route_takes() {
    let test = Setup::new(says("a")).start().await;
    test.open("session").await;
    let text = Request::get("/openapi.json").send(test.address).await.ok(200);
    let nothing = "00000000-0000-0000-0000-000000000000";
    let mut seen = 0;
    for (path, operations) in text["paths"].as_object().unwrap() {
        let path = path.replace("{turn}", nothing).replace("{call}", nothing);
        let path = path.replace(['{', '}'], "");
        for (method, operation) in operations.as_object().unwrap() {
            let example = &operation["requestBody"]["content"]["application/json"]["example"];
            if example.is_null() {
                continue;
            }
            seen += 1;
            let request = Request::new(&method.to_uppercase(), &path);
            let request = request.header("content-type", "application/json");
            let request = request.header("accept", "application/json, text/event-stream");
            let answer = test.send(request.body(example.to_string())).await;
            let is_taken = ![400, 413, 415, 422].contains(&answer.status);
            assert!(is_taken, "{method} {path}: {}", answer.text());
        }
    }
    assert!(seen > 12, "{seen}");
    test.shutdown().await;
}
