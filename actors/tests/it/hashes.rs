//! What a hash of the ledger covers stays as it is: otherwise each ledger that was written before
//! would look as if somebody had changed it.

use expect_test::expect;
use madang_actors::{
    ledger::{Ended, Proposal, Salt, SealKey, SealKeys, Transition, step_hash},
    protocol::{
        Approval, CallId, CallResult, Digest, Effect, EffectResolution, ModelName, ResolvedBy,
        SessionId, Shown, Timestamp, ToolOutcome, TurnId, UserId,
    },
};
use serde_json::json;
use uuid::Uuid;

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn call(number: u128) -> CallId {
    CallId::new(Uuid::from_u128(number))
}

fn at() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

/// A step of each kind, with each field that it can have.
fn steps() -> Vec<Transition> {
    let kim = UserId::new("kim").unwrap();
    let digest = |byte| Digest::new([byte; 32]);
    let arguments = || json!({ "b": 1, "a": [null, 1.5, "가"] }).into();
    let approved = |approval, arguments| Transition::Approved {
        digest: digest(1),
        by: kim.clone(),
        approval,
        arguments,
        expires_at: at(),
        seal: None,
    };
    let standing =
        Approval::Standing { by_call: call(2), schema: digest(2), resource: None, number: 3 };
    let keys = SealKeys::new([SealKey::new([7; 32])]);
    let ended = |arguments, outcome, decided_by| {
        let (effect, result) = (Effect::Committed, CallResult::Shown);
        Transition::Ended(Ended { arguments, outcome, effect, result, decided_by })
    };
    vec![
        Transition::Proposed(Proposal {
            turn: TurnId::new(Uuid::from_u128(9)),
            seq: 2,
            name: "save".into(),
            arguments: "{}".into(),
            model: Some(ModelName::new("small").unwrap()),
            opaque: Some("o".into()),
            user: kim.clone(),
        }),
        Transition::Awaiting {
            arguments: arguments(),
            schema: digest(2),
            shown: Some(Box::new(Shown { text: "Save?".into(), consequence: "Saved.".into() })),
            digest: digest(1),
            expires_at: at(),
        },
        keys.sealed(&session(), call(1), at(), approved(Approval::Edited, Some(arguments()))),
        keys.sealed(&session(), call(1), at(), approved(standing, None)),
        Transition::Running { arguments: arguments(), digest: digest(1) },
        ended(Some(arguments()), ToolOutcome::ok(json!({ "id": 7 })), Some(kim.clone())),
        ended(None, ToolOutcome::error("store", "It failed."), None),
        Transition::Resolved { resolution: EffectResolution::TookEffect, by: ResolvedBy::Handler },
        Transition::Revoked { by: kim },
    ]
}

#[test]
fn the_json_of_each_step_stays_as_it_is() {
    let json: Vec<_> = steps().iter().map(|step| serde_json::to_string(step).unwrap()).collect();
    expect![[r#"
        {"state":"proposed","turn":"00000000-0000-0000-0000-000000000009","seq":2,"name":"save","arguments":"{}","model":"small","opaque":"o","user":"kim"}
        {"state":"awaiting","arguments":{"b":1,"a":[null,1.5,"가"]},"schema":"0202020202020202020202020202020202020202020202020202020202020202","shown":{"text":"Save?","consequence":"Saved."},"digest":"0101010101010101010101010101010101010101010101010101010101010101","expires_at":1700000000000}
        {"state":"approved","digest":"0101010101010101010101010101010101010101010101010101010101010101","by":"kim","approval":{"kind":"edited"},"arguments":{"b":1,"a":[null,1.5,"가"]},"expires_at":1700000000000,"seal":"caa6b3c37d577ad3:52a270c32c2e64f588051c22af92d31ddc0a05e8a48d26f8c2684282ad72e4c4"}
        {"state":"approved","digest":"0101010101010101010101010101010101010101010101010101010101010101","by":"kim","approval":{"kind":"standing","by_call":"00000000-0000-0000-0000-000000000002","schema":"0202020202020202020202020202020202020202020202020202020202020202","number":3},"expires_at":1700000000000,"seal":"caa6b3c37d577ad3:af475448f287a35100383e37812c698a8878dc69b57b48ec68246b8e8a866d3f"}
        {"state":"running","arguments":{"b":1,"a":[null,1.5,"가"]},"digest":"0101010101010101010101010101010101010101010101010101010101010101"}
        {"state":"ended","arguments":{"b":1,"a":[null,1.5,"가"]},"outcome":{"status":"ok","data":{"id":7}},"effect":"committed","result":"shown","decided_by":"kim"}
        {"state":"ended","outcome":{"status":"error","code":"store","reason":"It failed."},"effect":"committed","result":"shown","decided_by":null}
        {"state":"resolved","effect":"committed","by":{"kind":"handler"}}
        {"state":"revoked","by":"kim"}"#]].assert_eq(&json.join("\n"));
}

#[test]
fn the_hash_of_each_step_stays_as_it_is() {
    let salt = Salt::new([5; 16]);
    let hash = |step: &Transition| step_hash(&salt, &session(), call(1), at(), step).to_string();
    let hashes: Vec<_> = steps().iter().map(hash).collect();
    expect![[r#"
        d55f68a6f738b5a8c229890f2432adeee449e9dd3a735e9866748e864cdfad56
        f4e671d249ede38a19b2c77b3cd74d17aa6d7a785f3aef7b6741feba97f6163b
        415694eb67fca9ba513f133a3e24d49451c9d857dd88bbd091ac12f0561f5771
        a4cbb9c797ee5a9f560685e4e661b1247e104c177d6788d4b9d0a35aff8c5429
        01423d13c07e3a3bf73c70a8a1a83485700ebfc49d19c33173d0ddcdd210ac99
        eb23c000c0a1490c744cb413d29d7bd39dde235751d2b550b8b187d4d033147b
        f01ec4842c92156a66c56ef525c48fb14f13db709b71c549cd31db9eb7e62861
        8a51706e28d02441379fb135ad5f6fd2cb5e5164f57ea86dbfeb3fd6b681b61d
        0050ab0f24abd31a7f6c10742741fd813f5afd5f51a944c9fc3d2fd163ed5af6"#]]
    .assert_eq(&hashes.join("\n"));
}
