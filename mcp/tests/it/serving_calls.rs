//! Our own server: its list, calls that need no approval, and what a key, an end and a wrong
//! request do.

use madang::ledger::Effect;
use rmcp::model::ProtocolVersion;
use serde_json::json;

use crate::{
    serving::{BOTH, Offered, Person, code, failure, keyed, of, yes},
    support::until,
};

const NOT_THERE: i32 = -32_602;

#[tokio::test]
async fn the_list_is_sorted_has_hints_and_is_private() {
    let offered = Offered::new().await;
    for version in BOTH {
        let client = offered.client("kim", Person::out_of_reach(), &version).await;
        let list = client.service.list_tools(None).await.unwrap();
        let list = serde_json::to_value(list).unwrap();
        let hints: Vec<_> = list["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| {
                let hints = &tool["annotations"];
                (
                    tool["name"].as_str().unwrap(),
                    hints["readOnlyHint"] == true,
                    hints["destructiveHint"] == true,
                )
            })
            .collect();
        assert_eq!(
            hints,
            [
                ("look", true, false),
                ("remove", false, true),
                ("slow", false, false),
                ("write", false, false)
            ]
        );
        assert_eq!(list["tools"][0]["inputSchema"]["type"], "object");
        if !version.has_initialize() {
            assert_eq!((&list["ttlMs"], &list["cacheScope"]), (&json!(300_000), &json!("private")));
        }
        client.leave().await;
    }
}

#[tokio::test]
async fn what_needs_no_approval_runs_and_its_data_come_twice() {
    let offered = Offered::new().await;
    for (runs, version) in (1..).zip(BOTH) {
        let client = offered.client("kim", Person::out_of_reach(), &version).await;
        let result = client.call(of("write")).await.unwrap();
        assert_eq!(
            (&result["structuredContent"], result["isError"] == true),
            (&json!({ "run": runs }), false)
        );
        assert_eq!(
            result["content"],
            json!([{ "type": "text", "text": json!({ "run": runs }).to_string() }])
        );
        let row = offered.ledger("kim").await.pop().unwrap();
        assert_eq!(result["_meta"]["io.madang/call"], json!(row.call));
        client.leave().await;
    }
}

#[tokio::test]
async fn an_error_of_a_tool_is_its_envelope_and_a_wrong_request_one_of_the_protocol() {
    let offered = Offered::new().await;
    for version in BOTH {
        let client = offered.client("kim", Person::out_of_reach(), &version).await;
        let mut wrong = of("write");
        wrong.arguments.as_mut().unwrap().insert("text".to_owned(), json!([1]));
        let result = client.call(wrong).await.unwrap();
        assert!(failure(&result).contains("invalid arguments"), "{result}");
        assert_eq!(code(client.call(of("nothing")).await), NOT_THERE);
        assert_eq!(
            code(client.call(keyed("write", json!(1))).await),
            NOT_THERE,
            "it is not ignored"
        );
        assert_eq!(code(client.call(keyed("write", json!(""))).await), NOT_THERE);
        client.leave().await;
    }
    assert_eq!(offered.runs(), 0);
}

#[tokio::test]
async fn a_repeated_key_runs_once_and_another_call_under_it_is_refused() {
    for version in BOTH {
        let offered = Offered::new().await;
        let client = offered.client("kim", Person::answering([yes(), yes()]), &version).await;
        for tool in ["write", "remove"] {
            let before = offered.runs();
            let first = client.call(keyed(tool, json!(tool))).await.unwrap();
            let second = client.call(keyed(tool, json!(tool))).await.unwrap();
            assert_eq!(first, second);
            assert_eq!((offered.runs(), first["isError"] == true), (before + 1, false));
        }
        assert_eq!(client.shown().len(), 1, "the repetition asks nothing");
        let mut other = keyed("write", json!("write"));
        other.arguments.as_mut().unwrap().insert("text".to_owned(), json!("other"));
        assert_eq!(code(client.call(other).await), NOT_THERE);
        client.leave().await;

        // The key is one of its user: for another it is another call, and gives nothing of this
        // one.
        let client = offered.client("lee", Person::out_of_reach(), &version).await;
        let theirs = client.call(keyed("write", json!("write"))).await.unwrap();
        assert_eq!(theirs["structuredContent"], json!({ "run": 3 }));
        assert_eq!((offered.ledger("kim").await.len(), offered.ledger("lee").await.len()), (2, 1));
        client.leave().await;
    }
}

#[tokio::test]
async fn what_a_tool_reports_is_told_to_the_client_of_its_call() {
    for version in BOTH {
        let offered = Offered::new().await;
        let client = offered.client("kim", Person::out_of_reach(), &version).await;
        let peer = client.service.peer().clone();
        let calling = tokio::spawn(async move { peer.call_tool(of("slow")).await });
        until("the report is told", async || !client.heard().is_empty()).await;
        let told = client.heard().remove(0);
        assert_eq!(
            (&told["progress"], &told["total"], &told["message"]),
            (&json!(1.0), &json!(2.0), &json!("half"))
        );
        offered.handlers.go_on.add_permits(1);
        calling.await.unwrap().unwrap();
        client.leave().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_no_handler_that_has_begun() {
    let offered = Offered::new().await;
    let client =
        offered.client("kim", Person::out_of_reach(), &ProtocolVersion::V_2025_11_25).await;
    let peer = client.service.peer().clone();
    let calling = tokio::spawn(async move { peer.call_tool(of("slow")).await });
    offered.handlers.begun.acquire().await.unwrap().forget();
    let failing = async {
        calling.await.unwrap().unwrap_err();
        offered.handlers.go_on.add_permits(1);
    };
    tokio::join!(client.leave(), failing);
    until("the handler commits", async || {
        offered.ledger("kim").await[0].effect == Some(Effect::Committed)
    })
    .await;
    assert_eq!(offered.runs(), 1);
}
