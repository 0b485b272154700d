//! Reads the columns of a row of PostgreSQL. A text may be kept as bytes, because PostgreSQL's texts
//! have no U+0000.

use std::str;

use madang_actors::port::StoreError;
use sqlx::{Column as _, Row, TypeInfo as _, postgres::PgRow};

use crate::store::rows::{columns::Columns, value::unreadable};

impl Columns for PgRow {
    fn maybe_text(&self, name: &'static str) -> Result<Option<&str>, StoreError> {
        if is_bytes(self, name) {
            let bytes = self.maybe_bytes(name)?;
            return bytes.map(str::from_utf8).transpose().map_err(|cause| unreadable(name, cause));
        }
        self.try_get(name).map_err(|cause| unreadable(name, cause))
    }

    fn maybe_integer(&self, name: &'static str) -> Result<Option<i64>, StoreError> {
        self.try_get(name).map_err(|cause| unreadable(name, cause))
    }

    fn maybe_bytes(&self, name: &'static str) -> Result<Option<&[u8]>, StoreError> {
        self.try_get(name).map_err(|cause| unreadable(name, cause))
    }
}

fn is_bytes(row: &PgRow, name: &str) -> bool {
    row.try_column(name).is_ok_and(|column| column.type_info().name() == "BYTEA")
}
