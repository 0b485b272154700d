//! What the servers of other people send: answers and refusals of each, and what must come of them.
//!
//! The rows are files, one a server or two, written by us after what these servers send. `row`
//! reads them, `server` answers by them, and `outcome` asks a model and writes down what came of it
//! in the words of a row.

mod outcome;
mod row;
mod server;

use std::{collections::BTreeSet, path::Path};

use outcome::outcome;
use row::{Row, rows};
use server::Server;

/// The rows of all servers.
fn all() -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/providers/rows");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files: BTreeSet<_> = files.collect();
    files.iter().flat_map(|file| rows(&std::fs::read_to_string(file).unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_of_each_server_comes_to_what_its_row_says() {
    let rows = all();
    let server = Server::start(rows.iter().map(|row| row.replies.clone())).await;
    let tasks: Vec<_> = rows
        .into_iter()
        .enumerate()
        .map(|(index, row)| {
            let server = server.clone();
            tokio::spawn(async move {
                let found = outcome(&server, index, &row).await;
                let wrong = row.wrong(&found);
                wrong.map(|wrong| format!("{}, {}: {wrong}", row.server, row.name))
            })
        })
        .collect();
    let mut wrong = Vec::new();
    for task in tasks {
        wrong.extend(task.await.unwrap());
    }
    assert!(wrong.is_empty(), "{} rows:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn the_rows_are_many_and_of_many_servers() {
    let rows = all();
    let servers: BTreeSet<_> = rows.iter().map(|row| row.server.split(' ').next()).collect();
    assert!(rows.len() >= 120, "{} rows", rows.len());
    assert!(servers.len() >= 12, "{servers:?}");
    let mut names = BTreeSet::new();
    for row in &rows {
        assert!(names.insert((&row.server, &row.name)), "{}, {} twice", row.server, row.name);
    }
}
