//! Tests kill -9 and stress on a PostgreSQL server: the promise is the same as on a file.
//!
//! `MADANG_TEST_POSTGRES` names the server. Without it these tests do nothing.

use std::env;

use madang_proof::audit::Findings;

use crate::{
    kill::{FOUND, campaign},
    stress::{MUCH, assert_all_is_well},
};

pub(crate) fn server() -> Option<String> {
    env::var("MADANG_TEST_POSTGRES").ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_on_postgres_loses_nothing_and_doubles_nothing() {
    let Some(server) = server() else { return };
    let mut killed = campaign(1, 18, None);
    killed.postgres = Some(server);
    let figures = killed.run(|_| ()).await;
    assert!(figures.findings.is_clean(), "{:#?}", figures.findings);
    assert_eq!(figures.kills, 18);
    let acknowledged = figures.acknowledged;
    assert!(acknowledged > 30, "too little happened to prove anything: {acknowledged}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_promise_holds_on_postgres_where_much_goes_wrong() {
    let Some(server) = server() else { return };
    assert_all_is_well(&MUCH.in_database(&server, |_| ()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mistake_of_tools_and_stores_is_found_on_postgres() {
    let Some(server) = server() else { return };
    for (mistake, counter) in FOUND {
        let mut findings = Findings::default();
        for seed in 0..10 {
            let mut killed = campaign(seed, 4, Some(mistake));
            killed.postgres = Some(server.clone());
            findings = killed.run(|_| ()).await.findings;
            if findings.of(counter).len() > 0 {
                break;
            }
        }
        assert!(findings.of(counter).len() > 0, "{mistake:?} is not {counter:?}: {findings:#?}");
    }
}
