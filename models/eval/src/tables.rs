//! The tables that cases may ask for, in the words of the toolkits, independent of their real
//! tables.

use std::path::Path;

use serde_json::{Map, Value};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{case::Rows, score::Found};

/// A table of cases.
#[derive(Debug)]
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    /// The query of its rows, with those columns.
    select: &'static str,
}

/// The column of the row's user.
const USER: &str = "user";

const TABLES: &[Table] = &[
    Table {
        name: "habits",
        columns: &[
            USER,
            "habit",
            "item",
            "type",
            "frame_level",
            "framed_text",
            "anchor_when",
            "anchor_after_what",
            "dose_text",
            "is_active",
        ],
        select: "SELECT user_id AS user, id AS habit, coalesce(protocol_id, break_protocol_id, diet_pattern_id) AS item, \
            type, frame_level, framed_text, anchor_when, anchor_after_what, dose_text, ended_on IS NULL AS is_active \
            FROM life_habits",
    },
    Table {
        name: "entries",
        columns: &[USER, "habit", "item", "date", "value", "note"],
        select: "SELECT user_id AS user, id AS habit, coalesce(protocol_id, break_protocol_id, diet_pattern_id) AS item, \
            date, value, note FROM life_entries JOIN life_habits ON id = habit_id",
    },
    Table {
        name: "pages",
        columns: &[USER, "title", "parent"],
        select: "SELECT page.user_id AS user, page.title AS title, above.title AS parent \
            FROM notes_pages page LEFT JOIN notes_pages above ON above.number = page.parent",
    },
    Table {
        name: "blocks",
        // `parent` is the text of the containing block, `place` the position among its siblings,
        // from 0.
        columns: &[USER, "page", "content", "parent", "place"],
        select: "SELECT page.user_id AS user, page.title AS page, block.content AS content, above.content AS parent, \
            row_number() OVER (PARTITION BY block.page, block.parent ORDER BY block.position, block.number) - 1 AS place \
            FROM notes_blocks block JOIN notes_pages page ON page.number = block.page \
            LEFT JOIN notes_blocks above ON above.number = block.parent",
    },
];

/// Returns the fault of an expectation of rows, if it has one.
pub(crate) fn problem(rows: &Rows) -> Option<String> {
    let Some(table) = TABLES.iter().find(|table| table.name == rows.table) else {
        let names: Vec<_> = TABLES.iter().map(|table| table.name).collect();
        return Some(format!("expects rows of `{}`: there are {}", rows.table, names.join(", ")));
    };
    let unknown = rows.filter.keys().chain(rows.columns.keys());
    let unknown = unknown.into_iter().find(|column| !table.columns.contains(&column.as_str()));
    let unknown = unknown.map(|column| {
        let columns = table.columns.join(", ");
        format!("expects a column `{column}` of `{}`: it has {columns}", table.name)
    });
    let is_plain = |value: &Value| !(value.is_array() || value.is_object());
    let all_plain = rows.filter.values().chain(rows.columns.values()).all(is_plain);
    unknown.or_else(|| (!all_plain).then(|| "expects a list or an object in a column".to_owned()))
}

/// Counts the rows of each expectation in a database without a writer.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn count(
    path: &Path,
    expected: &[Rows],
    person: &str,
) -> sqlx::Result<Vec<Found>> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut db = SqliteConnection::connect_with(&options).await?;
    let mut found = Vec::new();
    for rows in expected {
        let mut filter = rows.filter.clone();
        filter.entry(USER).or_insert_with(|| person.into());
        let of_all = count_where(&mut db, &rows.table, &filter).await?;
        filter.extend(rows.columns.clone());
        let right = count_where(&mut db, &rows.table, &filter).await?;
        found.push(Found { rows: of_all, right });
    }
    db.close().await?;
    Ok(found)
}

async fn count_where(
    db: &mut SqliteConnection,
    table: &str,
    filter: &Map<String, Value>,
) -> sqlx::Result<u64> {
    let Some(table) = TABLES.iter().find(|known| known.name == table) else { return Ok(0) };
    // Only names from the tables above enter the SQL.
    let known = filter.iter().filter(|(column, _)| table.columns.contains(&column.as_str()));
    let conditions: Vec<_> =
        known.clone().map(|(column, _)| format!("\"{column}\" IS ?")).collect();
    let text =
        format!("SELECT count(*) FROM ({}) WHERE {}", table.select, conditions.join(" AND "));
    let mut query = sqlx::query_scalar::<_, i64>(AssertSqlSafe(text));
    for (_, value) in known {
        query = match value {
            Value::Bool(is) => query.bind(i64::from(*is)),
            Value::Number(number) => query.bind(number.as_i64()),
            Value::String(text) => query.bind(text.clone()),
            Value::Null | Value::Array(_) | Value::Object(_) => query.bind(None::<String>),
        };
    }
    Ok(query.fetch_one(db).await?.unsigned_abs())
}
