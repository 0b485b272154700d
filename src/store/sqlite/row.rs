//! Reads the columns of a row of SQLite.

use madang_actors::port::StoreError;
use sqlx::{Decode, Row, Sqlite, Type, sqlite::SqliteRow};

use crate::store::rows::{columns::Columns, value::unreadable};

impl Columns for SqliteRow {
    fn maybe_text(&self, name: &'static str) -> Result<Option<&str>, StoreError> {
        column(self, name)
    }

    fn maybe_integer(&self, name: &'static str) -> Result<Option<i64>, StoreError> {
        column(self, name)
    }

    fn maybe_bytes(&self, name: &'static str) -> Result<Option<&[u8]>, StoreError> {
        column(self, name)
    }
}

fn column<'r, T>(row: &'r SqliteRow, name: &'static str) -> Result<T, StoreError>
where
    T: Decode<'r, Sqlite> + Type<Sqlite>,
{
    row.try_get(name).map_err(|cause| unreadable(name, cause))
}
