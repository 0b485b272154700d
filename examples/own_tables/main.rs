//! An application's own tables in the file of Madang's store. Shows their migrations, a tool that
//! writes to them in the transaction that records its call, a write of the application in the same
//! queue, and plain sqlx that reads the file.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;

use madang::{
    Runtime,
    store::{SqliteStore, savepoint},
    tool::{self, EffectPolicy, ToolContext, ToolResult},
    transaction::TransactionError,
};
use madang_testing::{ScriptedCompletion, ScriptedModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::{ConnectOptions, SqliteConnection, migrate::Migrator, sqlite::SqliteConnectOptions};

/// The application's own migrations. They run with those of the store, and are recorded in a table
/// of their own.
static MIGRATIONS: Migrator = sqlx::migrate!("examples/own_tables/migrations");

#[derive(Deserialize, JsonSchema)]
struct AddBooks {
    /// The titles.
    #[schemars(length(min = 1, max = 50))]
    titles: Vec<String>,
}

#[derive(Serialize)]
struct Added {
    added: Vec<String>,
    known_already: Vec<String>,
}

/// Its writes and the record of its call are committed together. If a title cannot be added, only
/// that title is undone.
async fn add_books(
    books: AddBooks,
    db: &mut SqliteConnection,
    _: &ToolContext,
) -> ToolResult<Added> {
    let mut added = Vec::new();
    let mut known_already = Vec::new();
    for title in books.titles {
        let part = savepoint(db, async |db| insert(db, &title).await);
        match part.await {
            Ok(()) => added.push(title),
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                known_already.push(title);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Added { added, known_already })
}

async fn insert(db: &mut SqliteConnection, title: &str) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO books (title) VALUES ($1)").bind(title).execute(db).await.map(drop)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("books.db");
    // Here the file is new; `shared_with_embedder` is for one that has tables already.
    let store = SqliteStore::open(&path).shared_with_embedder().migrations("books", &MIGRATIONS);
    let model = ScriptedModel::new([
        ScriptedCompletion::call("add_books", &json!({ "titles": ["토지", "채식주의자", "토지"] })),
        ScriptedCompletion::text("두 권을 적어 두었어요."),
    ]);
    let add_books = tool::transactional("add_books", "Adds books to the list.", add_books);
    let runtime = Runtime::builder()
        .model(model)
        .store(store.await?)
        .tool(add_books.effect(EffectPolicy::Write))
        .start()
        .await?;

    let session = runtime.user("kim")?.session("books").await?;
    println!("{}", session.send("토지랑 채식주의자 적어줘").await?.text().await?);

    // The application writes through the same writer, so the database is never busy.
    let finished = "토지";
    let changed = runtime
        .transaction(async move |db: &mut SqliteConnection| -> sqlx::Result<u64> {
            let update = sqlx::query("UPDATE books SET finished = TRUE WHERE title = $1");
            Ok(update.bind(finished).execute(db).await?.rows_affected())
        })
        .await?;
    println!("{changed} book finished");

    // If a transaction fails, only that transaction is undone.
    let failed = runtime.transaction(async |db: &mut SqliteConnection| -> sqlx::Result<()> {
        sqlx::query("DELETE FROM books").execute(&mut *db).await?;
        insert(db, "토지").await?;
        insert(db, "토지").await
    });
    if let Err(TransactionError::Failed(error)) = failed.await {
        println!("the transaction failed, and nothing is lost: {error}");
    }

    // Another connection can read the file without Madang.
    let mut db = SqliteConnectOptions::new().filename(&path).read_only(true).connect().await?;
    let books: Vec<(String, bool)> =
        sqlx::query_as("SELECT title, finished FROM books ORDER BY id").fetch_all(&mut db).await?;
    for (title, is_finished) in books {
        println!("[{}] {title}", if is_finished { "x" } else { " " });
    }
    Ok(runtime.shutdown().await?)
}
